package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/contract"
	"github.com/onceward/onceward/internal/rig"
	"github.com/onceward/onceward/provider/httpcall"
	"github.com/onceward/onceward/store/sqlite"
)

// patience is how long a caller asks again for the end of its operation.
const patience = time.Minute

// engine is a ledger in a file, with a replica that works and one that dies.
type engine struct {
	*rig.Rig // the replica that works
	dies     *onceward.Ledger
	stop     func() error
}

func openEngine(ctx context.Context, dir, origin string) (*engine, error) {
	env := func(string) (string, bool) { return "", false }
	loaded, err := contract.Load([]byte(contracts(origin)), "faults.yaml", contract.Options{Env: env, ByteTail: contract.NoByteTail})
	if err != nil {
		return nil, err
	}
	tools := make([]onceward.Tool, len(loaded))
	for i := range loaded {
		tools[i] = loaded[i]
	}
	store, err := sqlite.Open(ctx, filepath.Join(dir, "ledger.db"), sqlite.Options{})
	if err != nil {
		return nil, err
	}
	client := httpcall.New(httpcall.Options{})
	release := func() error { client.Close(); return store.Close() }
	e := &engine{}
	if e.Rig, err = rig.New(ctx, onceward.Options{Store: store, Provider: client}, nil, tools...); err != nil {
		return nil, errors.Join(err, release())
	}
	e.stop = func() error { return errors.Join(e.Close(ctx), release()) }
	// The other replica gets as far as the provider's answer and not a step
	// further. It has no loops: its heart stands still.
	opts := e.Options
	opts.CrashPoint = func(name string) {
		if name == "dispatch.after_response" {
			select {}
		}
	}
	if e.dies, err = onceward.New(opts); err != nil {
		return nil, errors.Join(err, e.stop())
	}
	if err := e.dies.Start(ctx); err != nil {
		return nil, errors.Join(err, e.stop())
	}
	e.Run(ctx)
	return e, nil
}

// handle asks until the operation has an end, always under the same key.
func (e *engine) handle(ctx context.Context, c *class, ref, words string, dies bool) (said, error) {
	in := onceward.Intent{Principal: onceward.LocalPrincipal(), Tool: onceward.ToolName(c.tool), Input: []byte(c.input(ref, words)), Wait: 10 * time.Second}
	if dies {
		in.Wait = 2 * deadline
		_, err := e.dies.Submit(ctx, in)
		return saidNothing, err
	}
	for began := time.Now(); time.Since(began) < patience; {
		a, err := e.Ledger.Submit(ctx, in)
		if err != nil {
			return saidFailed, err
		}
		switch a.Operation.State {
		case onceward.StateSucceeded, onceward.StateCompensated:
			return saidDone, nil
		case onceward.StateNeedsReview, onceward.StateAwaitingApproval:
			return saidAsk, nil
		case onceward.StateFailed, onceward.StateCancelled, onceward.StateAbandoned:
			return saidFailed, nil
		case onceward.StateReady, onceward.StateEffectPending, onceward.StateOutcomeUnknown:
		}
	}
	return saidAsk, fmt.Errorf("%s %s had no end after %s", c.tool, strings.TrimSpace(ref), patience)
}
