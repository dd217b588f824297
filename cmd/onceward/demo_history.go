package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/contract"
	"github.com/onceward/onceward/internal/rig"
	"github.com/onceward/onceward/provider/httpcall"
	"github.com/onceward/onceward/store/sqlite"
	"github.com/onceward/onceward/worker"
)

// historyHours is how far the history of a demonstration that stays up goes back.
const historyHours = 7 * 24

// history is a week of a business, played before the server starts: the same
// machine, contracts and provider, on the server's own ledger, and a clock that
// runs through the week in seconds. Why not rows written by hand: what the console
// shows of the past has happened, by the provider's own books too.
type history struct {
	*demo
	clock  *pastClock
	rig    *rig.Rig
	ledger *onceward.Ledger // of the rig
	steps  []worker.Loop    // after what is due: what else a server's workers would do
	close  func() error

	hour int
	late []func(context.Context) error // what people still do about an earlier hour
}

// The people of the history. The agent is the one that works on later.
var (
	pastAgent    = pastPerson("agent", onceward.RoleCaller)
	pastApprover = pastPerson("lena", onceward.RoleApprover)
	pastOperator = pastPerson("omar", onceward.RoleOperator)
)

func pastPerson(name string, role onceward.Role) onceward.Principal {
	return onceward.Principal{Tenant: onceward.DefaultTenant, Issuer: onceward.IssuerToken, Subject: name, Roles: []onceward.Role{role}, Groups: []string{"support-leads", "legal", "platform"}}
}

// lookBack plays the history.
func (d *demo) lookBack(ctx context.Context) (err error) {
	d.say("A week is played first, by a clock of its own, so that there is something to look back on ...")
	h, err := d.openHistory(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	for h.hour = range historyHours {
		if err := h.playHour(ctx); err != nil {
			return fmt.Errorf("hour %d of the history: %w", h.hour, err)
		}
	}
	return nil
}

func (d *demo) openHistory(ctx context.Context) (h *history, err error) {
	now := time.Now()
	h = &history{demo: d, clock: &pastClock{behind: now.Sub(now.Truncate(time.Hour)) + historyHours*time.Hour}}
	opts := contractOptions()
	opts.Env = func(name string) (string, bool) { return d.sim, name == "SIM_URL" }
	set, err := loadContracts([]string{filepath.Join(d.dir, "contracts")}, opts)
	if err != nil {
		return nil, err
	}
	store, err := sqlite.Open(ctx, d.ledgerFile(), sqlite.Options{Now: h.clock.Now})
	if err != nil {
		return nil, err
	}
	client := httpcall.New(httpcall.Options{Version: versionText()})
	release := func() error { client.Close(); return store.Close() }
	h.rig, err = rig.New(ctx, onceward.Options{Store: store, Provider: pastProvider{client, h.clock}, Clock: h.clock, CheckOutput: contract.CheckOutput}, contract.Compiler(opts), set.tools...)
	if err != nil {
		return nil, errors.Join(err, release())
	}
	h.ledger = h.rig.Ledger
	h.close = func() error { h.quiet(); return errors.Join(h.rig.Close(ctx), release()) }
	auditor := &onceward.Auditor{Store: store, Now: store.Now, Actor: h.ledger.Owner()}
	h.steps = []worker.Loop{worker.NewSwitches(h.ledger), worker.NewSagas(h.ledger), worker.NewReplays(h.ledger), worker.NewTally(h.ledger), worker.NewSeal(auditor)}
	return h, nil
}

func (h *history) quiet() {
	h.rig.Due.Wait()
	h.ledger.WaitIdle()
}

// pass lets time go by, and the workers do what has come due.
func (h *history) pass(ctx context.Context, d time.Duration) error {
	h.clock.pass(d)
	if _, _, err := h.ledger.Beat(ctx); err != nil {
		return err
	}
	return h.settle(ctx)
}

// settle steps the workers until none has anything left to do now.
func (h *history) settle(ctx context.Context) error {
	h.quiet()
	for range 200 {
		worked, err := h.rig.Due.Step(ctx)
		h.quiet()
		for _, loop := range h.steps {
			did, failed := loop.Step(ctx)
			worked, err = worked || did, errors.Join(err, failed)
		}
		if err != nil || !worked {
			return err
		}
		h.quiet()
	}
	return errors.New("the workers never come to rest")
}

// ask asks for many at once, and lets what is under way come to its end.
func (h *history) ask(ctx context.Context, all ...onceward.Intent) ([]*onceward.Answer, error) {
	answers, errs := make([]*onceward.Answer, len(all)), make([]error, len(all))
	var wg sync.WaitGroup
	for i := range all {
		wg.Go(func() {
			if all[i].Principal.Tenant == "" {
				all[i].Principal = pastAgent
			}
			if answers[i], errs[i] = h.ledger.Submit(ctx, all[i]); onceward.Is(errs[i], onceward.CodeKeyReused) {
				errs[i] = nil // it was to be refused
			}
		})
	}
	wg.Wait()
	h.quiet()
	return answers, errors.Join(errs...)
}
