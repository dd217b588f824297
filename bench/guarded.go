package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strconv"
	"sync/atomic"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/committer"
	"github.com/onceward/onceward/internal/httpapi"
	"github.com/onceward/onceward/worker"
)

// counting counts the batches that reach a store, and the changes in them.
type counting struct {
	onceward.Store
	commits, changes atomic.Int64
}

// Commit implements onceward.Store.
func (c *counting) Commit(ctx context.Context, batch []onceward.Change) (onceward.Commit, error) {
	c.commits.Add(1)
	c.changes.Add(int64(len(batch)))
	return c.Store.Commit(ctx, batch)
}

// guarded is a whole engine over one store: library and server.
type guarded struct {
	store  *counting
	group  *committer.Committer
	ledger *onceward.Ledger
	http   *httptest.Server
	stop   func()
}

func newGuarded(ctx context.Context, s onceward.Store, p onceward.Provider, tool onceward.Tool) (*guarded, error) {
	g := &guarded{store: &counting{Store: s}}
	registry := onceward.NewRegistry(g.store, nil)
	if err := registry.Activate(ctx, []onceward.Tool{tool}, true); err != nil {
		return nil, err
	}
	g.group = committer.New(g.store, committer.Options{})
	var err error
	if g.ledger, err = onceward.New(onceward.Options{Store: g.store, Writer: g.group, Tools: registry, Provider: p}); err != nil {
		return nil, err
	}
	if err := g.ledger.Start(ctx); err != nil {
		return nil, err
	}
	log := slog.New(slog.DiscardHandler)
	loops, cancel := context.WithCancel(ctx)
	due := worker.NewDue(g.ledger, g.store, log)
	wait := worker.Start(loops, onceward.SystemClock{}, log, due, worker.NewStranded(g.ledger), worker.NewSwitches(g.ledger))
	api, err := httpapi.New(httpapi.Options{Ledger: g.ledger})
	if err != nil {
		cancel()
		return nil, err
	}
	g.http = httptest.NewServer(api)
	g.stop = func() {
		g.http.Close()
		cancel()
		wait()
		due.Wait()
		_ = g.ledger.Close(context.WithoutCancel(ctx))
		g.group.Close()
	}
	return g, nil
}

// submit asks the library. want is the decision that proves the path.
func (g *guarded) submit(prefix string, want onceward.Decision) work {
	return func(ctx context.Context, n int64) error {
		a, err := g.ledger.Submit(ctx, onceward.Intent{Principal: onceward.LocalPrincipal(), Tool: "bench.charge", Input: input,
			CallerKey: onceward.Key(prefix + strconv.FormatInt(n, 10)), Wait: onceward.DefaultWait})
		if err != nil {
			return err
		}
		if a.Operation.State != onceward.StateSucceeded || a.Decision != want {
			return fmt.Errorf("library: %s, %s; want succeeded, %s", a.Operation.State, a.Decision, want)
		}
		return nil
	}
}

func (g *guarded) url() string { return g.http.URL + "/v1/tools/bench.charge/call?wait=30s" }
