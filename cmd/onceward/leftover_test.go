package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/proctest"
)

// silentLetter is an unsafe write at a provider that takes it and never answers.
const silentLetter = `apiVersion: onceward/v1
kind: Tool
metadata: {name: letters.silent, owner: x, description: a letter to nobody}
spec:
  effect: unsafe_write
  key: [input.id]
  request: {method: POST, url: '${env.SILENT_URL}/letters', json: {id: '${input.id}'}, deadline: 6s}
  lease: 7s
`

// silentProvider counts what arrives, and leaves it unanswered.
func silentProvider(t *testing.T) (url string, arrived *atomic.Int64) {
	t.Helper()
	arrived, ended := &atomic.Int64{}, make(chan struct{})
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		arrived.Add(1)
		select {
		case <-ended:
		case <-r.Context().Done():
		}
	})}
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(func() { close(ended); _ = srv.Close() })
	return "http://" + l.Addr().String(), arrived
}

// A server is killed with a thousand writes on the wire. Started again, it serves
// at once, and only the keys of those writes are unknown.
func TestAServerKilledWithAThousandPendingServesAtOnceWhenItComesBack(t *testing.T) {
	t.Parallel()
	const left, batch = 1000, 100
	proctest.Binary(t)
	onBothStores(t, func(t *testing.T, db string) {
		silent, arrived := silentProvider(t)
		provider := proctest.NewProvider(t)
		srv := proctest.NewServer(t, db, []string{contractFile(t, silentLetter), exampleContracts(t)}, "SILENT_URL="+silent, "SIM_URL="+provider.URL)
		srv.Start("")
		var all sync.WaitGroup
		for from := 0; from < left; from += batch {
			all.Go(func() {
				var items []string
				for i := from; i < from+batch; i++ {
					items = append(items, fmt.Sprintf(`{"tool":"letters.silent","input":{"id":"%d"}}`, i))
				}
				body := `{"wait":"0s","operations":[` + strings.Join(items, ",") + `]}`
				if a, err := proctest.Ask(t.Context(), http.MethodPost, srv.URL()+"/v1/operations:batch", body); err != nil || a.Status != 200 {
					t.Errorf("a batch: %+v, %v", a, err)
				}
			})
		}
		all.Wait()
		for until := time.Now().Add(5 * time.Second); arrived.Load() < left && time.Now().Before(until); {
			pause(t, 5*time.Millisecond)
		}
		if arrived.Load() != left {
			t.Fatalf("%d of %d writes were on the wire in time", arrived.Load(), left)
		}
		srv.Kill()
		back := time.Now()
		srv.Start("")
		a, err := srv.Call(t.Context(), "fax.send", `{"case_id":"new","to":"+49301234567","document":"d"}`, 10*time.Second)
		if took := time.Since(back); err != nil || a.Status != 200 || took > 5*time.Second {
			t.Errorf("%s after its start a new request gets %+v, %v", took, a, err)
		}
		if a, err = srv.Call(t.Context(), "letters.silent", `{"id":"7"}`, 0); err != nil || a.Decision != "joined" || a.Operation.State != "effect_pending" {
			t.Errorf("one that was left is told %+v, %v; want that it is still pending", a, err)
		}
		for _, id := range []string{"7", "999"} {
			if op := final(t, srv, "letters.silent", fmt.Sprintf(`{"id":%q}`, id)); op.State != "needs_review" || op.OpenAttempts != 1 {
				t.Errorf("letter %s ends as %+v", id, op)
			}
		}
		if arrived.Load() != left {
			t.Errorf("%d writes reached the provider, want the %d from before", arrived.Load(), left)
		}
	})
}

// narrowFront stands before a provider. The first connection is stuck: the
// network takes only a little of what is sent. Later ones pass. heal lets the
// stuck one go on, and returns when nothing more comes of it.
func narrowFront(t *testing.T, upstream string) (url string, heal func()) {
	t.Helper()
	lc := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		return raw.Control(func(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 2048) })
	}}
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	stuck := make(chan net.Conn, 1)
	go func() {
		for first := true; ; first = false {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if first {
				stuck <- c
				continue
			}
			go join(c, upstream)
		}
	}()
	return "http://" + l.Addr().String(), func() { join(<-stuck, upstream) }
}

// join carries what comes of a connection to the provider, if it is a whole
// request, and the answers back.
func join(c net.Conn, upstream string) {
	defer c.Close()
	in := bufio.NewReader(c)
	for {
		_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		req, err := http.NewRequestWithContext(r.Context(), r.Method, upstream+r.URL.RequestURI(), strings.NewReader(string(body)))
		if err != nil {
			return
		}
		req.Header = r.Header
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			return
		}
		err = res.Write(c)
		_ = res.Body.Close()
		if err != nil {
			return
		}
	}
}

// A process dies with its whole request in the kernel's send buffer, on a network
// that stands still. Another one finds that nothing happened and writes again.
// When the network heals, nothing of the first request may come after it.
func TestARequestThatADeadProcessLeftInTheKernelMakesNoSecondEffect(t *testing.T) {
	t.Parallel()
	proctest.Binary(t)
	onBothStores(t, func(t *testing.T, db string) {
		provider := proctest.NewProvider(t)
		front, heal := narrowFront(t, provider.URL)
		srv := proctest.NewServer(t, db, []string{contractFile(t, hastyTicket)}, "SIM_URL="+front, "TICKETS_TOKEN=token")
		srv.Start("dispatch.after_send")
		input := fmt.Sprintf(`{"id":"a","text":%q}`, strings.Repeat("x", 128<<10))
		_, err := srv.Call(t.Context(), "tickets.hasty", input, 20*time.Second)
		if end := srv.Wait(); !strings.Contains(end, "killed") {
			t.Fatalf("the server did not die with its request written: %s, %v", end, err)
		}
		if n := provider.Effects("a").Requests; n != 0 {
			t.Fatalf("the network took %d requests: it is no trap", n)
		}
		srv.Start("")
		if op := final(t, srv, "tickets.hasty", input); op.State != "succeeded" || op.Attempts != 2 {
			t.Fatalf("it ends as %+v", op)
		}
		heal()
		if effects := provider.Effects("a"); effects.Requests != 1 || effects.Count != 1 {
			t.Errorf("%d writes made %d effects, want 1", effects.Requests, effects.Count)
		}
	})
}
