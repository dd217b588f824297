package oncewardtest

import (
	"context"
	"sync"
	"time"

	"github.com/onceward/onceward"
)

// CommitFault is what a FaultyStore does with one commit.
type CommitFault uint8

// The faults of a commit. Zero is none.
const (
	CommitSound         CommitFault = iota
	CommitRefused                   // the ledger cannot be reached: nothing is written
	CommitLostUnwritten             // the connection breaks inside the commit, and nothing was written
	CommitLostWritten               // the connection breaks inside the commit, and all of it was written
	CommitTooLarge                  // the data is refused: nothing is written
)

// FaultyStore stands in front of a store and fails on command, as a database
// does that is out of reach, read-only, or loses its connection in the middle of
// a commit. It is one process's view: another process has its own.
type FaultyStore struct {
	inner onceward.Store

	mu       sync.Mutex
	away     bool
	readOnly bool
	script   []CommitFault
	before   func([]onceward.Change)
	commits  int
}

var _ onceward.Store = (*FaultyStore)(nil)

// NewFaultyStore returns a store that works until told otherwise. It closes the
// inner one with itself.
func NewFaultyStore(inner onceward.Store) *FaultyStore { return &FaultyStore{inner: inner} }

// GoAway makes every call fail with CodeLedgerUnavailable until ComeBack.
func (s *FaultyStore) GoAway() { s.set(true, false) }

// GoReadOnly makes every call that writes fail with CodeLedgerReadOnly until ComeBack.
func (s *FaultyStore) GoReadOnly() { s.set(false, true) }

// ComeBack lets everything through again, and forgets what was scripted.
func (s *FaultyStore) ComeBack() {
	s.set(false, false)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = nil
}

func (s *FaultyStore) set(away, readOnly bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away, s.readOnly = away, readOnly
}

// ScriptCommits makes the next commits meet these faults, in order.
func (s *FaultyStore) ScriptCommits(fs ...CommitFault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = append(s.script, fs...)
}

// BeforeCommit calls fn ahead of every commit, until it is called with nil. What
// fn does to the same database happens before the commit.
func (s *FaultyStore) BeforeCommit(fn func(batch []onceward.Change)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = fn
}

// Commits counts the commits that reached the store.
func (s *FaultyStore) Commits() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.commits
}

// Commit implements onceward.Store.
func (s *FaultyStore) Commit(ctx context.Context, batch []onceward.Change) (onceward.Commit, error) {
	s.mu.Lock()
	before, fault := s.before, CommitSound
	if len(s.script) > 0 {
		fault, s.script = s.script[0], s.script[1:]
	}
	s.mu.Unlock()
	if before != nil {
		before(batch)
	}
	if err := s.writable("commit batch"); err != nil {
		return onceward.Commit{}, err
	}
	lost := &onceward.Error{Code: onceward.CodeMayBeRecorded, Op: "commit batch", Message: "the connection was lost inside the commit", Hint: "ask again with the same key"}
	switch fault {
	case CommitRefused:
		return onceward.Commit{}, unreachable("commit batch")
	case CommitLostUnwritten:
		return onceward.Commit{}, lost
	case CommitTooLarge:
		return onceward.Commit{}, onceward.Errorf(onceward.CodeTooLarge, "a value is too long")
	case CommitSound, CommitLostWritten:
	}
	out, err := s.inner.Commit(ctx, batch)
	s.mu.Lock()
	s.commits++
	s.mu.Unlock()
	if fault == CommitLostWritten && err == nil {
		return onceward.Commit{}, lost
	}
	return out, err
}

func unreachable(op string) error {
	return &onceward.Error{Code: onceward.CodeLedgerUnavailable, Op: op, Message: "the ledger cannot be reached", Hint: "ask again later with the same key"}
}

func (s *FaultyStore) readable(op string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away {
		return unreachable(op)
	}
	return nil
}

func (s *FaultyStore) writable(op string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.away:
		return unreachable(op)
	case s.readOnly:
		return &onceward.Error{Code: onceward.CodeLedgerReadOnly, Op: op, Message: "the ledger takes no writes", Hint: "look at the database"}
	}
	return nil
}

// Load implements onceward.Store.
func (s *FaultyStore) Load(ctx context.Context, ids []onceward.OperationID) ([]*onceward.Operation, error) {
	if err := s.readable("load operations"); err != nil {
		return nil, err
	}
	return s.inner.Load(ctx, ids)
}

// LoadDetail implements onceward.Store.
func (s *FaultyStore) LoadDetail(ctx context.Context, id onceward.OperationID) (onceward.Detail, error) {
	if err := s.readable("load timeline"); err != nil {
		return onceward.Detail{}, err
	}
	return s.inner.LoadDetail(ctx, id)
}

// List implements onceward.Store.
func (s *FaultyStore) List(ctx context.Context, f onceward.Filter) ([]*onceward.Operation, error) {
	if err := s.readable("list operations"); err != nil {
		return nil, err
	}
	return s.inner.List(ctx, f)
}

// Search implements onceward.Store.
func (s *FaultyStore) Search(ctx context.Context, f onceward.Filter, scan int) ([]*onceward.Operation, onceward.Cursor, error) {
	if err := s.readable("search operations"); err != nil {
		return nil, onceward.Cursor{}, err
	}
	return s.inner.Search(ctx, f, scan)
}

