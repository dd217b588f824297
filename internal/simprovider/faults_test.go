package simprovider

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"syscall"
	"testing"
	"time"
)

// TestEachFault looks at every fault from the client's side: what it saw, and
// how many effects there are when all is over.
func TestEachFault(t *testing.T) {
	t.Parallel()
	status := func(want int, code string) func(testing.TB, got) {
		return func(t testing.TB, g got) {
			t.Helper()
			if g.err != nil || g.status != want || code != "" && g.code(t) != code {
				t.Errorf("got %+v, want %d %s", g, want, code)
			}
		}
	}
	broken := func(want error) func(testing.TB, got) {
		return func(t testing.TB, g got) {
			t.Helper()
			if !errors.Is(g.err, want) {
				t.Errorf("got %+v, want %v", g, want)
			}
		}
	}
	for _, c := range []struct {
		fault   string
		effects int
		saw     func(testing.TB, got)
	}{
		{"none", 1, status(201, "")},
		{"drop_before_commit", 0, broken(io.EOF)},
		{"drop_before_commit;how=reset", 0, broken(syscall.ECONNRESET)},
		{"drop_after_commit", 1, broken(syscall.ECONNRESET)},
		{"drop_after_commit;how=fin", 1, broken(io.EOF)},
		{"error_before_commit", 0, status(500, "server_error")},
		{"error_before_commit;status=503", 0, status(503, "server_error")},
		{"error_after_commit", 1, status(500, "server_error")},
		{"error_after_commit;status=502", 1, status(502, "server_error")},
		{"error_after_commit;status=504", 1, status(504, "server_error")},
		{"cut_body", 1, func(t testing.TB, g got) {
			if g.status != 201 || !errors.Is(g.err, io.ErrUnexpectedEOF) || g.body == "" {
				t.Errorf("got %+v, want half a body", g)
			}
		}},
		{"not_json", 1, func(t testing.TB, g got) {
			if g.status != 201 || g.err != nil || json.Valid([]byte(g.body)) || g.header.Get("Content-Type") != "text/html; charset=utf-8" {
				t.Errorf("got %+v, want a page", g)
			}
		}},
		{"rate_limited", 0, func(t testing.TB, g got) {
			if g.status != 429 || g.header.Get("Retry-After") != "1" {
				t.Errorf("got %+v", g)
			}
		}},
		{"rate_limited;retry_after=7;form=date", 0, func(t testing.TB, g got) {
			// The clock stands at 12:00:00.25; a date must not name less than 7 s.
			if g.status != 429 || g.header.Get("Retry-After") != "Sun, 01 Mar 2026 12:00:08 GMT" {
				t.Errorf("got %+v", g)
			}
		}},
		{"unauthorized", 0, status(401, "unauthorized")},
		{"forbidden", 0, status(403, "forbidden")},
		{"in_progress", 0, status(409, "idempotency_in_progress")},
		{"redirect", 0, func(t testing.TB, g got) {
			if g.status != 307 || g.header.Get("Location") != "/payments" {
				t.Errorf("got %+v", g)
			}
		}},
		{"redirect;status=308;location=http://203.0.113.9/x", 0, func(t testing.TB, g got) {
			if g.status != 308 || g.header.Get("Location") != "http://203.0.113.9/x" {
				t.Errorf("got %+v", g)
			}
		}},
		{"duplicate_delivery", 2, status(201, "")},
		{"stale_read", 1, status(201, "")},
	} {
		t.Run(c.fault, func(t *testing.T) {
			t.Parallel()
			s := start(t, Options{})
			g := s.do("POST", "/payments", paymentBody("o1"), "Idempotency-Key", "k1", FaultHeader, c.fault)
			c.saw(t, g)
			s.wantCount("o1", c.effects, 1)
			// The same key again: a committed payment is replayed, another one is made.
			s.must(201, "POST", "/payments", paymentBody("o1"), "Idempotency-Key", "k1")
			s.wantCount("o1", max(c.effects, 1), 2)
		})
	}
}

func TestLateCommitAppearsAfterItsDelay(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	if g := s.do("POST", "/payments", paymentBody("o1"), "Idempotency-Key", "k1", FaultHeader, "late_commit;delay=90s"); !errors.Is(g.err, io.EOF) {
		t.Fatalf("got %+v", g)
	}
	s.clock.advance(89 * time.Second)
	if rep := s.report("o1"); rep.Count != 0 || rep.Pending != 1 {
		t.Errorf("before its time: %+v", rep)
	}
	s.must(409, "POST", "/payments", paymentBody("o1"), "Idempotency-Key", "k1")
	if len(s.items("/payments?reference=o1")) != 0 {
		t.Error("found before its time")
	}
	s.clock.advance(time.Second)
	if rep := s.report("o1"); rep.Count != 1 || rep.Pending != 0 {
		t.Errorf("after its time: %+v", rep)
	}
	if g := s.must(201, "POST", "/payments", paymentBody("o1"), "Idempotency-Key", "k1"); g.header.Get("Idempotent-Replayed") != "true" {
		t.Error("the late payment is not the one under the key")
	}
	if len(s.items("/payments?reference=o1")) != 1 {
		t.Error("not found after its time")
	}
}

func TestLateCommitNeverComesAfterClose(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	s.do("POST", "/tickets", ticketBody("e1"), FaultHeader, "late_commit;delay=1s")
	if err := s.server.Close(); err != nil {
		t.Fatal(err)
	}
	s.clock.advance(time.Hour)
	if rep := s.server.Effects("e1"); rep.Count != 0 {
		t.Errorf("an effect after Close: %+v", rep)
	}
	if g := s.do("POST", "/tickets", ticketBody("e2")); g.err == nil {
		t.Errorf("a closed provider answered %d", g.status)
	}
}

