package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
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
	beat      func(until time.Time, err error) (time.Time, error) // what a performer hears of its heartbeat
	answer    func(e *engine, a *onceward.ApprovalAnswer, op int) // what is said in a person's name
	resolve   func(*onceward.Resolved)
}

// engine is the whole of a simulation.
type engine struct {
	mu sync.Mutex // the requests of a batch run side by side up to their first point

	plan       *Plan
	bug        bug
	s          *scheduler
	dice       *Dice
	world      *World
	audit      *Auditor
	store      *memory.Store
	specs      []*Spec
	names      map[onceward.OperationID]string
	byKey      map[string]string // operation by provider key
	performers []*performer
	asked      map[string]time.Duration // since when a claim token of an operation may have an attempt
	due        map[string]time.Duration // when a call was asked
	version    int                      // of the contracts that ask people
	ahead      time.Duration            // how far the database's clock went ahead, all in all
	processes  []*process
	lives      []int
	starts     int
	calls      []*call
	letters    []post
	claims     map[onceward.WriteToken]string // which call a claim is of
	drops      map[onceward.OperationID]int   // how often a key was forgotten
	jump       time.Duration                  // of the database's clock
	down       time.Duration                  // until then nobody reaches the database
	calm       bool
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
	e := &engine{plan: p, bug: b, dice: NewDice(p), claims: map[onceward.WriteToken]string{}, drops: map[onceward.OperationID]int{}, byKey: map[string]string{}, asked: map[string]time.Duration{}, due: map[string]time.Duration{}, names: map[onceward.OperationID]string{}, processes: make([]*process, p.Replicas), lives: make([]int, p.Replicas)}
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
		e.names[e.opID(i)] = p.Ops[i].Name
	}
	return e
}

func (e *engine) opName(id onceward.OperationID) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.names[id]
}

// opID is the identity of an operation of the plan. A fork's names what it forks.
func (e *engine) opID(i int) onceward.OperationID {
	op := &e.plan.Ops[i]
	key := onceward.Key(op.Name)
	if op.Fork != "" {
		key = onceward.ForkKey(onceward.Key(op.Fork), key)
	}
	return onceward.NewOperationID(onceward.DefaultTenant, onceward.ToolName(Specs[op.Spec].Name), key)
}

// input is what a caller asks for.
func (e *engine) input(i, amount, words int) []byte {
	op := &e.plan.Ops[i]
	name, resource := op.Name, ""
	if op.Fork != "" {
		name = op.Fork // it is the same business event
	}
	if op.Resource != "" {
		resource = fmt.Sprintf(`,"res":%q`, op.Resource)
	}
	return fmt.Appendf(nil, `{"id":%q,"tool":%q,"n":%d,"text":"wording %d"%s}`, name, Specs[op.Spec].Name, amount, words, resource)
}

// learn keeps what the names of a row's keys are, before it is written.
func (e *engine) learn(op *onceward.Operation) {
	e.mu.Lock()
	defer e.mu.Unlock()
	name, known := e.names[op.ID]
	if !known {
		e.names[op.ID] = "resource " + string(op.Key)
	} else if op.ProviderKey != "" {
		e.byKey[op.ProviderKey] = name
	}
}

// forgets reports whether an operation's key is forgotten in its time.
func (e *engine) forgets(op *onceward.Operation) bool {
	s := specNamed(string(op.Tool))
	return s != nil && s.Tombstone > 0
}

// ours reports whether an operation is one of the plan's, and no resource.
func (e *engine) ours(op *onceward.Operation) bool { return op.Tenant == onceward.DefaultTenant }

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
	var t onceward.Tool = newContract(spec, e.version)
	if e.bug.tool != nil {
		t = e.bug.tool(t)
	}
	return t
}

// compile makes an earlier version of a contract, of which a later process has
// only the source. Only contracts that ask people have versions.
func (e *engine) compile(name onceward.ToolName, source []byte) (onceward.Tool, error) {
	version, err := strconv.Atoi(string(source))
	if err != nil {
		return nil, errNoSource
	}
	return newContract(e.specOf(string(name)), version), nil
}

// row is an operation in the auditor's words.
func (e *engine) row(op *onceward.Operation) Row {
	r := Row{Op: e.opName(op.ID), Tool: string(op.Tool), State: op.State.String(), Reference: op.Reference, Key: op.ProviderKey, Version: op.Version,
		Generation: int(op.Generation), Attempts: len(op.Attempts), Open: op.OpenAttempts(), Retired: op.Retired,
		Contract: op.Contract, CancelAsked: op.CancelRequested}
	for i := range e.plan.Ops {
		if e.plan.Ops[i].Name == r.Op {
			r.Fork, r.Resource = e.plan.Ops[i].Fork, e.plan.Ops[i].Resource
		}
	}
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
		e.ahead += max(0, ev.For)
		e.audit.Back += max(0, -ev.For)
	case EventAmend:
		e.amend(p, ev.For)
	}
}

// amend rolls a new version of the contracts that ask people out: to one process
// now, to the others within the given time. Who starts later has it.
func (e *engine) amend(first *process, within time.Duration) {
	e.version++
	for _, p := range e.processes {
		if at := e.s.now + within; p != first {
			e.s.after(at, p.name+" is amended", p.activate)
		}
	}
	for _, p := range e.processes { // the roll-out begins with whoever is there
		if first.dead {
			first = p
		}
	}
	first.activate()
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
			if Specs[e.plan.Ops[i].Spec].Remote {
				e.claimOn(i, 0)
				return
			}
			if e.plan.Ops[i].Fork != "" && e.raw(i) == nil {
				return // nobody wanted it
			}
			kind := CallSubmit
			if e.plan.Ops[i].Fork != "" {
				kind = CallFork
			}
			e.ask(&Call{Kind: kind, Op: i, Replica: slot, Wait: 10 * time.Second, Repeats: 50, Amount: int(e.audit.Rows()[e.plan.Ops[i].Name].Amount)}, fmt.Sprintf("last%d", i+1), 0)
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
	if e.audit.Rows()[e.plan.Ops[i].Name].State == "awaiting_approval" {
		for person := 1; person < len(persons); person++ {
			e.ask(&Call{Kind: CallApprove, Op: i, Replica: e.s.random.IntN(len(e.processes)), Person: person}, fmt.Sprintf("person%d", person), 0)
		}
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
	for _, p := range e.performers {
		if !p.over {
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
	ops, err := e.store.Load(context.Background(), []onceward.OperationID{e.opID(i)})
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
