package sim

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/onceward/onceward"
)

var errNoSource = errors.New("contracts of a simulation have no source")

// port is one process's way to the database: every call stands still first, may
// fail, and is seen by the auditor.
type port struct {
	onceward.Store
	p *process
}

func dead(op string) error {
	return &onceward.Error{Code: onceward.CodeInvalidInput, Op: op, Message: "the process is dead"}
}

func unreachable(op string) error {
	return &onceward.Error{Code: onceward.CodeLedgerUnavailable, Op: op, Message: "the ledger cannot be reached"}
}

func lost(op string) error {
	return &onceward.Error{Code: onceward.CodeMayBeRecorded, Op: op, Message: "the connection was lost inside the commit"}
}

// enter stands before a call and says whether it reaches the database.
func (s *port) enter(ctx context.Context, what string, fault Fault) error {
	p := s.p
	if !p.e.s.stand(p, p.name+" "+tagOf(ctx)+" "+what, 0) {
		return dead(what)
	}
	if p.away > p.e.s.now || p.e.down > p.e.s.now {
		p.e.s.note("  the database is out of reach")
		return unreachable(what)
	}
	if p.e.dice.Throw(fault) {
		p.e.s.note("  ", fault.String())
		return unreachable(what)
	}
	return nil
}

// leave stands before the answer where that takes long.
func (s *port) leave(what string) error {
	if p := s.p; p.e.dice.Throw(StoreSlow) {
		p.e.s.note("  ", StoreSlow.String())
		if !p.e.s.stand(p, p.name+" "+what+" answered late", p.e.s.now+p.e.dice.Between(200*time.Millisecond, 4*time.Second)) {
			return dead(what)
		}
	}
	return nil
}

// Commit implements onceward.Store.
func (s *port) Commit(ctx context.Context, batch []onceward.Change) (onceward.Commit, error) {
	if s.p.dead {
		return onceward.Commit{}, dead("commit")
	}
	names := make([]string, len(batch))
	for i := range batch {
		s.p.e.learn(&batch[i].After)
		names[i] = s.p.e.opName(batch[i].After.ID) + ".v" + strconv.FormatInt(batch[i].After.Version, 10) + " " + batch[i].After.State.String()
	}
	slices.Sort(names)
	if err := s.enter(ctx, "commit "+strings.Join(names, ", "), StoreRefuses); err != nil {
		return onceward.Commit{}, err
	}
	fault, any := s.p.e.dice.First(CommitLost, CommitLostKept, CommitLostLate)
	if any && fault == CommitLostLate && slices.ContainsFunc(batch, func(c onceward.Change) bool { return c.Before == 0 && s.p.e.forgets(&c.After) }) {
		fault = CommitLost // a claim that lands after its key was forgotten is known to nobody: keys are kept for longer
	}
	if any {
		s.p.e.s.note("  ", fault.String())
	}
	switch {
	case any && fault == CommitLost:
		return onceward.Commit{}, lost("commit")
	case any && fault == CommitLostLate:
		late, dropped := slices.Clone(batch), s.p.e.dropped(batch)
		s.p.e.s.after(s.p.e.s.now+s.p.e.dice.Between(0, 4*time.Second), "late commit of "+strings.Join(names, ", "), func() {
			if s.p.e.dropped(late) == dropped { // no commit comes through later than a tombstone is kept (docs/guarantees.md)
				_, _ = s.apply(late)
			}
		})
		return onceward.Commit{}, lost("commit")
	}
	out, err := s.apply(batch)
	if err == nil && any {
		return onceward.Commit{}, lost("commit")
	}
	if late := s.leave("commit"); late != nil {
		return onceward.Commit{}, late
	}
	return out, err
}

// dropped counts how often the keys of a batch were forgotten.
func (e *engine) dropped(batch []onceward.Change) (n int) {
	for i := range batch {
		n += e.drops[batch[i].After.ID]
	}
	return n
}

// apply writes a batch and tells the auditor what was written.
func (s *port) apply(batch []onceward.Change) (onceward.Commit, error) {
	e := s.p.e
	names := make([]string, len(batch))
	for i := range batch {
		names[i] = e.opName(batch[i].After.ID)
	}
	e.audit.Batch(names)
	e.audit.Vague = e.audit.Vague || e.dice.Thrown[Stall]+e.dice.Thrown[StoreSlow]+e.dice.Thrown[StoreRefuses] > 0
	out, err := e.store.Commit(context.Background(), batch)
	if err != nil {
		return out, err
	}
	for i := range batch {
		c := &batch[i]
		if !out.Results[i].Applied || !e.ours(&c.After) {
			continue
		}
		if by := e.claims[c.After.Token]; by != "" {
			e.audit.Claimed(by, names[i])
			e.audit.Claims(names[i], e.due[by])
		}
		var events, actors []string
		by := s.p.name
		for _, r := range c.Records {
			events, actors = append(events, r.Event), append(actors, r.Actor)
		}
		e.audit.Stored(e.row(&c.After), by, events, actors)
		e.s.note("    stored ", names[i], " ", c.After.State.String())
	}
	return out, nil
}

