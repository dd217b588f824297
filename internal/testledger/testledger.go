package testledger

import (
	"context"
	"testing"

	"github.com/onceward/onceward/internal/testdb"
	"github.com/onceward/onceward/store/postgres"
)

// NewPool returns a pool of schemas of an empty ledger. Whoever makes it closes it.
func NewPool() *testdb.Pool {
	return &testdb.Pool{Prepare: func(ctx context.Context, dsn string) error {
		s, err := postgres.Open(ctx, dsn, postgres.Options{})
		if err != nil {
			return err
		}
		return s.Close()
	}}
}

// PoolOf returns one that is closed when the test with its subtests has ended.
func PoolOf(tb testing.TB) *testdb.Pool {
	tb.Helper()
	p := NewPool()
	tb.Cleanup(func() {
		if err := p.Close(); err != nil {
			tb.Error(err)
		}
	})
	return p
}
