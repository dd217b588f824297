package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store/memory"
)

// bug is a deliberately broken variant of the engine; its zero value breaks nothing.
type bug struct {
	store     func(onceward.Store) onceward.Store
	committer func(*process, onceward.Store) onceward.Writer
	writer    func(*process, onceward.Writer) onceward.Writer
	provider  func(onceward.Provider) onceward.Provider
	tool      func(onceward.Tool) onceward.Tool
	loop      func(*process)
}

// engine is the whole of a simulation.
type engine struct {
	plan      *Plan
	bug       bug
	s         *scheduler
	dice      *Dice
	world     *World
	audit     *Auditor
	store     *memory.Store
	specs     []*Spec
	names     map[onceward.OperationID]string
	processes []*process
	lives     []int
	starts    int
	calls     []*call
	letters   []post
	claims    map[onceward.WriteToken]string // which call a claim is of
	jump      time.Duration                  // of the database's clock
	down      time.Duration                  // until then nobody reaches the database
	calm      bool
}

// Result is what became of a schedule.
type Result struct {
	Rule    Rule // empty: everything held
	How     string
	Hash    uint64
	Steps   int
	Virtual time.Duration
	Thrown  [faultCount]int
	Rows    map[string]Row
	Settled []time.Duration
	Effects int
	Calls   int
	Trace   string
}

// run tries one plan.
func run(t *testing.T, p Plan, b bug, traced bool) (r Result) {
	synctest.Test(t, func(*testing.T) {
		e := newEngine(&p, b)
		if traced {
			e.s.trace = &strings.Builder{}
		}
		e.try()
		r = e.result()
	})
	return r
}

func newEngine(p *Plan, b bug) *engine {
	e := &engine{plan: p, bug: b, dice: NewDice(p), claims: map[onceward.WriteToken]string{}, names: map[onceward.OperationID]string{}, processes: make([]*process, p.Replicas), lives: make([]int, p.Replicas)}
	e.s = newScheduler(p, e.dice)
	e.world = NewWorld(e.dice)
	e.world.Now, e.world.After = func() time.Duration { return e.s.now }, e.s.after
	e.audit = NewAuditor(e.world)
	e.store = memory.New(memory.Options{Now: func() time.Time { return epoch.Add(e.s.now + e.jump) }})
	used := map[string]bool{}
	for i := range p.Ops {
		spec := &Specs[p.Ops[i].Spec]
		if !used[spec.Name] {
			used[spec.Name] = true
			e.specs = append(e.specs, spec)
		}
		e.names[onceward.NewOperationID(onceward.DefaultTenant, onceward.ToolName(spec.Name), onceward.Key(p.Ops[i].Name))] = p.Ops[i].Name
	}
	return e
}

func (e *engine) opName(id onceward.OperationID) string { return e.names[id] }

func (e *engine) keyName(key string) string { return key[:min(6, len(key))] }

func (e *engine) specOf(tool string) *Spec {
	for _, s := range e.specs {
		if s.Name == tool {
			return s
		}
	}
	panic("no tool " + tool)
}

func (e *engine) tool(spec *Spec) onceward.Tool {
	var t onceward.Tool = newContract(spec)
	if e.bug.tool != nil {
		t = e.bug.tool(t)
	}
	return t
}

// row is an operation in the auditor's words.
func (e *engine) row(op *onceward.Operation) Row {
	r := Row{Op: e.opName(op.ID), Tool: string(op.Tool), State: op.State.String(), Reference: op.Reference, Key: op.ProviderKey, Version: op.Version,
		Generation: int(op.Generation), Attempts: len(op.Attempts), Open: op.OpenAttempts(), Retired: op.Retired}
	if a := op.Running(); a != nil {
		r.Owner = a.Owner
	}
	if op.Result != nil {
		r.Result = fmt.Sprint(op.Result.Status, string(op.Result.Body))
	}
	var in struct{ N int64 }
	if op.Input != nil && json.Unmarshal(op.Input, &in) == nil {
		r.Amount = in.N
	}
	return r
}

// Bounds of one schedule.
const (
	stepsMax = 60_000
	calmMax  = 10 * time.Minute
)

// try runs the plan: first with faults, then without them until all has settled.
func (e *engine) try() {
	for slot := range e.processes {
		e.start(slot)
	}
	for i := range e.plan.Calls {
		e.s.after(e.plan.Calls[i].At, fmt.Sprintf("c%d is due", i+1), func() { e.ask(&e.plan.Calls[i], fmt.Sprintf("c%d", i+1), 0) })
	}
	for i := range e.plan.Events {
		ev := &e.plan.Events[i]
		e.s.after(ev.At, ev.Kind.String(), func() { e.event(ev) })
	}
	e.s.after(e.plan.Calm, "faults end", e.calmDown)
	for e.s.settle(); e.audit.Broken == "" && e.s.steps < stepsMax; {
		if !e.s.step() {
			break
		}
		e.s.settle()
		e.deliver()
		if e.calm && (e.done() || e.s.now > e.plan.Calm+calmMax) {
			break
		}
	}
	if e.audit.Broken == "" {
		e.finish()
	}
	e.tearDown()
}

