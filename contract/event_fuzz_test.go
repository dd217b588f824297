package contract

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/onceward/onceward"
)

// FuzzEvent holds that no signed delivery makes a source's expressions panic, run
// without end, or name an operation that the next reading of it does not name.
func FuzzEvent(f *testing.F) {
	source := shop(f)
	form := sourceOf(f, "twilio", "  format: form\n")
	for _, seed := range []string{`{}`, `{"orders":[{"id":"o-1","state":"paid","at":"2026-05-01T10:00:00Z","total":12.10},{"id":2,"state":null}]}`, `{"orders":{"id":1}}`, `[1,[2,[3]]]`, `{"id":{}}`, `{"id":"\u0000"}`, `{"a":1e400}`,
		"a=b&a=c&MessageSid=SM1", "%zz", "a[b][c]=1", "\xff", strings.Repeat("[", 200)} {
		f.Add([]byte(seed), "orders")
	}
	f.Fuzz(func(t *testing.T, body []byte, kind string) {
		for _, s := range []*EventSource{source, form} {
			header := http.Header{"Content-Type": {"application/json"}, "X-Shop-Topic": {kind}}
			if s.form {
				header.Set("Content-Type", "application/x-www-form-urlencoded")
			}
			d := &onceward.Delivery{Method: http.MethodPost, Target: "/v1/hooks/shop", Header: header, Body: body}
			s.Challenge(d)
			events, err := s.Events(d)
			if err != nil {
				var e *onceward.Error
				if !errors.As(err, &e) || !utf8.ValidString(e.Message) {
					t.Fatalf("%q is refused with %v", body, err)
				}
				continue
			}
			for i := range events {
				if len(events) > eventsMax || !utf8.ValidString(string(events[i].Key)) {
					t.Fatalf("%q has %d events, one of the key %q", body, len(events), events[i].Key)
				}
				if first, again := planned(s, &events[i]), planned(s, &events[i]); first != again {
					t.Fatalf("%q names %s, and then %s", body, first, again)
				}
			}
		}
	})
}

// planned is what an event leads to.
func planned(s *EventSource, e *onceward.InboxEvent) string {
	var b strings.Builder
	for _, part := range s.Plan(e) {
		fmt.Fprintf(&b, "%s %v %+v", part.Mapping, part.Err, part.Evidence)
		for _, op := range part.Operations {
			fmt.Fprintf(&b, " %s %s %s", op.Tool, op.Key, op.Input)
		}
		if part.Run != nil {
			fmt.Fprintf(&b, " %+v", *part.Run)
		}
	}
	return b.String()
}

// FuzzForward holds that no request through the proxy makes its route's reader
// panic, and that what is sent on is what came.
func FuzzForward(f *testing.F) {
	data, err := os.ReadFile("testdata/everything_upstream.yaml")
	if err != nil {
		f.Fatal(err)
	}
	loaded, problems := load(data, "u.yaml", testOptions().withDefaults())
	if len(problems) > 0 || len(loaded.ups) == 0 {
		f.Fatal(problems)
	}
	up := loaded.ups[0]
	tools := map[onceward.ToolName]*Tool{}
	for _, tool := range loaded.tools {
		tools[tool.Info().Name] = tool
	}
	for _, seed := range [][3]string{{"/v1/shops/7/orders?a=1&b[c]=2", "application/json", `{"a":1}`}, {"/v1/shops/7/orders", "application/x-www-form-urlencoded", "metadata[order]=1&a[]=2&a[]=3"},
		{"/v1/shops/7/orders/%2e%2e/x", "text/plain", "\xff\xfe"}, {"/v1/shops//orders", "multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nb\r\n--x--\r\n"}, {"/%zz", "", ""}, {"/v1/shops/7/orders?a[b[c]]=1&a=2", "a/b; c=\"", "[[["}} {
		f.Add(seed[0], seed[1], []byte(seed[2]))
	}
	f.Fuzz(func(t *testing.T, target, contentType string, body []byte) {
		path, _, _ := strings.Cut(target, "?")
		input := up.ForwardInput(target, http.Header{"Content-Type": {contentType}}, body)
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodGet} {
			route, ok := up.Route(method, path)
			if !ok || tools[route.Tool] == nil {
				continue
			}
			p, err := tools[route.Tool].Prepare(&onceward.Intent{Tool: route.Tool, Input: input, CallerKey: "k"}, 0)
			if err != nil {
				var e *onceward.Error
				if !errors.As(err, &e) || !utf8.ValidString(e.Message) {
					t.Fatalf("%s %q is refused with %v", method, target, err)
				}
				continue
			}
			if p.Request.URL != up.URL(target) || string(p.Request.Body) != string(body) {
				t.Fatalf("%s %q with %q is sent on as %s with %q", method, target, body, p.Request.URL, p.Request.Body)
			}
		}
	})
}

// FuzzJudge holds that no answer of a provider makes a contract's outcomes panic,
// or say what cannot be stored and shown.
func FuzzJudge(f *testing.F) {
	tool := loadSpec(f, `  effect: keyed_write
  key: [input.id]
  provider_key: {in: header, window: 24h, window_kind: guaranteed}
  request: {method: POST, url: 'https://h.example.com/'}
  outcomes:
    - {when: 'response.json.ok == true', is: done, reference: '${response.json.id}'}
    - {when: 'response.json.errors.exists(e, e.code.matches("dup.*"))', is: not_done, code: '${response.json.errors[0].code}'}
    - {when: 'response.headers["x-state"] == "later"', is: unknown}
`)
	op := operationOf(tool, mustPrepare(f, tool, `{"id":"1"}`))
	for _, seed := range []string{`{"ok":true,"id":"x"}`, `{"errors":[{"code":"duplicate"}]}`, `{"id":1e400,"ok":true}`, `<html>`, "", "\xff", `{"ok":true,"id":{"a":[]}}`, `{"ok":true,"id":"a\r\nb"}`} {
		f.Add(200, []byte(seed), "later", "120")
		f.Add(503, []byte(seed), "", "Wed, 21 Oct 2015 07:28:00 GMT")
	}
	f.Fuzz(func(t *testing.T, status int, body []byte, state, after string) {
		j := tool.Judge(op, answerOf(status, string(body), "Content-Type", "application/json", "X-State", state, "Retry-After", after))
		if !utf8.ValidString(j.Reference) || !utf8.ValidString(j.Failure.Code) || !utf8.ValidString(j.Failure.Message) || j.RetryAfter < 0 {
			t.Fatalf("%d %q is judged %+v", status, body, j)
		}
	})
}
