package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/contract"
)

// unknownLooked is how many unknown outcomes doctor looks at.
const unknownLooked = 500

// examineInvariant says whether the invariant is known to be broken, and whether
// somebody has to settle what is unknown for too long.
func examineInvariant(ctx context.Context, s onceward.Store, add func(check)) {
	all, err := s.Switches(ctx)
	if err != nil {
		add(failed("one effect each", err))
		return
	}
	broken := 0
	for _, sw := range all {
		if sw.Paused && sw.Reason == "effect_multiplied" {
			broken++
			add(check{Name: "one effect each", Status: "warning", Detail: fmt.Sprintf("an operation of %s had more than one effect, since %s: the tool is paused", sw.Tool, sw.At.UTC().Format("2006-01-02 15:04")),
				Fix: "onceward review list shows it; docs/operating/runbooks/effect-multiplied.md"})
		}
	}
	if broken == 0 {
		add(check{Name: "one effect each", Status: "ok", Detail: "no tool is paused because an operation had more than one effect"})
	}
	examineUnknown(ctx, s, add)
}

func examineUnknown(ctx context.Context, s onceward.Store, add func(check)) {
	ops, err := s.Waiting(ctx, onceward.StateOutcomeUnknown, unknownLooked)
	now, nerr := s.Now(ctx)
	if err != nil || nerr != nil {
		add(failed("unknown outcomes", errors.Join(err, nerr)))
		return
	}
	tools := onceward.NewRegistry(s, contract.Compiler(contractOptions()))
	overdue, unread := 0, 0
	for _, op := range ops {
		t, err := tools.Version(ctx, op.Tool, op.Contract)
		if err != nil {
			unread++
			continue
		}
		if op.Policy = t.Info().Policy; op.UnknownOverdue(now) {
			overdue++
		}
	}
	switch {
	case overdue > 0:
		add(check{Name: "unknown outcomes", Status: "warning", Detail: fmt.Sprintf("%d of %d are past their recovery window", overdue, len(ops)), Fix: "docs/operating/runbooks/unknown-overdue.md"})
	case unread > 0:
		add(check{Name: "unknown outcomes", Status: "ok", Detail: fmt.Sprintf("%d; of %d the contract cannot be read here, so that their recovery window is not known", len(ops), unread)})
	default:
		add(check{Name: "unknown outcomes", Status: "ok", Detail: fmt.Sprintf("%d, none past its recovery window", len(ops))})
	}
}
