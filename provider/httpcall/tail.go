package httpcall

import (
	"sync"
	"time"
)

// unboundedTail is how long a kernel without TCP_USER_TIMEOUT may go on trying
// to deliver bytes whose writer is gone: the usual retransmission limit.
const unboundedTail = 15 * time.Minute

var tailOnce = sync.OnceValue(func() time.Duration {
	if userTimeoutWorks() {
		return 0
	}
	return unboundedTail
})

// ByteTail is what has to be added to the end of a lease plus the exchange's
// deadline to get the latest instant at which a byte of a dead process can
// still reach the provider. It is zero where the kernel drops unacknowledged
// bytes after a time that we set (TCP_USER_TIMEOUT, never more than what was
// left of the deadline), and 15 minutes elsewhere. It asks the running kernel
// once, so a sandbox that ignores the option is seen.
func ByteTail() time.Duration { return tailOnce() }

// ByteTail is the package's ByteTail, or 15 minutes where a proxy stands in
// between: its kernel holds bytes that no option of ours reaches.
func (c *Client) ByteTail() time.Duration {
	if c.options.Proxy != nil {
		return unboundedTail
	}
	return ByteTail()
}
