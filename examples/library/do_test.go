package library_test

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/provider/httpcall"
	"github.com/onceward/onceward/store/sqlite"
)

// A program whose effect is a call of its own client, in place of a contract: the
// client's answer is lost, and nobody who asks again makes a second one.
func ExampleLedger_Do() {
	ctx := context.Background()
	bank := &bank{}
	transfer, err := onceward.NewFunction(onceward.Function{
		Name: "bank.transfer", KeyRule: "order",
		Policy:  onceward.Policy{Effect: onceward.EffectProbedWrite, Settle: bankSettles},
		Key:     func(input []byte) ([]string, error) { return []string{member(input, "order")}, nil },
		Perform: bank.transfer,
		Probe:   bank.find,
	})
	check(err)
	store, err := sqlite.Open(ctx, tempFile("ledger.db"), sqlite.Options{})
	check(err)
	defer func() { check(store.Close()) }()
	registry := onceward.NewRegistry(store, nil)
	check(registry.Activate(ctx, []onceward.Tool{transfer}, false))
	ledger, err := onceward.New(onceward.Options{Store: store, Tools: registry, Provider: httpcall.New(httpcall.Options{})})
	check(err)
	check(ledger.Start(ctx))
	defer func() { check(ledger.Close(ctx)) }()
	defer loops(ledger, store)() // as in Example: what is unknown is looked up by these

	for range 3 {
		answer, err := ledger.Do(ctx, onceward.Intent{Principal: onceward.LocalPrincipal(), Tool: "bank.transfer",
			Input: []byte(`{"order":"o-17","cents":4200}`), Wait: onceward.DefaultWait}, nil)
		check(err)
		fmt.Println(answer.Decision, answer.Operation.State, answer.Operation.Reference)
	}
	fmt.Println("transfers at the bank:", len(bank.transfers))
	// Output:
	// fresh succeeded t-1
	// replayed succeeded t-1
	// replayed succeeded t-1
	// transfers at the bank: 1
}

// bank is a client that loses its first answer.
type bank struct {
	mu        sync.Mutex
	transfers []string // by reference
}

func (b *bank) transfer(_ context.Context, c *onceward.Call) (onceward.Outcome, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := c.Check(); err != nil { // directly before the effect
		return onceward.NotDone(onceward.ClassUnavailable, "stopped", err.Error(), true), nil
	}
	b.transfers = append(b.transfers, c.ProviderKey)
	return onceward.Outcome{}, errors.New("connection reset by peer") // unknown, not failed
}

func (b *bank) find(_ context.Context, c *onceward.Call) ([]onceward.FoundEffect, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var found []onceward.FoundEffect
	for i, key := range b.transfers {
		if key == c.ProviderKey {
			found = append(found, onceward.FoundEffect{Reference: fmt.Sprintf("t-%d", i+1), Ours: true})
		}
	}
	return found, nil
}
