package enginetest

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/rig"
	"github.com/onceward/onceward/provider/httpcall"
	"github.com/onceward/onceward/store/sqlite"
)

// Tool sends a parcel for an order.
const Tool onceward.ToolName = "parcels.send"

// Parcels are the effects. The zero value has none; it is safe for concurrent use.
type Parcels struct {
	mu     sync.Mutex
	sent   []string // the orders
	hidden bool
}

// Hide makes every look-up fail until Show: what was sent is not known.
func (p *Parcels) Hide() { p.hide(true) }

// Show lets look-ups find what was sent.
func (p *Parcels) Show() { p.hide(false) }

func (p *Parcels) hide(hidden bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hidden = hidden
}

// Send sends a parcel, and loses the answer.
func (p *Parcels) Send(order string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sent = append(p.sent, order)
	return errors.New("connection reset by peer")
}

// Sent is how many parcels were sent for an order.
func (p *Parcels) Sent(order string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, s := range p.sent {
		if s == order {
			n++
		}
	}
	return n
}

// Input is a step's: {"order": …}.
func Input(order string) []byte { return fmt.Appendf(nil, `{"order":%q}`, order) }

// Intent is a parcel for an order, which is its key.
func Intent(order string) onceward.Intent {
	return onceward.Intent{Principal: onceward.LocalPrincipal(), Tool: Tool, Input: Input(order)}
}

func orderOf(input []byte) (string, error) {
	n, err := onceward.ParseJSON(input)
	if err != nil {
		return "", err
	}
	order, _ := n.Member("order")
	text, _ := order.Text()
	return text, nil
}

// look finds what was sent for the call's order.
func (p *Parcels) look(_ context.Context, c *onceward.Call) (found []onceward.FoundEffect, err error) {
	order, err := orderOf(c.Input)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	hidden := p.hidden
	p.mu.Unlock()
	if hidden {
		return nil, errors.New("no connection")
	}
	for range p.Sent(order) {
		found = append(found, onceward.FoundEffect{Reference: order, Ours: true})
	}
	return found, nil
}

// Ledger opens a ledger whose one tool sends parcels by whatever the wrapper gives
// it, and starts its loops. Both end with the test.
func (p *Parcels) Ledger(tb testing.TB) *onceward.Ledger {
	tb.Helper()
	must := func(err error) {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
	}
	function, err := onceward.NewFunction(onceward.Function{
		Name: Tool, Policy: onceward.Policy{Effect: onceward.EffectProbedWrite, Settle: time.Second}, KeyRule: "order", Probe: p.look,
		Key: func(input []byte) ([]string, error) {
			order, err := orderOf(input)
			return []string{order}, err
		},
	})
	must(err)
	store, err := sqlite.Open(tb.Context(), filepath.Join(tb.TempDir(), "ledger.db"), sqlite.Options{})
	must(err)
	client := httpcall.New(httpcall.Options{})
	r, err := rig.New(tb.Context(), onceward.Options{Store: store, Provider: client}, nil, function)
	must(err)
	r.Run(context.WithoutCancel(tb.Context())) // which ends before the cleanups
	tb.Cleanup(func() {
		must(r.Close(context.Background()))
		client.Close()
		must(store.Close())
	})
	return r.Ledger
}
