package proxy_test

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/faultproxy"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("net/http.(*persistConn).writeLoop"), goleak.IgnoreTopFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("internal/poll.runtime_pollWait"))
}

func TestARepeatedWriteGetsTheProvidersAnswerAsItWas(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{})
	first := w.order(t, "1001", "Idempotency-Key", "random-of-the-sdk-1", "Authorization", "Bearer sk_test_secret")
	again := w.order(t, "1001", "Idempotency-Key", "random-of-the-sdk-2", "Authorization", "Bearer sk_test_secret")
	if first.status != 201 || again.status != 201 || first.body != again.body || !strings.Contains(first.body, `"or_1"`) {
		t.Fatalf("first %d %s\nagain %d %s", first.status, first.body, again.status, again.body)
	}
	for _, name := range []string{"Content-Type", "Request-Id"} {
		if first.header.Get(name) != again.header.Get(name) || again.header.Get(name) == "" {
			t.Errorf("%s: first %q, again %q", name, first.header.Get(name), again.header.Get(name))
		}
	}
	if !strings.HasPrefix(first.header.Get("Onceward-Operation"), "op_") || strings.Contains(first.header.Get("Onceward-Operation"), "liar") || first.header.Get("Set-Cookie") != "" || first.header.Get("Onceward-Decision") != "fresh" || first.header.Get("Idempotent-Replayed") != "" {
		t.Errorf("first: %v", first.header)
	}
	if again.header.Get("Onceward-Decision") != "replayed" || again.header.Get("Idempotent-Replayed") != "true" || again.header.Get("Onceward-Operation") != first.header.Get("Onceward-Operation") {
		t.Errorf("again: %v", again.header)
	}
	requests := w.requests()
	if len(requests) != 1 || w.effects() != 1 {
		t.Fatalf("%d requests, %d effects", len(requests), w.effects())
	}
	h := requests[0].Header
	if h.Get("Authorization") != "Bearer sk_test_secret" || strings.HasPrefix(h.Get("Idempotency-Key"), "random") || h.Get("Idempotency-Key") == "" || len(h["Onceward-Token"]) > 0 {
		t.Errorf("the provider saw %v", h)
	}
}

func TestTheBodyArrivesByteEqual(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{})
	const body = `{ "meta" : {"order":"ü1"} , "n": 1.50,"a":[1 ,2]}`
	if a := w.send(t, "POST", "/v1/orders", body); !strings.Contains(a.body, strings.ReplaceAll(body, `"`, `\"`)) {
		t.Errorf("%d %s", a.status, a.body)
	}
	form := w.send(t, "POST", "/v1/orders", "meta[order]=form-1&items[0][sku]=a&items[1][sku]=b&expand[]=x", "Content-Type", "application/x-www-form-urlencoded")
	if form.status != 201 || !strings.Contains(form.body, "meta[order]=form-1&items[0][sku]=a") {
		t.Errorf("%d %s", form.status, form.body)
	}
}

func TestACutConnectionLeavesOneEffectAndTheAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{})
	for name, fault := range map[string]faultproxy.Fault{
		"answer lost": {Kind: faultproxy.Reset, On: faultproxy.ToClient}, "answer cut": {Kind: faultproxy.Cut, On: faultproxy.ToClient, After: 20},
		"request lost": {Kind: faultproxy.Reset, On: faultproxy.ToServer},
	} {
		before := w.effects()
		w.faults.ResetAll()
		w.faults.Next(fault)
		a := w.order(t, name, "Authorization", "Bearer sk_test_secret")
		if a.status != 201 || w.effects() != before+1 {
			t.Errorf("%s: %d %s, %d effects", name, a.status, a.body, w.effects()-before)
		}
	}
	for _, r := range w.requests() {
		if r.Header.Get("Authorization") != "Bearer sk_test_secret" {
			t.Errorf("a later attempt went without the caller's credentials: %v", r.Header)
		}
	}
}

func TestManyAtOnceAreOneEffect(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{})
	var wg sync.WaitGroup
	bodies := make([]string, 12)
	for i := range bodies {
		wg.Go(func() { bodies[i] = w.order(t, "many").body })
	}
	wg.Wait()
	for _, b := range bodies {
		if b != bodies[0] {
			t.Errorf("%s and %s", b, bodies[0])
		}
	}
	if w.effects() != 1 || len(w.requests()) != 1 {
		t.Errorf("%d effects, %d requests", w.effects(), len(w.requests()))
	}
}

