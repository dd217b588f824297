package providertest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

func answerLost(t *testing.T, h Harness) {
	for name, step := range map[string]Step{"closed": Close(), "reset": Reset()} {
		u := h.upstream(t, step)
		ev := h.Open(t).Send(t.Context(), h.Write(u.Addr()), options(u))
		sentUnanswered(t, ev, onceward.ClassConnection)
		if len(u.Requests()) != 1 {
			t.Errorf("%s: %d writes arrived, want 1", name, len(u.Requests()))
		}
	}
}

// reusedDies is the trap of clients that take a write for repeatable because it
// carries a key or has no body: the connection is an old one, and dies after
// the server has read the request.
func reusedDies(t *testing.T, h Harness) {
	for name, step := range map[string]Step{"closed": Close(), "reset": Reset()} {
		u := h.upstream(t, Answer(h.Done), step)
		p := h.Open(t)
		p.Send(t.Context(), h.Write(u.Addr()), options(u))
		ev := p.Send(t.Context(), h.Write(u.Addr()), options(u))
		sentUnanswered(t, ev, onceward.ClassConnection)
		seen := u.Requests()
		if len(seen) != 2 || seen[1].Conn != seen[0].Conn {
			t.Errorf("%s: %d writes arrived, want 2 on one connection", name, len(seen))
		}
	}
}

func idleClosed(t *testing.T, h Harness) {
	u := h.upstream(t)
	p := h.Open(t)
	p.Send(t.Context(), h.Write(u.Addr()), options(u))
	u.CloseIdle()
	ev := p.Send(t.Context(), h.Write(u.Addr()), options(u))
	if ev.Status != 200 {
		t.Errorf("evidence = %s, want an answer over a new connection", show(ev))
	}
	count(t, u, 2)
}

func lastCheck(t *testing.T, h Harness) {
	u := h.upstream(t)
	p := h.Open(t)
	refusal := &onceward.Error{Code: onceward.CodeFenceLost, Message: "attempt 2 holds the lease"}
	opts := options(u)
	opts.BeforeWrite = func() error { return refusal }
	for _, warm := range []bool{false, true} {
		before := len(u.Requests())
		if warm {
			p.Send(t.Context(), h.Write(u.Addr()), options(u))
			before = 1
		}
		ev := p.Send(t.Context(), h.Write(u.Addr()), opts)
		if ev.Reach != onceward.ReachConnected || !ev.LastByteAt.IsZero() || ev.Status != 0 {
			t.Errorf("warm %v: evidence = %s, want connected and nothing sent", warm, show(ev))
		}
		if ev.ErrorCode != string(onceward.CodeFenceLost) || ev.ErrorClass == onceward.ClassNone {
			t.Errorf("warm %v: error = %v %q, want the check's own code", warm, ev.ErrorClass, ev.ErrorCode)
		}
		count(t, u, before)
	}
	opts.BeforeWrite = func() error { return context.DeadlineExceeded }
	if ev := p.Send(t.Context(), h.Write(u.Addr()), opts); ev.ErrorCode != "lease_passed" || !ev.Reach.NothingSent() {
		t.Errorf("evidence = %s, want lease_passed", show(ev))
	}
	count(t, u, 1)
}

func leasePassed(t *testing.T, h Harness) {
	u := h.upstream(t)
	p := h.Open(t)
	p.Send(t.Context(), h.Write(u.Addr()), options(u))
	opts := options(u)
	opts.NotAfter = time.Now().Add(-time.Millisecond)
	ev := p.Send(t.Context(), h.Write(u.Addr()), opts)
	notSent(t, ev, onceward.ClassTimeout)
	if ev.ErrorCode != "lease_passed" {
		t.Errorf("code = %q, want lease_passed", ev.ErrorCode)
	}
	count(t, u, 1)
}

// leasePasses is what a stopped process does: everything was checked, then time
// passed, then it goes on.
func leasePasses(t *testing.T, h Harness) {
	u := h.upstream(t)
	p := h.Open(t)
	for range 2 { // on a new connection and on a kept one
		opts := options(u)
		opts.NotAfter = time.Now().Add(300 * time.Millisecond)
		opts.BeforeWrite = func() error {
			<-time.After(time.Until(opts.NotAfter) + time.Millisecond)
			return nil
		}
		sent := len(u.Requests())
		ev := p.Send(t.Context(), h.Write(u.Addr()), opts)
		notSent(t, ev, onceward.ClassTimeout)
		if ev.ErrorCode != "lease_passed" {
			t.Errorf("code = %q, want lease_passed", ev.ErrorCode)
		}
		count(t, u, sent)
		p.Send(t.Context(), h.Write(u.Addr()), options(u))
	}
}

func silence(t *testing.T, h Harness) {
	u := h.upstream(t, Hang())
	opts := options(u)
	opts.Deadline = time.Second
	began := time.Now()
	ev := h.Open(t).Send(t.Context(), h.Write(u.Addr()), opts)
	if took := time.Since(began); took < opts.Deadline || took > 10*time.Second {
		t.Errorf("took %v, want the deadline of %v", took, opts.Deadline)
	}
	sentUnanswered(t, ev, onceward.ClassTimeout)
	if ev.ErrorCode != "deadline" {
		t.Errorf("code = %q, want deadline", ev.ErrorCode)
	}
	count(t, u, 1)
}

