package notify

import (
	"context"
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

// manager is the other end of the socket.
func manager(t *testing.T) (path string, hear func() string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return path, func() string {
		t.Helper()
		if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 512)
		n, err := conn.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		return string(buf[:n])
	}
}

func env(pairs map[string]string) func(string) string {
	return func(name string) string { return pairs[name] }
}

func TestTheManagerHearsOfStartLifeAndEnd(t *testing.T) {
	t.Parallel()
	path, hear := manager(t)
	m, err := Open(env(map[string]string{"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "20000", "WATCHDOG_PID": "7"}), 7)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	if err := m.Ready("serving\non two lines"); err != nil {
		t.Fatal(err)
	}
	if got := hear(); got != "READY=1\nSTATUS=serving on two lines" {
		t.Errorf("at the start: %q", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var asked atomic.Int32
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.Watch(ctx, func(context.Context) bool { return asked.Add(1) <= 2 }) // it hangs from the third on
	}()
	for range 2 {
		if got := hear(); got != "WATCHDOG=1" {
			t.Errorf("a sign of life: %q", got)
		}
	}
	for asked.Load() < 4 {
		<-time.After(time.Millisecond)
	}
	cancel()
	<-done
	if err := m.Stopping(); err != nil {
		t.Fatal(err)
	}
	if got := hear(); got != "STOPPING=1\nSTATUS=draining" {
		t.Errorf("whoever hangs gave a sign of life, or the end is not told: %q", got)
	}
}

func TestNobodyIsToldWhereNobodyAsked(t *testing.T) {
	t.Parallel()
	path, _ := manager(t)
	for name, c := range map[string]struct {
		env  map[string]string
		fail bool
		beat time.Duration
	}{
		"no manager":           {env: nil},
		"no watchdog":          {env: map[string]string{"NOTIFY_SOCKET": path}},
		"a watchdog of others": {env: map[string]string{"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "1000000", "WATCHDOG_PID": "8"}},
		"no process is named":  {env: map[string]string{"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "1000000"}, beat: time.Second},
		"no such socket":       {env: map[string]string{"NOTIFY_SOCKET": path + "-gone"}, fail: true},
		"no path":              {env: map[string]string{"NOTIFY_SOCKET": "vsock:2:1"}, fail: true},
	} {
		m, err := Open(env(c.env), 7)
		if (err != nil) != c.fail || m.beat != c.beat {
			t.Errorf("%s: beat %s, error %v", name, m.beat, err)
		}
		if c.env == nil {
			if err := m.Ready("x"); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		m.Close()
	}
}
