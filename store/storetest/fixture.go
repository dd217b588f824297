package storetest

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/onceward/onceward"
)

// What the suite's operations have in common.
const (
	tenant  onceward.Tenant   = "acme"
	tool    onceward.ToolName = "tickets.create"
	replica                   = "replica-1"
	// step is the smallest time that the suite lets pass, and waits for where
	// the clock cannot be moved.
	step = 50 * time.Millisecond
)

// fixture is a test with its store.
type fixture struct {
	*testing.T
	Opened
	ctx    context.Context
	other  onceward.Store // a second handle on the same database
	origin time.Time      // the database's clock at the start
}

func newFixture(t *testing.T, o Opened) *fixture {
	t.Helper()
	f := &fixture{T: t, Opened: o, ctx: t.Context(), other: o.Again(t)}
	f.origin = f.now()
	return f
}

// must fails the test on an error.
func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatalf("unexpected error: %v", err)
	}
}

// equal fails the test if the two differ.
func (f *fixture) equal(what string, want, got any) {
	f.Helper()
	if diff := cmp.Diff(want, got, sameBytes, sameSubject); diff != "" {
		f.Fatalf("%s differs (-want +got):\n%s", what, diff)
	}
}

// sameBytes compares bytes at once, and keeps nil apart from empty.
var sameBytes = cmp.Comparer(func(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) })

// sameSubject compares whose a row is, and whether it can be read. With which key
// it is encrypted is the store's own matter.
var sameSubject = cmp.Comparer(func(a, b onceward.Concealed) bool {
	return a.Subject == b.Subject && a.Shredded == b.Shredded && a.Sealed == nil && b.Sealed == nil
})

// code fails the test unless err carries the code.
func (f *fixture) code(what string, err error, want onceward.Code) {
	f.Helper()
	if got := onceward.CodeOf(err); got != want {
		f.Fatalf("%s: got code %q (%v), want %q", what, got, err, want)
	}
}

func (f *fixture) now() time.Time {
	f.Helper()
	now, err := f.Store.Now(f.ctx)
	f.must(err)
	return now
}

// pass lets the database's clock pass by d or more.
func (f *fixture) pass(d time.Duration) {
	f.Helper()
	if f.Advance != nil {
		f.Advance(d)
		return
	}
	until := f.now().Add(d)
	for f.now().Before(until) {
		if err := f.ctx.Err(); err != nil {
			f.Fatalf("the database's clock stands still: %v", err)
		}
	}
}

func token() onceward.WriteToken {
	var t onceward.WriteToken
	rand.Read(t[:])
	return t
}

// claimed is a new operation whose first attempt runs.
func (f *fixture) claimed(key string, edits ...func(*onceward.Operation)) onceward.Operation {
	op := onceward.Operation{
		Tenant: tenant, Tool: tool, Key: onceward.Key(key), Contract: "c0ffee", Effect: onceward.EffectProbedWrite,
		Digest: onceward.Digest{1, 2, 3}, State: onceward.StateEffectPending, Version: 1, Token: token(),
		Actor: "local:operator", CreatedAt: f.origin, UpdatedAt: f.origin, IntentAt: f.origin,
		ProviderKey: "onceward-" + key, Input: []byte(`{"event_id":"` + key + `"}`),
		Request: &onceward.Request{Method: "POST", URL: "http://tickets.test/api", Body: []byte("{}")},
		Attempts: []onceward.Attempt{{
			Number: 1, Owner: replica, Status: onceward.StatusRunning,
			StartedAt: f.origin, LeaseUntil: f.origin.Add(25 * time.Second),
		}},
	}
	for _, edit := range edits {
		edit(&op)
	}
	op.ID = onceward.NewOperationID(op.Tenant, op.Tool, op.Key)
	return op
}

// next is the operation's next version.
func next(op onceward.Operation, edits ...func(*onceward.Operation)) onceward.Operation {
	after := op.Clone()
	after.Version++
	after.Token = token()
	for _, edit := range edits {
		edit(&after)
	}
	return after
}

// done is the operation with its running attempt done.
func done(op onceward.Operation, edits ...func(*onceward.Operation)) onceward.Operation {
	return next(op, append([]func(*onceward.Operation){func(o *onceward.Operation) {
		at := o.CreatedAt.Add(40 * time.Millisecond)
		o.State, o.Reference, o.Request = onceward.StateSucceeded, "tkt_"+string(o.Key), nil
		o.UpdatedAt, o.CompletedAt = at, at
		o.Result = &onceward.Result{Status: 201, Body: []byte(`{"id":"tkt"}`), BodyKept: true}
		last := &o.Attempts[len(o.Attempts)-1]
		last.Status, last.Settler, last.EndedAt, last.LastByteAt = onceward.StatusDone, onceward.SettledByAnswer, at, at
		last.Reach, last.Reference = onceward.ReachFirstByte, o.Reference
	}}, edits...)...)
}

