package testneed

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// ending is a testing.TB that records how a test was ended.
type ending struct {
	testing.TB
	skipped, failed string
}

func (e *ending) Helper() {}

func (e *ending) Skip(args ...any) {
	e.skipped = fmt.Sprint(args...)
	runtime.Goexit()
}

func (e *ending) Fatalf(format string, args ...any) {
	e.failed = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func endOf(t *testing.T, require string) ending {
	t.Helper()
	t.Setenv(EnvRequire, require)
	var e ending
	done := make(chan struct{})
	go func() {
		defer close(done)
		Missing(&e, "no server here")
	}()
	<-done
	return e
}

func TestWhatIsMissingSkipsWithTheReason(t *testing.T) {
	for _, require := range []string{"", "0"} {
		if got := endOf(t, require); got.failed != "" || !strings.Contains(got.skipped, "no server here") {
			t.Errorf("%q: skipped %q, failed %q", require, got.skipped, got.failed)
		}
	}
}

func TestWhatIsMissingFailsWhereItIsRequired(t *testing.T) {
	if got := endOf(t, "1"); got.skipped != "" || !strings.Contains(got.failed, "no server here") {
		t.Errorf("skipped %q, failed %q", got.skipped, got.failed)
	}
}
