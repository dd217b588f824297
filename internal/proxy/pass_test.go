package proxy_test

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/faultproxy"
)

func TestReadsPassAndUnlistedWritesDoNot(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{})
	a := w.send(t, "GET", "/v1/orders?limit=3&x=%2F", "", "Authorization", "Bearer sk_test")
	if a.status != 200 || a.body != `{"path":"/v1/orders?limit=3&x=%2F","authorization":"Bearer sk_test"}` || a.header.Get("Set-Cookie") != "" || a.header.Get("Request-Id") != "req_of_the_shop" {
		t.Errorf("%d %v %s", a.status, a.header, a.body)
	}
	if a := w.send(t, "POST", "/v1/refunds", `{}`); a.status != 404 || !strings.Contains(a.body, "route_not_found") {
		t.Errorf("%d %s", a.status, a.body)
	}
	for _, path := range []string{"/v1/../admin", "/v1/%2e%2e/admin", "//elsewhere/x"} {
		if a := w.send(t, "GET", path, ""); a.status != 400 {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	if n := len(w.requests()); n != 1 {
		t.Errorf("%d requests", n)
	}
}

func TestAReadFollowsNoRedirect(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{})
	w.answer = func(rw http.ResponseWriter, _ *http.Request, _ string) bool {
		rw.Header().Set("Location", "/v1/elsewhere")
		rw.WriteHeader(302)
		return true
	}
	req, _ := http.NewRequestWithContext(t.Context(), "GET", w.URL+"/v1/orders", nil)
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != 302 || res.Header.Get("Location") != "/v1/elsewhere" || len(w.requests()) != 1 {
		t.Errorf("%d %v, %d requests", res.StatusCode, res.Header, len(w.requests()))
	}
}

func TestWhatMayPassPassesOnceWithoutAnOperation(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{spec: "  unlisted: pass"})
	if a := w.send(t, "POST", "/v1/refunds", `{"a":1}`, "Idempotency-Key", "theirs"); a.status != 201 || a.header.Get("Onceward-Operation") != "" {
		t.Errorf("%d %s", a.status, a.body)
	}
	if got := w.requests()[0].Header.Get("Idempotency-Key"); got != "theirs" {
		t.Errorf("the upstream saw the key %q", got)
	}
	if a := w.send(t, "POST", "/v1/notes", `{}`); a.status != 201 || a.header.Get("Onceward-Operation") != "" {
		t.Errorf("a route that lets requests without a key pass: %d %s", a.status, a.body)
	}
	w.faults.ResetAll()
	w.faults.Next(faultproxy.Fault{Kind: faultproxy.Reset, On: faultproxy.ToClient})
	before := len(w.requests())
	if a := w.send(t, "POST", "/v1/refunds", `{"a":2}`, "Idempotency-Key", "other"); a.status != 502 || !strings.Contains(a.body, "passed_unknown") || !strings.Contains(a.body, `"side_effect_possible":true`) {
		t.Errorf("%d %s", a.status, a.body)
	}
	if n := len(w.requests()) - before; n != 1 {
		t.Errorf("%d requests on the wire", n)
	}
}

func TestTheContractsCredentialsGoInPlaceOfTheCallers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{spec: "  credentials: contract\n  headers: {Authorization: 'Bearer ${secret.SHOP_KEY}'}\n  material: [Shop-Account]"})
	if a := w.send(t, "GET", "/v1/orders", "", "Authorization", "Bearer of-the-caller"); !strings.Contains(a.body, "own-secret-of-the-contract") {
		t.Errorf("read: %s", a.body)
	}
	if a := w.order(t, "1", "Authorization", "Bearer of-the-caller", "X-Internal", "secret", "Shop-Account", "acct_1"); a.status != 201 {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := w.order(t, "1", "Shop-Account", "acct_2"); a.status != 422 {
		t.Errorf("another account under the same key: %d %s", a.status, a.body)
	}
	for _, r := range w.requests() {
		if r.Header.Get("Authorization") != "Bearer own-secret-of-the-contract" || r.Header.Get("X-Internal") != "" {
			t.Errorf("the upstream saw %v", r.Header)
		}
	}
	if got := w.requests()[1].Header.Get("Shop-Account"); got != "acct_1" {
		t.Errorf("account %q", got)
	}
}

// events answers with a stream of three events, each when step is told.
func events(step <-chan struct{}) func(http.ResponseWriter, *http.Request, string) bool {
	return func(rw http.ResponseWriter, _ *http.Request, _ string) bool {
		rw.Header().Set("Content-Type", "text/event-stream")
		for _, e := range []string{"one", "two", "[DONE]"} {
			if _, open := <-step; !open {
				panic(http.ErrAbortHandler)
			}
			_, _ = rw.Write([]byte("data: " + e + "\n\n"))
			_ = http.NewResponseController(rw).Flush()
		}
		return true
	}
}

