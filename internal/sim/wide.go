package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Wide is the first seed whose plan has features that plain plans do not have:
// resources, rates, dates, performers, people, batches, forks, a database clock
// that goes back, keys that are forgotten. They are drawn from a stream of their
// own, so that the plans of the seeds below stay what they are.
const Wide = 1_000_000_000_000_000

// feature adds one kind of thing to a plan.
type feature func(p *Plan, r *rand.Rand)

// features are drawn by themselves, each for some plans.
var features = []feature{
	(*Plan).addSerial, (*Plan).addRated, (*Plan).addDated, (*Plan).addRemote, (*Plan).addAsked, (*Plan).addForgotten,
	(*Plan).addFork, (*Plan).addBatch, (*Plan).addSlowPerson, (*Plan).addJumpBack,
}

// widen draws which features a plan has, and adds them. The first of them bring
// operations of their own, the last use those that are there.
func (p *Plan) widen(r *rand.Rand) {
	var has []feature
	for len(has) == 0 {
		for _, f := range features {
			if r.IntN(5) == 0 {
				has = append(has, f)
			}
		}
	}
	if r.IntN(3) > 0 { // few operations are easier to meet
		p.Ops, p.Calls = p.Ops[:1], slices.DeleteFunc(p.Calls, func(c Call) bool { return c.Op > 0 })
	}
	for _, f := range has {
		f(p, r)
	}
}

func (p *Plan) addOp(spec string, name string) int {
	i := slices.IndexFunc(Specs, func(s Spec) bool { return s.Name == spec })
	p.Ops = append(p.Ops, OpPlan{Name: name, Spec: i})
	return len(p.Ops) - 1
}

func (p *Plan) addSerial(r *rand.Rand) {
	spec := []string{"t.serial.keyed", "t.serial.probed", "t.serial.unsafe"}[r.IntN(3)]
	for i := range 2 + r.IntN(2) {
		op := p.addOp(spec, fmt.Sprintf("row%d", i+1))
		if p.Ops[op].Resource = "A"; r.IntN(6) == 0 {
			p.Ops[op].Resource = "B"
		}
		p.addCalls(r, op)
	}
}

func (p *Plan) addRated(r *rand.Rand) {
	at, together := ms(r, 5000), r.IntN(2) == 0
	for i := range 3 + r.IntN(2) {
		op := p.addOp("t.rated", fmt.Sprintf("rated%d", i+1))
		c := Call{At: at + ms(r, 1500), Op: op, Repeats: 1}
		if !together {
			c.Replica = r.IntN(p.Replicas)
		}
		p.Calls = append(p.Calls, c)
	}
}

func (p *Plan) addDated(r *rand.Rand) {
	for i := range 1 + r.IntN(2) {
		op := p.addOp([]string{"t.dated.keyed", "t.dated.probed"}[r.IntN(2)], fmt.Sprintf("dated%d", i+1))
		p.addCalls(r, op)
		if r.IntN(2) == 0 {
			at := ms(r, 3000)
			p.Calls = append(p.Calls, Call{At: at, Kind: CallPause, Op: op, Replica: r.IntN(p.Replicas)}, Call{At: at + ms(r, 12000), Kind: CallResume, Op: op, Replica: r.IntN(p.Replicas)})
		}
	}
}

