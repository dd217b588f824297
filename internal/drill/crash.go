package drill

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/onceward/onceward/internal/crashpoint"
	"github.com/onceward/onceward/internal/faultproxy"
)

// crashScenarios are one for each crash point of the program.
func crashScenarios() []*Scenario {
	var list []*Scenario
	for _, point := range crashpoint.All {
		sc := &Scenario{
			Name: "crash/" + point, Title: "the server is killed at " + point + ", starts again, and the caller asks again",
			run: crashAt(point), unknown: point != "claim.before_commit" && point != "record.after_commit",
		}
		if strings.HasPrefix(point, "probe.") {
			sc.needs, sc.length = needsLookFirst, 30 // a taken due row is looked at again after half a minute
		} else if sc.unknown {
			sc.needs, sc.length = needsTail, 6
		}
		list = append(list, sc)
	}
	return list
}

// needsLookFirst: where an unknown outcome is settled by sending again, no
// look-up is made at which one could die.
func needsLookFirst(s *subject) (Verdict, string) {
	switch {
	case !s.probes():
		return NotApplicable, "the contract has no look-up"
	case s.resends():
		return NotApplicable, "an unknown outcome of this contract is settled by sending again, not by looking"
	}
	return needsTail(s)
}

func crashAt(point string) func(context.Context, *stage) error {
	return func(ctx context.Context, st *stage) error {
		if strings.HasPrefix(point, "probe.") { // only what is unknown is looked up
			st.next(faultproxy.HTTPFault{Kind: faultproxy.LoseAnswer})
		}
		if err := st.die(ctx, point); err != nil {
			return err
		}
		p, err := st.start(ctx, "")
		if err != nil {
			return err
		}
		if _, err := st.accepted(ctx, p, st.input, callerWait); err != nil {
			return err
		}
		return st.settle(ctx, p)
	}
}

// die starts a server, delivers, and waits until it has died at a crash point.
func (st *stage) die(ctx context.Context, point string) error {
	p, err := st.start(ctx, point)
	if err != nil {
		return err
	}
	// The caller may lose its answer: that is what the crash is about.
	_, _ = st.deliver(ctx, p, st.input, callerWait)
	select {
	case <-p.Done():
	case <-time.After(st.s.waits.toEnd()):
		return fmt.Errorf("the server did not come to %s", point)
	case <-ctx.Done():
		return ctx.Err()
	}
	if end := p.End(); !strings.Contains(end, "killed") {
		return fmt.Errorf("the server was to die at %s, and ended otherwise: %s", point, end)
	}
	return nil
}
