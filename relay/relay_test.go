package relay_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
	"github.com/onceward/onceward/relay"
	"github.com/onceward/onceward/store/memory"
)

// broker is a destination that keeps what it took, and does as it is told.
type broker struct {
	mu    sync.Mutex
	taken []string
	says  func(e *onceward.OutboxEvent) error // nil: takes all
}

func (b *broker) Publish(_ context.Context, e *onceward.OutboxEvent) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.says != nil {
		if err := b.says(e); err != nil {
			return err
		}
	}
	b.taken = append(b.taken, e.ID)
	return nil
}

func (b *broker) Close() error { return nil }

// firsts are the events as a consumer sees them that knows each ID once.
func (b *broker) firsts() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []string
	for _, id := range b.taken {
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

func refuse(ids ...string) func(*onceward.OutboxEvent) error {
	return func(e *onceward.OutboxEvent) error {
		if slices.Contains(ids, e.ID) {
			return &relay.Refused{Reason: "not this one"}
		}
		return nil
	}
}

// world is an outbox with one sink.
type world struct {
	*testing.T
	clock *oncewardtest.Clock
	store *memory.Store
	to    *broker
}

func newWorld(t *testing.T) *world {
	clock := oncewardtest.NewClock()
	return &world{T: t, clock: clock, store: memory.New(memory.Options{Now: clock.Now}), to: &broker{}}
}

// relay is a process that runs the sink.
func (w *world) relay(edits ...func(*relay.Options)) *relay.Relay {
	w.Helper()
	o := relay.Options{Sink: "broker", Store: w.store, Publisher: w.to, Clock: w.clock, Tries: 3}
	for _, edit := range edits {
		edit(&o)
	}
	r, err := relay.New(o)
	if err != nil {
		w.Fatal(err)
	}
	return r
}

// add stores events, each "key:id" and the ID alone without a key.
func (w *world) add(names ...string) {
	w.Helper()
	var events []onceward.OutboxEvent
	for _, name := range names {
		key, _, keyed := strings.Cut(name, ":")
		if !keyed {
			key = ""
		}
		e, err := onceward.NewOutboxEvent(onceward.OutboxEvent{ID: name, Type: "test.happened", Key: key, At: w.clock.Now()})
		if err != nil {
			w.Fatal(err)
		}
		events = append(events, e)
	}
	if err := w.store.AddEvents(w.Context(), events); err != nil {
		w.Fatal(err)
	}
}

// run steps a relay until it comes to rest.
func (w *world) run(r *relay.Relay) {
	w.Helper()
	for range 10_000 {
		worked, err := r.Step(w.Context())
		if err != nil {
			w.Fatal(err)
		}
		if !worked {
			return
		}
	}
	w.Fatal("it never comes to rest")
}

func (w *world) want(what string, want ...string) {
	w.Helper()
	got := w.to.firsts()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		w.Fatalf("%s: the destination has %q, want %q", what, got, want)
	}
}

func (w *world) sink() onceward.Sink {
	w.Helper()
	all, err := w.store.Sinks(w.Context())
	if err != nil || len(all) != 1 {
		w.Fatalf("the sinks are %+v, %v", all, err)
	}
	return all[0]
}

func TestEventThatIsRefusedHoldsUpItsKeyAndNoOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add("a:1", "b:1", "a:2", "b:2", "loose 1", "loose 2")
	w.to.says = refuse("a:1", "loose 1")
	r := w.relay()
	w.run(r)
	w.want("while it is refused", "b:1", "b:2", "loose 2")
	w.add("a:3", "b:3")
	w.run(r)
	w.want("what came behind it", "b:1", "b:2", "loose 2", "b:3")
	w.to.says = nil
	w.run(r)
	w.want("before its time", "b:1", "b:2", "loose 2", "b:3")
	w.clock.Advance(2 * time.Second)
	w.run(r)
	w.clock.Advance(2 * time.Second)
	w.run(r)
	w.want("in the end", "a:1", "a:2", "a:3", "b:1", "b:2", "b:3", "loose 1", "loose 2")
	w.wantOrder()
	if s := w.sink(); s.Aside != 0 || s.Behind != 0 {
		t.Fatalf("the sink is %+v", s)
	}
}

