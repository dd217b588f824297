package storetest

import (
	"errors"
	"time"

	"github.com/onceward/onceward"
)

var joins = []situation{
	{"JoinedTransactionStoresAllOrNothing", joinedAllOrNothing},
	{"ChangeInATransactionLosesToWhatHasCommitted", joinedLoses},
	{"ReceiptIsOnePerConsumerUntilItsTimeIsOver", receiptIsOne},
	{"WorkThatFailsIsUndoneAndTheTransactionGoesOn", joinedWorkUndone},
	{"EventAddedInATransactionComesAfterWhatHadCommitted", joinedEventsInOrder},
}

// begin opens a caller's transaction, if the store can be joined.
func (f *fixture) begin() (j onceward.Join, commit, rollback func()) {
	f.Helper()
	if f.Begin == nil {
		return nil, nil, nil
	}
	j, c, r := f.Begin(f.T)
	return j, func() { f.Helper(); f.must(c()) }, func() { f.Helper(); f.must(r()) }
}

func (f *fixture) apply(j onceward.Join, c onceward.Change) onceward.Committed {
	f.Helper()
	got, err := j.Apply(f.ctx, c)
	f.must(err)
	return got
}

func joinedAllOrNothing(f *fixture) {
	plain, rich := f.claimed("plain"), f.claimed("rich", func(o *onceward.Operation) {
		o.Input = []byte(`{"long":"` + string(make([]byte, 5000)) + `"}`)
		o.CorrelationID, o.Reference = `quote " and \ and ü`, ""
	})
	write := func(j onceward.Join) {
		f.Helper()
		f.applied("a claim", f.apply(j, insert(plain)))
		c := insert(rich)
		c.Aliases = []onceward.OperationID{{1}, {2}}
		c.Due = &onceward.Due{ID: rich.ID, Tenant: tenant, Tool: tool, State: rich.State, Kind: onceward.DueLease, At: f.origin, Since: f.origin}
		c.Records = []onceward.Record{{Version: 1, At: f.origin, Event: "forked", Reason: "a reason"}}
		c.Events = []onceward.OutboxEvent{f.news("of the change", "k")}
		f.applied("a claim with everything", f.apply(j, c))
		f.applied("an outcome", f.apply(j, update(done(plain))))
		f.must(j.AddOutbox(f.ctx, []onceward.OutboxEvent{f.news("added", "k", func(e *onceward.OutboxEvent) { e.Data = nil })}))
		first, err := j.Receive(f.ctx, onceward.Receipt{Consumer: "c", Message: "m", Keep: time.Hour})
		f.must(err)
		f.equal("the message is new", true, first)
	}
	j, _, rollback := f.begin()
	if j == nil {
		return
	}
	write(j)
	rollback()
	f.absent(plain.ID)
	f.absent(rich.ID)
	f.equal("the outbox after a rollback", 0, len(f.outbox(onceward.OutboxPlace{}, 10, 0)))
	commits, _ := f.journaled()
	f.equal("the journal after a rollback", 0, commits)

	j, commit, _ := f.begin()
	write(j)
	commit()
	if got := f.load(plain.ID); got == nil || got.State != onceward.StateSucceeded || got.Version != 2 {
		f.Fatalf("the plain operation is %+v", got)
	}
	f.stored(rich)
	f.equal("the operation by an earlier name", &rich, f.load(onceward.OperationID{2}))
	f.equal("the timeline", 1, len(f.records(rich.ID)))
	f.equal("the events", []string{"added", "of the change"}, sorted(eventIDs(f.outbox(onceward.OutboxPlace{}, 10, 2))))
	due, _, err := f.other.TakeDue(f.ctx, 10, time.Hour)
	f.must(err)
	f.equal("what is due", 1, len(due))
	f.equal("an entry a change", 3, func() int { _, v := f.journaled(); return len(v) }())
}

func joinedLoses(f *fixture) {
	op, named := f.claimed("k"), f.claimed("named")
	f.store(insert(op))
	j, commit, _ := f.begin()
	if j == nil {
		return
	}
	other := insert(f.claimed("k"))
	alias := insert(f.claimed("new name"))
	alias.Aliases = []onceward.OperationID{op.ID}
	late := update(done(next(op)))
	late.Before, late.After.Version = 7, 8
	for what, c := range map[string]onceward.Change{"a claim of the same identity": other, "a claim that has it as an earlier name": alias, "a late outcome": late} {
		if got := f.apply(j, c); got.Applied || got.Err != nil {
			f.Fatalf("%s: %+v", what, got)
		}
	}
	f.applied("another claim in the same transaction", f.apply(j, insert(named)))
	commit()
	f.stored(op)
	f.stored(named)
	f.absent(alias.After.ID)
}

