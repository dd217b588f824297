package memory

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// Options configure a store. The zero value is ready to use.
type Options struct {
	// Now is the store's clock; nil: the wall clock. It must not go back.
	Now func() time.Time
}

// Store is one handle on a set of operations in memory. It is safe for
// concurrent use.
type Store struct {
	data   *data
	mu     sync.RWMutex
	closed bool
}

var _ onceward.Store = (*Store)(nil)

// data is what all handles share.
type data struct {
	mu        sync.RWMutex
	clock     func() time.Time
	tokens    map[onceward.TokenID]onceward.Token
	sessions  map[onceward.SessionHash]onceward.Session
	rows      map[onceward.OperationID]*stored
	aliases   map[onceward.OperationID]onceward.OperationID
	due       map[onceward.OperationID]*onceward.Due
	switches  map[switchKey]onceward.ToolSwitch
	contracts map[onceward.ToolName][]onceward.ContractVersion
	replicas  map[string]onceward.Replica
	runs      map[onceward.RunID]*kept
	replays   map[onceward.BulkReplayID]*kept
	sagas     map[onceward.SagaID]*kept
	inbox     map[onceward.InboxID]*keptEvent
	decisions map[onceward.DecisionID]*kept
	documents map[documentKey]keptDocument
	early     map[onceward.OperationID][]onceward.EarlyApproval
	trail     trail
	signings  []onceward.ContractSigning
	tallies   map[tallyKey]int64
	gaps      map[string]string // values by name, as the other stores keep them
	dataKeys  map[onceward.DataKeyID]*onceward.DataKey
	holds     map[onceward.HoldID]onceward.Hold
	outbox    outbox
}

// stored is one operation as a database would keep it.
type stored struct {
	row     store.Row
	bodies  []store.Body
	records []store.RecordRow
}

type switchKey struct {
	tenant onceward.Tenant
	tool   onceward.ToolName
}

// New returns an empty store.
func New(opts Options) *Store {
	clock := opts.Now
	if clock == nil {
		clock = time.Now
	}
	return &Store{data: &data{
		clock:     clock,
		tokens:    map[onceward.TokenID]onceward.Token{},
		sessions:  map[onceward.SessionHash]onceward.Session{},
		rows:      map[onceward.OperationID]*stored{},
		aliases:   map[onceward.OperationID]onceward.OperationID{},
		due:       map[onceward.OperationID]*onceward.Due{},
		switches:  map[switchKey]onceward.ToolSwitch{},
		contracts: map[onceward.ToolName][]onceward.ContractVersion{},
		replicas:  map[string]onceward.Replica{},
		runs:      map[onceward.RunID]*kept{},
		replays:   map[onceward.BulkReplayID]*kept{},
		sagas:     map[onceward.SagaID]*kept{},
		inbox:     map[onceward.InboxID]*keptEvent{},
		decisions: map[onceward.DecisionID]*kept{},
		documents: map[documentKey]keptDocument{},
		early:     map[onceward.OperationID][]onceward.EarlyApproval{},
		trail:     newTrail(),
		tallies:   map[tallyKey]int64{},
		dataKeys:  map[onceward.DataKeyID]*onceward.DataKey{},
		gaps:      map[string]string{},
		holds:     map[onceward.HoldID]onceward.Hold{},
		outbox:    outbox{sinks: map[string]*keptSink{}},
	}}
}

// Again returns another handle on the same operations, as another process would
// have on a database. Each handle is closed on its own.
func (s *Store) Again() *Store { return &Store{data: s.data} }

// Journal returns the journal, one element a commit, oldest first.
func (s *Store) Journal() [][]store.Entry {
	s.data.mu.RLock()
	defer s.data.mu.RUnlock()
	var all [][]store.Entry
	for _, r := range s.data.trail.rows[onceward.SourceJournal] {
		all = append(all, slices.Clone(r.Entries))
	}
	return all
}

// SideBodies counts the long parts that are kept beside the rows.
func (s *Store) SideBodies() int {
	s.data.mu.RLock()
	defer s.data.mu.RUnlock()
	n := 0
	for _, old := range s.data.rows {
		n += len(old.bodies)
	}
	return n
}

// Now is the store's clock.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	if err := s.open(ctx, "read clock"); err != nil {
		return time.Time{}, err
	}
	return s.data.now(), nil
}

// Check reports whether the handle is open.
func (s *Store) Check(ctx context.Context) error { return s.open(ctx, "check ledger") }

// Close closes this handle; the operations stay with the others.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

// open refuses what is done on a closed handle or under an ended context.
func (s *Store) open(ctx context.Context, op string) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return store.Closed(op)
	}
	if err := ctx.Err(); err != nil {
		return store.Canceled(op, err)
	}
	return nil
}

// read runs fn under the read lock.
func (s *Store) read(ctx context.Context, op string, fn func(d *data) error) error {
	if err := s.open(ctx, op); err != nil {
		return err
	}
	s.data.mu.RLock()
	defer s.data.mu.RUnlock()
	return fn(s.data)
}

// write runs fn under the write lock.
func (s *Store) write(ctx context.Context, op string, fn func(d *data) error) error {
	if err := s.open(ctx, op); err != nil {
		return err
	}
	s.data.mu.Lock()
	defer s.data.mu.Unlock()
	return fn(s.data)
}

func (d *data) now() time.Time { return store.Stored(d.clock()) }
