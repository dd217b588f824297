package relay

import (
	"context"
	"errors"
	"time"

	"github.com/onceward/onceward"
)

// Publisher hands events to one destination. It is safe for concurrent use.
type Publisher interface {
	// Publish hands one event on and returns once the destination has it for good.
	// A *[Refused] is about this event; after any other error nothing is known, and
	// the destination counts as out of reach.
	Publish(ctx context.Context, e *onceward.OutboxEvent) error
	// Close gives up what it holds. No Publish runs any more.
	Close() error
}

// Batcher is a publisher that has many events under way at once, as a broker does
// whose acknowledgements come together.
type Batcher interface {
	Publisher
	// PublishBatch hands on events of different keys, and returns of each what
	// Publish would have.
	PublishBatch(ctx context.Context, events []*onceward.OutboxEvent) []error
}

// Refused is the error of a destination that answered, and did not take an event.
type Refused struct {
	Reason string        // without payloads and secrets
	After  time.Duration // when to try again, if the destination said so
}

// Error implements error.
func (r *Refused) Error() string { return "refused: " + r.Reason }

// fate is what became of an event.
type fate uint8

const (
	delivered   fate = iota
	refused          // set aside
	behind           // not offered: one before it of its key was not taken
	unreachable      // not known to be taken
)

// result is the fate of one event with its reason.
type result struct {
	fate fate
	err  error
}

// classify tells a refusal from a destination that is out of reach.
func classify(err error) fate {
	var r *Refused
	switch {
	case err == nil:
		return delivered
	case asRefused(err, &r):
		return refused
	}
	return unreachable
}

func asRefused(err error, r **Refused) bool { return errors.As(err, r) }
