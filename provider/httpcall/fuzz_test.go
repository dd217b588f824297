package httpcall_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/provider/httpcall"
)

// FuzzAnswer holds that whatever a provider answers, the write is on the wire
// once, ends in time, and leaves evidence that is within its limits and can be
// judged and shown.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{withBody("", `{"id":"t1"}`), withBody("Content-Encoding: gzip\r\n", "\x1f\x8b\x08\x00"), "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", "HTTP/1.1 101 Switching Protocols\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", "HTTP/1.1 307 T\r\nLocation: http://169.254.169.254/\r\n\r\n", "HTTP/2.0 200 OK\r\n\r\n", "\x16\x03\x01", "HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\x00: d\r\n\r\n", "HTTP/1.1 99999 X\r\n\r\n", "",
		"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 200 OK\r\nKeep-Alive: timeout=99999999999999999999\r\nContent-Length: 0\r\n\r\n"} {
		f.Add([]byte(seed))
	}
	l := listen(f)
	var answer atomic.Pointer[[]byte]
	var requests atomic.Int64
	go serveRaw(l, &answer, &requests)
	const limit = 1 << 10
	f.Fuzz(func(t *testing.T, raw []byte) {
		answer.Store(&raw)
		// A connection that an earlier answer left kept is one that the server
		// is about to close, so that a request on it may reach nobody.
		client := newClient(t, httpcall.Options{})
		before := requests.Load()
		opts := write(l.Addr().String())
		opts.Deadline, opts.JudgeBytes = time.Minute, limit
		began := time.Now()
		ev := client.Send(t.Context(), post("http://"+l.Addr().String()), opts)
		if n := requests.Load() - before; n != 1 {
			t.Fatalf("%q: %d requests were sent", raw, n)
		}
		if took := time.Since(began); took > opts.Deadline+5*time.Second || len(ev.Body) > limit || !utf8.ValidString(ev.ErrorText) || strings.ContainsAny(ev.ErrorText, "\r\n") {
			t.Fatalf("%q: after %s %s", raw, took, show(ev))
		}
		if ev.Status == 0 && ev.ErrorCode == "" || ev.Status != 0 && (ev.Status < 200 || ev.Status > 999) || ev.Reach < onceward.ReachHeadersWritten {
			t.Fatalf("%q: %s", raw, show(ev))
		}
		for _, h := range ev.Header {
			if strings.ContainsAny(h.Name+h.Value, "\r\n\x00") || !utf8.ValidString(h.Value) {
				t.Fatalf("%q leaves the header %q: %q", raw, h.Name, h.Value)
			}
		}
	})
}

// serveRaw reads each request, answers with the bytes that are set, and ends the
// connection.
func serveRaw(l net.Listener, answer *atomic.Pointer[[]byte], requests *atomic.Int64) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			req, err := http.ReadRequest(bufio.NewReader(c))
			if err != nil {
				return
			}
			if _, err := io.Copy(io.Discard, req.Body); err != nil {
				return
			}
			requests.Add(1)
			_, _ = c.Write(*answer.Load())
		}()
	}
}
