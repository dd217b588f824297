package storetest

import (
	"slices"
	"strings"
	"time"

	"github.com/onceward/onceward"
)

var sagas = []situation{
	{"SagaIsStoredWhole", sagaIsStoredWhole},
	{"SagaIsWrittenByCompareAndSet", sagaCompareAndSet},
	{"SagasAreListedNewestFirst", sagasListed},
	{"OpenSagasAreCounted", openSagasCounted},
	{"DueSagaIsTakenOnce", dueSagaTaken},
	{"SagaIsRescheduledAtItsRevision", sagaRescheduled},
	{"SagaComesUpWithTheAnswerToItsOperation", sagaWoken},
	{"SagaGoesWithItsRun", sagaGoesWithItsRun},
}

func (f *fixture) newSaga(key onceward.Key) onceward.Saga {
	return onceward.Saga{ID: onceward.NewSagaID(tenant, "orders.place", key), Tenant: tenant, Name: "orders.place", Key: key, Digest: onceward.Digest{3},
		By:    onceward.Principal{Tenant: tenant, Issuer: "token", Subject: "shop", Roles: []onceward.Role{onceward.RoleCaller}},
		Steps: []onceward.SagaStep{{Name: "reserve", Tool: tool, Kind: onceward.SagaCompensable, State: onceward.SagaStepPending, Input: []byte(`{}`)}},
		State: onceward.SagaRunning, CreatedAt: f.origin, UpdatedAt: f.origin, Revision: 1, Token: token()}
}

func (f *fixture) putSaga(s onceward.Saga) {
	f.Helper()
	stored, applied, err := f.Store.PutSaga(f.ctx, s)
	f.must(err)
	f.equal("whether it was applied", true, applied)
	f.equal("the row that the write gives back", &s, stored)
}

func sagaIsStoredWhole(f *fixture) {
	whole := f.newSaga("whole")
	op := f.claimed("k")
	whole.By.Groups, whole.By.Tools, whole.By.Effects = []string{"leads"}, []onceward.ToolName{tool}, []onceward.EffectClass{onceward.EffectProbedWrite}
	whole.By.Credential = onceward.Credential{Token: "tok_1", EndsAt: f.origin.Add(time.Hour)}
	whole.CorrelationID, whole.State, whole.Undoing, whole.Cancelled, whole.Cause, whole.Note = "c", onceward.SagaNeedsReview, true, true, "because", "somebody"
	whole.Steps = append(whole.Steps, onceward.SagaStep{Name: "pay", Tool: tool, Kind: onceward.SagaRetryable, State: onceward.SagaStepUndoing, Input: []byte(`{"a":1}`),
		Undo: &onceward.SagaUndo{Tool: tool, Input: []byte(`{"b":2}`)}, Operation: op.ID, Undoing: op.ID, Shared: true, Why: "why", StartedAt: f.origin, EndedAt: f.origin.Add(step), UndoneAt: f.origin.Add(2 * step)})
	whole.FinishedAt, whole.NextAt = f.origin.Add(step), f.origin.Add(time.Hour)
	for _, s := range []onceward.Saga{whole, f.newSaga("bare")} {
		f.putSaga(s)
		got, err := f.other.LoadSaga(f.ctx, s.ID)
		f.must(err)
		f.equal("the stored row", &s, got)
	}
	none, err := f.other.LoadSaga(f.ctx, onceward.NewSagaID(tenant, "orders.place", "none"))
	f.must(err)
	if none != nil {
		f.Fatalf("there is one: %+v", none)
	}
}

func sagaCompareAndSet(f *fixture) {
	writtenByCompareAndSet(f, f.newSaga("k"), f.putSaga, onceward.Store.PutSaga, func(s *onceward.Saga, note string) { s.Revision, s.Note = 2, note },
		func(s *onceward.Saga) { s.Token = token() })
}

func sagasListed(f *fixture) {
	var all []onceward.SagaID
	for i, key := range []onceward.Key{"a", "b", "c"} {
		s := f.newSaga(key)
		s.CreatedAt = f.origin.Add(time.Duration(i) * step)
		if key == "b" {
			s.State = onceward.SagaFailed
		}
		f.putSaga(s)
		all = append([]onceward.SagaID{s.ID}, all...)
	}
	foreign := f.newSaga("d")
	foreign.Tenant, foreign.By.Tenant, foreign.ID = "other", "other", onceward.NewSagaID("other", "orders.place", "d")
	f.putSaga(foreign)
	list := func(edit func(*onceward.SagaFilter)) (ids []onceward.SagaID, last onceward.SagaCursor) {
		filter := onceward.SagaFilter{Tenant: tenant, Limit: 10}
		edit(&filter)
		page, err := f.other.ListSagas(f.ctx, filter)
		f.must(err)
		for _, s := range page {
			ids, last = append(ids, s.ID), onceward.SagaCursor{CreatedAt: s.CreatedAt, ID: s.ID}
		}
		return ids, last
	}
	got, _ := list(func(*onceward.SagaFilter) {})
	f.equal("all of the tenant", all, got)
	got, last := list(func(l *onceward.SagaFilter) { l.Limit = 2 })
	f.equal("the first page", all[:2], got)
	got, _ = list(func(l *onceward.SagaFilter) { l.After = last })
	f.equal("the next page", all[2:], got)
	got, _ = list(func(l *onceward.SagaFilter) { l.State = onceward.SagaFailed })
	f.equal("those that failed", all[1:2], got)
	got, _ = list(func(l *onceward.SagaFilter) { l.Name = "orders.send" })
	f.equal("those of another name", 0, len(got))
}

