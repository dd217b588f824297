package storetest

import (
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// Opened is a store on a fresh, empty database.
type Opened struct {
	// Store is the handle under test. Whoever opens it closes it in a Cleanup.
	Store onceward.Store

	// Again opens another handle on the same database, as another process
	// would. It closes it in a Cleanup.
	Again func(t *testing.T) onceward.Store

	// Advance moves the database's clock, for all handles. Nil where that
	// cannot be done: the suite then waits until the clock has passed by itself,
	// for a twentieth of a second at most.
	Advance func(d time.Duration)

	// SideBodies counts the parts that the side table holds of all operations:
	// what is not needed any more must be gone, and no load shows that. Nil where
	// nobody can look.
	SideBodies func(t *testing.T) int

	// Journal reads the whole journal in the order of its positions: one
	// element a commit.
	Journal func(t *testing.T) [][]store.Entry

	// Begin opens a transaction of a caller's own on the same database and joins it.
	// Nil where that cannot be done.
	Begin func(t testing.TB) (j onceward.Join, commit, rollback func() error)

	// OneWriter says that one transaction at a time can write.
	OneWriter bool
}

// Run runs the suite. open is called once a test, and from several tests at
// once.
func Run(t *testing.T, open func(t *testing.T) Opened) {
	t.Helper()
	for _, group := range [][]situation{
		tokens, sessions, claims, updates, reruns, aliases, dues, backlogs, parked, listings, bodies, details,
		tombstones, replicas, switches, contracts, signings, documents, earlyApprovals, runRows, bulkReplays, sagas, inboxEvents, outboxes, joins, decisions, audits, noted, gaps, dataKeys, holds, counts, times, refusals, contexts, handles,
	} {
		for _, s := range group {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				s.test(newFixture(t, open(t)))
			})
		}
	}
}

// RunRows runs the part of the suite that is about rows beside the operations.
func RunRows(t *testing.T, open func(t *testing.T) Opened) {
	t.Helper()
	for _, group := range [][]situation{documents, earlyApprovals, runRows, sagas, inboxEvents, decisions} {
		for _, s := range group {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				s.test(newFixture(t, open(t)))
			})
		}
	}
}

// RunSealed runs what a store has to keep that encrypts rows beside the
// operations. plain opens another handle on the same database, without encryption.
func RunSealed(t *testing.T, open func(t *testing.T) (o Opened, plain func(t *testing.T) onceward.Store)) {
	t.Helper()
	for _, s := range concealed {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			o, plain := open(t)
			s.test(newFixture(t, o), plain(t))
		})
	}
}

// RunJoins runs the part of the suite that is about callers' transactions, for a
// store that can be joined in several ways.
func RunJoins(t *testing.T, open func(t *testing.T) Opened) {
	t.Helper()
	for _, s := range joins {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s.test(newFixture(t, open(t)))
		})
	}
}

// situation is one test of the suite.
type situation struct {
	name string
	test func(f *fixture)
}
