package drill

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/onceward/onceward/internal/faultproxy"
)

// callerWait is how long a patient caller waits for an answer.
const callerWait = 20 * time.Second

func oneDelivery(ctx context.Context, st *stage) error {
	p, err := st.start(ctx, "")
	if err != nil {
		return err
	}
	if _, err := st.accepted(ctx, p, st.input, callerWait); err != nil {
		return err
	}
	return st.settle(ctx, p)
}

// accepted delivers and wants the intention to be taken.
func (st *stage) accepted(ctx context.Context, p Process, input []byte, wait time.Duration) (answer, error) {
	a, err := st.deliver(ctx, p, input, wait)
	if err == nil && a.Operation.ID == "" {
		err = fmt.Errorf("the delivery was refused: %d %s %s", a.Status, a.Code, a.Detail)
	}
	return a, err
}

func tenDuplicates(ctx context.Context, st *stage) error {
	p, err := st.start(ctx, "")
	if err != nil {
		return err
	}
	if err := st.tenAtOnce(ctx, p, p); err != nil {
		return err
	}
	return st.settle(ctx, p)
}

func twoReplicas(ctx context.Context, st *stage) error {
	a, err := st.start(ctx, "")
	if err != nil {
		return err
	}
	b, err := st.start(ctx, "")
	if err != nil {
		return err
	}
	if err := st.tenAtOnce(ctx, a, b); err != nil {
		return err
	}
	return st.settle(ctx, b)
}

// tenAtOnce delivers ten times, in turn to one server and the other.
func (st *stage) tenAtOnce(ctx context.Context, a, b Process) error {
	var all sync.WaitGroup
	answers, errs := make([]answer, 10), make([]error, 10)
	for i := range answers {
		p := a
		if i%2 == 1 {
			p = b
		}
		all.Go(func() { answers[i], errs[i] = st.accepted(ctx, p, st.input, callerWait) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	fresh := 0
	for _, one := range answers {
		if one.Decision == "fresh" {
			fresh++
		}
		if one.Operation.ID != answers[0].Operation.ID {
			st.broken("ten deliveries of one intention became several operations", st.s.change("spec.key", "take the key from fields that are equal in each delivery"))
		}
	}
	if fresh != 1 {
		st.broken(fmt.Sprintf("%d of ten deliveries were answered as the first", fresh), nil)
	}
	return nil
}

// lost delivers under a fault of the first write, and delivers again as callers
// do that did not get an end.
func lost(f faultproxy.HTTPFault) func(context.Context, *stage) error {
	return func(ctx context.Context, st *stage) error {
		p, err := st.start(ctx, "")
		if err != nil {
			return err
		}
		st.next(f)
		for range 2 {
			if _, err := st.accepted(ctx, p, st.input, 0); err != nil {
				return err
			}
		}
		return st.settle(ctx, p)
	}
}

func retryAfterTimeout(ctx context.Context, st *stage) error {
	p, err := st.start(ctx, "")
	if err != nil {
		return err
	}
	st.next(faultproxy.HTTPFault{Kind: faultproxy.HoldAnswer, Delay: 2 * st.s.waits.deadline})
	if _, err := st.accepted(ctx, p, st.input, st.s.waits.deadline/2); err != nil {
		return err
	}
	if _, err := st.accepted(ctx, p, st.input, callerWait); err != nil {
		return err
	}
	return st.settle(ctx, p)
}

// slowOwner stops the process that sent the write (SIGSTOP) until another one
// has settled the operation, and lets it go on with the answer in its hand.
func slowOwner(ctx context.Context, st *stage) error {
	slow, err := st.start(ctx, "")
	if err != nil {
		return err
	}
	other, err := st.start(ctx, "")
	if err != nil {
		return err
	}
	st.next(faultproxy.HTTPFault{Kind: faultproxy.HoldAnswer, Delay: st.s.waits.deadline / 2})
	if _, err := st.accepted(ctx, slow, st.input, 0); err != nil {
		return err
	}
	if err := st.awaitWrite(ctx, 1, callerWait); err != nil {
		return err
	}
	if err := slow.Signal(standStill); err != nil {
		return fmt.Errorf("stop the server: %w", err)
	}
	_, err = st.await(ctx, other, "another server settles it", st.s.waits.toEnd(), (*operation).ended)
	if cont := slow.Signal(goOn); cont != nil {
		return fmt.Errorf("let the server go on: %w", cont)
	}
	if err != nil {
		return err
	}
	for _, p := range []Process{slow, other} {
		if _, err := st.accepted(ctx, p, st.input, callerWait); err != nil {
			return err
		}
	}
	return st.settle(ctx, other)
}