func TestSlowAnswerWaitsBeforeOrAfterItsCommit(t *testing.T) {
	t.Parallel()
	for fault, during := range map[string]int{"slow;delay=5s": 1, "slow;at=after;delay=5s": 1, "slow;at=before;delay=5s": 0} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			s := start(t, Options{})
			answered := make(chan got, 1)
			go func() {
				answered <- s.doContext(t.Context(), "POST", "/tickets", ticketBody("e1"), FaultHeader, fault)
			}()
			s.clock.awaitTimers(1)
			s.wantCount("e1", during, 1)
			select {
			case g := <-answered:
				t.Fatalf("answered early: %+v", g)
			default:
			}
			s.clock.advance(5 * time.Second)
			if g := <-answered; g.status != 201 {
				t.Errorf("got %+v", g)
			}
			s.wantCount("e1", 1, 1)
		})
	}
}

func TestHangIsNeverAnswered(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"client leaves", "provider closes"} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			logged := make(lineChannel, 10)
			s := start(t, Options{Log: logged})
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			answered := make(chan got, 1)
			go func() {
				answered <- s.doContext(ctx, "POST", "/payments", paymentBody("o1"), "Idempotency-Key", "k1", FaultHeader, "hang;delay=1s")
			}()
			s.clock.awaitTimers(1) // it has arrived
			s.clock.advance(time.Second)
			if end == "client leaves" {
				leave()
				if g := <-answered; !errors.Is(g.err, context.Canceled) {
					t.Errorf("got %+v", g)
				}
				<-logged // the provider has noticed
				s.wantCount("o1", 0, 1)
				s.must(201, "POST", "/payments", paymentBody("o1"), "Idempotency-Key", "k1")
				return
			}
			if err := s.server.Close(); err != nil {
				t.Fatal(err)
			}
			select {
			case <-logged:
			default:
				t.Error("Close returned while the request was still hanging")
			}
			if g := <-answered; !errors.Is(g.err, io.EOF) {
				t.Errorf("got %+v", g)
			}
			if rep := s.server.Effects("o1"); rep.Count != 0 {
				t.Errorf("a hang had an effect: %+v", rep)
			}
		})
	}
}

func TestPageInsteadOfJSONKeepsTheOtherHeaders(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	g := s.must(201, "PUT", "/contacts/by-external-id/ada", `{"name":"Ada"}`, FaultHeader, "not_json")
	if g.header.Get("ETag") != `"1"` {
		t.Errorf("headers: %v", g.header)
	}
}

func TestStaleReadHidesWhatIsThere(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	s.must(201, "POST", "/tickets", ticketBody("e1"))
	if g := s.must(200, "GET", "/tickets?external_id=e1", "", FaultHeader, "stale_read"); len(g.field(t, "items").([]any)) != 0 {
		t.Errorf("got %s", g.body)
	}
	s.must(404, "GET", "/tickets/T-1", "", FaultHeader, "stale_read")
	if len(s.items("/tickets?external_id=e1")) != 1 {
		t.Error("the ticket is gone")
	}
}

func TestDuplicateDeliveryOfAKeyedPaymentKeepsTheFirstUnderTheKey(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	first := s.must(201, "POST", "/payments", paymentBody("o1"), "Idempotency-Key", "k1", FaultHeader, "duplicate_delivery")
	again := s.must(201, "POST", "/payments", paymentBody("o1"), "Idempotency-Key", "k1")
	if first.field(t, "id") != "P-1" || again.body != first.body {
		t.Errorf("first %s, again %s", first.body, again.body)
	}
	if row := s.report("o1").Items[0]; len(row.EffectIDs) != 2 || row.EffectIDs[1] != "P-2" {
		t.Errorf("row: %+v", row)
	}
}

func TestFollowedRedirectIsSeenAsTwoRequests(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	if _, err := s.server.AddFaults(Script{Faults: []Fault{{Name: "redirect"}}}); err != nil {
		t.Fatal(err)
	}
	s.client.CheckRedirect = nil
	s.must(201, "POST", "/tickets", ticketBody("e1"))
	s.wantCount("e1", 1, 2)
}

// Go's transport re-sends a POST that carries Idempotency-Key when a reused
// connection dies under it. Nobody above the transport is told; here it shows.
func TestHiddenResendOnAReusedConnectionIsCounted(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	s.client = s.http.Client()
	s.must(201, "POST", "/payments", paymentBody("warm-up"), "Idempotency-Key", "k0")
	if _, err := s.server.AddFaults(Script{Faults: []Fault{{Name: "drop_after_commit", How: "fin"}}}); err != nil {
		t.Fatal(err)
	}
	s.must(201, "POST", "/payments", paymentBody("o1"), "Idempotency-Key", "k1")
	s.wantCount("o1", 1, 2)
}

func TestDropOverHTTP2AbortsTheStream(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	s.http.Close()
	s.http = newHTTP2(s.server)
	s.client = s.http.Client()
	if g := s.do("POST", "/tickets", ticketBody("e1"), FaultHeader, "drop_after_commit"); g.err == nil {
		t.Errorf("got %+v", g)
	}
	if rep := s.server.Effects("e1"); rep.Count != 1 || rep.Requests != 1 {
		t.Errorf("report: %+v", rep)
	}
}

func TestResetReachesThroughTLS(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	s.http.Close()
	s.http = newTLS(s.server)
	s.client = s.http.Client()
	s.client.Transport.(*http.Transport).DisableKeepAlives = true
	if g := s.do("POST", "/tickets", ticketBody("e1"), FaultHeader, "drop_after_commit"); !errors.Is(g.err, syscall.ECONNRESET) {
		t.Errorf("got %+v", g)
	}
}