func cancelledBefore(t *testing.T, h Harness) {
	u := h.upstream(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	notSent(t, h.Open(t).Send(ctx, h.Write(u.Addr()), options(u)), onceward.ClassTimeout)
	count(t, u, 0)
}

func cancelledWaiting(t *testing.T, h Harness) {
	u := h.upstream(t, Hang())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	opts := options(u)
	go func() {
		u.Await(1)
		cancel()
	}()
	ev := h.Open(t).Send(ctx, h.Write(u.Addr()), opts)
	sentUnanswered(t, ev, onceward.ClassTimeout)
	if ev.ErrorCode != "canceled" {
		t.Errorf("code = %q, want canceled", ev.ErrorCode)
	}
	count(t, u, 1)
}

func cutBody(t *testing.T, h Harness) {
	for name, raw := range map[string]string{
		"length":  "HTTP/1.1 201 Created\r\nETag: \"7\"\r\nContent-Length: 100\r\n\r\n{\"id\":",
		"chunked": "HTTP/1.1 201 Created\r\nETag: \"7\"\r\nTransfer-Encoding: chunked\r\n\r\n6\r\n{\"id\":\r\n",
	} {
		u := h.upstream(t, AnswerAndClose(raw))
		ev := h.Open(t).Send(t.Context(), h.Write(u.Addr()), options(u))
		if ev.Status != 201 || !ev.BodyCut || ev.BodyTooBig || ev.ErrorClass != onceward.ClassNone || string(ev.Body) != `{"id":` {
			t.Errorf("%s: evidence = %s, want the head and a cut body", name, show(ev))
		}
		if !slices.Contains(ev.Header, onceward.HeaderField{Name: "Etag", Value: `"7"`}) {
			t.Errorf("%s: header = %v, want the ETag in it", name, ev.Header)
		}
		count(t, u, 1)
	}
}

func longBody(t *testing.T, h Harness) {
	u := h.upstream(t)
	whole := h.Open(t).Send(t.Context(), h.Write(u.Addr()), options(u))
	opts := options(u)
	opts.JudgeBytes = int64(len(whole.Body))
	p := h.Open(t)
	if ev := p.Send(t.Context(), h.Write(u.Addr()), opts); ev.BodyTooBig || ev.BodyCut || len(ev.Body) != len(whole.Body) {
		t.Errorf("a body of exactly the limit: %s", show(ev))
	}
	opts.JudgeBytes--
	ev := p.Send(t.Context(), h.Write(u.Addr()), opts)
	if ev.Status != 200 || !ev.BodyTooBig || string(ev.Body) != string(whole.Body[:opts.JudgeBytes]) || ev.ErrorClass != onceward.ClassNone {
		t.Errorf("evidence = %s, want the head of the body and BodyTooBig", show(ev))
	}
	count(t, u, 3)
}

func nonsense(t *testing.T, h Harness) {
	for _, raw := range []string{
		"SSH-2.0-OpenSSH_9.2\r\n", "HTTP/1.1 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nbroken line\r\n\r\n", "HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
		"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", "HTTP/1.1 042 Odd\r\nContent-Length: 0\r\n\r\n",
		strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 100) + OK, "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("a", 2<<20) + "\r\n\r\n",
	} {
		u := h.upstream(t, AnswerAndClose(raw))
		ev := h.Open(t).Send(t.Context(), h.Write(u.Addr()), options(u))
		if ev.Status != 0 || ev.Reach != onceward.ReachFirstByte || ev.LastByteAt.IsZero() {
			t.Errorf("%.40q: evidence = %s, want an answer that was begun and not understood", raw, show(ev))
		}
		described(t, ev, onceward.ClassProtocol)
		count(t, u, 1)
	}
}

func secrets(t *testing.T, h Harness) {
	const secret, listed, cookie = "tok-51b3a9d7", "lst-77aa12ee", "sid-90c1d2e3"
	body := fmt.Sprintf(`{"you_sent":"%s","and":"%s"}`, secret, listed)
	u := h.upstream(t, Answer(fmt.Sprintf("HTTP/1.1 200 OK\r\nSet-Cookie: s=%s\r\nX-Echo: Bearer %s\r\nX-Drop: gone-7f3e\r\nContent-Length: %d\r\n\r\n%s", cookie, secret, len(body), body)))
	req := h.Write(u.Addr())
	req.Header = append(req.Header, onceward.HeaderField{Name: "Authorization", Value: "Bearer " + secret}, onceward.HeaderField{Name: "X-Listed", Value: listed})
	opts := options(u)
	opts.SecretHeader = []string{"x-listed"}
	opts.RedactHeader = []string{"x-drop"}
	ev := h.Open(t).Send(t.Context(), req, opts)
	if ev.Status != 200 {
		t.Fatalf("evidence = %s", show(ev))
	}
	for _, s := range []string{secret, listed, cookie, "gone-7f3e"} {
		if mentions(ev, s) {
			t.Errorf("%q stands in the evidence: %s", s, show(ev))
		}
	}
	if got := u.Requests()[0].Header.Get("Authorization"); got != "Bearer "+secret {
		t.Errorf("the upstream got Authorization %q", got)
	}
}
