package main

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"strconv"
	"sync/atomic"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/httpapi"
	"github.com/onceward/onceward/internal/rig"
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
	ledger *onceward.Ledger
	http   *httptest.Server
	stop   func()
}

func newGuarded(ctx context.Context, s onceward.Store, p onceward.Provider, tools []onceward.Tool) (*guarded, error) {
	g := &guarded{store: &counting{Store: s}}
	r, err := rig.New(ctx, onceward.Options{Store: g.store, Provider: p}, nil, tools...)
	if err != nil {
		return nil, err
	}
	g.ledger = r.Ledger
	api, err := httpapi.New(httpapi.Options{Ledger: g.ledger})
	if err != nil {
		return nil, errors.Join(err, r.Close(ctx))
	}
	r.Run(ctx)
	g.http = httptest.NewServer(api)
	g.stop = func() {
		g.http.Close()
		_ = r.Close(ctx)
	}
	return g, nil
}

// submit asks the library. want is the decision that proves the path.
func (g *guarded) submit(tool onceward.ToolName, prefix string, want onceward.Decision) work {
	return func(ctx context.Context, n int64) error {
		a, err := g.ledger.Submit(ctx, onceward.Intent{Principal: onceward.LocalPrincipal(), Tool: tool, Input: input,
			CallerKey: onceward.Key(prefix + strconv.FormatInt(n, 10)), Wait: onceward.MaxWait})
		if err != nil {
			return err
		}
		if a.Operation.State != onceward.StateSucceeded || a.Decision != want {
			return fmt.Errorf("library: %s, %s; want succeeded, %s", a.Operation.State, a.Decision, want)
		}
		return nil
	}
}

// mostlyFresh asks the library; one request in ten repeats an earlier one.
func (g *guarded) mostlyFresh(prefix string) work {
	fresh, again := g.submit(plainTool, prefix, onceward.DecisionFresh), g.submit(plainTool, prefix+"done-", onceward.DecisionReplayed)
	return func(ctx context.Context, n int64) error {
		if n%10 == 0 {
			return again(ctx, 0)
		}
		return fresh(ctx, n)
	}
}

func (g *guarded) url() string {
	return g.http.URL + "/v1/tools/" + string(plainTool) + "/call?wait=30s"
}
