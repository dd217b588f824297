package onceward

import (
	"testing"
	"time"
)

// A start that is parked for less than ledger time can tell would be due at once
// and find no token, again and again.
func TestAStartThatFindsNoTokenWaitsForAtLeastWhatLedgerTimeCanTell(t *testing.T) {
	t.Parallel()
	var r rates
	rate, now := Rate{Count: 1, Per: 4 * time.Second}, time.Unix(1_000_000, 0)
	if _, ok := r.take("default", "t.write", rate, now); !ok {
		t.Fatal("the first start finds no token")
	}
	wait, ok := r.take("default", "t.write", rate, now.Add(rate.Per-time.Nanosecond))
	if ok || wait < time.Microsecond {
		t.Fatalf("a nanosecond early: token %t, wait %s", ok, wait)
	}
}