// wantOrder holds what the destination has to the order of each key.
func (w *world) wantOrder() {
	w.Helper()
	last := map[string]int{}
	for _, id := range w.to.firsts() {
		key, number, keyed := strings.Cut(id, ":")
		if !keyed {
			continue
		}
		var n int
		if _, err := fmt.Sscan(number, &n); err != nil || n != last[key]+1 {
			w.Fatalf("%s came after %s:%d: %q", id, key, last[key], w.to.firsts())
		}
		last[key] = n
	}
}

// It was published, and the relay died before it could say so.
func TestRelayThatDiesAfterPublishingPublishesAgainUnderTheSameID(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add("a:1", "a:2")
	dying := w.relay(func(o *relay.Options) {
		o.Crash = func(point string) {
			if point == "relay.after_publish" {
				panic("killed")
			}
		}
	})
	func() {
		defer func() { _ = recover() }()
		_, _ = dying.Step(t.Context())
	}()
	w.want("what was published", "a:1", "a:2")
	next := w.relay()
	w.run(next)
	if len(w.to.taken) != 2 {
		t.Fatalf("before the lease is over: %q", w.to.taken)
	}
	w.clock.Advance(relay.DefaultLease + time.Second)
	w.run(next)
	if !slices.Equal(w.to.taken, []string{"a:1", "a:2", "a:1", "a:2"}) {
		t.Fatalf("the destination got %q", w.to.taken)
	}
	w.wantOrder()
}

func TestDestinationOutOfReachStopsTheSinkWhereItIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add("a:1", "b:1", "a:2")
	w.to.says = func(*onceward.OutboxEvent) error { return errors.New("connection refused") }
	r := w.relay()
	for range 100 { // however often
		w.run(r)
		w.clock.Advance(time.Minute)
	}
	if rest, _ := r.Idle(); rest < 10*time.Second {
		t.Fatalf("it rests for %s only", rest)
	}
	if s := w.sink(); s.Aside != 0 || s.Behind != 3 || s.OldestAt.IsZero() {
		t.Fatalf("the sink is %+v", s)
	}
	w.to.says = nil
	w.run(r)
	w.run(r)
	w.want("once it is there", "a:1", "a:2", "b:1")
	w.wantOrder()
}

func TestEventRefusedTooOftenIsDeadUntilAPersonDrivesItAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add("a:1", "a:2", "b:1")
	w.to.says = refuse("a:1")
	r := w.relay()
	for range 10 {
		w.run(r)
		w.clock.Advance(time.Hour)
	}
	w.want("while it is dead", "b:1")
	dead, err := w.store.ListAside(t.Context(), onceward.AsideFilter{Tenant: onceward.DefaultTenant, Limit: 10})
	if err != nil || len(dead) != 2 || !dead[0].Dead || dead[0].Tries != 3 || dead[0].Message != "refused: not this one" {
		t.Fatalf("what is set aside is %+v, %v", dead, err)
	}
	w.to.says = nil
	if done, err := w.store.Redrive(t.Context(), onceward.DefaultTenant, "broker", "a:1", false); !done || err != nil {
		t.Fatalf("driven again: %t, %v", done, err)
	}
	w.clock.Advance(time.Second)
	w.run(r)
	w.clock.Advance(time.Second)
	w.run(r)
	w.want("then", "a:1", "a:2", "b:1")
	w.wantOrder()
}

func TestSinkGetsWhatItSelectsAndPassesOverTheRest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add("a:1", "b:1", "a:2")
	r := w.relay(func(o *relay.Options) { o.Select = func(e *onceward.OutboxEvent) bool { return e.Key == "b" } })
	w.run(r)
	w.want("what it selects", "b:1")
	if s := w.sink(); s.Behind != 0 {
		t.Fatalf("the sink is %+v", s)
	}
}

// batches is a broker that takes many events at once.
type batches struct{ *broker }

func (b batches) PublishBatch(ctx context.Context, events []*onceward.OutboxEvent) []error {
	errs := make([]error, len(events))
	for i, e := range events {
		errs[i] = b.Publish(ctx, e)
	}
	return errs
}

