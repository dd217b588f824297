package committer_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/committer"
	"github.com/onceward/onceward/oncewardtest"
	"github.com/onceward/onceward/store/memory"
)

func newEvent(key string) onceward.InboxEvent {
	e := onceward.InboxEvent{ID: onceward.NewInboxID("acme", "shop", onceward.Key(key)), Tenant: "acme", Source: "shop", Key: onceward.Key(key), State: onceward.InboxReceived,
		ReceivedAt: time.Unix(1780000000, 0), Revision: 1, Body: []byte("{}")}
	copy(e.Token[:], key+fmt.Sprint(tokens.Add(1)))
	return e
}

var tokens atomic.Int64

// counting counts how often events were written, and holds the first write until
// it is let go.
type counting struct {
	onceward.InboxStore
	writes atomic.Int64
	hold   chan struct{}
}

func (c *counting) PutEvents(ctx context.Context, events []onceward.InboxEvent) ([]bool, error) {
	if c.writes.Add(1) == 1 {
		<-c.hold
	}
	return c.InboxStore.PutEvents(ctx, events)
}

func TestDeliveriesThatComeTogetherAreOneCommit(t *testing.T) {
	t.Parallel()
	store := &counting{InboxStore: memory.New(memory.Options{}), hold: make(chan struct{})}
	inbox := committer.NewInbox(store)
	var all sync.WaitGroup
	var recorded atomic.Int64
	record := func(key string) {
		all.Go(func() {
			ours, err := inbox.RecordEvents(t.Context(), []onceward.InboxEvent{newEvent(key)})
			if err != nil {
				t.Error(err)
			} else if ours[0] {
				recorded.Add(1)
			}
		})
	}
	record("first")
	for store.writes.Load() == 0 {
		runtime.Gosched()
	}
	const n = 50
	for i := range n {
		record(fmt.Sprint(i))
		record(fmt.Sprint(i)) // the sender's own retry
	}
	for inbox.Waiting() < 2*n {
		runtime.Gosched()
	}
	close(store.hold)
	all.Wait()
	if got := recorded.Load(); got != n+1 {
		t.Errorf("%d events were recorded, want %d: each once", got, n+1)
	}
	if got := store.writes.Load(); got > 4 {
		t.Errorf("it took %d commits", got)
	}
}

func TestLostCommitOfAnEventIsRunAgain(t *testing.T) {
	t.Parallel()
	for _, fault := range []oncewardtest.CommitFault{oncewardtest.CommitLostWritten, oncewardtest.CommitLostUnwritten} {
		store := oncewardtest.NewFaultyStore(memory.New(memory.Options{}))
		store.ScriptCommits(fault)
		ours, err := committer.NewInbox(store).RecordEvents(t.Context(), []onceward.InboxEvent{newEvent("a")})
		if err != nil || !ours[0] {
			t.Errorf("after %v: recorded %v, %v", fault, ours, err)
		}
	}
}

func TestEventThatNoStoreTakesFailsAlone(t *testing.T) {
	t.Parallel()
	store := &counting{InboxStore: memory.New(memory.Options{}), hold: make(chan struct{})}
	inbox := committer.NewInbox(store)
	var all sync.WaitGroup
	all.Go(func() { _, _ = inbox.RecordEvents(t.Context(), []onceward.InboxEvent{newEvent("first")}) })
	for store.writes.Load() == 0 {
		runtime.Gosched()
	}
	bad := newEvent("bad")
	bad.Body = make([]byte, 65<<20)
	var failed error
	var good bool
	all.Go(func() { _, failed = inbox.RecordEvents(t.Context(), []onceward.InboxEvent{bad}) })
	all.Go(func() {
		ours, err := inbox.RecordEvents(t.Context(), []onceward.InboxEvent{newEvent("good")})
		good = err == nil && ours[0]
	})
	for inbox.Waiting() < 2 {
		runtime.Gosched()
	}
	close(store.hold)
	all.Wait()
	if !onceward.Is(failed, onceward.CodeTooLarge) || !good {
		t.Errorf("the bad one: %v; the good one is recorded: %v", failed, good)
	}
}
