package sim

import (
	"slices"
	"time"
)

// Shrink makes a plan smaller as long as it still fails: fewer events, calls,
// operations, replicas and kinds of faults, and fewer faults of each. It tries
// at most tries plans, each by itself a repeatable schedule.
func Shrink(p Plan, tries int, fails func(Plan) bool) Plan {
	s := &shrinker{best: p.clone(), left: tries, fails: fails}
	for s.round() && s.left > 0 {
	}
	return s.best
}

type shrinker struct {
	best  Plan
	left  int
	fails func(Plan) bool
}

func (p Plan) clone() Plan {
	p.Ops, p.Calls, p.Events = slices.Clone(p.Ops), slices.Clone(p.Calls), slices.Clone(p.Events)
	return p
}

// try keeps a smaller plan if it fails, under its own or another order of steps.
func (s *shrinker) try(change func(p *Plan)) bool {
	for order := range uint64(3) {
		if s.left <= 0 {
			return false
		}
		s.left--
		next := s.best.clone()
		change(&next)
		next.Order += order * 1_000_003
		if s.fails(next) {
			s.best = next
			return true
		}
	}
	return false
}

// round tries everything once, and reports whether anything helped.
func (s *shrinker) round() (helped bool) {
	for i := len(s.best.Events) - 1; i >= 0; i-- {
		helped = s.try(func(p *Plan) { p.Events = slices.Delete(p.Events, i, i+1) }) || helped
	}
	for i := len(s.best.Ops) - 1; i >= 0 && len(s.best.Ops) > 1; i-- {
		helped = s.try(func(p *Plan) { p.dropOp(i) }) || helped
	}
	for i := len(s.best.Calls) - 1; i >= 0; i-- {
		helped = s.try(func(p *Plan) { p.Calls = slices.Delete(p.Calls, i, i+1) }) || helped
	}
	for f, rate := range s.best.Rates {
		if rate > 0 {
			helped = s.try(func(p *Plan) { p.Rates[f] = 0 }) || helped
		}
	}
	for s.best.FaultsMax > 0 && s.try(func(p *Plan) { p.FaultsMax = min(p.FaultsMax/2, 16) }) {
		helped = true
	}
	return s.simplify() || helped
}

// simplify tries what makes single things plainer.
func (s *shrinker) simplify() (helped bool) {
	if s.best.Replicas > 1 {
		helped = s.try((*Plan).dropReplica)
	}
	if s.best.Hurry < 1<<20 {
		helped = s.try(func(p *Plan) { p.Hurry = 1 << 20 }) || helped
	}
	if s.best.Calm > 2*time.Second {
		helped = s.try(func(p *Plan) { p.Calm = p.Calm * 2 / 3 }) || helped
	}
	for i := range s.best.Calls {
		c := s.best.Calls[i]
		for n := len(c.Items) - 1; n >= 0 && len(s.best.Calls[i].Items) > 1; n-- {
			helped = s.try(func(p *Plan) { p.Calls[i].dropItems(func(at int, _ Item) bool { return at == n }) }) || helped
		}
		if c.Slow+c.Work > 0 || c.Beats {
			helped = s.try(func(p *Plan) { p.Calls[i].Slow, p.Calls[i].Work, p.Calls[i].Beats = 0, 0, false }) || helped
		}
		if c.HangUp+c.Wait > 0 || c.Repeats+c.Strict+c.Words > 0 {
			helped = s.try(func(p *Plan) {
				c := &p.Calls[i]
				c.HangUp, c.Wait, c.Repeats, c.Strict, c.Words = 0, 0, 0, 0, 0
			}) || helped
		}
	}
	return helped
}

func (p *Plan) dropOp(op int) {
	p.Ops = slices.Delete(p.Ops, op, op+1)
	for i := range p.Calls {
		if c := &p.Calls[i]; c.Items != nil {
			c.dropItems(func(_ int, it Item) bool { return it.Op == op })
			for n := range c.Items {
				if c.Items[n].Op > op {
					c.Items[n].Op--
				}
			}
			if c.Op == op && len(c.Items) > 0 {
				c.Op = c.Items[0].Op
				if c.Op >= op {
					c.Op++ // as the others, which follow
				}
			}
		}
	}
	p.Calls = slices.DeleteFunc(p.Calls, func(c Call) bool { return c.Op == op })
	for i := range p.Calls {
		if p.Calls[i].Op > op {
			p.Calls[i].Op--
		}
	}
}

// dropItems leaves requests out of a batch; the plan's clones keep theirs.
func (c *Call) dropItems(out func(at int, it Item) bool) {
	var left []Item
	for i, it := range c.Items {
		if !out(i, it) {
			left = append(left, it)
		}
	}
	c.Items = left
}

func (p *Plan) dropReplica() {
	p.Replicas--
	for i := range p.Calls {
		p.Calls[i].Replica %= p.Replicas
	}
	for i := range p.Events {
		p.Events[i].Replica %= p.Replicas
	}
}