// Processes take over from each other, stand still beyond their lease and go on,
// and the destination does anything that one can do. Each event arrives, and those
// of one key in order.
func TestNothingIsLostOrReorderedWhateverHappens(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			w, rnd := newWorld(t), rand.New(rand.NewPCG(seed, 7))
			trouble := true
			var inner sync.Mutex
			w.to.says = func(*onceward.OutboxEvent) error {
				inner.Lock()
				defer inner.Unlock()
				switch n := rnd.IntN(20); {
				case !trouble:
				case n < 2:
					return &relay.Refused{Reason: "no"}
				case n == 2:
					return errors.New("away")
				}
				return nil
			}
			roll := func(n int) int { inner.Lock(); defer inner.Unlock(); return rnd.IntN(n) }
			relays := []*relay.Relay{nil, nil}
			fresh := func() *relay.Relay {
				return w.relay(func(o *relay.Options) {
					o.Batch, o.Lanes, o.Tries = 1+roll(7), 1+roll(4), 1000
					if roll(2) == 0 {
						o.Publisher = batches{w.to}
					}
					o.Crash = func(string) {
						if roll(10) == 0 {
							panic("killed")
						}
					}
				})
			}
			next := map[string]int{}
			var all []string
			for range 150 {
				if roll(2) == 0 {
					key := string(rune('a' + roll(4)))
					next[key]++
					all = append(all, fmt.Sprintf("%s:%d", key, next[key]))
					w.add(all[len(all)-1])
				}
				at := roll(2)
				if relays[at] == nil || roll(20) == 0 {
					relays[at] = fresh()
				}
				func() {
					defer func() {
						if recover() != nil {
							relays[at] = nil
						}
					}()
					_, _ = relays[at].Step(t.Context())
				}()
				w.clock.Advance(time.Duration(roll(4000)) * time.Millisecond)
			}
			trouble = false
			last := w.relay(func(o *relay.Options) { o.Tries = 1000 })
			for range 200 {
				w.run(last)
				w.clock.Advance(11 * time.Minute)
			}
			w.want("in the end", all...)
			w.wantOrder()
		})
	}
}

func TestCloudEventIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 30, 12, 0, 0, 123456000, time.UTC)
	for what, e := range map[string]onceward.OutboxEvent{
		"json":   {ID: "1", Tenant: "acme", Type: "t", Source: "/s", Subject: "sub", Key: "k", At: at, ContentType: "application/json", Data: []byte(`{"a":"<&>"}`), CorrelationID: "c", TraceParent: "00-1-2-01"},
		"binary": {ID: "2", Tenant: "acme", Type: "t", Source: "/s", At: at, ContentType: "application/octet-stream", Data: []byte("\x00\xff")},
		"broken": {ID: "3", Tenant: "acme", Type: "t", Source: "/s", At: at, ContentType: "application/json", Data: []byte(`{"a`)},
		"empty":  {ID: "4", Tenant: "acme", Type: "t", Source: "/s", At: at},
	} {
		b, err := relay.Encode(&e)
		if err != nil {
			t.Fatal(err)
		}
		got, err := relay.Decode(b)
		if err != nil || fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", e) {
			t.Errorf("%s: %s is read as %+v, %v", what, b, got, err)
		}
	}
	for _, none := range []string{"", "{}", `{"specversion":"0.3","id":"1","source":"/s","type":"t"}`, `{"specversion":"1.0","id":"","source":"/s","type":"t"}`} {
		if _, err := relay.Decode([]byte(none)); !onceward.Is(err, onceward.CodeInvalidInput) {
			t.Errorf("%q is taken: %v", none, err)
		}
	}
}

// Its lease ends while it waits for the destination: the next one's events must not
// be followed by older ones of its own.
func TestProcessThatStoodStillBeyondItsLeaseOffersNothingMore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add("a:1", "a:2", "a:3")
	w.to.says = func(e *onceward.OutboxEvent) error {
		if e.ID == "a:1" {
			w.clock.Advance(relay.DefaultLease + time.Second)
		}
		return nil
	}
	old, next := w.relay(), w.relay()
	if _, err := old.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.want("what it offered", "a:1")
	w.to.says = nil
	w.run(next)
	w.run(old)
	w.want("in the end", "a:1", "a:2", "a:3")
	w.wantOrder()
}

