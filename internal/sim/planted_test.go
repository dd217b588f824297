package sim

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

// writerFunc is a Writer that meddles with each write.
type writerFunc struct {
	onceward.Writer
	write func(ctx context.Context, c *onceward.Change) (onceward.Committed, error)
}

func (w writerFunc) Write(ctx context.Context, c *onceward.Change) (onceward.Committed, error) {
	meddled := *c // the ledger's own stays as it is
	return w.write(ctx, &meddled)
}

// meddle makes a bug of a function that stands in front of every write.
func meddle(f func(w onceward.Writer, ctx context.Context, c *onceward.Change) (onceward.Committed, error)) bug {
	return bug{writer: func(_ *process, w onceward.Writer) onceward.Writer {
		return writerFunc{w, func(ctx context.Context, c *onceward.Change) (onceward.Committed, error) { return f(w, ctx, c) }}
	}}
}

// early says that a change is stored, and then stores it, where when holds.
func early(when func(c *onceward.Change) bool) bug {
	return meddle(func(w onceward.Writer, ctx context.Context, c *onceward.Change) (onceward.Committed, error) {
		if !when(c) {
			return w.Write(ctx, c)
		}
		go func() { _, _ = w.Write(ctx, c) }()
		return onceward.Committed{Applied: true}, nil
	})
}

// overwrite writes over the row that a change lost to, where when holds.
func overwrite(when func(c *onceward.Change, stored *onceward.Operation) bool) bug {
	return meddle(func(w onceward.Writer, ctx context.Context, c *onceward.Change) (onceward.Committed, error) {
		out, err := w.Write(ctx, c)
		if err == nil && !out.Applied && out.Stored != nil && when(c, out.Stored) {
			c.Before, c.After.Version = out.Stored.Version, out.Stored.Version+1
			return w.Write(ctx, c)
		}
		return out, err
	})
}

type providerFunc func(ctx context.Context, req *onceward.Request, opts onceward.SendOptions) onceward.Evidence

func (f providerFunc) Send(ctx context.Context, req *onceward.Request, opts onceward.SendOptions) onceward.Evidence {
	return f(ctx, req, opts)
}

// onWire makes a bug of a function that stands in front of every write to a provider.
func onWire(f func(p onceward.Provider, ctx context.Context, req *onceward.Request, opts onceward.SendOptions) onceward.Evidence) bug {
	return bug{provider: func(p onceward.Provider) onceward.Provider {
		return providerFunc(func(ctx context.Context, req *onceward.Request, opts onceward.SendOptions) onceward.Evidence {
			if !opts.Write {
				return p.Send(ctx, req, opts)
			}
			return f(p, ctx, req, opts)
		})
	}}
}

// broken is a contract with parts replaced.
type broken struct {
	onceward.Tool
	info    *onceward.ToolInfo
	judge   func(onceward.Judgement) onceward.Judgement
	prepare func(in *onceward.Intent, g onceward.Generation) (*onceward.Prepared, error)
}

func (b *broken) Info() *onceward.ToolInfo { return b.info }

func (b *broken) Judge(op *onceward.Operation, ev *onceward.Evidence) onceward.Judgement {
	return b.judge(b.Tool.Judge(op, ev))
}

func (b *broken) Prepare(in *onceward.Intent, g onceward.Generation) (*onceward.Prepared, error) {
	return b.prepare(in, g)
}

func onTool(change func(b *broken)) bug {
	return bug{tool: func(t onceward.Tool) onceward.Tool {
		info := *t.Info()
		b := &broken{Tool: t, info: &info, judge: func(j onceward.Judgement) onceward.Judgement { return j }, prepare: t.Prepare}
		change(b)
		return b
	}}
}

type storeFunc struct {
	onceward.Store
	switches func(context.Context) ([]onceward.ToolSwitch, error)
	unpark   func() (int, error)
}

func (s storeFunc) Switches(ctx context.Context) ([]onceward.ToolSwitch, error) {
	if s.switches != nil {
		return s.switches(ctx)
	}
	return s.Store.Switches(ctx)
}

