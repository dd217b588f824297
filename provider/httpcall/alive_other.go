//go:build !unix

package httpcall

import (
	"errors"
	"os"
	"time"
)

// quiet reports whether an idle connection is still open and has nothing to
// say. Without a non-blocking read it waits a millisecond for a byte.
func (c *conn) quiet() bool {
	if err := c.tcp.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
		return false
	}
	_, err := c.tcp.Read(c.probeByte[:])
	return errors.Is(err, os.ErrDeadlineExceeded)
}

func (c *conn) probe(uintptr) bool { return true }
