package postgres_test

import (
	"fmt"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/testdb"
	"github.com/onceward/onceward/store/postgres"
)

// An undisturbed operation costs the database two writes of one row. What makes
// them dear is easily added without a thought: an index on a column that
// changes, or a row that does not fit its page any more.
func TestUndisturbedOperationIsCheap(t *testing.T) {
	t.Parallel()
	server := testdb.Cluster(t, "autovacuum=off", "full_page_writes=off")
	for _, c := range []struct {
		name   string
		batch  int
		lean   bool    // without an input and a request of 86 and 150 bytes
		logMax float64 // bytes of log for an operation
	}{
		{"alone", 1, false, 1550}, {"in batches", 100, false, 1180}, {"lean in batches", 100, true, 1040},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, conn := open(t, server.DSN(), postgres.Options{}), connect(t, server.DSN())
			const operations = 2000
			start := walPosition(t, conn)
			for n := 0; n < operations; n += c.batch {
				claims, ends := make([]onceward.Change, c.batch), make([]onceward.Change, c.batch)
				for i := range claims {
					op := claimed(fmt.Sprint(c.name, n+i))
					if c.lean {
						op.Input, op.Request = nil, nil
					}
					claims[i], ends[i] = onceward.Change{After: op}, onceward.Change{Before: 1, After: succeeded(op)}
				}
				mustCommit(t, s, claims...)
				mustCommit(t, s, ends...)
			}
			bytes := float64(walPosition(t, conn)-start) / operations
			hot := hotShare(t, s, conn)
			t.Logf("%.0f bytes of log an operation, %.0f %% of the updates stay on their page", bytes, hot)
			if bytes > c.logMax {
				t.Errorf("an operation costs %.0f bytes of log, want at most %.0f", bytes, c.logMax)
			}
			if hot < 95 {
				t.Errorf("%.0f %% of the updates stay on their page, want at least 95 %%", hot)
			}
		})
	}
}