func TestAStreamIsPassedThroughWhileItComesAndReplayedWhole(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{wait: "1s"})
	step := make(chan struct{}, 3)
	w.answer = events(step)
	req, _ := http.NewRequestWithContext(t.Context(), "POST", w.URL+"/v1/chat", strings.NewReader(`{"stream":true}`))
	req.Header.Set("Idempotency-Key", "step-1")
	req.Header.Set("Content-Type", "application/json")
	step <- struct{}{}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if op := res.Header.Get("Onceward-Operation"); op == "" || res.Header.Get("Onceward-Attempt") != op+".1" || res.Header.Get("Onceward-Decision") != "fresh" {
		t.Errorf("the stream is marked %v", res.Header)
	}
	lines := bufio.NewReader(res.Body)
	if line, err := lines.ReadString('\n'); line != "data: one\n" || err != nil {
		t.Fatalf("the first event before the second was made: %q %v", line, err)
	}
	step <- struct{}{}
	step <- struct{}{}
	rest, err := io.ReadAll(lines)
	if err != nil || string(rest) != "\ndata: two\n\ndata: [DONE]\n\n" {
		t.Errorf("%q %v", rest, err)
	}
	const whole = "data: one\n\ndata: two\n\ndata: [DONE]\n\n"
	until(t, "the stream is recorded and replayed as one", func() bool {
		a := w.send(t, "POST", "/v1/chat", `{"stream":true}`, "Idempotency-Key", "step-1")
		return a.status == 200 && a.body == whole && a.header.Get("Content-Type") == "text/event-stream" && a.header.Get("Idempotent-Replayed") == "true"
	})
	if n := len(w.requests()); n != 1 {
		t.Errorf("%d requests", n)
	}
}

func TestACutStreamIsCutHereTooAndAskedAnew(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{})
	step := make(chan struct{}, 3)
	w.answer = events(step)
	step <- struct{}{}
	close(step)
	req, _ := http.NewRequestWithContext(t.Context(), "POST", w.URL+"/v1/chat", strings.NewReader(`{"stream":true}`))
	req.Header.Set("Idempotency-Key", "step-2")
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if body, err := io.ReadAll(res.Body); err == nil {
		t.Errorf("a cut stream ended like a whole one: %q", body)
	}
}

func TestAModelsAnswerIsPinnedByItsKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{})
	n := 0
	w.answer = func(rw http.ResponseWriter, _ *http.Request, _ string) bool {
		n++
		rw.Header().Set("Content-Type", "application/json")
		_, _ = rw.Write([]byte(`{"choice":` + strings.Repeat("1", n) + `}`))
		return true
	}
	for range 2 {
		if a := w.send(t, "POST", "/v1/chat", `{"q":1}`, "Idempotency-Key", "pinned"); a.body != `{"choice":1}` {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	if a := w.send(t, "POST", "/v1/chat", `{"q":1}`); a.body != `{"choice":11}` {
		t.Errorf("without a key: %s", a.body)
	}
}

func TestAnOperationWhoseCallerIsGoneGoesOnOnceTheCallerAsksAgain(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	w := openWorld(t, s, setting{wait: "300ms"})
	s.faults.Partition() // the first attempt hangs, and its process ends
	if a := w.order(t, "gone", "Authorization", "Bearer first"); a.status != 409 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	file := w.file
	w.stop()
	s.faults.Heal()
	s.faults.ResetAll()
	w = openWorld(t, s, setting{file: file, wait: "20s"})
	if a := w.order(t, "gone", "Authorization", "Bearer second"); a.status != 201 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	last := s.requests()[len(s.requests())-1]
	if s.effects() != 1 || last.Header.Get("Authorization") != "Bearer second" {
		t.Errorf("%d effects, the last request went with %q", s.effects(), last.Header.Get("Authorization"))
	}
}

func TestWithoutItsCallerAWriteIsNeitherSentNorTriedInVain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{})
	input := `{"target":"/v1/orders","content_type":"application/json","raw":"{\"meta\":{\"order\":\"past\"},\"cents\":4200}"}`
	a, err := w.ledger.Submit(t.Context(), onceward.Intent{Principal: onceward.LocalPrincipal(), Tool: "shop.orders.create", Input: []byte(input)})
	if err != nil {
		t.Fatalf("asked past the proxy: %v", err)
	}
	until(t, "the first attempt ends before its first byte", func() bool {
		op, err := w.ledger.Get(t.Context(), onceward.LocalPrincipal(), a.Operation.ID, 0)
		return err == nil && op.State == onceward.StateReady
	})
	for range 5 {
		if err := w.ledger.Advance(t.Context(), a.Operation.ID); err != nil {
			t.Fatal(err)
		}
	}
	op, err := w.ledger.Get(t.Context(), onceward.LocalPrincipal(), a.Operation.ID, 0)
	if err != nil || len(op.Attempts) != 1 || len(w.requests()) != 0 {
		t.Errorf("%d attempts, %d requests, %v", len(op.Attempts), len(w.requests()), err)
	}
	if _, paused := w.ledger.Paused(onceward.DefaultTenant, "shop.orders.create"); paused {
		t.Error("the tool is paused")
	}
	if got := w.send(t, "POST", "/v1/orders", `{"meta":{"order":"past"},"cents":4200}`, "Authorization", "Bearer back"); got.status != 201 || w.requests()[0].Header.Get("Authorization") != "Bearer back" {
		t.Errorf("once the caller is there: %d %s", got.status, got.body)
	}
}

func TestAnUpstreamIsAskedByItsOwnHostName(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{spec: "  host_name: shop.onceward.test"})
	req, err := http.NewRequestWithContext(t.Context(), "GET", strings.TrimSuffix(w.URL, "/proxy/shop")+"/v1/orders?a=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "shop.onceward.test:8686"
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if body, err := io.ReadAll(res.Body); err != nil || !strings.Contains(string(body), `"path":"/v1/orders?a=1"`) {
		t.Errorf("%d %s %v", res.StatusCode, body, err)
	}
	if a := w.send(t, "GET", "", ""); !strings.Contains(a.body, `"path":"/"`) {
		t.Errorf("without a path: %d %s", a.status, a.body)
	}
}
