package watermill

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/relay"
)

// The metadata of every message, which become headers of the broker.
const (
	MetadataContentType = "content-type"
	MetadataType        = "ce-type"
	MetadataKey         = "ce-partitionkey"
)

// reopenAfter is how long a broker that could not be reached is left alone.
const reopenAfter = 100 * time.Millisecond

// Options make a publisher. Open and Topic are needed.
type Options struct {
	// Open connects. It is called when there is something to publish and no
	// connection, and after each failure: a connection that failed is never used
	// again, so that nothing it still holds comes late.
	Open func(ctx context.Context) (message.Publisher, error)
	// Topic is where events go; "{type}" in it stands for the event's type.
	Topic string
	// Refuses says which errors are about the message and not about the broker; nil:
	// none is.
	Refuses func(err error) bool
	Clock   onceward.Clock // nil: SystemClock
}

// Publisher is a relay.Publisher over one of Watermill's. It is safe for
// concurrent use.
type Publisher struct {
	opts Options

	mu      sync.Mutex
	current *connection
	failure error     // of the last Open
	until   time.Time // before which Open is not called again
	closing sync.WaitGroup
}

type connection struct {
	message.Publisher
	drop sync.Once
}

// New returns a publisher that is not connected yet.
func New(o Options) *Publisher {
	if o.Clock == nil {
		o.Clock = onceward.SystemClock{}
	}
	return &Publisher{opts: o}
}

// Message is an event as a message: its ID is the message's, its payload the
// CloudEvent.
func Message(e *onceward.OutboxEvent) (*message.Message, error) {
	payload, err := relay.Encode(e)
	if err != nil {
		return nil, err
	}
	m := message.NewMessage(e.ID, payload)
	m.Metadata[MetadataContentType], m.Metadata[MetadataType], m.Metadata[MetadataKey] = relay.ContentType, e.Type, e.Key
	return m, nil
}

// Addressed is a message and where it goes.
type Addressed struct {
	Topic   string
	Message *message.Message
}

// Together is a publisher of Watermill's that has many messages under way at once.
type Together interface {
	message.Publisher
	// PublishTogether publishes messages, and returns of each what Publish would have.
	PublishTogether(ctx context.Context, messages []Addressed) []error
}

// Publish implements relay.Publisher.
func (p *Publisher) Publish(ctx context.Context, e *onceward.OutboxEvent) error {
	return p.PublishBatch(ctx, []*onceward.OutboxEvent{e})[0]
}

// PublishBatch implements relay.Batcher.
func (p *Publisher) PublishBatch(ctx context.Context, events []*onceward.OutboxEvent) []error {
	errs := make([]error, len(events))
	messages, of := make([]Addressed, 0, len(events)), make([]int, 0, len(events))
	for i, e := range events {
		m, err := Message(e)
		if errs[i] = err; err == nil {
			m.SetContext(ctx)
			messages, of = append(messages, Addressed{strings.ReplaceAll(p.opts.Topic, "{type}", e.Type), m}), append(of, i)
		}
	}
	if len(messages) == 0 {
		return errs
	}
	for n, err := range p.publish(ctx, messages) {
		errs[of[n]] = err
	}
	return errs
}

// publish publishes messages on one connection, and gives that up if one of them did
// not reach the broker.
func (p *Publisher) publish(ctx context.Context, messages []Addressed) []error {
	c, err := p.connect(ctx)
	if err != nil {
		return slices.Repeat([]error{err}, len(messages))
	}
	done := make(chan []error, 1)
	go func() { done <- c.publish(ctx, messages) }()
	var errs []error
	select {
	case errs = <-done:
	case <-ctx.Done():
		errs = slices.Repeat([]error{ctx.Err()}, len(messages))
	}
	lost := false
	for i, err := range errs {
		switch {
		case err == nil:
		case p.opts.Refuses != nil && p.opts.Refuses(err):
			errs[i] = &relay.Refused{Reason: "the broker does not take the message: " + err.Error()}
		default:
			lost = true
		}
	}
	if lost {
		p.fail(c)
	}
	return errs
}

// publish publishes messages side by side.
func (c *connection) publish(ctx context.Context, messages []Addressed) []error {
	if t, together := c.Publisher.(Together); together {
		return t.PublishTogether(ctx, messages)
	}
	errs := make([]error, len(messages))
	var all sync.WaitGroup
	for i, m := range messages {
		all.Go(func() { errs[i] = c.Publish(m.Topic, m.Message) })
	}
	all.Wait()
	return errs
}

// PublishEach is Publish of a publisher that has PublishTogether.
func PublishEach(p Together, topic string, messages []*message.Message) error {
	for _, m := range messages {
		if err := p.PublishTogether(m.Context(), []Addressed{{Topic: topic, Message: m}})[0]; err != nil {
			return err
		}
	}
	return nil
}

// SendThenWait is PublishTogether of a broker that confirms: everything is sent,
// then each confirmation is waited for.
func SendThenWait[Asked any](messages []Addressed, send func(m Addressed) (Asked, error), wait func(m Addressed, asked Asked) error) []error {
	errs, asked := make([]error, len(messages)), make([]Asked, len(messages))
	for i, m := range messages {
		asked[i], errs[i] = send(m)
	}
	for i, m := range messages {
		if errs[i] == nil {
			errs[i] = wait(m, asked[i])
		}
	}
	return errs
}

// connect returns the connection, and makes it if there is none.
func (p *Publisher) connect(ctx context.Context) (*connection, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current != nil {
		return p.current, nil
	}
	if p.failure != nil && p.opts.Clock.Now().Before(p.until) {
		return nil, p.failure
	}
	pub, err := p.opts.Open(ctx)
	if err != nil {
		p.failure, p.until = err, p.opts.Clock.Now().Add(reopenAfter)
		return nil, err
	}
	p.current, p.failure = &connection{Publisher: pub}, nil
	return p.current, nil
}

// fail gives a connection up.
func (p *Publisher) fail(c *connection) {
	p.mu.Lock()
	if p.current == c {
		p.current = nil
	}
	p.mu.Unlock()
	c.drop.Do(func() { p.closing.Go(func() { _ = c.Close() }) })
}

// Close implements relay.Publisher.
func (p *Publisher) Close() error {
	p.mu.Lock()
	c := p.current
	p.current = nil
	p.mu.Unlock()
	var err error
	if c != nil {
		c.drop.Do(func() { err = c.Close() })
	}
	p.closing.Wait()
	return err
}
