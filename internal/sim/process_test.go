package sim

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/committer"
	"github.com/onceward/onceward/store/memory"
	"github.com/onceward/onceward/worker"
)

// process is one replica from its start to its death.
type process struct {
	e         *engine
	name      string
	slot      int
	off       time.Duration // of its clock
	dead      bool
	stopped   bool
	ready     bool
	away      time.Duration // until then the database is out of reach
	beatAt    time.Duration // of its last beat
	registry  *onceward.Registry
	ledger    *onceward.Ledger
	committer *committer.Committer
	writer    onceward.Writer
	end       func() // of a planted committer; may be nil
	handle    *memory.Store
	cancel    context.CancelFunc
}

type tagKey struct{}

// tagged marks what is done on behalf of somebody.
func tagged(name string) context.Context {
	return context.WithValue(context.Background(), tagKey{}, name)
}

func tagOf(ctx context.Context) string {
	if tag, ok := ctx.Value(tagKey{}).(string); ok {
		return tag
	}
	return "-"
}

func (p *process) clock() time.Time { return epoch.Add(p.off + p.e.s.now) }

// Now implements onceward.Clock.
func (p *process) Now() time.Time { return p.clock() }

// After implements onceward.Clock.
func (p *process) After(d time.Duration) <-chan time.Time { return p.e.s.timer(p, d) }

// stand stands at a point, and ends the goroutine if the process dies there.
func (p *process) stand(what string, at time.Duration) {
	if !p.e.s.stand(p, p.name+" "+what, at) {
		runtime.Goexit()
	}
}

// start brings a new process up in a slot.
func (e *engine) start(slot int) {
	e.starts++
	p := &process{e: e, slot: slot, name: fmt.Sprintf("r%d", slot+1), off: time.Duration(e.s.random.Int64N(int64(10*time.Minute))) - 5*time.Minute}
	if n := e.lives[slot]; n > 0 {
		p.name += fmt.Sprintf("'%d", n)
	}
	e.lives[slot]++
	e.processes[slot] = p
	p.handle = e.store.Again()
	p.registry = onceward.NewRegistry(p.handle, e.compile)
	var store onceward.Store = &port{Store: p.handle, p: p}
	if e.bug.store != nil {
		store = e.bug.store(store)
	}
	p.activate()
	var inner onceward.Writer
	if e.bug.committer != nil {
		inner = e.bug.committer(p, store)
	} else {
		p.committer = committer.New(store, committer.Options{Clock: p})
		inner = p.committer
	}
	var writer onceward.Writer = &pen{inner: inner, p: p}
	if e.bug.writer != nil {
		writer = e.bug.writer(p, writer)
	}
	p.writer = writer
	var provider onceward.Provider = &wires{p}
	if e.bug.provider != nil {
		provider = e.bug.provider(provider)
	}
	ledger, err := onceward.New(onceward.Options{Store: store, Writer: writer, Tools: p.registry, Provider: provider, Clock: p, Owner: p.name, Log: e.log()})
	if err != nil {
		panic(err)
	}
	p.ledger = ledger
	ctx, cancel := context.WithCancel(tagged("boot"))
	p.cancel = cancel
	go p.boot(ctx, store)
}

// activate puts the newest contracts in force at a process.
func (p *process) activate() {
	if p.dead {
		return
	}
	var tools []onceward.Tool
	for _, spec := range p.e.specs {
		tools = append(tools, p.e.tool(spec))
	}
	if err := p.registry.Activate(context.Background(), tools, true); err != nil {
		panic(err)
	}
	p.e.audit.Amended(versionName(p.e.version))
}

func (e *engine) log() *slog.Logger { return slog.New(slog.DiscardHandler) }

// boot starts the ledger, again while the database is away, and then its loops.
func (p *process) boot(ctx context.Context, store onceward.Store) {
	for p.ledger.Start(ctx) != nil {
		<-p.After(time.Second)
		if p.dead {
			return
		}
	}
	p.stand("is up", 0)
	p.ready = true
	log := p.e.log()
	for _, l := range []worker.Loop{worker.NewDue(p.ledger, store, log), worker.NewStranded(p.ledger), worker.NewSwitches(p.ledger), hasty{worker.NewRetire(p.ledger)}} {
		go worker.Run(context.WithValue(ctx, tagKey{}, l.Name()), l, p, log)
	}
	if p.e.bug.loop != nil {
		go p.e.bug.loop(p)
	}
}

// hasty is a loop that does not rest for an hour.
type hasty struct{ worker.Loop }

// Idle implements worker.Loop.
func (hasty) Idle() (time.Duration, <-chan struct{}) { return 3 * time.Second, nil }

// gone is the context of whoever waits for nothing.
var gone = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// kill ends a process. Its writes that are on the wire go on.
func (p *process) kill() {
	if p.dead {
		return
	}
	p.e.s.note(p.name, " dies")
	p.dead = true
	p.cancel()
	for _, c := range p.e.calls {
		if c.process == p {
			c.cancel()
		}
	}
	p.e.s.bury(p)
	if p.committer != nil {
		go p.committer.Close()
	}
	go func() { _ = p.ledger.Close(gone) }()
	if p.end != nil {
		p.end()
	}
	p.e.s.bury(p)
	_ = p.handle.Close()
}
