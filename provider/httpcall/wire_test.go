package httpcall

import (
	"bytes"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

// slowConn takes every write, and calls between after each.
type slowConn struct {
	net.Conn
	took    bytes.Buffer
	between func()
}

func (c *slowConn) Write(p []byte) (int, error) {
	c.took.Write(p)
	c.between()
	return len(p), nil
}

func gated(t *testing.T, notAfter time.Time, between func()) (*wire, *slowConn) {
	t.Helper()
	x := New(Options{}).newExchange(&onceward.Request{}, &onceward.SendOptions{NotAfter: notAfter})
	c := &slowConn{between: between}
	x.gate.request = true
	return &wire{Conn: c, gate: &x.gate}, c
}

func TestEveryChunkAsksForTheLease(t *testing.T) {
	t.Parallel()
	notAfter := time.Now().Add(100 * time.Millisecond)
	w, c := gated(t, notAfter, func() { <-time.After(time.Until(notAfter) + time.Millisecond) })
	n, err := w.Write(make([]byte, 3*writeChunk))
	var f *fault
	if n != writeChunk || !errors.As(err, &f) || f.code != codeLease || c.took.Len() != writeChunk {
		t.Errorf("wrote %d, %v; the connection got %d bytes; want one chunk and lease_passed", n, err, c.took.Len())
	}
	if _, err := w.Write([]byte("x")); !errors.As(err, &f) || c.took.Len() != writeChunk {
		t.Errorf("a refused exchange wrote on: %v", err)
	}
}

func TestLeaseThatIsOverRefusesWhateverClockItCarries(t *testing.T) {
	t.Parallel()
	now := time.Now()
	w, _ := gated(t, now.Add(-time.Second).Round(0), func() {})
	if _, err := w.Write([]byte("x")); err == nil {
		t.Error("written after a lease without monotonic reading")
	}
	w, _ = gated(t, now.Add(-time.Second), func() {})
	if _, err := w.Write([]byte("x")); err == nil {
		t.Error("written after a lease with monotonic reading")
	}
	w, c := gated(t, now.Add(time.Minute), func() {})
	if n, err := w.Write([]byte("x")); n != 1 || err != nil || c.took.String() != "x" {
		t.Errorf("within the lease: %d, %v", n, err)
	}
}

func TestCancelledExchangeWritesNothing(t *testing.T) {
	t.Parallel()
	w, c := gated(t, time.Time{}, func() {})
	w.gate.canceled.Store(true)
	if _, err := w.Write([]byte("x")); err == nil || c.took.Len() > 0 {
		t.Errorf("written: %v", err)
	}
}