func TestKeysAreDemandedComparedAndReadRawOrQuoted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{})
	send := func(body string, header ...string) got {
		return w.send(t, "POST", "/v1/shops/north/parcels", body, header...)
	}
	for _, row := range []struct {
		name   string
		a      got
		status int
		code   string
	}{
		{"no key", send(`{"to":"a"}`), 400, "key_missing"},
		{"a key with a blank", send(`{"to":"a"}`, "Idempotency-Key", "a b"), 400, "key_invalid"},
		{"a key", send(`{"to":"a"}`, "Idempotency-Key", "k1"), 201, ""},
		{"the key quoted", send(`{"to":"a"}`, "Idempotency-Key", `"k1"`), 201, ""},
		{"the key for another body", send(`{"to":"b"}`, "Idempotency-Key", "k1"), 422, "key_reused"},
		{"the key for another query", w.send(t, "POST", "/v1/shops/north/parcels?x=1", `{"to":"a"}`, "Idempotency-Key", "k1"), 422, "key_reused"},
		{"the key for another shop", w.send(t, "POST", "/v1/shops/south/parcels", `{"to":"a"}`, "Idempotency-Key", "k1"), 422, "key_reused"},
		{"no order", w.send(t, "POST", "/v1/orders", `{}`, "Idempotency-Key", "k2"), 400, "key_invalid"},
		{"a volatile field", w.send(t, "POST", "/v1/orders", `{"meta":{"order":"7"},"note":"one"}`), 201, ""},
		{"a volatile field in other words", w.send(t, "POST", "/v1/orders", `{"meta":{"order":"7"},"note":"two"}`), 201, ""},
		{"another amount", w.send(t, "POST", "/v1/orders", `{"meta":{"order":"7"},"cents":1}`), 422, "key_reused"},
		{"no JSON", w.send(t, "POST", "/v1/orders", `{`), 400, "invalid_input"},
	} {
		if row.a.status != row.status || !strings.Contains(row.a.body, row.code) || row.code != "" && row.a.header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %d %s", row.name, row.a.status, row.a.body)
		}
	}
	if w.effects() != 2 {
		t.Errorf("%d effects, want 2", w.effects())
	}
}

func TestWhoeverComesWhileItRunsIsToldToAskAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{wait: "50ms"})
	release := make(chan struct{})
	w.answer = func(http.ResponseWriter, *http.Request, string) bool { <-release; return false }
	for range 2 {
		a := w.order(t, "slow")
		if a.status != 409 || a.header.Get("Retry-After") == "" || !strings.Contains(a.body, "still_running") || !strings.Contains(a.body, `"side_effect_possible":true`) {
			t.Errorf("%d %v %s", a.status, a.header, a.body)
		}
	}
	close(release)
	until(t, "the answer is there", func() bool { return w.order(t, "slow").status == 201 })
	if w.effects() != 1 {
		t.Errorf("%d effects", w.effects())
	}
}

func TestARefusalIsReplayedAsItWas(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{})
	w.answer = func(rw http.ResponseWriter, _ *http.Request, _ string) bool {
		rw.Header().Set("Content-Type", "application/json")
		rw.WriteHeader(402)
		_, _ = rw.Write([]byte(`{"error":{"code":"card_declined"}}`))
		return true
	}
	for range 2 {
		if a := w.order(t, "declined"); a.status != 402 || a.body != `{"error":{"code":"card_declined"}}` || a.header.Get("Content-Type") != "application/json" {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	if n := len(w.requests()); n != 1 {
		t.Errorf("%d requests", n)
	}
}

func TestRefusedCredentialsAreTheirCallersTroubleAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{})
	w.answer = func(rw http.ResponseWriter, req *http.Request, _ string) bool {
		if req.Header.Get("Authorization") == "Bearer right" {
			return false
		}
		rw.WriteHeader(401)
		_, _ = rw.Write([]byte(`{"error":"bad key"}`))
		return true
	}
	if a := w.order(t, "1", "Authorization", "Bearer wrong"); a.status != 401 || a.body != `{"error":"bad key"}` {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := w.order(t, "2", "Authorization", "Bearer right"); a.status != 201 {
		t.Errorf("another caller: %d %s", a.status, a.body)
	}
	if a := w.order(t, "1", "Authorization", "Bearer right"); a.status != 201 {
		t.Errorf("the same write with credentials that are right: %d %s", a.status, a.body)
	}
	if _, paused := w.ledger.Paused(onceward.DefaultTenant, "shop.orders.create"); paused {
		t.Error("the tool is paused")
	}
}