// Load implements onceward.Store.
func (s *port) Load(ctx context.Context, ids []onceward.OperationID) ([]*onceward.Operation, error) {
	names := make([]string, len(ids))
	for i := range ids {
		names[i] = s.p.e.opName(ids[i])
	}
	slices.Sort(names)
	if err := s.enter(ctx, "load "+strings.Join(names, " "), ReadFails); err != nil {
		return nil, err
	}
	ops, err := s.p.e.store.Load(context.Background(), ids)
	if late := s.leave("load"); late != nil {
		return nil, late
	}
	return ops, err
}

// TakeDue implements onceward.Store.
func (s *port) TakeDue(ctx context.Context, limit int, hold time.Duration, except ...onceward.Workload) ([]onceward.Due, time.Time, error) {
	if err := s.enter(ctx, "take due", StoreRefuses); err != nil {
		return nil, time.Time{}, err
	}
	return s.p.e.store.TakeDue(context.Background(), limit, hold, except...)
}

// Reschedule implements onceward.Store.
func (s *port) Reschedule(ctx context.Context, d onceward.Due) error {
	if err := s.enter(ctx, "reschedule "+s.p.e.opName(d.ID), StoreRefuses); err != nil {
		return err
	}
	return s.p.e.store.Reschedule(context.Background(), d)
}

// NextDue implements onceward.Store.
func (s *port) NextDue(ctx context.Context) (time.Time, time.Time, error) {
	if err := s.enter(ctx, "next due", ReadFails); err != nil {
		return time.Time{}, time.Time{}, err
	}
	return s.p.e.store.NextDue(context.Background())
}

// Unpark implements onceward.Store.
func (s *port) Unpark(ctx context.Context, t onceward.Tenant, tool onceward.ToolName, why onceward.ParkReason, limit int) (int, error) {
	if err := s.enter(ctx, "unpark", StoreRefuses); err != nil {
		return 0, err
	}
	return s.p.e.store.Unpark(context.Background(), t, tool, why, limit)
}

// Beat implements onceward.Store.
func (s *port) Beat(ctx context.Context, r onceward.Replica) ([]onceward.Replica, time.Time, error) {
	if err := s.enter(ctx, "beat", StoreRefuses); err != nil {
		return nil, time.Time{}, err
	}
	all, now, err := s.p.e.store.Beat(context.Background(), r)
	s.p.beatAt = s.p.e.s.now
	if late := s.leave("beat"); late != nil {
		return nil, time.Time{}, late
	}
	return all, now, err
}

// Forget implements onceward.Store.
func (s *port) Forget(ctx context.Context, replica string) error {
	if err := s.enter(ctx, "forget", StoreRefuses); err != nil {
		return err
	}
	return s.p.e.store.Forget(context.Background(), replica)
}

// Stranded implements onceward.Store.
func (s *port) Stranded(ctx context.Context, replica string, from, to time.Time, limit int) ([]*onceward.Operation, error) {
	if err := s.enter(ctx, "stranded of "+replica, ReadFails); err != nil {
		return nil, err
	}
	return s.p.e.store.Stranded(context.Background(), replica, from, to, limit)
}

// Switches implements onceward.Store.
func (s *port) Switches(ctx context.Context) ([]onceward.ToolSwitch, error) {
	if err := s.enter(ctx, "switches", ReadFails); err != nil {
		return nil, err
	}
	all, err := s.p.e.store.Switches(context.Background())
	if late := s.leave("switches"); late != nil {
		return nil, late
	}
	for _, spec := range s.p.e.specs {
		s.p.e.audit.Paused(s.p.name, spec.Name, slices.ContainsFunc(all, func(sw onceward.ToolSwitch) bool { return sw.Paused && string(sw.Tool) == spec.Name }))
	}
	return all, err
}

// SetSwitch implements onceward.Store.
func (s *port) SetSwitch(ctx context.Context, sw onceward.ToolSwitch, notes ...onceward.AuditEvent) error {
	if err := s.enter(ctx, "set switch of "+string(sw.Tool), StoreRefuses); err != nil {
		return err
	}
	err := s.p.e.store.SetSwitch(context.Background(), sw, notes...)
	if err == nil {
		s.p.e.audit.Paused(s.p.name, string(sw.Tool), sw.Paused)
	}
	return err
}

