package worker

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/onceward/onceward"
)

// Loop does one bounded piece of work at a time.
type Loop interface {
	// Name is for logs.
	Name() string
	// Step does one piece of work. worked is false if there was nothing to do.
	Step(ctx context.Context) (worked bool, err error)
	// Idle is how long to rest after a step without work, and what ends the rest early.
	Idle() (time.Duration, <-chan struct{})
}

// errorPause is the rest after a failed step.
const errorPause = time.Second

// Run repeats a loop's Step until ctx ends.
func Run(ctx context.Context, l Loop, clock onceward.Clock, log *slog.Logger) {
	for ctx.Err() == nil {
		worked, err := l.Step(ctx)
		rest, early := l.Idle()
		switch {
		case err != nil && ctx.Err() == nil:
			log.Warn("background step failed", "loop", l.Name(), "error", err)
			rest, early = errorPause, nil
		case worked:
			continue
		}
		select {
		case <-clock.After(rest):
		case <-early:
		case <-ctx.Done():
		}
	}
}

// Start runs loops until ctx ends; wait returns once all have.
func Start(ctx context.Context, clock onceward.Clock, log *slog.Logger, loops ...Loop) (wait func()) {
	var wg sync.WaitGroup
	for _, l := range loops {
		wg.Go(func() { Run(ctx, l, clock, log) })
	}
	return wg.Wait
}