// wide is a destination that takes events only once so many are under way at once.
type wide struct {
	broker
	want  int
	under map[string]int // by key
	all   chan struct{}
	once  sync.Once
}

func newWide(want int) *wide {
	return &wide{want: want, under: map[string]int{}, all: make(chan struct{})}
}

func (w *wide) Publish(ctx context.Context, e *onceward.OutboxEvent) error {
	w.mu.Lock()
	if w.under[e.Key]++; w.under[e.Key] > 1 {
		w.mu.Unlock()
		return &relay.Refused{Reason: "two of one key are under way"}
	}
	if len(w.under) == w.want {
		w.once.Do(func() { close(w.all) })
	}
	w.mu.Unlock()
	select {
	case <-w.all:
	case <-ctx.Done():
		return ctx.Err()
	}
	w.mu.Lock()
	w.under[e.Key]--
	w.mu.Unlock()
	return w.broker.Publish(ctx, e)
}

// together is a destination that takes many events at once.
type together struct{ *wide }

func (t together) PublishBatch(ctx context.Context, events []*onceward.OutboxEvent) []error {
	errs := make([]error, len(events))
	var all sync.WaitGroup
	for i, e := range events {
		all.Go(func() { errs[i] = t.Publish(ctx, e) })
	}
	all.Wait()
	return errs
}

func TestEventsOfDifferentKeysAreUnderWayTogetherAndThoseOfOneKeyOneAfterAnother(t *testing.T) {
	t.Parallel()
	single, several := newWide(100), newWide(100)
	for name, to := range map[string]struct {
		relay.Publisher
		*wide
	}{"one by one": {single, single}, "in batches": {together{several}, several}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			var names []string
			for n := 1; n <= 3; n++ {
				for key := range to.want {
					names = append(names, fmt.Sprintf("k%d:%d", key, n))
				}
			}
			w.add(names...)
			w.run(w.relay(func(o *relay.Options) { o.Publisher, o.Lanes = to.Publisher, 100 }))
			w.to = &to.broker
			w.want("what was taken", names...)
			w.wantOrder()
		})
	}
}

// One connection breaks with much under way: nothing more is offered on it, and
// what is behind comes with the next step.
func TestOnceTheDestinationIsOutOfReachNothingMoreIsOffered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	offered := 0
	w.to.says = func(e *onceward.OutboxEvent) error {
		if offered++; e.ID == "b:1" {
			return errors.New("connection reset")
		}
		return nil
	}
	w.add("a:1", "b:1", "b:2", "c:1", "d:1")
	r := w.relay(func(o *relay.Options) { o.Lanes = 1 })
	if _, err := r.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	if offered != 2 {
		t.Errorf("%d were offered", offered)
	}
	if s := w.sink(); s.Behind != 4 {
		t.Errorf("the sink is %+v", s)
	}
	w.to.says = nil
	w.run(r)
	w.want("in the end", "a:1", "b:1", "b:2", "c:1", "d:1")
	w.wantOrder()
}

// Each event takes a while at the destination, so that a batch of one key takes
// longer than the lease: the sink stores how far it is, and goes on at once.
func TestSlowDestinationOfOneKeyIsNoDestinationOutOfReach(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var names []string
	for i := range 100 {
		names = append(names, fmt.Sprintf("a:%03d", i))
	}
	w.add(names...)
	w.to.says = func(*onceward.OutboxEvent) error { w.clock.Advance(time.Second); return nil }
	r := w.relay()
	for steps := 0; len(w.to.taken) < len(names); steps++ {
		if worked, err := r.Step(t.Context()); err != nil || !worked {
			t.Fatalf("it rests after %d events (%v)", len(w.to.taken), err)
		}
		if rest, _ := r.Idle(); rest > 100*time.Millisecond || steps > 20 {
			t.Fatalf("after %d events it waits %s, as for a destination out of reach", len(w.to.taken), rest)
		}
	}
	if !slices.Equal(w.to.taken, names) {
		t.Errorf("the destination has %q", w.to.taken)
	}
}
