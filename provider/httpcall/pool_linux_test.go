package httpcall

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/testneed"
)

func TestUnacknowledgedBytesAreDroppedWithinTheDeadline(t *testing.T) {
	t.Parallel()
	if ByteTail() != 0 {
		testneed.Missing(t, "this kernel has no TCP_USER_TIMEOUT")
	}
	addr, _ := answering(t, "timeout=20")
	c := New(Options{})
	defer c.Close()
	opts := onceward.SendOptions{Write: true, Hosts: []string{addr}}
	for _, deadline := range []time.Duration{10 * time.Second, 9 * time.Second, 3 * time.Second, time.Minute} {
		opts.Deadline = deadline
		if ev := c.Send(context.Background(), &onceward.Request{Method: "POST", URL: "http://" + addr + "/"}, opts); ev.Status != 200 {
			t.Fatalf("evidence = %.500v", ev)
		}
		if got := userTimeout(t, idle(c)[0]); got > deadline || got < deadline/3 {
			t.Errorf("deadline %v: the kernel keeps bytes for %v", deadline, got)
		}
	}
	opts.Deadline, opts.NotAfter = time.Minute, time.Now().Add(2*time.Second)
	c.Send(context.Background(), &onceward.Request{Method: "POST", URL: "http://" + addr + "/"}, opts)
	if got := userTimeout(t, idle(c)[0]); got > 2*time.Second || got <= 0 {
		t.Errorf("lease of 2s: the kernel keeps bytes for %v", got)
	}
}

func userTimeout(t *testing.T, c *conn) time.Duration {
	t.Helper()
	var ms int
	var err error
	if ctl := c.raw.Control(func(fd uintptr) { ms, err = syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, 0x12) }); ctl != nil || err != nil {
		t.Fatalf("read option: %v, %v", ctl, err)
	}
	return time.Duration(ms) * time.Millisecond
}