func TestWhatTheCallerSentAlongIsStoredNowhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{})
	const secret = "sk_live_never_to_be_stored"
	w.order(t, "1", "Authorization", "Bearer "+secret, "X-Custom-Secret", "custom-"+secret, "Cookie", "c="+secret)
	w.answer = func(rw http.ResponseWriter, req *http.Request, _ string) bool { // echoes it
		rw.Header().Set("X-Echo", req.Header.Get("Authorization"))
		rw.WriteHeader(400)
		_, _ = rw.Write([]byte(req.Header.Get("Authorization")))
		return true
	}
	w.order(t, "2", "Authorization", "Bearer "+secret)
	w.stop()
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(w.file + suffix)
		if err != nil && suffix == "" {
			t.Fatal(err)
		}
		if bytes.Contains(data, []byte(secret)) {
			t.Errorf("the ledger's file %s holds the caller's credentials", suffix)
		}
	}
}

func TestAnAnswerTooLongToBeKeptIsGivenOnceAndNamedAfter(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{})
	long := strings.Repeat("x", 2<<20)
	w.answer = func(rw http.ResponseWriter, _ *http.Request, _ string) bool {
		rw.WriteHeader(201)
		_, _ = rw.Write([]byte(`{"id":"or_9","x":"` + long + `"}`))
		return true
	}
	if a := w.order(t, "long"); a.status != 201 || !strings.Contains(a.body, long) {
		t.Errorf("first: %d, %d bytes", a.status, len(a.body))
	}
	if a := w.order(t, "long"); a.status != 410 || !strings.Contains(a.body, "result_not_kept") || !strings.Contains(a.body, "or_9") {
		t.Errorf("again: %d %.300s", a.status, a.body)
	}
	if n := len(w.requests()); n != 1 {
		t.Errorf("%d requests", n)
	}
}

func TestNarrowedCredentialsPassNothingElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{spec: "  unlisted: pass"})
	token := func(scope onceward.Scope) string {
		scope.Roles = []onceward.Role{onceward.RoleCaller}
		_, secret, err := w.ledger.IssueToken(t.Context(), onceward.LocalPrincipal(), onceward.TokenRequest{Subject: "narrow", Scope: scope})
		if err != nil {
			t.Fatal(err)
		}
		return secret
	}
	here, elsewhere := token(onceward.Scope{Tools: []onceward.ToolName{"shop.orders.create"}}), token(onceward.Scope{Tools: []onceward.ToolName{"bank.pay"}})
	for _, row := range []struct {
		token, method, path string
		status              int
	}{
		{here, "GET", "/v1/orders", 200}, {here, "POST", "/v1/refunds", 403}, {here, "POST", "/v1/notes", 403},
		{elsewhere, "GET", "/v1/orders", 403}, {token(onceward.Scope{Effects: []onceward.EffectClass{onceward.EffectKeyedWrite}}), "GET", "/v1/orders", 403},
		{token(onceward.Scope{}), "POST", "/v1/refunds", 201},
	} {
		if a := w.send(t, row.method, row.path, "", "Onceward-Token", row.token); a.status != row.status {
			t.Errorf("%s %s: %d %s", row.method, row.path, a.status, a.body)
		}
	}
	if a := w.order(t, "1", "Onceward-Token", elsewhere); a.status != 403 {
		t.Errorf("a route that the token is not for: %d %s", a.status, a.body)
	}
	if a := w.order(t, "1", "Onceward-Token", here); a.status != 201 {
		t.Errorf("the token's own route: %d %s", a.status, a.body)
	}
}