func (p *Plan) addRemote(r *rand.Rand) {
	for i := range 1 + r.IntN(2) {
		op := p.addOp([]string{"t.remote.keyed", "t.remote.probed", "t.remote.chosen"}[r.IntN(3)], fmt.Sprintf("remote%d", i+1))
		at := ms(r, 4000)
		for n := range 2 + r.IntN(4) {
			c := Call{At: at + ms(r, 100), Kind: CallClaim, Op: op, Replica: r.IntN(p.Replicas), Token: n, Work: ms(r, 1500), Repeats: 1 + r.IntN(3), Beats: r.IntN(3) == 0}
			if r.IntN(2) == 0 {
				c.At = at + ms(r, 14000)
			}
			if r.IntN(3) == 0 {
				c.Token = 0 // the first one's answer was lost
			}
			if r.IntN(3) == 0 {
				c.Work = ms(r, 9000)
			}
			if r.IntN(2) == 0 {
				c.Says = Says(r.IntN(int(saysCount)))
			}
			p.Calls = append(p.Calls, c)
		}
		for _, k := range []CallKind{CallCancel, CallProve, CallReconcile, CallResolve, CallReplay} {
			if r.IntN(5) == 0 {
				p.Calls = append(p.Calls, Call{At: at + ms(r, 12000), Kind: k, Op: op, Replica: r.IntN(p.Replicas)})
			}
		}
	}
}

func (p *Plan) addAsked(r *rand.Rand) {
	for i := range 1 + r.IntN(2) {
		op := p.addOp([]string{"t.asked", "t.asked.two"}[r.IntN(2)], fmt.Sprintf("asked%d", i+1))
		at := ms(r, 3000)
		for range 1 + r.IntN(3) {
			p.Calls = append(p.Calls, Call{At: at + ms(r, 12000)*time.Duration(r.IntN(2)), Op: op, Replica: r.IntN(p.Replicas), Repeats: r.IntN(2)})
		}
		if r.IntN(3) == 0 {
			p.Calls = append(p.Calls, Call{At: at, Kind: CallPause, Op: op}, Call{At: at + ms(r, 9000), Kind: CallResume, Op: op, Replica: r.IntN(p.Replicas)})
		}
		for range 1 + r.IntN(4) {
			c := Call{At: at + ms(r, 9000), Kind: CallApprove, Op: op, Replica: r.IntN(p.Replicas), Person: r.IntN(4)}
			switch r.IntN(8) {
			case 0:
				c.Kind = CallReject
			case 1, 2:
				c.Kind, c.Amount = CallEdit, 7+r.IntN(2)
			}
			if r.IntN(2) == 0 {
				c.Slow = ms(r, 4000)
			}
			p.Calls = append(p.Calls, c)
		}
		if r.IntN(6) == 0 {
			p.Calls = append(p.Calls, Call{At: at + ms(r, 9000), Kind: CallCancel, Op: op, Replica: r.IntN(p.Replicas)})
		}
	}
	for range r.IntN(3) {
		p.Events = append(p.Events, Event{At: ms(r, 10000), Kind: EventAmend, Replica: r.IntN(p.Replicas), For: ms(r, 3000)})
	}
}

func (p *Plan) addForgotten(r *rand.Rand) {
	op := p.addOp([]string{"t.forgotten", "t.forgotten.anew"}[r.IntN(2)], "forgotten1")
	for _, after := range []int{0, 1000, 7000, 10000, 14000, 18000} {
		if r.IntN(3) > 0 {
			p.Calls = append(p.Calls, Call{At: time.Duration(after)*time.Millisecond + ms(r, 3000), Op: op, Replica: r.IntN(p.Replicas), Wait: time.Duration(r.IntN(2)) * time.Second, Repeats: r.IntN(3), Amount: r.IntN(2) * r.IntN(2)})
		}
	}
	p.Calm = max(p.Calm, 20*time.Second)
}

func (p *Plan) addFork(r *rand.Rand) {
	first := &p.Ops[r.IntN(len(p.Ops))]
	if s := &Specs[first.Spec]; s.Remote || s.Keep > 0 || first.Fork != "" {
		first = &p.Ops[p.addOp("t.keyed", "first")]
		p.addCalls(r, len(p.Ops)-1)
	}
	fork := OpPlan{Name: first.Name + "again", Spec: first.Spec, Resource: first.Resource, Fork: first.Name}
	p.Ops = append(p.Ops, fork)
	at := 1500*time.Millisecond + ms(r, 9000)
	for range 2 + r.IntN(3) {
		p.Calls = append(p.Calls, Call{At: at + ms(r, 1+r.IntN(2)*4000), Kind: CallFork, Op: len(p.Ops) - 1, Replica: r.IntN(p.Replicas), Words: r.IntN(2), Repeats: 1 + r.IntN(3)})
	}
}