func dueSagaTaken(f *fixture) {
	due, later, never := f.newSaga("due"), f.newSaga("later"), f.newSaga("never")
	due.NextAt, later.NextAt = f.origin.Add(-step), f.origin.Add(time.Hour)
	for _, s := range []onceward.Saga{due, later, never} {
		f.putSaga(s)
	}
	next, now, err := f.other.NextSaga(f.ctx)
	f.must(err)
	f.equal("when the earliest comes up", due.NextAt, next)
	if now.Before(f.origin) {
		f.Fatalf("the database's now is %s", now)
	}
	take := func() (ids []onceward.SagaID) {
		taken, err := f.other.TakeSagas(f.ctx, 10, time.Minute)
		f.must(err)
		for _, s := range taken {
			ids = append(ids, s.ID)
		}
		return ids
	}
	f.equal("what is taken", []onceward.SagaID{due.ID}, take())
	f.equal("what is taken again", 0, len(take()))
	stored, err := f.Store.LoadSaga(f.ctx, due.ID)
	f.must(err)
	f.equal("its revision", due.Revision, stored.Revision)
	if !stored.NextAt.After(f.origin) {
		f.Fatalf("it comes up at %s", stored.NextAt)
	}
}

// A look that began before the answer does not put the saga off again.
func sagaWoken(f *fixture) {
	waits, ended := f.newSaga("waits"), f.newSaga("ended")
	waits.NextAt = f.origin.Add(time.Hour)
	for _, s := range []onceward.Saga{waits, ended} {
		f.putSaga(s)
	}
	load := func(s onceward.Saga) *onceward.Saga {
		stored, err := f.other.LoadSaga(f.ctx, s.ID)
		f.must(err)
		return stored
	}
	a, b := f.claimed("a"), f.claimed("b")
	f.store(insert(a), insert(b))
	lost, answer, ofNone := update(next(a, func(o *onceward.Operation) { o.Version = 9 })), update(next(a)), update(next(b))
	lost.Saga, answer.Saga, ofNone.Saga = waits.ID, waits.ID, ended.ID
	f.commit(lost)
	f.equal("the saga after an answer that lost", &waits, load(waits))
	f.store(answer, ofNone)
	f.equal("the saga that has ended", &ended, load(ended))
	woken := load(waits)
	if now := f.now(); woken.NextAt.After(now) || woken.Revision <= waits.Revision {
		f.Fatalf("the saga comes up at %s with revision %d, after %s", woken.NextAt, woken.Revision, now)
	}
	f.must(f.other.RescheduleSaga(f.ctx, waits.ID, waits.Revision, f.origin.Add(time.Hour)))
	noted := waits
	noted.Revision, noted.Token, noted.Note = 2, token(), "it waits"
	_, applied, err := f.other.PutSaga(f.ctx, noted)
	f.must(err)
	f.equal("whether the note of before was applied", false, applied)
	f.store(answer) // the same batch again
	f.equal("the saga after all that", woken, load(waits))
}

func sagaRescheduled(f *fixture) {
	s := f.newSaga("k")
	s.NextAt = f.origin.Add(time.Hour)
	f.putSaga(s)
	next := func() time.Time {
		stored, err := f.Store.LoadSaga(f.ctx, s.ID)
		f.must(err)
		return stored.NextAt
	}
	f.must(f.other.RescheduleSaga(f.ctx, s.ID, 2, f.origin))
	f.equal("after another revision's", s.NextAt, next())
	f.must(f.other.RescheduleSaga(f.ctx, s.ID, 0, f.origin))
	f.equal("after any revision's", f.origin, next())
	f.must(f.other.RescheduleSaga(f.ctx, s.ID, 1, time.Time{}))
	f.equal("once nothing is left to do", time.Time{}, next())
	f.must(f.other.RescheduleSaga(f.ctx, s.ID, 0, f.origin))
	f.equal("told again", time.Time{}, next())
	at, _, err := f.other.NextSaga(f.ctx)
	f.must(err)
	f.equal("when the earliest comes up", time.Time{}, at)
}

func sagaGoesWithItsRun(f *fixture) {
	s := f.newSaga("k")
	f.putSaga(s)
	r := f.newRun("k")
	r.ID = s.ID.Run()
	f.putRun(r)
	dropped, err := f.other.DropRun(f.ctx, &r)
	f.must(err)
	f.equal("whether it was dropped", true, dropped)
	left, err := f.Store.LoadSaga(f.ctx, s.ID)
	f.must(err)
	if left != nil {
		f.Fatalf("the saga is still there: %+v", left)
	}
}

func openSagasCounted(f *fixture) {
	put := func(key onceward.Key, state onceward.SagaState, created time.Time) {
		f.Helper()
		s := f.newSaga(key)
		if s.State, s.CreatedAt = state, created; !state.Final() {
			s.NextAt = f.origin.Add(time.Hour)
		}
		f.putSaga(s)
	}
	put("1", onceward.SagaRunning, f.origin.Add(step))
	put("2", onceward.SagaNeedsReview, f.origin)
	put("3", onceward.SagaRunning, f.origin)
	put("4", onceward.SagaSucceeded, f.origin)
	put("5", onceward.SagaCompensated, f.origin)
	counts, err := f.other.CountSagas(f.ctx)
	f.must(err)
	slices.SortFunc(counts, func(a, b onceward.SagaCount) int { return strings.Compare(string(a.State), string(b.State)) })
	f.equal("the open ones", []onceward.SagaCount{{State: onceward.SagaNeedsReview, Count: 1, Oldest: f.origin}, {State: onceward.SagaRunning, Count: 2, Oldest: f.origin}}, counts)
}
