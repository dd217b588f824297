package onceward_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

// written stores operations in one commit, and returns what the trail has of them.
func (w *world) written(n int) []string {
	w.t.Helper()
	changes, subjects := make([]onceward.Change, n), make([]string, n)
	for i := range changes {
		op := onceward.Operation{Tenant: onceward.DefaultTenant, Tool: "tickets.create", Key: onceward.Key(fmt.Sprintf("written-%d", i)), Digest: onceward.Digest{1}, Contract: "v1", Effect: onceward.EffectProbedWrite,
			State: onceward.StateSucceeded, Version: 1, Token: onceward.WriteToken{byte(i), 1}, Actor: "token:agent", CreatedAt: w.clock.Now(), UpdatedAt: w.clock.Now(), CompletedAt: w.clock.Now(), IntentAt: w.clock.Now()}
		op.ID = onceward.NewOperationID(op.Tenant, op.Tool, op.Key)
		changes[i], subjects[i] = onceward.Change{After: op}, op.ID.String()
	}
	if _, err := w.store.Commit(w.t.Context(), changes); err != nil {
		w.t.Fatal(err)
	}
	return subjects
}

func (w *world) trail(f onceward.AuditFilter) *onceward.AuditPage {
	w.t.Helper()
	page, err := w.ledger.Audit(w.t.Context(), onceward.LocalPrincipal(), f)
	if err != nil {
		w.t.Fatal(err)
	}
	return page
}

func TestPagesOfTheTrailMeetInsideOfACommit(t *testing.T) {
	t.Parallel()
	onEachStore(t, tickets(), func(t *testing.T, w *world) {
		want := map[string]int{}
		for _, subject := range w.written(7) {
			want[subject] = 1
		}
		f := onceward.AuditFilter{Actor: "token:agent", Limit: 3}
		for pages := 0; ; pages++ {
			page := w.trail(f)
			if pages > 5 || len(page.Lines) > f.Limit {
				t.Fatalf("page %d has %d lines", pages, len(page.Lines))
			}
			for i := range page.Lines {
				want[page.Lines[i].Subject]--
			}
			if f.After = page.Next; f.After == (onceward.AuditCursor{}) {
				break
			}
		}
		for subject, left := range want {
			if left != 0 {
				t.Errorf("%s is in the pages %d times", subject, 1-left)
			}
		}
	})
}

func TestSearchOfTheTrailGoesOnPageByPage(t *testing.T) {
	t.Parallel()
	onEachStore(t, tickets(), func(t *testing.T, w *world) {
		var events []onceward.AuditEvent
		for range onceward.AuditScanRows + 200 {
			events = append(events, onceward.NewAuditEvent(onceward.AuditEvent{Tenant: onceward.DefaultTenant, Actor: "token:agent", Action: onceward.AuditTokenIssued, Subject: "x"}))
		}
		if err := w.store.Note(t.Context(), events...); err != nil {
			t.Fatal(err)
		}
		subject := w.written(1)[0]
		f := onceward.AuditFilter{Subject: subject, Limit: 50}
		page, found := w.trail(f), 0
		for pages := 0; page.Partly; pages++ {
			if page.Until.IsZero() || page.Next == (onceward.AuditCursor{}) || pages > 3 {
				t.Fatalf("page %d says neither how far it came nor where to go on: %+v", pages, page)
			}
			found, f.After = found+len(page.Lines), page.Next
			page = w.trail(f)
		}
		if f.After == (onceward.AuditCursor{}) {
			t.Error("one page looked at everything")
		}
		if found += len(page.Lines); found != 1 {
			t.Errorf("it is found %d times", found)
		}
		if got := w.trail(onceward.AuditFilter{Actor: "token:nobody", To: w.clock.Now().Add(-48 * time.Hour), Limit: 50}); got.Partly || len(got.Lines) != 0 {
			t.Errorf("nothing is before the trail's first day, and it looked at %+v", got)
		}
	})
}
