package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store/postgres"
)

// ledgersAlone is ledgerAlone over one connection and another, as two replicas have
// them, whose batches are committed side by side.
func (s *suite) ledgersAlone(ctx context.Context, dsn string, first onceward.Store, wal func() int64) error {
	second, err := postgres.Open(ctx, dsn, postgres.Options{})
	if err != nil {
		return err
	}
	const size = 100
	idle := make(chan work, 2)
	idle <- s.aloneWork(first, size, "first-")
	idle <- s.aloneWork(second, size, "second-")
	s.each = size
	err = s.phase(ctx, fmt.Sprintf("ledger alone, PostgreSQL, two connections, batches of %d", size), cap(idle), func(ctx context.Context, n int64) error {
		w := <-idle
		defer func() { idle <- w }()
		return w(ctx, n)
	}, nil, wal)
	s.each = 1
	return errors.Join(err, second.Close())
}

// replicas measures several ledgers on one database, which share the callers.
func (s *suite) replicas(ctx context.Context, dsn string, wal func() int64) error {
	const most, callers = 3, 64
	var all []*guarded
	var stores []onceward.Store
	stop := func() (err error) {
		for i, g := range all {
			g.stop()
			err = errors.Join(err, stores[i].Close())
		}
		return err
	}
	for n := 1; n <= most; n++ {
		store, err := postgres.Open(ctx, dsn, postgres.Options{})
		if err != nil {
			return errors.Join(err, stop())
		}
		g, err := newGuarded(ctx, store, s.provider, s.tools)
		if err != nil {
			return errors.Join(err, store.Close(), stop())
		}
		all, stores = append(all, g), append(stores, store)
		var work []work
		for i, g := range all {
			work = append(work, g.submit(plainTool, fmt.Sprintf("r%d-%d-", n, i), onceward.DecisionFresh))
		}
		err = s.phase(ctx, fmt.Sprintf("library, %d replicas, PostgreSQL", n), callers,
			func(ctx context.Context, at int64) error { return work[at%int64(n)](ctx, at) }, nil, wal)
		if err != nil {
			return errors.Join(err, stop())
		}
	}
	return stop()
}