func (s storeFunc) Unpark(ctx context.Context, t onceward.Tenant, tool onceward.ToolName, why onceward.ParkReason, limit int) (int, error) {
	if s.unpark != nil {
		return s.unpark()
	}
	return s.Store.Unpark(ctx, t, tool, why, limit)
}

// careless is a committer that puts everything that waits into one batch, on a
// database whose one statement changes a row once and says twice that it did.
type careless struct {
	store onceward.Store
	pen   onceward.Writer // for reads
	mu    sync.Mutex
	queue []chan onceward.Committed
	batch []onceward.Change
	ready chan struct{}
}

func newCareless(p *process, store onceward.Store) onceward.Writer {
	c := &careless{store: store, pen: onceward.DirectWriter{Store: store}, ready: make(chan struct{}, 1)}
	p.end = func() { close(c.ready) }
	go c.run()
	return c
}

func (c *careless) Read(ctx context.Context, id onceward.OperationID) (*onceward.Operation, error) {
	return c.pen.Read(ctx, id)
}

func (c *careless) Write(_ context.Context, change *onceward.Change) (onceward.Committed, error) {
	done := make(chan onceward.Committed, 1)
	c.mu.Lock()
	c.queue, c.batch = append(c.queue, done), append(c.batch, *change)
	c.mu.Unlock()
	select {
	case c.ready <- struct{}{}:
	default:
	}
	out := <-done
	return out, out.Err
}

func (c *careless) run() {
	for range c.ready {
		c.mu.Lock()
		queue, batch := c.queue, c.batch
		c.queue, c.batch = nil, nil
		c.mu.Unlock()
		out, err := c.store.Commit(context.Background(), batch)
		for i, done := range queue {
			if err != nil {
				done <- onceward.Committed{Err: err}
				continue
			}
			out.Results[i].Now = out.Now
			done <- out.Results[i]
		}
	}
}

// rescuer ends leases without asking who works on them.
func rescuer(when func(p *process, op *onceward.Operation) bool) bug {
	return bug{loop: func(p *process) {
		for {
			<-p.After(500 * time.Millisecond)
			p.stand("rescuer", 0)
			for i := range p.e.plan.Ops {
				op := p.e.raw(i)
				if op == nil || op.Running() == nil || !when(p, op) {
					continue
				}
				op.Policy = newContract(p.e.specOf(string(op.Tool)), 0).Info().Policy
				a := op.Running()
				next, _, err := onceward.Apply(*op, onceward.LeaseExpired{Attempt: a.Number}, a.LeaseUntil)
				if err != nil {
					continue
				}
				next.Version, next.Token = op.Version+1, onceward.WriteToken{byte(next.Version), byte(i), 7}
				c := onceward.Change{Before: op.Version, After: next, Due: onceward.DueFor(&next), Records: []onceward.Record{{Version: next.Version, Event: "lease_expired", From: op.State, To: next.State}}}
				_, _ = p.writer.Write(tagged("rescuer"), &c)
			}
		}
	}}
}