func (e *engine) event(ev *Event) {
	if e.calm {
		return
	}
	p, until := e.processes[ev.Replica], e.s.now+ev.For
	switch ev.Kind {
	case EventCrash:
		if p.dead {
			return
		}
		p.kill()
		e.s.after(until, "restart", func() {
			if e.processes[ev.Replica].dead {
				e.start(ev.Replica)
			}
		})
	case EventStop:
		e.audit.Vague = true
		p.stopped = true
		e.s.note(p.name, " stands still")
		e.s.after(until, p.name+" goes on", func() { p.stopped = false })
	case EventAway:
		p.away = max(p.away, until)
	case EventDown:
		e.down = max(e.down, until)
	case EventJump:
		e.jump += ev.For
	}
}

// calmDown ends all faults and brings back what was away.
func (e *engine) calmDown() {
	e.calm = true
	e.dice.Calm()
	e.down = 0
	for slot, p := range e.processes {
		p.stopped, p.away = false, 0
		if p.dead {
			e.start(slot)
		}
	}
	for i := range e.plan.Ops {
		slot := e.s.random.IntN(len(e.processes))
		e.s.after(e.s.now+time.Second, "resume", func() {
			e.ask(&Call{Kind: CallResume, Op: i, Replica: slot, Repeats: 50}, fmt.Sprintf("resume%d", i+1), 0)
		})
		e.s.after(e.s.now+2*time.Second, "last question", func() {
			e.ask(&Call{Op: i, Replica: slot, Wait: 10 * time.Second, Repeats: 50, Amount: int(e.audit.Rows()[e.plan.Ops[i].Name].Amount)}, fmt.Sprintf("last%d", i+1), 0)
		})
		e.s.after(e.s.now+10*time.Second, "people look", func() { e.review(i) })
	}
}

// review lets a person look at an operation every few seconds: at its tool too,
// which a late refusal of the credential may have paused once more.
func (e *engine) review(i int) {
	tool := Specs[e.plan.Ops[i].Spec].Name
	if all, err := e.store.Switches(context.Background()); err == nil && slices.ContainsFunc(all, func(sw onceward.ToolSwitch) bool { return sw.Paused && string(sw.Tool) == tool }) {
		e.ask(&Call{Kind: CallResume, Op: i, Replica: e.s.random.IntN(len(e.processes))}, "person", 0)
	}
	if e.audit.Rows()[e.plan.Ops[i].Name].State == "needs_review" {
		e.ask(&Call{Kind: CallResolve, Op: i, Replica: e.s.random.IntN(len(e.processes))}, "person", 0)
	}
	e.s.after(e.s.now+10*time.Second, "people look", func() { e.review(i) })
}

// done reports whether everything has settled and everybody is answered.
func (e *engine) done() bool {
	if e.s.now < e.plan.Calm+3*time.Second {
		return false
	}
	for _, c := range e.calls {
		if !c.over {
			return false
		}
	}
	for _, r := range e.audit.Rows() {
		if !r.ended() && r.State != "needs_review" {
			return false
		}
	}
	return true
}

// finish hears the last judgement.
func (e *engine) finish() {
	for _, c := range e.calls {
		if !c.over {
			e.audit.breach(CallersAnswer, "%s was never answered", c.name)
		}
	}
	read := map[string]Row{}
	for i := range e.plan.Ops {
		if op := e.raw(i); op != nil {
			read[e.plan.Ops[i].Name] = e.row(op)
		}
	}
	e.audit.End(read)
}

// raw reads an operation past all faults; nil if there is none.
func (e *engine) raw(i int) *onceward.Operation {
	op := &e.plan.Ops[i]
	id := onceward.NewOperationID(onceward.DefaultTenant, onceward.ToolName(Specs[op.Spec].Name), onceward.Key(op.Name))
	ops, err := e.store.Load(context.Background(), []onceward.OperationID{id})
	if err != nil {
		panic(err)
	}
	return ops[0]
}

func (e *engine) tearDown() {
	for _, p := range e.processes {
		p.kill()
	}
	synctest.Wait()
}

func (e *engine) result() Result {
	r := Result{Rule: e.audit.Broken, How: e.audit.How, Hash: e.s.hash, Steps: e.s.steps, Virtual: e.s.now, Thrown: e.dice.Thrown,
		Rows: e.audit.Rows(), Settled: e.audit.Settled, Effects: len(e.world.effects), Calls: len(e.calls)}
	if e.s.trace != nil {
		r.Trace = e.s.trace.String()
	}
	return r
}
