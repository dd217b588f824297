package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/onceward/onceward/internal/simprovider"
)

// counts are the trials of one cell.
type counts struct {
	trials      int
	duplicates  int // more than one effect
	lost        int // no effect in the end
	falseDone   int // told that it happened, and it did not
	falseFailed int // told that it did not happen, and it did
	asks        int // a person has to find out
	calls       int // requests at the provider, reads included
}

func (c *counts) add(o counts) {
	c.trials += o.trials
	c.duplicates += o.duplicates
	c.lost += o.lost
	c.falseDone += o.falseDone
	c.falseFailed += o.falseFailed
	c.asks += o.asks
	c.calls += o.calls
}

// cell runs n intentions of one class through one fault under one guard, side by side.
func cell(ctx context.Context, sim *simprovider.Server, m *mode, c *class, g *guard, n int) (counts, error) {
	var mu sync.Mutex
	var total counts
	var failed error
	var wg sync.WaitGroup
	for i := range n {
		ref := fmt.Sprintf("%s-%s-%s-%d", slug(m.name), c.tool, slug(g.name), i)
		wg.Go(func() {
			one, err := trial(ctx, sim, m, c, g, ref)
			mu.Lock()
			defer mu.Unlock()
			total.add(one)
			if failed == nil && err != nil {
				failed = fmt.Errorf("%s, %s, %s: %w", m.name, c.name, g.name, err)
			}
		})
	}
	wg.Wait()
	return total, failed
}

// trial runs one intention and judges it by the provider's own count, once no
// effect can come any more.
func trial(ctx context.Context, sim *simprovider.Server, m *mode, c *class, g *guard, ref string) (counts, error) {
	if m.fault != "" {
		fault, err := simprovider.ParseFault(m.fault)
		if err != nil {
			return counts{}, err
		}
		if _, err := sim.AddFaults(simprovider.Script{Match: simprovider.Match{Reference: ref}, Faults: []simprovider.Fault{fault}}); err != nil {
			return counts{}, err
		}
	}
	answers, err := deliver(ctx, m, c, g, ref)
	if err != nil {
		return counts{}, err
	}
	report := sim.Effects(ref)
	for ; report.Pending > 0 && ctx.Err() == nil; report = sim.Effects(ref) {
		rest(ctx, 10*time.Millisecond) // a late commit is still to come
	}
	one := counts{trials: 1, calls: report.Requests}
	for _, item := range report.Items {
		one.calls += item.Reads
	}
	one.judge(report.Count, answers)
	return one, ctx.Err()
}

func (c *counts) judge(effects int, answers []said) {
	for _, a := range answers {
		switch {
		case a == saidAsk:
			c.asks = 1
		case a == saidDone && effects == 0:
			c.falseDone = 1
		case a == saidFailed && effects > 0:
			c.falseFailed = 1
		}
	}
	if effects > 1 {
		c.duplicates = 1
	}
	if effects == 0 {
		c.lost = 1
	}
}

// deliver hands the event to the guard as the mode says and collects what the
// callers were told.
func deliver(ctx context.Context, m *mode, c *class, g *guard, ref string) ([]said, error) {
	answers, errs := make([]said, m.deliveries), make([]error, m.deliveries)
	one := func(i int) {
		words := "words"
		if m.reworded {
			words = fmt.Sprintf("words, in wording %d", i)
		}
		answers[i], errs[i] = g.handle(ctx, c, ref, words, m.dies && i == 0)
	}
	var wg sync.WaitGroup
	for i := range m.deliveries {
		if m.together {
			wg.Go(func() { one(i) })
			continue
		}
		one(i)
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return answers, nil
}
