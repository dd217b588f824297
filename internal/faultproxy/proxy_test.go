package faultproxy_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/onceward/onceward/internal/faultproxy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server reads lines, reports each, and answers it with "re:" before it.
type server struct {
	addr  string
	lines chan string
	ends  chan error // how each connection ended, nil for an end of stream
}

func startServer(tb testing.TB) *server {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	s := &server{addr: l.Addr().String(), lines: make(chan string, 16), ends: make(chan error, 16)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.serve(c)
		}
	}()
	tb.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return s
}

func (s *server) serve(c net.Conn) {
	defer func() { _ = c.Close() }()
	br := bufio.NewReader(c)
	for {
		line, err := br.ReadString('\n')
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
				if line != "" {
					s.lines <- line
				}
			}
			s.ends <- err
			return
		}
		s.lines <- strings.TrimSpace(line)
		_, _ = io.WriteString(c, "re:"+line)
	}
}

func startProxy(tb testing.TB, s *server, faults ...faultproxy.Fault) *faultproxy.Proxy {
	tb.Helper()
	p, err := faultproxy.Start(s.addr)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = p.Close() })
	p.Next(faults...)
	return p
}

func dial(tb testing.TB, addr string) *net.TCPConn {
	tb.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		tb.Fatal(err)
	}
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	tb.Cleanup(func() { _ = c.Close() })
	return c.(*net.TCPConn)
}

func say(tb testing.TB, c net.Conn, text string) {
	tb.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		tb.Fatalf("write: %v", err)
	}
}

func hear(tb testing.TB, c net.Conn, want string) {
	tb.Helper()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(c, got); err != nil || string(got) != want {
		tb.Fatalf("read %q, %v; want %q", got, err, want)
	}
}

func got(tb testing.TB, s *server, want string) {
	tb.Helper()
	select {
	case line := <-s.lines:
		if line != want {
			tb.Fatalf("server got %q, want %q", line, want)
		}
	case <-time.After(10 * time.Second):
		tb.Fatalf("server got nothing, want %q", want)
	}
}

func ended(tb testing.TB, s *server) error {
	tb.Helper()
	select {
	case err := <-s.ends:
		return err
	case <-time.After(10 * time.Second):
		tb.Fatal("the server's connection did not end")
		return nil
	}
}

func TestBytesPassBothWaysAndEndsPassOn(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	p := startProxy(t, s)
	c := dial(t, p.Addr())
	say(t, c, "one\n")
	hear(t, c, "re:one\n")
	_ = c.CloseWrite()
	if err := ended(t, s); err != nil {
		t.Errorf("server saw %v, want the end of the stream", err)
	}
	if rest, err := io.ReadAll(c); err != nil || len(rest) > 0 {
		t.Errorf("client saw %q, %v, want the end of the stream", rest, err)
	}
	if p.Bytes(faultproxy.ToServer) != 4 || p.Bytes(faultproxy.ToClient) != 7 || p.Connections() != 1 || p.Struck() != 0 {
		t.Errorf("counted %d, %d, %d, %d", p.Bytes(faultproxy.ToServer), p.Bytes(faultproxy.ToClient), p.Connections(), p.Struck())
	}
}

func TestCutLetsExactlyTheCountedBytesThrough(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	p := startProxy(t, s, faultproxy.Fault{Kind: faultproxy.Cut, On: faultproxy.ToServer, After: 3})
	c := dial(t, p.Addr())
	say(t, c, "abcdef\n")
	got(t, s, "abc")
	if rest, err := io.ReadAll(c); err != nil || len(rest) > 0 {
		t.Errorf("client saw %q, %v, want the end of the stream", rest, err)
	}
}

