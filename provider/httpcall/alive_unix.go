//go:build unix

package httpcall

import (
	"errors"
	"syscall"
)

// quiet reports whether an idle connection is still open and has nothing to
// say: a non-blocking read must find nothing. Deadlines of the last
// exchange must be out of the way. An end of stream, a reset, or a
// byte that nobody asked for all make it unusable.
func (c *conn) quiet() bool {
	if err := c.raw.Read(c.probeFunc); err != nil {
		return false
	}
	return c.probeQuiet
}

// probe is the body of quiet; it never waits. It is built once per connection
// so that a check allocates nothing.
func (c *conn) probe(fd uintptr) bool {
	n, err := syscall.Read(int(fd), c.probeByte[:])
	c.probeQuiet = n <= 0 && (errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EWOULDBLOCK))
	return true
}
