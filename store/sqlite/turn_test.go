package sqlite

import (
	"testing"
	"time"
)

func TestWriterWithoutGapPausesOnceATurn(t *testing.T) {
	t.Parallel()
	now := time.Now()
	var turn turn
	var paused time.Duration
	const transaction = 5 * time.Millisecond
	for range 1000 {
		d := turn.next(now)
		paused += d
		now = now.Add(d + transaction)
		turn.ended(now)
	}
	turns := 1000 * transaction / turnMax
	if paused < (turns-2)*turnPause || paused > turns*turnPause {
		t.Errorf("in %v of writing the pauses are %v, want one of %v each %v", 1000*transaction, paused, turnPause, turnMax)
	}
}

func TestWriterWithGapsNeverPauses(t *testing.T) {
	t.Parallel()
	now := time.Now()
	var turn turn
	for range 1000 {
		if d := turn.next(now); d != 0 {
			t.Fatalf("a writer that leaves gaps pauses for %v", d)
		}
		now = now.Add(5 * time.Millisecond)
		turn.ended(now)
		now = now.Add(turnPause)
	}
}