// addBatch asks for what is there, and again for some of it.
//
// Why a batch that repeats a key does not wait: two that wait side by side for
// one operation cannot be told apart, and a schedule has to be repeatable. For
// the same reason what takes a turn or a token is not in a batch.
func (p *Plan) addBatch(r *rand.Rand) {
	var may []int
	for i := range p.Ops {
		if s := &Specs[p.Ops[i].Spec]; !s.Remote && !s.Serial && s.Rate.Count == 0 && p.Ops[i].Fork == "" {
			may = append(may, i)
		}
	}
	for range 1 + r.IntN(2) {
		c := Call{At: ms(r, 8000), Kind: CallBatch, Replica: r.IntN(p.Replicas)}
		for range 2 + r.IntN(4) {
			c.Items = append(c.Items, Item{Op: may[r.IntN(len(may))], Amount: r.IntN(2) * r.IntN(2), Words: r.IntN(2)})
		}
		c.Op = c.Items[0].Op
		p.Calls = append(p.Calls, c)
	}
}

func (p *Plan) addSlowPerson(r *rand.Rand) {
	op := p.addOp([]string{"t.keyed", "t.chosen", "t.upsert"}[r.IntN(3)], "looked1")
	at := ms(r, 3000)
	p.Calls = append(p.Calls, Call{At: at, Op: op, Replica: r.IntN(p.Replicas), Repeats: 1})
	for range 4 + r.IntN(5) {
		p.Calls = append(p.Calls, Call{At: at + time.Second + ms(r, 8000), Kind: CallResolve, Op: op, Replica: r.IntN(p.Replicas), Slow: ms(r, 5000)})
	}
	p.Rates[RequestLost], p.Rates[AnswerLost] = max(p.Rates[RequestLost], 0.4), max(p.Rates[AnswerLost], 0.4)
}

// addJumpBack lets the database's clock go back. Together it stays below a
// minute, which is what the windows of providers' keys keep free for clocks, and
// keys that are forgotten within seconds are left out: their generations are
// drawn from the time.
func (p *Plan) addJumpBack(r *rand.Rand) {
	if slices.ContainsFunc(p.Ops, func(o OpPlan) bool { return Specs[o.Spec].Tombstone > 0 }) {
		return
	}
	for range 1 + r.IntN(2) {
		p.Events = append(p.Events, Event{At: ms(r, 12000), Kind: EventJump, For: -time.Second - ms(r, 24_000)})
	}
}

// more is what a call has besides what every call has, in words.
func (c *Call) more(p *Plan) string {
	var b strings.Builder
	switch c.Kind {
	case CallClaim:
		fmt.Fprintf(&b, " (token %d, works %s, beats %t, says %s, repeats %d)", c.Token, c.Work, c.Beats, saysNames[c.Says], c.Repeats)
	case CallBatch:
		for _, it := range c.Items {
			fmt.Fprintf(&b, " [%s amount %d words %d]", p.Ops[it.Op].Name, it.Amount, it.Words)
		}
	case CallApprove, CallReject, CallEdit:
		fmt.Fprintf(&b, " (person %d, thinks %s, amount %d)", c.Person, c.Slow, c.Amount)
	case CallResolve:
		if c.Slow > 0 {
			fmt.Fprintf(&b, " (thinks %s)", c.Slow)
		}
	case CallFork:
		fmt.Fprintf(&b, " (words %d, repeats %d)", c.Words, c.Repeats)
	case CallSubmit, CallCancel, CallReplay, CallReconcile, CallProve, CallPause, CallResume, CallBeat, CallReport:
	}
	return b.String()
}
