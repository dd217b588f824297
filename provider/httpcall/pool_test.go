package httpcall

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

// answering accepts connections and answers every request; it tells when a
// connection has ended.
func answering(t *testing.T, head string) (addr string, ended chan struct{}) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended = make(chan struct{}, 64)
	s := &http.Server{
		ReadHeaderTimeout: time.Minute,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if head != "" {
				w.Header().Set("Keep-Alive", head)
			}
			_, _ = io.WriteString(w, "{}")
		}),
		ConnState: func(_ net.Conn, st http.ConnState) {
			if st == http.StateClosed {
				ended <- struct{}{}
			}
		},
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(l)
	}()
	t.Cleanup(func() {
		_ = s.Close()
		<-done
	})
	return l.Addr().String(), ended
}

func sendTo(t *testing.T, c *Client, addr string) onceward.Evidence {
	t.Helper()
	return c.Send(context.Background(), &onceward.Request{Method: "POST", URL: "http://" + addr + "/"}, onceward.SendOptions{Write: true, Deadline: 10 * time.Second, Hosts: []string{addr}})
}

func idle(c *Client) []*conn {
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	var all []*conn
	for _, list := range c.pool.idle {
		all = append(all, list...)
	}
	return all
}

func awaitEnd(t *testing.T, ended chan struct{}) {
	t.Helper()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Fatal("the connection was not closed")
	}
}

func TestIdleConnectionIsClosedWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	addr, ended := answering(t, "")
	c := New(Options{})
	defer c.Close()
	sendTo(t, c, addr)
	kept := idle(c)
	if len(kept) != 1 || kept[0].keep != idleUnannounced {
		t.Fatalf("idle = %d", len(kept))
	}
	awaitEnd(t, ended) // by the pool's own timer
	if n := len(idle(c)); n != 0 {
		t.Errorf("%d connections are idle, want none", n)
	}
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	if c.pool.armed || len(c.pool.idle) != 0 {
		t.Error("the pool still waits for something")
	}
}

func TestConnectionPastItsTimeIsNotUsed(t *testing.T) {
	t.Parallel()
	addr, _ := answering(t, "timeout=20")
	c := New(Options{})
	defer c.Close()
	sendTo(t, c, addr)
	kept := idle(c)
	if len(kept) != 1 || kept[0].keep != 19*time.Second {
		t.Fatalf("idle = %d", len(kept))
	}
	c.pool.mu.Lock()
	kept[0].idleTo = time.Now().Add(-time.Millisecond)
	c.pool.mu.Unlock()
	if got := c.pool.take(kept[0].key); got != nil {
		t.Error("a connection past its time was handed out")
	}
	c.pool.reap()
	if n := len(idle(c)); n != 0 {
		t.Errorf("%d connections are idle after reaping", n)
	}
}

func TestServersIdleLimitIsKeptTo(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]time.Duration{
		"": idleUnannounced, "timeout=5, max=100": 4 * time.Second, "max=5,Timeout=10": 9 * time.Second, "timeout=1": 0, "timeout=0": -time.Second,
		"timeout=3600": idleMax, "timeout=x": idleUnannounced, "timeout=-3": idleUnannounced, "max=3": idleUnannounced, `timeout="7"`: 6 * time.Second,
	} {
		if got := idleFor(header); got != want {
			t.Errorf("%q: %v, want %v", header, got, want)
		}
	}
}

func TestConnectionOfAServerWithoutPatienceIsNotKept(t *testing.T) {
	t.Parallel()
	addr, ended := answering(t, "timeout=1")
	c := New(Options{})
	defer c.Close()
	sendTo(t, c, addr)
	awaitEnd(t, ended)
	if n := len(idle(c)); n != 0 {
		t.Errorf("%d connections are idle, want none", n)
	}
}

func TestMoreIdleConnectionsThanAllowedAreClosed(t *testing.T) {
	t.Parallel()
	addr, ended := answering(t, "timeout=20")
	c := New(Options{IdlePerHost: 1})
	defer c.Close()
	sendTo(t, c, addr)
	first := c.pool.take(idle(c)[0].key)
	sendTo(t, c, addr) // on a second connection, which is kept
	c.pool.put(first)
	awaitEnd(t, ended)
	if n := len(idle(c)); n != 1 {
		t.Errorf("%d connections are idle, want one", n)
	}
	none := New(Options{IdlePerHost: -1})
	defer none.Close()
	sendTo(t, none, addr)
	awaitEnd(t, ended)
}

func TestClosedClientKeepsNothingAndSendsNothing(t *testing.T) {
	t.Parallel()
	addr, ended := answering(t, "timeout=20")
	c := New(Options{})
	sendTo(t, c, addr)
	c.Close()
	awaitEnd(t, ended)
	if ev := sendTo(t, c, addr); ev.ErrorCode != codeClosedClient || ev.Reach != onceward.ReachNotDialled {
		t.Errorf("evidence = %.500v", ev)
	}
	c.Close()
}

// The kept connection is found dead by the write itself: nothing was sent, so
// the request goes over a new one, and is checked again before it does.
func TestLastCheckRunsAgainBeforeASecondConnection(t *testing.T) {
	t.Parallel()
	addr, _ := answering(t, "timeout=20")
	c := New(Options{})
	defer c.Close()
	for _, size := range []int{0, 1 << 20} {
		sendTo(t, c, addr)
		first := idle(c)[0]
		checked := 0
		opts := onceward.SendOptions{Write: true, Deadline: 10 * time.Second, Hosts: []string{addr}}
		opts.BeforeWrite = func() error {
			if checked++; checked == 1 {
				return first.tcp.CloseWrite()
			}
			return nil
		}
		ev := c.Send(context.Background(), &onceward.Request{Method: "POST", URL: "http://" + addr + "/", Body: make([]byte, size)}, opts)
		if ev.Status != 200 || checked != 2 {
			t.Errorf("body of %d: checked %d times, evidence = %.500v", size, checked, ev)
		}
	}
}