func TestAnotherPrincipalsAnswerIsNotShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{})
	issue := func(name string) string {
		_, secret, err := w.ledger.IssueToken(t.Context(), onceward.LocalPrincipal(), onceward.TokenRequest{Subject: name, Scope: onceward.Scope{Roles: []onceward.Role{onceward.RoleCaller}}})
		if err != nil {
			t.Fatal(err)
		}
		return secret
	}
	one, two := issue("one"), issue("two")
	if a := w.order(t, "mine"); a.status != 401 || !strings.Contains(a.body, "unauthenticated") {
		t.Errorf("without a token: %d %s", a.status, a.body)
	}
	if a := w.order(t, "mine", "Onceward-Token", one, "Authorization", "Bearer sk_test"); a.status != 201 {
		t.Errorf("with a token of ours beside the upstream's: %d %s", a.status, a.body)
	}
	if a := w.order(t, "mine", "Authorization", "Bearer "+two); a.status != 403 || strings.Contains(a.body, "or_1") {
		t.Errorf("somebody else: %d %s", a.status, a.body)
	}
	if a := w.order(t, "theirs", "Authorization", "Bearer "+two); a.status != 201 {
		t.Errorf("with a token in place of the API key: %d %s", a.status, a.body)
	}
	for _, r := range w.requests() {
		if strings.Contains(r.Header.Get("Authorization"), "ow_") || r.Header.Get("Onceward-Token") != "" {
			t.Errorf("a token of ours went to the upstream: %v", r.Header)
		}
	}
}

func TestWhatComesInPartsIsNotShownToAnotherPrincipalEither(t *testing.T) {
	t.Parallel()
	for kind, answer := range map[string]func(http.ResponseWriter, *http.Request, string) bool{
		"a stream": func(rw http.ResponseWriter, _ *http.Request, _ string) bool {
			rw.Header().Set("Content-Type", "text/event-stream")
			_, _ = rw.Write([]byte("data: private\n\n"))
			return true
		},
		"a refusal": func(rw http.ResponseWriter, _ *http.Request, _ string) bool {
			rw.WriteHeader(402)
			_, _ = rw.Write([]byte("private"))
			return true
		},
	} {
		w := newWorld(t, setting{})
		cut, tries := make(chan struct{}), 0
		w.answer = func(rw http.ResponseWriter, req *http.Request, body string) bool {
			if tries++; tries == 1 {
				<-cut
				panic(http.ErrAbortHandler) // it is sent again: the contract's key is kept
			}
			return answer(rw, req, body)
		}
		owner := onceward.LocalPrincipal()
		issue := func(name string) string {
			_, secret, err := w.ledger.IssueToken(t.Context(), owner, onceward.TokenRequest{Subject: name, Scope: onceward.Scope{Roles: []onceward.Role{onceward.RoleCaller}}})
			if err != nil {
				t.Fatal(err)
			}
			return secret
		}
		one, two := issue("one"), issue("two")
		key, err := onceward.DeriveKey([]string{"shared"})
		if err != nil {
			t.Fatal(err)
		}
		id := onceward.NewOperationID(onceward.DefaultTenant, "shop.orders.create", key)
		waits := func() bool { return w.held.Tap(id) != nil }
		ctx, hangUp := context.WithCancel(t.Context())
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			req, _ := http.NewRequestWithContext(ctx, http.MethodPost, w.URL+"/v1/orders", strings.NewReader(`{"meta":{"order":"shared"},"cents":4200}`))
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Onceward-Token", one)
			if res, err := http.DefaultClient.Do(req); err == nil {
				_ = res.Body.Close()
			}
		}()
		until(t, "the first attempt is under way", func() bool { return len(w.requests()) == 1 })
		hangUp()
		<-gone
		until(t, "the first one is gone", func() bool { return !waits() })
		told := make(chan got, 1)
		go func() { told <- w.order(t, "shared", "Onceward-Token", two) }()
		until(t, "the second one waits", waits)
		close(cut)
		if a := <-told; strings.Contains(a.body, "private") || a.status == 200 || a.status == 402 {
			t.Errorf("%s: the second one is answered %d %s", kind, a.status, a.body)
		}
		w.stop()
	}
}
