package httpcall_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/provider/httpcall"
	"github.com/onceward/onceward/provider/providertest"
)

// serveOne accepts one connection, reads the head of one request and gives both
// to play. It returns the address and a wait for the end of play.
func serveOne(tb testing.TB, l net.Listener, play func(c net.Conn, br *bufio.Reader, r *http.Request)) (addr string, wait func()) {
	tb.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer func() { _ = c.Close() }()
		br := bufio.NewReader(c)
		r, err := http.ReadRequest(br)
		if err != nil {
			tb.Errorf("read head: %v", err)
			return
		}
		play(c, br, r)
	}()
	tb.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return l.Addr().String(), func() {
		tb.Helper()
		select {
		case <-done:
		case <-time.After(30 * time.Second):
			tb.Fatal("no request came")
		}
	}
}

func large(url string, size int) *onceward.Request {
	req := post(url)
	req.Body = bytes.Repeat([]byte("0123456789abcdef"), size/16)
	return req
}

func TestLargeBodyArrivesWhole(t *testing.T) {
	t.Parallel()
	cert, roots := authority(t)
	for scheme, up := range map[string]*providertest.Upstream{"http": providertest.NewUpstream(t), "https": tlsUpstream(t, cert, nil)} {
		c := newClient(t, httpcall.Options{RootCAs: roots})
		for _, size := range []int{15 << 10, 16 << 10, 17 << 10, 5 << 20} {
			var reached []onceward.Reach
			opts := write(up.Addr())
			opts.OnReach = func(r onceward.Reach) { reached = append(reached, r) }
			req := large(scheme+"://"+up.Addr()+"/a", size)
			ev := c.Send(t.Context(), req, opts)
			seen := up.Requests()
			if ev.Status != 200 || !bytes.Equal(seen[len(seen)-1].Body, req.Body) {
				t.Errorf("%s %d: %s", scheme, size, show(ev))
			}
			if !slices.IsSorted(reached) || reached[len(reached)-1] != onceward.ReachFirstByte {
				t.Errorf("%s %d: reached %v", scheme, size, reached)
			}
		}
		if up.Connections() != 1 {
			t.Errorf("%s: %d connections, want one that is kept", scheme, up.Connections())
		}
	}
}

func TestAnswerBeforeTheBodyWasReadIsNotMissed(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	var end error
	addr, wait := serveOne(t, listen(t), func(c net.Conn, br *bufio.Reader, _ *http.Request) {
		_, _ = io.WriteString(c, "HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig")
		<-gone
		_, end = io.Copy(io.Discard, br)
	})
	began := time.Now()
	ev := newClient(t, httpcall.Options{}).Send(t.Context(), large("http://"+addr+"/a", 32<<20), write(addr))
	close(gone)
	wait()
	if ev.Status != 413 || string(ev.Body) != "big" || ev.ErrorClass != onceward.ClassNone {
		t.Errorf("evidence = %s", show(ev))
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("took %v: the rest of the body was waited for", took)
	}
	if !errors.Is(end, syscall.ECONNRESET) {
		t.Errorf("the server saw %v, want a reset that drops the rest of the body", end)
	}
}

func TestBodyGoesOnAfterAnEarlySuccess(t *testing.T) {
	t.Parallel()
	var got int64
	addr, wait := serveOne(t, listen(t), func(c net.Conn, _ *bufio.Reader, r *http.Request) {
		_, _ = io.WriteString(c, providertest.OK)
		<-time.After(300 * time.Millisecond) // longer than a refused body is still written
		got, _ = io.Copy(io.Discard, r.Body)
	})
	req := large("http://"+addr+"/a", 32<<20)
	ev := newClient(t, httpcall.Options{}).Send(t.Context(), req, write(addr))
	wait()
	if ev.Status != 200 || got != int64(len(req.Body)) {
		t.Errorf("%d of %d bytes arrived: %s", got, len(req.Body), show(ev))
	}
}

func TestLastCheckStopsALargeWrite(t *testing.T) {
	t.Parallel()
	up := providertest.NewUpstream(t)
	c := newClient(t, httpcall.Options{})
	for range 2 { // on a new connection and on a kept one
		opts := write(up.Addr())
		opts.BeforeWrite = func() error { return onceward.Errorf(onceward.CodeFenceLost, "newer attempt") }
		ev := c.Send(t.Context(), large("http://"+up.Addr(), 1<<20), opts)
		if ev.ErrorCode != "fence_lost" || ev.Reach != onceward.ReachConnected || !ev.LastByteAt.IsZero() {
			t.Errorf("evidence = %s", show(ev))
		}
		c.Send(t.Context(), post("http://"+up.Addr()), write(up.Addr()))
	}
	arrived(t, up, 2)
}

func TestReusedConnectionThatDiesUnderALargeWriteIsNotSentAgain(t *testing.T) {
	t.Parallel()
	up := providertest.NewUpstream(t, providertest.Answer(providertest.OK), providertest.Reset())
	c := newClient(t, httpcall.Options{})
	c.Send(t.Context(), post("http://"+up.Addr()), write(up.Addr()))
	ev := c.Send(t.Context(), large("http://"+up.Addr(), 1<<20), write(up.Addr()))
	if ev.Status != 0 || ev.Reach.NothingSent() || ev.ErrorClass != onceward.ClassConnection {
		t.Errorf("evidence = %s", show(ev))
	}
	arrived(t, up, 2)
}

// The lease ends while a body is on its way: what is left of it stays here.
func TestLeaseThatEndsWithinABodyStopsTheRest(t *testing.T) {
	t.Parallel()
	var got int64
	lease := make(chan time.Time, 1)
	addr, wait := serveOne(t, listen(t), func(c net.Conn, _ *bufio.Reader, r *http.Request) {
		<-time.After(time.Until(<-lease) + 10*time.Millisecond)
		got, _ = io.Copy(io.Discard, r.Body)
	})
	req := large("http://"+addr+"/a", 32<<20)
	opts := write(addr)
	opts.NotAfter = time.Now().Add(time.Second)
	lease <- opts.NotAfter
	began := time.Now()
	ev := newClient(t, httpcall.Options{}).Send(t.Context(), req, opts)
	wait()
	if ev.Status != 0 || ev.Reach != onceward.ReachHeadersWritten || ev.ErrorCode != "lease_passed" || ev.ErrorClass != onceward.ClassTimeout || ev.LastByteAt.IsZero() {
		t.Errorf("evidence = %s", show(ev))
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("took %v: an answer was awaited that cannot come", took)
	}
	if got >= int64(len(req.Body)) {
		t.Error("the whole body arrived after the lease")
	}
}
