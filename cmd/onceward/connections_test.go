package main

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/internal/proctest"
	"github.com/onceward/onceward/internal/testdb"
)

// A replica opens no more than is counted for it: one connection for commits, and
// pool_max_conns for the rest.
func TestReplicaOpensNoMoreConnectionsThanItIsAllowed(t *testing.T) {
	t.Parallel()
	const reads = 3
	dsn := testdb.Postgres(t)
	provider := proctest.NewProvider(t)
	replica := simServer(t, fmt.Sprintf("%s&application_name=counted&pool_max_conns=%d", dsn, reads), provider)
	replica.Start("")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var callers sync.WaitGroup
	for c := range 32 {
		callers.Go(func() {
			for i := range 5 {
				for _, w := range []write{writesOf(c*5 + i)[0], writesOf(i)[0]} {
					if _, err := replica.Call(t.Context(), w.tool, w.input, 30*time.Second); err != nil {
						t.Errorf("%s: %v", w.reference, err)
					}
				}
			}
		})
	}
	go func() { callers.Wait(); cancel() }()
	most := 0
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	for ctx.Err() == nil {
		var n int
		if err := conn.QueryRow(t.Context(), "select count(*) from pg_stat_activity where application_name = 'counted'").Scan(&n); err != nil {
			t.Fatal(err)
		}
		most = max(most, n)
	}
	callers.Wait()
	if most != 1+reads {
		t.Errorf("a busy replica had %d connections, want one for commits and %d for the rest", most, reads)
	}
}
