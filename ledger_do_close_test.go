package onceward_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onceward/onceward"
)

// Whoever asks a ledger that goes away makes no effect, and burns no attempt.
func TestAFunctionIsNotCalledOnceItsLedgerIsClosed(t *testing.T) {
	t.Parallel()
	onBooks(t, onceward.EffectUnsafeWrite, func(t *testing.T, d *doing) {
		if err := d.ledger.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		op := d.do(`{"id":"a"}`)
		d.wantBooks(op, onceward.StateReady, 0, 0)
		d.activate()
		d.passSlowly(time.Minute, time.Second)
		d.wantBooks(op, onceward.StateSucceeded, 1, 1)
	}, func(f *onceward.Function) { f.Probe = nil })
}

// Nobody saw it return: its effect may come until its lease has ended.
func TestAFunctionThatOutlivesItsLedgerMayActUntilItsLeaseEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		f, err := onceward.NewFunction(functionIn(&books{}, onceward.EffectProbedWrite, func(f *onceward.Function) {
			f.Perform = func(context.Context, *onceward.Call) (onceward.Outcome, error) {
				<-release
				return onceward.Outcome{}, nil
			}
		}))
		if err != nil {
			t.Fatal(err)
		}
		in := booking(`{"id":"a"}`)
		p, err := f.Prepare(&in, 0)
		if err != nil {
			t.Fatal(err)
		}
		op := onceward.NewOperation(&in, p, f.Info(), 0, time.Now())
		lease := time.Now().Add(time.Minute)
		ctx, goAway := context.WithCancel(t.Context())
		goAway()
		ev := f.Provider(&op, onceward.SystemClock{}).Send(ctx, p.Request, onceward.SendOptions{Deadline: 30 * time.Second, NotAfter: lease})
		close(release)
		if ev.LastByteAt.Before(lease) {
			t.Errorf("an effect is not expected after %s, and the lease ends at %s", ev.LastByteAt, lease)
		}
	})
}