// Aged implements onceward.Store.
func (s *port) Aged(ctx context.Context, after onceward.Cursor, before time.Time, limit int) ([]*onceward.Operation, error) {
	if err := s.enter(ctx, "aged", ReadFails); err != nil {
		return nil, err
	}
	return s.p.e.store.Aged(context.Background(), after, before, limit)
}

// Drop implements onceward.Store.
func (s *port) Drop(ctx context.Context, rows []onceward.Tombstone) (int, error) {
	if err := s.enter(ctx, "drop", StoreRefuses); err != nil {
		return 0, err
	}
	n, err := s.p.e.store.Drop(context.Background(), rows)
	for _, row := range rows {
		left, loadErr := s.p.e.store.Load(context.Background(), []onceward.OperationID{row.ID})
		if loadErr != nil {
			panic(loadErr)
		}
		name := s.p.e.opName(row.ID)
		if _, known := s.p.e.audit.Rows()[name]; known && left[0] == nil {
			s.p.e.s.note("    dropped ", name)
			s.p.e.drops[row.ID]++
			s.p.e.audit.Dropped(name, s.p.e.ahead)
		}
	}
	return n, err
}

// EarlyApprovals implements onceward.Store.
func (s *port) EarlyApprovals(ctx context.Context, id onceward.OperationID) ([]onceward.EarlyApproval, error) {
	if err := s.enter(ctx, "early approvals of "+s.p.e.opName(id), ReadFails); err != nil {
		return nil, err
	}
	return s.p.e.store.EarlyApprovals(context.Background(), id)
}

// PutEarlyApproval implements onceward.Store.
func (s *port) PutEarlyApproval(ctx context.Context, a onceward.EarlyApproval, notes ...onceward.AuditEvent) error {
	if err := s.enter(ctx, "put early approval of "+s.p.e.opName(a.Operation), StoreRefuses); err != nil {
		return err
	}
	return s.p.e.store.PutEarlyApproval(context.Background(), a, notes...)
}

// DropEarlyApprovals implements onceward.Store.
func (s *port) DropEarlyApprovals(ctx context.Context, id onceward.OperationID) error {
	if err := s.enter(ctx, "drop early approvals of "+s.p.e.opName(id), StoreRefuses); err != nil {
		return err
	}
	return s.p.e.store.DropEarlyApprovals(context.Background(), id)
}

// pen is the way of a process's goroutines to its committer: each stands still
// before and after, so that those that one commit wakes do not run together.
type pen struct {
	inner onceward.Writer
	p     *process
}

// begin tells the auditor what is about to be recorded.
func (w *pen) begin(ctx context.Context, name string, c *onceward.Change) {
	e := w.p.e
	e.mu.Lock()
	defer e.mu.Unlock()
	if r := c.After.Running(); r != nil {
		e.audit.Starting(name, w.p.name, r.Number, int(c.After.Generation))
		if r.Owner != w.p.name {
			e.audit.Starting(name, r.Owner, r.Number, int(c.After.Generation))
		}
		fresh := c.Before == 0 && e.s.now-e.due[tagOf(ctx)] <= rateSlack
		if fresh || slices.ContainsFunc(c.Records, func(r onceward.Record) bool { return r.Event == "attempt_started" }) {
			e.audit.Begins(w.p.name, string(c.After.Tool))
		}
	}
	e.audit.Writes(name, c.After.Version)
	if c.Before == 0 {
		e.claims[c.After.Token] = tagOf(ctx)
	}
}

// Write implements onceward.Writer.
func (w *pen) Write(ctx context.Context, c *onceward.Change) (onceward.Committed, error) {
	e := w.p.e
	e.learn(&c.After)
	name := e.opName(c.After.ID)
	what := tagOf(ctx) + " write " + name + " v" + strconv.FormatInt(c.After.Version, 10) + " " + c.After.State.String()
	w.begin(ctx, name, c)
	w.p.stand(what, 0)
	out, err := w.inner.Write(ctx, c)
	w.p.stand(what+" answered", 0)
	if err == nil && out.Applied {
		if c.Tool != nil {
			e.audit.Paused(w.p.name, string(c.Tool.Tool), c.Tool.Paused)
		}
	}
	return out, err
}

// Read implements onceward.Writer.
func (w *pen) Read(ctx context.Context, id onceward.OperationID) (*onceward.Operation, error) {
	what := tagOf(ctx) + " read " + w.p.e.opName(id)
	w.p.stand(what, 0)
	op, err := w.inner.Read(ctx, id)
	// No request stands still for longer than what it is about is kept: it would
	// have timed out, and what it says is of the use before (docs/guarantees.md).
	if u, named := ctx.Value(useKey{}).(*use); named && !u.read && op != nil {
		if u.read = true; int(op.Generation) != u.generation {
			op, err = nil, unreachable(what)
		}
	}
	w.p.stand(what+" answered", 0)
	return op, err
}
