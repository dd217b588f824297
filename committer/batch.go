package committer

import (
	"context"
	"time"

	"github.com/onceward/onceward"
)

// Waits between two runs of the same batch after its commit was lost.
const (
	rerunFirst = 10 * time.Millisecond
	rerunMax   = 500 * time.Millisecond
)

// commit writes a batch and answers everybody in it. Nobody is answered before
// it is known what became of the commit, or retryFor is over.
func (c *Committer) commit(batch []*entry) {
	c.opts.Meter.Record(onceward.MetricBatch, float64(len(batch)), onceward.Labels{})
	c.changes = c.changes[:0]
	for _, e := range batch {
		c.changes = append(c.changes, *e.change)
	}
	out, err := c.settle(c.changes)
	clear(c.changes)
	switch {
	case err == nil:
		for i, e := range batch {
			e.out = out.Results[i]
			e.out.Now = out.Now
			e.ready <- struct{}{}
		}
	case onceward.Poisoned(err) && len(batch) > 1: // one bad change must not fail its neighbours
		c.commit(batch[:len(batch)/2])
		c.commit(batch[len(batch)/2:])
	default:
		for _, e := range batch {
			e.err = err
			e.ready <- struct{}{}
		}
	}
}

// settle runs a batch, and the same batch again while its commit is not known.
// Its tokens make that harmless: a row that carries its token counts as applied.
//
// Why not read instead: a commit that was sent may still be on its way, so what
// a read shows proves nothing.
func (c *Committer) settle(changes []onceward.Change) (onceward.Commit, error) {
	out, err := c.store.Commit(context.Background(), changes)
	if !onceward.Is(err, onceward.CodeMayBeRecorded) {
		return out, err
	}
	lost := err
	pause, until := rerunFirst, c.opts.Clock.Now().Add(retryFor)
	for c.opts.Clock.Now().Before(until) {
		<-c.opts.Clock.After(pause)
		pause = min(2*pause, rerunMax)
		if out, err = c.store.Commit(context.Background(), changes); err == nil || onceward.Poisoned(err) {
			return out, err
		}
	}
	return onceward.Commit{}, lost // not the last error: the first run may have been recorded
}