// insert is the change that stores a new operation.
func insert(op onceward.Operation) onceward.Change { return onceward.Change{After: op} }

// update is the change that stores the next version of an operation.
func update(op onceward.Operation) onceward.Change {
	return onceward.Change{Before: op.Version - 1, After: op}
}

// commit runs a batch on the handle under test.
func (f *fixture) commit(batch ...onceward.Change) []onceward.Committed {
	f.Helper()
	return f.commitOn(f.Store, batch...)
}

func (f *fixture) commitOn(s onceward.Store, batch ...onceward.Change) []onceward.Committed {
	f.Helper()
	c, err := s.Commit(f.ctx, batch)
	f.must(err)
	if len(c.Results) != len(batch) {
		f.Fatalf("a batch of %d changes has %d results", len(batch), len(c.Results))
	}
	return c.Results
}

// store runs a batch of which every change must apply.
func (f *fixture) store(batch ...onceward.Change) {
	f.Helper()
	for i, r := range f.commit(batch...) {
		f.applied(fmt.Sprintf("change %d", i), r)
	}
}

func (f *fixture) applied(what string, r onceward.Committed) {
	f.Helper()
	if !r.Applied || r.Err != nil {
		f.Fatalf("%s was not applied: error %v, stored %+v", what, r.Err, r.Stored)
	}
}

// lost fails the test unless the change lost to the stored operation.
func (f *fixture) lost(what string, r onceward.Committed, stored onceward.Operation) {
	f.Helper()
	if r.Applied || r.Err != nil || r.Stored == nil {
		f.Fatalf("%s: got %+v, want that it lost", what, r)
	}
	f.equal(what+": the stored operation", &stored, r.Stored)
}

// refused fails the test unless this change alone was refused.
func (f *fixture) refused(what string, r onceward.Committed, code onceward.Code) {
	f.Helper()
	if r.Applied || r.Stored != nil {
		f.Fatalf("%s: got %+v, want a refusal", what, r)
	}
	f.code(what, r.Err, code)
}

// load reads one operation through the second handle.
func (f *fixture) load(id onceward.OperationID) *onceward.Operation {
	f.Helper()
	ops, err := f.other.Load(f.ctx, []onceward.OperationID{id})
	f.must(err)
	if len(ops) != 1 {
		f.Fatalf("one ID gives %d operations", len(ops))
	}
	return ops[0]
}

// stored fails the test unless the operation is stored as it is.
func (f *fixture) stored(op onceward.Operation) {
	f.Helper()
	f.equal("the stored operation", &op, f.load(op.ID))
}

// absent fails the test if there is such an operation.
func (f *fixture) absent(id onceward.OperationID) {
	f.Helper()
	if op := f.load(id); op != nil {
		f.Fatalf("%s is stored: %+v", id, op)
	}
}

// list reads one page through the second handle and gives the keys.
func (f *fixture) list(filter onceward.Filter) []string {
	f.Helper()
	return keys(f.page(filter))
}

func (f *fixture) page(filter onceward.Filter) []*onceward.Operation {
	f.Helper()
	if filter.Tenant == "" {
		filter.Tenant = tenant
	}
	if filter.Limit == 0 {
		filter.Limit = onceward.MaxPage
	}
	ops, err := f.other.List(f.ctx, filter)
	f.must(err)
	return ops
}

func keys(ops []*onceward.Operation) []string {
	var keys []string
	for _, op := range ops {
		keys = append(keys, string(op.Key))
	}
	return keys
}

// records reads a timeline through the second handle.
func (f *fixture) records(id onceward.OperationID) []onceward.Record {
	f.Helper()
	d, err := f.other.LoadDetail(f.ctx, id)
	f.must(err)
	return d.Records
}

// journaled flattens the journal.
func (f *fixture) journaled() (commits int, versions []string) {
	f.Helper()
	for _, entries := range f.Journal(f.T) {
		commits++
		for _, e := range entries {
			versions = append(versions, fmt.Sprintf("%s.%d", e.ID, e.Version))
		}
	}
	slices.Sort(versions)
	return commits, versions
}

// race runs fn n times at once and waits for all.
func race(n int, fn func(i int)) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-start
			fn(i)
		})
	}
	close(start)
	wg.Wait()
}

func sorted(s []string) []string {
	slices.Sort(s)
	return s
}
