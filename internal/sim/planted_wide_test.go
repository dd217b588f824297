package sim

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/onceward/onceward"
)

// edit makes a bug of a function that changes what is about to be written.
func edit(f func(c *onceward.Change)) bug {
	return meddle(func(w onceward.Writer, ctx context.Context, c *onceward.Change) (onceward.Committed, error) {
		f(c)
		return w.Write(ctx, c)
	})
}

// due sets when a row is looked at again.
func due(c *onceward.Change, at time.Time) {
	c.After.DueAt = at
	c.Due, c.DueGone = onceward.DueFor(&c.After), false
}

// contractsAlwaysInForce is a ledger in which no contract is ever superseded.
type contractsAlwaysInForce struct{ onceward.Store }

func (s contractsAlwaysInForce) Contract(ctx context.Context, tool onceward.ToolName, version string) (onceward.ContractVersion, error) {
	c, err := s.Store.Contract(ctx, tool, version)
	c.Active = true
	return c, err
}

// lastBeatBounds is a ledger in which what a replica claimed is looked for only up
// to its last beat, by whatever the database's clock showed then.
type lastBeatBounds struct {
	onceward.Store
	mu    sync.Mutex
	beats map[string]time.Time
}

func (s *lastBeatBounds) Beat(ctx context.Context, r onceward.Replica) ([]onceward.Replica, time.Time, error) {
	all, now, err := s.Store.Beat(ctx, r)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.beats = map[string]time.Time{}
	for _, other := range all {
		s.beats[other.ID] = other.BeatAt
	}
	return all, now, err
}

func (s *lastBeatBounds) Stranded(ctx context.Context, replica string, from, to time.Time, limit int) ([]*onceward.Operation, error) {
	s.mu.Lock()
	if last := s.beats[replica].Add(9 * time.Second); last.Before(to) {
		to = last
	}
	s.mu.Unlock()
	return s.Store.Stranded(ctx, replica, from, to, limit)
}

// staleYes is what a person said of an earlier input, taken for the present one.
func staleYes(e *engine, a *onceward.ApprovalAnswer, op int) {
	if now := e.raw(op); now != nil && a.Edit == nil {
		a.Digest, a.Contract = now.Digest, now.Contract
	}
}

// plantedWide are broken variants of what only wide plans have.
var plantedWide = []struct {
	name string
	bug  bug
}{
	{"serialisation ignored", onTool(func(b *broken) {
		b.prepare = func(in *onceward.Intent, g onceward.Generation) (*onceward.Prepared, error) {
			p, err := b.Tool.Prepare(in, g)
			if err == nil && p.SerialKey != "" {
				p.SerialKey += " of " + string(p.Key)
			}
			return p, err
		}
	})},
	{"resource free while its holder is unknown", meddle(func(w onceward.Writer, ctx context.Context, c *onceward.Change) (onceward.Committed, error) {
		out, err := w.Write(ctx, c)
		if err == nil && !out.Applied && out.Stored != nil && c.After.Tenant != onceward.DefaultTenant {
			holder, _ := onceward.ParseOperationID(out.Stored.Reference)
			if op, readErr := w.Read(ctx, holder); readErr == nil && op != nil && op.State == onceward.StateOutcomeUnknown {
				c.Before, c.After.Version = out.Stored.Version, out.Stored.Version+1
				return w.Write(ctx, c)
			}
		}
		return out, err
	})},
	{"waiter of a resource never woken", func() bug {
		b := edit(func(c *onceward.Change) {
			if c.After.Parked == onceward.ParkSerialize {
				due(c, time.Time{})
			}
		})
		b.store = func(s onceward.Store) onceward.Store {
			return storeFunc{Store: s, unpark: func() (int, error) { return 0, nil }}
		}
		return b
	}()},
	{"rate ignored", onTool(func(b *broken) { b.info.Policy.Rate = onceward.Rate{} })},
	{"not_after unchecked", onTool(func(b *broken) { b.info.Policy.NotAfter = 0 })},
	{"lost lease of a performer prolonged", bug{beat: func(until time.Time, err error) (time.Time, error) {
		if onceward.Is(err, onceward.CodeFenceLost) {
			return epoch.Add(time.Hour), nil
		}
		return until, err
	}}},
	{"second claim while one runs", meddle(func(w onceward.Writer, ctx context.Context, c *onceward.Change) (onceward.Committed, error) {
		out, err := w.Write(ctx, c)
		if err == nil && out.Stored != nil && c.Before == 0 && out.Stored.Running() != nil && out.Stored.Running().Owner == "caller" {
			op := out.Stored.Clone()
			op.State, op.Attempts[len(op.Attempts)-1].Status = onceward.StateReady, onceward.StatusNotDone
			out.Stored = &op
		}
		return out, err
	})},
	{"silence of a performer taken for not done", edit(func(c *onceward.Change) {
		expired := slices.ContainsFunc(c.Records, func(r onceward.Record) bool { return r.Event == "lease_expired" })
		if a := &c.After; expired && a.Tool != "" && strings.HasPrefix(string(a.Tool), "t.remote") {
			a.State, a.Attempts = onceward.StateReady, slices.Clone(a.Attempts)
			a.Attempts[len(a.Attempts)-1].Status = onceward.StatusNotDone
			due(c, a.UpdatedAt)
		}
	})},
	{"approval not checked again", bug{store: func(s onceward.Store) onceward.Store { return contractsAlwaysInForce{s} }}},
	{"yes without end", edit(func(c *onceward.Change) {
		if a := &c.After; a.ApprovalNeeded && a.State == onceward.StateReady && a.ApprovedUntil.After(a.IntentAt) {
			a.ApprovedUntil = a.IntentAt.Add(time.Hour)
		}
	})},
	{"approval spent for another digest", bug{answer: staleYes}},
	{"approval spent a second time, by a fork", edit(func(c *onceward.Change) {
		forked := c.Before == 0 && strings.Contains(string(c.After.Key), `"fork"`)
		if a := &c.After; forked && a.State == onceward.StateAwaitingApproval {
			a.State, a.ApprovedUntil = onceward.StateReady, a.IntentAt.Add(time.Hour)
			due(c, a.IntentAt)
		}
	})},
	{"one yes where two are asked for", onTool(func(b *broken) { b.info.Policy.Quorum = 1 })},
	{"own request approved", onTool(func(b *broken) { b.info.Policy.SeparateRequester = false })},
	{"clock jump backwards believed", bug{store: func(s onceward.Store) onceward.Store { return &lastBeatBounds{Store: s} }}},
	{"key forgotten before its time", onTool(func(b *broken) { b.info.KeepTombstone = min(b.info.KeepTombstone, time.Nanosecond) })},
	{"forgotten key used anew as before", onTool(func(b *broken) {
		b.prepare = func(in *onceward.Intent, g onceward.Generation) (*onceward.Prepared, error) {
			if b.info.KeepTombstone > 0 {
				g = 0
			}
			return b.Tool.Prepare(in, g)
		}
	})},
	{"attempt number of a resolve ignored", bug{resolve: func(r *onceward.Resolved) { r.Attempt = 0 }}},
}