// planted are broken variants of the engine, each behind a port.
var planted = []struct {
	name string
	bug  bug
}{
	{"claim after effect", early(func(c *onceward.Change) bool { return c.Before == 0 && c.After.State == onceward.StateEffectPending })},
	{"answer before the commit", early(func(c *onceward.Change) bool { return c.Before > 0 && c.After.State == onceward.StateSucceeded })},
	{"key freed on error", overwrite(func(c *onceward.Change, stored *onceward.Operation) bool {
		return c.Before == 0 && (stored.State == onceward.StateOutcomeUnknown || stored.State == onceward.StateFailed)
	})},
	{"tombstone and live row both claimable", overwrite(func(c *onceward.Change, stored *onceward.Operation) bool { return c.Before == 0 && stored.Retired })},
	{"late result overwrites", overwrite(func(c *onceward.Change, _ *onceward.Operation) bool {
		return c.Before > 0 && c.After.State != onceward.StateEffectPending
	})},
	{"digest ignored in flight", meddle(func(w onceward.Writer, ctx context.Context, c *onceward.Change) (onceward.Committed, error) {
		out, err := w.Write(ctx, c)
		if err == nil && out.Stored != nil && c.Before == 0 && out.Stored.State == onceward.StateEffectPending {
			out.Stored.Digest = c.After.Digest
		}
		return out, err
	})},
	{"a lost commit called a refusal", meddle(func(w onceward.Writer, ctx context.Context, c *onceward.Change) (onceward.Committed, error) {
		out, err := w.Write(ctx, c)
		if onceward.Is(err, onceward.CodeMayBeRecorded) {
			err = unreachable("commit")
		}
		return out, err
	})},
	{"two changes of a row in a batch", bug{committer: newCareless}},
	{"retry derives the provider key anew", func() bug {
		n := 0
		return onWire(func(p onceward.Provider, ctx context.Context, req *onceward.Request, opts onceward.SendOptions) onceward.Evidence {
			other := *req
			other.Header = append([]onceward.HeaderField(nil), req.Header...)
			for i := range other.Header {
				if n++; other.Header[i].Name == "Idempotency-Key" && n > 1 {
					other.Header[i].Value += fmt.Sprintf("-%d", n%3)
				}
			}
			return p.Send(ctx, &other, opts)
		})
	}()},
	{"provider key without the generation", onTool(func(b *broken) {
		b.prepare = func(in *onceward.Intent, _ onceward.Generation) (*onceward.Prepared, error) {
			return b.Tool.Prepare(in, 0)
		}
	})},
	{"transport sends again", onWire(func(p onceward.Provider, ctx context.Context, req *onceward.Request, opts onceward.SendOptions) onceward.Evidence {
		ev := p.Send(ctx, req, opts)
		if ev.Status == 0 && !ev.Reach.NothingSent() {
			return p.Send(ctx, req, opts)
		}
		return ev
	})},
	{"fence not checked", onWire(func(p onceward.Provider, ctx context.Context, req *onceward.Request, opts onceward.SendOptions) onceward.Evidence {
		opts.BeforeWrite, opts.NotAfter, opts.Deadline = nil, time.Time{}, time.Hour
		return p.Send(ctx, req, opts)
	})},
	{"own lease ended while at work", rescuer(func(p *process, op *onceward.Operation) bool {
		return op.Running().Owner == p.name && p.ledger.Now().After(op.Running().LeaseUntil)
	})},
	{"lease ended early", rescuer(func(_ *process, op *onceward.Operation) bool { return true })},
	{"unknown taken for not done", onTool(func(b *broken) {
		b.judge = func(j onceward.Judgement) onceward.Judgement {
			if j.Verdict == onceward.VerdictUnknown {
				j.Verdict = onceward.VerdictNotDone
			}
			return j
		}
	})},
	{"absence believed before settle", onTool(func(b *broken) { b.info.Policy.Settle = 0 })},
	{"pause not seen", bug{store: func(s onceward.Store) onceward.Store {
		return storeFunc{Store: s, switches: func(ctx context.Context) ([]onceward.ToolSwitch, error) {
			_, err := s.Switches(ctx)
			return nil, err
		}}
	}}},
	{"resume releases nobody", bug{store: func(s onceward.Store) onceward.Store {
		return storeFunc{Store: s, unpark: func() (int, error) { return 0, nil }}
	}}},
}

// plantedSeeds bounds how long a planted bug may stay unseen.
const plantedSeeds = 8000

func TestEachPlantedBugIsCaught(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	for _, p := range planted {
		catch(t, p.name, p.bug, 1, &table)
	}
	for _, p := range plantedWide {
		catch(t, p.name, p.bug, Wide, &table)
	}
	t.Logf("planted bugs:\n%s", table.String())
}

// catch tries seeds until one shows the bug.
func catch(t *testing.T, name string, b bug, from uint64, table *strings.Builder) {
	t.Helper()
	for n := range uint64(plantedSeeds) {
		if r := run(t, NewPlan(from+n), b, false); r.Rule != "" {
			fmt.Fprintf(table, "%-40s after %4d seeds  %s: %s\n", name, n+1, r.Rule, r.How)
			return
		}
	}
	t.Errorf("%s: not caught by %d seeds", name, plantedSeeds)
}
