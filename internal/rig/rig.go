package rig

import (
	"context"
	"errors"
	"log/slog"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/committer"
	"github.com/onceward/onceward/worker"
)

// Rig is a started ledger and what it stands on.
type Rig struct {
	Ledger  *onceward.Ledger
	Options onceward.Options // of the ledger: what another replica is made of
	Due     *worker.Due      // takes up what is due; nothing steps it before Run

	group *committer.Committer
	stop  func() // the loops
}

// New puts the tools in force on the store of the options and starts a ledger with
// them; Writer and Tools of the options are made here. The store stays the
// caller's, and open.
func New(ctx context.Context, o onceward.Options, compile onceward.Compiler, tools ...onceward.Tool) (*Rig, error) {
	registry := onceward.NewRegistry(o.Store, compile)
	if err := registry.Activate(ctx, tools, true); err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	r := &Rig{group: committer.New(o.Store, committer.Options{Clock: o.Clock}), stop: func() {}}
	o.Writer, o.Tools = r.group, registry
	r.Options = o
	var err error
	if r.Ledger, err = onceward.New(o); err != nil {
		r.group.Close()
		return nil, err
	}
	r.Due = worker.NewDue(r.Ledger, o.Store, o.Log)
	if err := r.Ledger.Start(ctx); err != nil {
		return nil, errors.Join(err, r.Close(ctx))
	}
	return r, nil
}

// Run starts the loops without which operations come to no end: what is due, what
// a dead replica left, and what was paused.
func (r *Rig) Run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	wait := worker.Start(ctx, onceward.SystemClock{}, r.Options.Log, r.Due, worker.NewStranded(r.Ledger), worker.NewSwitches(r.Ledger))
	r.stop = func() { cancel(); wait() }
}

// Close ends the loops and the ledger, in that order, even when the context is over.
func (r *Rig) Close(ctx context.Context) error {
	r.stop()
	r.Due.Wait()
	err := r.Ledger.Close(context.WithoutCancel(ctx))
	r.group.Close()
	return err
}