func TestAnswerIsLostAfterTheServerDidItsWork(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	p := startProxy(t, s, faultproxy.Fault{Kind: faultproxy.Reset, On: faultproxy.ToClient, After: 2})
	c := dial(t, p.Addr())
	say(t, c, "one\n")
	got(t, s, "one")
	if err := p.AwaitStruck(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(c)
	if !errors.Is(err, syscall.ECONNRESET) || len(rest) > 2 {
		t.Errorf("client saw %q, %v, want at most two bytes and a reset", rest, err)
	}
	// The next connection has no fault.
	c = dial(t, p.Addr())
	say(t, c, "two\n")
	hear(t, c, "re:two\n")
}

func TestRefusedConnectionNeverReachesTheServer(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	p := startProxy(t, s, faultproxy.Fault{Kind: faultproxy.Refuse})
	c, err := net.Dial("tcp", p.Addr()) // the reset may come before Dial returns
	if err == nil {
		_, err = io.ReadAll(c)
		_ = c.Close()
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("client saw %v, want a reset", err)
	}
	if len(s.lines)+len(s.ends) > 0 {
		t.Error("the server heard of it")
	}
}

func TestSwallowedAnswerLeavesTheRequestWayOpen(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	p := startProxy(t, s, faultproxy.Fault{Kind: faultproxy.Swallow, On: faultproxy.ToClient, After: 7})
	c := dial(t, p.Addr())
	say(t, c, "one\n")
	hear(t, c, "re:one\n")
	say(t, c, "two\nthree\n")
	got(t, s, "one")
	got(t, s, "two")
	got(t, s, "three")
	if err := p.AwaitStruck(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	_ = c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("client read %d bytes, %v, want none", n, err)
	}
}

func TestBlackHoleClosesNothingAndPassesNothing(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	p := startProxy(t, s, faultproxy.Fault{Kind: faultproxy.BlackHole, On: faultproxy.ToServer, After: 4})
	c := dial(t, p.Addr())
	say(t, c, "one\n")
	hear(t, c, "re:one\n")
	say(t, c, "two\n")
	if err := p.AwaitStruck(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	_ = c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	var timeout net.Error
	if _, err := c.Read(make([]byte, 1)); !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("client saw %v, want silence", err)
	}
	got(t, s, "one")
	if len(s.lines)+len(s.ends) > 0 {
		t.Error("the server heard more than the first line")
	}
}

func TestDelayHoldsEachChunk(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	p := startProxy(t, s, faultproxy.Fault{Kind: faultproxy.Delay, On: faultproxy.ToClient, Delay: 60 * time.Millisecond})
	c := dial(t, p.Addr())
	began := time.Now()
	say(t, c, "one\n")
	hear(t, c, "re:one\n")
	if took := time.Since(began); took < 60*time.Millisecond {
		t.Errorf("the answer took %v, want at least the delay", took)
	}
}

func TestPartitionHoldsBytesUntilItHeals(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	p := startProxy(t, s)
	c := dial(t, p.Addr())
	say(t, c, "one\n")
	hear(t, c, "re:one\n")
	got(t, s, "one")
	p.Partition()
	say(t, c, "two\n")
	late := dial(t, p.Addr())
	say(t, late, "three\n")
	_ = c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil || len(s.lines) > 0 {
		t.Fatalf("bytes crossed the partition: %d, %v", n, err)
	}
	p.Heal()
	_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
	hear(t, c, "re:two\n")
	got(t, s, "two")
	_ = c.Close()
	got(t, s, "three")
}

func TestHeldBytesOfAResetConnectionAreDropped(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	p := startProxy(t, s)
	c := dial(t, p.Addr())
	say(t, c, "one\n")
	hear(t, c, "re:one\n")
	got(t, s, "one")
	p.Partition()
	say(t, c, "two\n")
	_ = c.SetLinger(0)
	_ = c.Close()
	p.Heal()
	if err := ended(t, s); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("server saw %v, want a reset", err)
	}
	if len(s.lines) > 0 {
		t.Errorf("the server got %q of a connection that was reset before the network healed", <-s.lines)
	}
}

func TestCloseEndsHeldAndSilentConnections(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	p := startProxy(t, s, faultproxy.Fault{Kind: faultproxy.BlackHole})
	c := dial(t, p.Addr())
	say(t, c, "one\n")
	if err := p.AwaitStruck(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	p.Partition()
	say(t, dial(t, p.Addr()), "two\n")
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(c); err != nil && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("client saw %v, want the end", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.AwaitStruck(ctx, 9); !errors.Is(err, context.Canceled) {
		t.Errorf("await = %v, want the context's error", err)
	}
}

func TestRedirectedProxyLeavesOpenConnectionsWhereTheyAre(t *testing.T) {
	t.Parallel()
	first, second := startServer(t), startServer(t)
	p := startProxy(t, first)
	old := dial(t, p.Addr())
	say(t, old, "before\n")
	got(t, first, "before")
	p.Redirect(second.addr)
	say(t, old, "on the old one\n")
	got(t, first, "on the old one")
	say(t, dial(t, p.Addr()), "after\n")
	got(t, second, "after")
}

func TestPartitionOfAnswersLetsTheServerWork(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	p := startProxy(t, s)
	c := dial(t, p.Addr())
	p.PartitionAnswers()
	say(t, c, "one\n")
	got(t, s, "one")
	if p.Bytes(faultproxy.ToClient) != 0 {
		t.Error("an answer passed")
	}
	p.Heal()
	hear(t, c, "re:one\n")
	p.PartitionAnswers()
	say(t, c, "two\n")
	got(t, s, "two")
	p.ResetAll()
	if _, err := io.ReadAll(c); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("client saw %v, want a reset and no answer", err)
	}
	p.Heal()
}
