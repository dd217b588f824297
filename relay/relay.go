package relay

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"time"

	"github.com/onceward/onceward"
)

// Defaults and limits of a relay.
const (
	DefaultLanes    = 64
	DefaultTogether = 512
	DefaultBatch    = 1000
	DefaultLease    = 10 * time.Second
	DefaultTimeout  = 10 * time.Second
	DefaultTries    = 12
	// KeysAsideMax is how many keys may wait aside. A sink that has more stops at
	// the next refusal, as if its destination were out of reach.
	KeysAsideMax = 10_000

	backoffFirst = time.Second
	backoffMax   = 10 * time.Minute
	pauseFirst   = 50 * time.Millisecond
	pauseMax     = 15 * time.Second
	poll         = 100 * time.Millisecond
	asideAtOnce  = 100
	asideEvery   = 250 * time.Millisecond
)

// Options make a relay. Sink, Store and Publisher are needed.
type Options struct {
	Sink      string // under which its place is kept
	Store     onceward.OutboxStore
	Publisher Publisher
	// Select says which events the sink gets; nil: all. The others are passed over
	// for good.
	Select func(e *onceward.OutboxEvent) bool
	// Owner names this process in the lease; empty: random.
	Owner string
	Lease time.Duration // 0: DefaultLease. Another process takes over after it
	// Lanes is how many events are under way at once, each of another key. 0:
	// DefaultLanes, or DefaultTogether with a [Batcher].
	Lanes   int
	Batch   int           // 0: DefaultBatch, at most OutboxRowsMax. Events between two places
	Timeout time.Duration // 0: DefaultTimeout. Of one event at the destination, or of those under way together
	Tries   int           // 0: DefaultTries. Refusals until an event is dead
	// Crash is called at named places; nil in production.
	Crash func(point string)
	Clock onceward.Clock // nil: SystemClock
	Log   *slog.Logger   // nil: discards
	Meter onceward.Meter // nil: nobody is told
}

// Relay hands the events of one sink on. It is a worker.Loop: one goroutine calls
// Step and Idle.
type Relay struct {
	opts   Options
	place  onceward.OutboxPlace
	held   map[string]bool // keys that have events aside
	until  time.Time       // the lease, by the local clock
	renew  time.Time
	pause  time.Duration // after a destination was out of reach; 0: it is not
	failed bool          // in this step
	rest   time.Duration
	look   time.Time              // when what is aside is looked at next
	ahead  []onceward.OutboxEvent // what comes after place, read while others were published; nil: not read
}