// CountWaiting implements onceward.BacklogStore.
func (s *FaultyStore) CountWaiting(ctx context.Context, t onceward.Tenant, states []onceward.State, most int) ([]onceward.Waiting, error) {
	if err := s.readable("count what waits"); err != nil {
		return nil, err
	}
	return s.inner.CountWaiting(ctx, t, states, most)
}

// TakeDue implements onceward.Store.
func (s *FaultyStore) TakeDue(ctx context.Context, limit int, hold time.Duration, except ...onceward.Workload) ([]onceward.Due, time.Time, error) {
	if err := s.writable("take due rows"); err != nil {
		return nil, time.Time{}, err
	}
	return s.inner.TakeDue(ctx, limit, hold, except...)
}

// Reschedule implements onceward.Store.
func (s *FaultyStore) Reschedule(ctx context.Context, d onceward.Due) error {
	if err := s.writable("reschedule due row"); err != nil {
		return err
	}
	return s.inner.Reschedule(ctx, d)
}

// NextDue implements onceward.Store.
func (s *FaultyStore) NextDue(ctx context.Context) (time.Time, time.Time, error) {
	if err := s.readable("read next due time"); err != nil {
		return time.Time{}, time.Time{}, err
	}
	return s.inner.NextDue(ctx)
}

// Unpark implements onceward.Store.
func (s *FaultyStore) Unpark(ctx context.Context, t onceward.Tenant, tool onceward.ToolName, why onceward.ParkReason, limit int) (int, error) {
	if err := s.writable("release parked rows"); err != nil {
		return 0, err
	}
	return s.inner.Unpark(ctx, t, tool, why, limit)
}

// Beat implements onceward.Store.
func (s *FaultyStore) Beat(ctx context.Context, r onceward.Replica) ([]onceward.Replica, time.Time, error) {
	if err := s.writable("record heartbeat"); err != nil {
		return nil, time.Time{}, err
	}
	return s.inner.Beat(ctx, r)
}

// Forget implements onceward.Store.
func (s *FaultyStore) Forget(ctx context.Context, replica string) error {
	if err := s.writable("forget replica"); err != nil {
		return err
	}
	return s.inner.Forget(ctx, replica)
}

// Stranded implements onceward.Store.
func (s *FaultyStore) Stranded(ctx context.Context, replica string, from, to time.Time, limit int) ([]*onceward.Operation, error) {
	if err := s.readable("list stranded operations"); err != nil {
		return nil, err
	}
	return s.inner.Stranded(ctx, replica, from, to, limit)
}

// Switches implements onceward.Store.
func (s *FaultyStore) Switches(ctx context.Context) ([]onceward.ToolSwitch, error) {
	if err := s.readable("load switches"); err != nil {
		return nil, err
	}
	return s.inner.Switches(ctx)
}

// SetSwitch implements onceward.Store.
func (s *FaultyStore) SetSwitch(ctx context.Context, sw onceward.ToolSwitch, notes ...onceward.AuditEvent) error {
	if err := s.writable("set switch"); err != nil {
		return err
	}
	return s.inner.SetSwitch(ctx, sw, notes...)
}

// Activate implements onceward.Store.
func (s *FaultyStore) Activate(ctx context.Context, c onceward.ContractVersion, force bool, notes ...onceward.AuditEvent) error {
	if err := s.writable("activate contract"); err != nil {
		return err
	}
	return s.inner.Activate(ctx, c, force, notes...)
}

// Contract implements onceward.Store.
func (s *FaultyStore) Contract(ctx context.Context, tool onceward.ToolName, version string) (onceward.ContractVersion, error) {
	if err := s.readable("load contract"); err != nil {
		return onceward.ContractVersion{}, err
	}
	return s.inner.Contract(ctx, tool, version)
}

// ActiveContracts implements onceward.Store.
func (s *FaultyStore) ActiveContracts(ctx context.Context) ([]onceward.ContractVersion, error) {
	if err := s.readable("list contracts"); err != nil {
		return nil, err
	}
	return s.inner.ActiveContracts(ctx)
}

// Aged implements onceward.Store.
func (s *FaultyStore) Aged(ctx context.Context, after onceward.Cursor, before time.Time, limit int) ([]*onceward.Operation, error) {
	if err := s.readable("list aged operations"); err != nil {
		return nil, err
	}
	return s.inner.Aged(ctx, after, before, limit)
}

// Drop implements onceward.Store.
func (s *FaultyStore) Drop(ctx context.Context, rows []onceward.Tombstone) (int, error) {
	if err := s.writable("drop tombstones"); err != nil {
		return 0, err
	}
	return s.inner.Drop(ctx, rows)
}

// Now implements onceward.Store.
func (s *FaultyStore) Now(ctx context.Context) (time.Time, error) {
	if err := s.readable("read clock"); err != nil {
		return time.Time{}, err
	}
	return s.inner.Now(ctx)
}

// Check implements onceward.Store.
func (s *FaultyStore) Check(ctx context.Context) error {
	if err := s.writable("check ledger"); err != nil {
		return err
	}
	return s.inner.Check(ctx)
}

// Close implements onceward.Store.
func (s *FaultyStore) Close() error { return s.inner.Close() }