func receiptIsOne(f *fixture) {
	receive := func(j onceward.Join, consumer string, keep time.Duration) bool {
		f.Helper()
		first, err := j.Receive(f.ctx, onceward.Receipt{Consumer: consumer, Message: "m", Keep: keep, Patience: time.Second})
		f.must(err)
		return first
	}
	j, commit, _ := f.begin()
	if j == nil {
		return
	}
	f.equal("the first consumer", true, receive(j, "a", time.Hour))
	f.equal("the same again", false, receive(j, "a", time.Hour))
	f.equal("another consumer", true, receive(j, "b", time.Microsecond))
	commit()
	j, commit, _ = f.begin()
	f.equal("the first consumer, later", false, receive(j, "a", time.Hour))
	f.equal("the other one, once its time is over", true, receive(j, "b", time.Microsecond))
	commit()
	f.pass(step)
	n, err := f.Store.DropReceipts(f.ctx, 10)
	f.must(err)
	f.equal("what is dropped", 1, n)
}

func joinedWorkUndone(f *fixture) {
	j, commit, _ := f.begin()
	if j == nil {
		return
	}
	undone, kept := f.claimed("undone"), f.claimed("kept")
	broken := errors.New("broken")
	err := j.Within(f.ctx, func() error {
		f.applied("a claim", f.apply(j, insert(undone)))
		if inner := j.Within(f.ctx, func() error { return broken }); !errors.Is(inner, broken) {
			f.Fatalf("the inner work ended with %v", inner)
		}
		return broken
	})
	if !errors.Is(err, broken) {
		f.Fatalf("the work ended with %v", err)
	}
	func() {
		defer func() {
			if recover() == nil {
				f.Fatal("the panic does not go on")
			}
		}()
		_ = j.Within(f.ctx, func() error {
			f.applied("a claim", f.apply(j, insert(undone)))
			panic("half done")
		})
	}()
	f.must(j.Within(f.ctx, func() error {
		f.applied("a claim", f.apply(j, insert(kept)))
		return nil
	}))
	commit()
	f.absent(undone.ID)
	f.stored(kept)
}

// A transaction began, and wrote, before another one that it follows.
func joinedEventsInOrder(f *fixture) {
	early, commitEarly, _ := f.begin()
	if early == nil || f.OneWriter {
		if early != nil {
			commitEarly()
		}
		return
	}
	f.must(early.AddOutbox(f.ctx, []onceward.OutboxEvent{f.news("unrelated", "x")})) // it has its number now
	late, commitLate, _ := f.begin()
	f.must(late.AddOutbox(f.ctx, []onceward.OutboxEvent{f.news("first", "k")}))
	f.equal("while both run", 0, len(f.outbox(onceward.OutboxPlace{}, 10, 0)))
	commitLate()
	open, commitOpen, _ := f.begin() // it runs on, so that not everything can be read
	f.must(open.AddOutbox(f.ctx, []onceward.OutboxEvent{f.news("open", "y")}))
	f.must(early.AddOutbox(f.ctx, []onceward.OutboxEvent{f.news("second", "k")}))
	seen := eventIDs(f.outbox(onceward.OutboxPlace{}, 10, 0))
	f.equal("while the early one runs", 0, len(seen))
	commitEarly()
	events := f.outbox(onceward.OutboxPlace{}, 10, 0)
	seen = eventIDs(events)
	var last onceward.OutboxPlace
	if len(events) > 0 {
		last = events[len(events)-1].Place
	}
	commitOpen()
	seen = append(seen, eventIDs(f.outbox(last, 10, 4-len(seen)))...)
	f.equal("every event once", []string{"first", "open", "second", "unrelated"}, sorted(append([]string(nil), seen...)))
	var ofKey []string
	for _, id := range seen {
		if id == "first" || id == "second" {
			ofKey = append(ofKey, id)
		}
	}
	f.equal("the events of the key", []string{"first", "second"}, ofKey)
}
