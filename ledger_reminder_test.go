package onceward_test

import (
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
)

func TestReminderIsSentOnceThoughTheProcessDies(t *testing.T) {
	t.Parallel()
	onEachStore(t, reminding(), func(t *testing.T, w *world) {
		w.beside = []onceward.Tool{oncewardtest.NewTool("t.notify", onceward.EffectProbedWrite)}
		w.restart()
		op := w.ask(`{"id":"a"}`).Operation
		w.pass(30 * time.Minute)
		w.wantWrites(0)
		doomed := w.doomed("remind.before_commit") // submitted, and not marked
		w.clock.Advance(31 * time.Minute)
		doomed.step(1)
		doomed.quiet()
		if !doomed.dead.Load() {
			t.Fatal("the process did not come to mark the reminder")
		}
		w.pass(2 * time.Minute)
		w.wantWrites(1)
		w.pass(10 * time.Hour)
		w.wantWrites(1)
		w.pass(12*time.Hour + 30*time.Minute) // one hour before its end: the second
		w.wantWrites(2)
		if got := strings.Count(w.timeline(op), "approval_reminded"); got != 2 {
			t.Fatalf("%d reminders are recorded:\n%s", got, w.timeline(op))
		}
		w.pass(2 * time.Hour)
		if now := w.get(op.ID); now.State != onceward.StateCancelled {
			t.Fatalf("it is %s", now.State)
		}
	})
}

// reminding asks, and reminds by another tool after an hour and before the end.
func reminding() *oncewardtest.Tool {
	t := asking(func(i *onceward.ToolInfo) { i.Policy.Reminders = []time.Duration{time.Hour, 23 * time.Hour} })
	t.RemindBy = "t.notify"
	return t
}
