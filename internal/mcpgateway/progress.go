package mcpgateway

import (
	"context"
	"sync"
	"time"
)

// reportProgress tells a caller that asked for it, now and then, that the
// operation goes on: each that joined hears under its own token. stop returns
// once nothing more is said.
func (c *call) reportProgress(ctx context.Context) (stop func()) {
	if c.report == nil {
		return func() {}
	}
	over := make(chan struct{})
	var said sync.WaitGroup
	said.Go(func() {
		began := time.Now()
		tick := time.NewTicker(c.opts.ProgressEvery)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case <-ctx.Done():
				return
			case now := <-tick.C:
				// Values rise; there is no total, for nobody knows the end.
				if c.report(ctx, now.Sub(began).Seconds(), "the operation is under way") != nil {
					return
				}
			}
		}
	})
	return func() { close(over); said.Wait() }
}
