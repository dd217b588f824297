package httpapi

import (
	"testing"
)

func TestFirstRequestIsFreshAndItsRepetitionReplayed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.submit(probed, `{"id":"a","n":1}`).want(200, "decision", "fresh", "operation.state", "succeeded", "operation.attempts", 1)
	again := w.submit(probed, `{"n":1.0,"id":"a"}`).want(200, "decision", "replayed", "operation.id", first.text("operation.id"))
	if got := again.header.Get("Onceward-Decision"); got != "replayed" {
		t.Errorf("Onceward-Decision is %q", got)
	}
	if got, want := again.header.Get("Onceward-Attempt"), first.text("operation.id")+".1"; got != want {
		t.Errorf("Onceward-Attempt is %q, want %q", got, want)
	}
	if w.provider.Effects() != 1 || w.provider.Writes() != 1 {
		t.Errorf("%d effects by %d writes, want 1 by 1", w.provider.Effects(), w.provider.Writes())
	}
}
