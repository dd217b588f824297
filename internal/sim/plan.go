package sim

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// Plan is one schedule to try. It is made from a seed and may be cut smaller.
type Plan struct {
	Seed      uint64 // what it was made from
	Order     uint64 // of the scheduler's and the faults' chance
	Replicas  int
	Ops       []OpPlan
	Calls     []Call
	Events    []Event
	Rates     Rates
	FaultsMax int           // how many faults may happen by chance
	Hurry     int           // how seldom a step is delayed: 1 in Hurry
	Calm      time.Duration // when faults end and everything must settle
}

// OpPlan is one business intention.
type OpPlan struct {
	Name     string
	Spec     int    // index into Specs
	Resource string // what it works on, where its tool is serialised
	Fork     string // the operation of which it is the wanted second effect; empty: none
}

// CallKind is what somebody asks the engine for.
type CallKind uint8

// The kinds of calls.
const (
	CallSubmit CallKind = iota
	CallCancel
	CallReplay
	CallReconcile
	CallProve // the provider's own event: told only if true
	CallResolve
	CallPause
	CallResume
	CallClaim   // by somebody who performs the write itself
	CallBeat    // by whoever performs: not in plans
	CallReport  // by whoever performs: not in plans
	CallFork    // the operation that the fork is
	CallBatch   // several requests in one
	CallApprove // by a person who reads, thinks and answers
	CallReject
	CallEdit // a yes to another amount
)

var callNames = [...]string{
	CallSubmit: "submit", CallCancel: "cancel", CallReplay: "replay", CallReconcile: "reconcile", CallProve: "prove",
	CallResolve: "resolve", CallPause: "pause tool of", CallResume: "resume tool of", CallClaim: "claim", CallBeat: "heartbeat for", CallReport: "outcome of",
	CallFork: "fork into", CallBatch: "batch with", CallApprove: "approve", CallReject: "reject", CallEdit: "edit",
}

// String names the kind.
func (k CallKind) String() string { return callNames[k] }

// Call is one request by somebody.
type Call struct {
	At      time.Duration
	Kind    CallKind
	Op      int
	Replica int
	Amount  int // material field
	Words   int // volatile field
	Wait    time.Duration
	HangUp  time.Duration // after this long the caller is gone; 0: never
	Strict  int           // on_duplicate: 0 return, 1 fail, 2 fail if running
	Repeats int           // how often the caller asks again without a final answer

	Token  int           // a claim's: equal numbers are equal claim tokens
	Work   time.Duration // from a claim's answer to the write
	Says   Says          // what the performer of a claim reports
	Beats  bool          // the performer prolongs its lease
	Person int           // who answers
	Slow   time.Duration // how long a person thinks between looking and answering
	Items  []Item        // of a batch
}

// Item is one request of a batch.
type Item struct{ Op, Amount, Words int }

// Says is what a performer reports in the end.
type Says uint8

// What performers report.
const (
	SaysTruth   Says = iota // what it knows
	SaysUnknown             // that it does not know
	SaysNothing             // it falls silent
	SaysLate                // what it knows, long after its lease
	saysCount
)

var saysNames = [...]string{SaysTruth: "what it knows", SaysUnknown: "that it does not know", SaysNothing: "nothing", SaysLate: "what it knows, late"}

// EventKind is what happens to processes, clocks and the database.
type EventKind uint8

// The kinds of events.
const (
	EventCrash EventKind = iota // the process dies; another one starts after For
	EventStop                   // the process stands still for For
	EventAway                   // the process does not reach the database for For
	EventDown                   // nobody reaches the database for For
	EventJump                   // the database's clock jumps by For, which may be back
	EventAmend                  // a new version of every contract that asks people is rolled out
)

var eventNames = [...]string{EventCrash: "crash", EventStop: "stop", EventAway: "cut off from the database", EventDown: "database down", EventJump: "database clock jumps", EventAmend: "contracts amended"}

// String names the kind.
func (k EventKind) String() string { return eventNames[k] }

// Event is something that happens at a time.
type Event struct {
	At      time.Duration
	Kind    EventKind
	Replica int
	For     time.Duration
}

// NewPlan makes a plan from a seed. Which faults it has at all is drawn first:
// many schedules with few kinds of faults find more than few with all. Seeds from
// Wide on have features besides; what a seed below it means never changes.
func NewPlan(seed uint64) Plan {
	r := stream(seed, 1)
	p := Plan{Seed: seed, Order: seed, Replicas: 2 + r.IntN(2), FaultsMax: 1 << 20, Hurry: []int{2, 4, 16, 64}[r.IntN(4)]}
	if r.IntN(8) == 0 {
		p.Replicas = 4
	}
	for f := range p.Rates {
		if r.IntN(3) == 0 {
			p.Rates[f] = []float64{0.03, 0.15, 0.4}[r.IntN(3)]
		}
	}
	p.Rates[Stall] /= 20
	p.Rates[StoreSlow] /= 4
	p.Rates[Invalid] /= 2
	for i := range 1 + r.IntN(3) {
		p.Ops = append(p.Ops, OpPlan{Name: fmt.Sprintf("op%d", i+1), Spec: r.IntN(plainSpecs)})
	}
	for i := range p.Ops {
		p.addCalls(r, i)
	}
	p.addEvents(r)
	p.Calm = 6*time.Second + time.Duration(r.IntN(14))*time.Second
	if seed >= Wide {
		p.widen(stream(seed, 4))
	}
	return p
}