// New returns a relay. It holds nothing before its first Step.
func New(o Options) (*Relay, error) {
	if o.Sink == "" || o.Store == nil || o.Publisher == nil {
		return nil, onceward.Errorf(onceward.CodeConfigInvalid, "a relay needs a sink's name, a store and a publisher")
	}
	o.Owner = cmp.Or(o.Owner, "relay_"+rand.Text())
	o.Lease, o.Timeout = cmp.Or(o.Lease, DefaultLease), cmp.Or(o.Timeout, DefaultTimeout)
	if _, together := o.Publisher.(Batcher); together {
		o.Lanes = cmp.Or(o.Lanes, DefaultTogether)
	}
	o.Lanes, o.Batch, o.Tries = cmp.Or(o.Lanes, DefaultLanes), min(cmp.Or(o.Batch, DefaultBatch), onceward.OutboxRowsMax), cmp.Or(o.Tries, DefaultTries)
	if o.Clock == nil {
		o.Clock = onceward.SystemClock{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Meter == nil {
		o.Meter = onceward.NoMeter{}
	}
	if o.Crash == nil {
		o.Crash = func(string) {}
	}
	return &Relay{opts: o, rest: poll}, nil
}

// Name implements worker.Loop.
func (r *Relay) Name() string { return "relay" }

// Idle implements worker.Loop.
func (r *Relay) Idle() (time.Duration, <-chan struct{}) { return r.rest, nil }

// Step hands on a batch. worked is false if there was nothing, if another process
// holds the sink, or if the destination is out of reach; the last is no error of
// the relay, and is logged once.
func (r *Relay) Step(ctx context.Context) (worked bool, err error) {
	r.rest, r.failed = poll, false
	if held, err := r.hold(ctx); err != nil || !held {
		return false, err
	}
	again, err := r.aside(ctx)
	if err != nil || r.failed {
		return false, err
	}
	events := r.ahead
	if r.ahead = nil; len(events) == 0 {
		events, err = r.opts.Store.ReadOutbox(ctx, r.place, r.opts.Batch)
	}
	if err != nil || len(events) == 0 {
		return again && err == nil, err
	}
	ahead := r.readAhead(ctx, events)
	step := r.batch(ctx, events)
	if step.To != step.From {
		err = r.store(ctx, step)
	}
	if next := <-ahead; err == nil && r.place == events[len(events)-1].Place {
		r.ahead = next
	}
	return err == nil && !r.failed, err
}

// readAhead reads what comes after a full batch while that is published. It sends
// nothing where it read nothing: the next step reads then.
func (r *Relay) readAhead(ctx context.Context, events []onceward.OutboxEvent) <-chan []onceward.OutboxEvent {
	read := make(chan []onceward.OutboxEvent, 1)
	if len(events) < r.opts.Batch {
		close(read)
		return read
	}
	go func() {
		defer close(read)
		if next, err := r.opts.Store.ReadOutbox(ctx, events[len(events)-1].Place, r.opts.Batch); err == nil {
			read <- next
		}
	}()
	return read
}

// hold sees to the lease. A new holder reads where the sink is.
func (r *Relay) hold(ctx context.Context) (bool, error) {
	now := r.opts.Clock.Now()
	if now.Before(r.renew) {
		return true, nil
	}
	sink, err := r.opts.Store.HoldSink(ctx, r.opts.Sink, r.opts.Owner, r.opts.Lease)
	if err != nil {
		return false, err
	}
	if !sink.Held {
		r.lose()
		r.rest = max(poll, r.opts.Lease/10)
		return false, nil
	}
	if r.held == nil {
		if err := r.reload(ctx); err != nil {
			return false, err
		}
	}
	if r.place != sink.Place {
		r.place, r.ahead = sink.Place, nil
	}
	r.leased(now)
	return true, nil
}

// leased notes a lease that was given after the time.
func (r *Relay) leased(from time.Time) {
	r.until, r.renew = from.Add(r.opts.Lease), from.Add(r.opts.Lease/3)
}

// lose forgets what only a holder knows.
func (r *Relay) lose() { r.held, r.ahead, r.renew, r.until = nil, nil, time.Time{}, time.Time{} }

func (r *Relay) reload(ctx context.Context) error {
	keys, err := r.opts.Store.HeldKeys(ctx, r.opts.Sink)
	if err != nil {
		return err
	}
	r.held = make(map[string]bool, len(keys))
	for _, k := range keys {
		r.held[k] = true
	}
	return nil
}

// batch publishes events and says how far that leads: to the last one before the
// first that did not reach its destination.
func (r *Relay) batch(ctx context.Context, events []onceward.OutboxEvent) onceward.SinkStep {
	step := onceward.SinkStep{Sink: r.opts.Sink, Owner: r.opts.Owner, Lease: r.opts.Lease, From: r.place, To: r.place}
	offered := make([]*onceward.OutboxEvent, 0, len(events))
	for i := range events {
		if e := &events[i]; r.selects(e) && !r.held[e.Key] {
			offered = append(offered, e)
		}
	}
	results := r.publish(ctx, offered)
	r.opts.Crash("relay.after_publish")
	r.count(results)
	return r.settle(events, offered, results, step)
}

// settle says how far the results lead.
func (r *Relay) settle(events []onceward.OutboxEvent, offered []*onceward.OutboxEvent, results []result, step onceward.SinkStep) onceward.SinkStep {
	next := 0
	for i := range events {
		e := &events[i]
		switch {
		case !r.selects(e):
		case next < len(offered) && offered[next] == e:
			out := results[next]
			next++
			if out.fate == unreachable || out.fate == refused && len(r.held) >= KeysAsideMax {
				r.stop(out.err, step.To != step.From)
				return step
			}
			if out.fate != delivered {
				r.setAside(&step, *e, out)
			}
		default:
			r.setAside(&step, *e, result{fate: behind})
		}
		step.To = e.Place
	}
	r.back()
	return step
}

func (r *Relay) selects(e *onceward.OutboxEvent) bool {
	return r.opts.Select == nil || r.opts.Select(e)
}

// setAside notes an event that waits beside the sink's place.
func (r *Relay) setAside(step *onceward.SinkStep, e onceward.OutboxEvent, out result) {
	a := onceward.SetAside{Event: e}
	if out.fate == refused {
		r.retry(&a, out.err)
	}
	step.Aside = append(step.Aside, a)
	if e.Key != "" {
		r.held[e.Key] = true
	}
}

// retry says when an event that was refused is offered again, if it is.
func (r *Relay) retry(a *onceward.SetAside, err error) {
	a.Tries++
	a.Message, a.DueAt = err.Error(), time.Time{}
	if a.Tries >= r.opts.Tries {
		a.Dead = true
		r.opts.Meter.Add(onceward.MetricOutboxEvents, 1, onceward.Labels{r.opts.Sink, "dead"})
		r.opts.Log.Error("event is dead", "sink", r.opts.Sink, "event", a.Event.ID, "type", a.Event.Type, "tries", a.Tries, "reason", a.Message)
		return
	}
	wait := min(backoffFirst<<min(a.Tries-1, 20), backoffMax)
	var asked *Refused
	if asRefused(err, &asked) {
		wait = min(max(wait, asked.After), backoffMax)
	}
	a.DueAt = r.opts.Clock.Now().Add(wait)
}

// aside offers what was set aside and is due. again: there may be more.
func (r *Relay) aside(ctx context.Context) (again bool, err error) {
	now := r.opts.Clock.Now()
	if now.Before(r.look) {
		return false, nil
	}
	due, err := r.opts.Store.DueAside(ctx, r.opts.Sink, asideAtOnce)
	if err != nil || len(due) == 0 {
		r.look = now.Add(asideEvery)
		return false, err
	}
	offered := make([]*onceward.OutboxEvent, len(due))
	for i := range due {
		offered[i] = &due[i].Event
	}
	results := r.publish(ctx, offered)
	r.opts.Crash("relay.after_publish")
	r.count(results)
	step := onceward.SinkStep{Sink: r.opts.Sink, Owner: r.opts.Owner, Lease: r.opts.Lease, From: r.place, To: r.place}
	for i := range due {
		switch a := due[i]; results[i].fate {
		case delivered:
			r.back()
			step.Gone = append(step.Gone, a.Event.Place)
			if a.Event.Key != "" {
				step.Freed = append(step.Freed, a.Event.Key)
			}
		case refused:
			r.retry(&a, results[i].err)
			step.Aside = append(step.Aside, a)
		case behind:
		case unreachable:
			r.stop(results[i].err, len(step.Gone) > 0)
		}
	}
	if len(step.Gone)+len(step.Aside) > 0 {
		if err := r.store(ctx, step); err != nil {
			return false, err
		}
	}
	if len(step.Freed) > 0 {
		err = r.reload(ctx)
	}
	return len(step.Gone) > 0, err
}

// store keeps a step. Whoever finds that the sink is another one's, or that it
// does not know what became of the step, looks anew.
func (r *Relay) store(ctx context.Context, step onceward.SinkStep) error {
	began := r.opts.Clock.Now()
	ours, err := r.opts.Store.StepSink(ctx, step)
	if err != nil || !ours {
		r.lose()
		return err
	}
	r.place = step.To
	r.leased(began)
	return nil
}

// stop ends a step before its last event. A batch that outlasted the lease goes on
// in the next step, at once if this one led anywhere: the destination is slow, and
// not out of reach.
func (r *Relay) stop(err error, moved bool) {
	if !errors.Is(err, errLeaseOver) {
		r.away(err)
		return
	}
	r.renew, r.failed = time.Time{}, r.failed || !moved
}

// away notes that the destination is out of reach.
func (r *Relay) away(err error) {
	if r.pause == 0 {
		r.opts.Log.Warn("destination out of reach", "sink", r.opts.Sink, "error", err)
	}
	r.pause = min(max(2*r.pause, pauseFirst), pauseMax)
	r.rest, r.failed = r.pause, true
}

func (r *Relay) back() {
	if r.pause > 0 {
		r.opts.Log.Info("destination within reach again", "sink", r.opts.Sink)
	}
	r.pause = 0
}

func (r *Relay) count(results []result) {
	var n [unreachable + 1]int
	for _, out := range results {
		n[out.fate]++
	}
	for f, name := range map[fate]string{delivered: "delivered", refused: "refused", unreachable: "unreachable"} {
		if n[f] > 0 {
			r.opts.Meter.Add(onceward.MetricOutboxEvents, float64(n[f]), onceward.Labels{r.opts.Sink, name})
		}
	}
}