func (p *Plan) addCalls(r *rand.Rand, op int) {
	reworded, changed := r.IntN(3) == 0, r.IntN(4) == 0
	burst := ms(r, 4000)
	for range 1 + r.IntN(4) {
		c := Call{At: burst + ms(r, 50), Op: op, Replica: r.IntN(p.Replicas), Wait: []time.Duration{0, time.Second, 10 * time.Second}[r.IntN(3)], Repeats: r.IntN(3)}
		if r.IntN(3) == 0 {
			c.At = ms(r, 12000)
		}
		if reworded {
			c.Words = r.IntN(3)
		}
		if changed && r.IntN(2) == 0 {
			c.Amount = 1
		}
		if r.IntN(4) == 0 {
			c.HangUp = ms(r, 2000) + time.Millisecond
		}
		if r.IntN(6) == 0 {
			c.Strict = 1 + r.IntN(2)
		}
		p.Calls = append(p.Calls, c)
	}
	for _, k := range []CallKind{CallCancel, CallReplay, CallReconcile, CallProve, CallProve, CallResolve, CallPause} {
		if r.IntN(5) > 0 {
			continue
		}
		c := Call{At: ms(r, 15000), Kind: k, Op: op, Replica: r.IntN(p.Replicas)}
		if k == CallCancel {
			c.At = burst + ms(r, 3000)
		}
		p.Calls = append(p.Calls, c)
		if k == CallPause {
			p.Calls = append(p.Calls, Call{At: c.At + ms(r, 8000), Kind: CallResume, Op: op, Replica: r.IntN(p.Replicas)})
		}
	}
}

func (p *Plan) addEvents(r *rand.Rand) {
	for _, k := range []EventKind{EventCrash, EventCrash, EventStop, EventStop, EventAway, EventDown, EventJump} {
		if r.IntN(4) > 0 {
			continue
		}
		e := Event{At: ms(r, 9000), Kind: k, Replica: r.IntN(p.Replicas), For: 200*time.Millisecond + ms(r, 12000)}
		if k == EventJump {
			e.For = ms(r, 300_000)
		}
		p.Events = append(p.Events, e)
	}
}

func ms(r *rand.Rand, below int) time.Duration {
	return time.Duration(r.IntN(below)) * time.Millisecond
}

// String is the plan in words, a line a thing.
func (p *Plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %d replicas, faults end at %s", p.Seed, p.Replicas, p.Calm)
	if p.Order != p.Seed {
		fmt.Fprintf(&b, ", order %d", p.Order)
	}
	b.WriteString("\n")
	for i := range p.Ops {
		o := &p.Ops[i]
		fmt.Fprintf(&b, "  %s is a %s of %s", o.Name, Specs[o.Spec].Class, Specs[o.Spec].Name)
		if o.Resource != "" {
			fmt.Fprintf(&b, ", on resource %s", o.Resource)
		}
		if o.Fork != "" {
			fmt.Fprintf(&b, ", a fork of %s", o.Fork)
		}
		b.WriteString("\n")
	}
	for i := range p.Calls {
		c := &p.Calls[i]
		fmt.Fprintf(&b, "  %8s  c%d: %s %s at r%d", c.At, i+1, c.Kind, p.Ops[c.Op].Name, c.Replica+1)
		if c.Kind == CallSubmit {
			fmt.Fprintf(&b, " (amount %d, words %d, wait %s, hang up %s, on_duplicate %d, repeats %d)", c.Amount, c.Words, c.Wait, c.HangUp, c.Strict, c.Repeats)
		}
		b.WriteString(c.more(p))
		b.WriteString("\n")
	}
	for _, e := range p.Events {
		fmt.Fprintf(&b, "  %8s  %s (r%d, %s)\n", e.At, e.Kind, e.Replica+1, e.For)
	}
	for f, rate := range p.Rates {
		if rate > 0 {
			fmt.Fprintf(&b, "  %s: %.3g\n", Fault(f), rate)
		}
	}
	if p.FaultsMax < 1<<20 {
		fmt.Fprintf(&b, "  at most %d faults by chance\n", p.FaultsMax)
	}
	return b.String()
}
