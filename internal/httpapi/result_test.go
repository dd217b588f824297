package httpapi

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/onceward/onceward"
)

// answering is a provider with one answer to everything.
type answering struct{ onceward.Evidence }

func (a answering) Send(context.Context, *onceward.Request, onceward.SendOptions) onceward.Evidence {
	ev := a.Evidence
	ev.Reach = onceward.ReachFirstByte
	return ev
}

// answered asks twice and returns the replayed answer, which has to equal the first.
func answered(t *testing.T, ev onceward.Evidence, tool string) *reply {
	t.Helper()
	if ev.Status == 0 {
		ev.Status = 201
	}
	w := openWorld(t, func(o *onceward.Options) { o.Provider = answering{ev} })
	first := w.submit(tool, firstInput).want(200, "decision", "fresh")
	again := w.submit(tool, firstInput).want(200, "decision", "replayed")
	if !reflect.DeepEqual(first.at("operation"), again.at("operation")) {
		t.Errorf("the replay differs:\n%s\n%s", first.raw, again.raw)
	}
	return again
}

func TestReplayedResultHasOnlyHeadersThatMayBeReplayed(t *testing.T) {
	t.Parallel()
	r := answered(t, onceward.Evidence{Body: []byte(`{"id":1}`), Header: []onceward.HeaderField{
		{Name: "Set-Cookie", Value: "session=secret"}, {Name: "Authorization", Value: "Bearer secret"}, {Name: "Date", Value: "x"}, {Name: "Connection", Value: "X-Hop"},
		{Name: "X-Hop", Value: "x"}, {Name: "Content-Encoding", Value: "gzip"}, {Name: "Content-Length", Value: "7"}, {Name: "Transfer-Encoding", Value: "chunked"},
		{Name: "Location", Value: "/t/1"}, {Name: "ETag", Value: `"e"`}, {Name: "Content-Type", Value: "application/json"}, {Name: "Link", Value: "a"}, {Name: "Link", Value: "b"},
	}}, probed)
	want := map[string]any{"Location": []any{"/t/1"}, "ETag": []any{`"e"`}, "Content-Type": []any{"application/json"}, "Link": []any{"a", "b"}}
	if got := r.at("operation.result.headers"); !reflect.DeepEqual(got, want) {
		t.Errorf("headers are %v, want %v", got, want)
	}
	if strings.Contains(r.raw, "secret") || r.header.Get("Location") != "" {
		t.Errorf("a secret or the provider's Location is shown:\n%s", r.raw)
	}
}

func TestResultThatIsNothingMuchIsReplayedAsSuch(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		"null": "null", "0": "0", "false": "false", "": `""`, `""`: `""`, "[]": "[]", "{}": "{}", `"text"`: `"text"`, "text": `"text"`, "<b>&": `"<b>&"`,
		`{"n":12345678901234567890.10}`: `{"n":12345678901234567890.10}`, `{"a":1,"a":2}`: `{"a":1,"a":2}`, "  {} ": "{}", "{": `"{"`,
		`"\"` + strings.Repeat("[", 65) + `"`:             `"\"` + strings.Repeat("[", 65) + `"`, // brackets in a string nest nothing
		strings.Repeat("[", 64) + strings.Repeat("]", 64): strings.Repeat("[", 64) + strings.Repeat("]", 64),
		strings.Repeat("[", 65) + strings.Repeat("]", 65): `"` + strings.Repeat("[", 65) + strings.Repeat("]", 65) + `"`,
	} {
		r := answered(t, onceward.Evidence{Body: []byte(body)}, probed)
		var answer struct {
			Operation struct {
				Result struct {
					Body     json.RawMessage
					BodyKept bool `json:"body_kept"`
				}
			}
		}
		if err := json.Unmarshal([]byte(r.raw), &answer); err != nil {
			t.Fatal(err)
		}
		if got := string(answer.Operation.Result.Body); got != want || !answer.Operation.Result.BodyKept {
			t.Errorf("the body %.40q is replayed as %.40q, kept %v; want %.40q", body, got, answer.Operation.Result.BodyKept, want)
		}
	}
}

func TestBodyThatIsNoTextIsShownInBase64(t *testing.T) {
	t.Parallel()
	body := []byte("%PDF\x00\xff\xfe")
	r := answered(t, onceward.Evidence{Body: body}, probed).lacks("operation.result.body")
	got, err := base64.StdEncoding.DecodeString(r.text("operation.result.body_base64"))
	if err != nil || !bytes.Equal(got, body) {
		t.Errorf("the body became %q, %v", got, err)
	}
	if r := answered(t, onceward.Evidence{Body: []byte("a\x00b")}, probed); r.text("operation.result.body") != "a\x00b" {
		t.Error("a NUL in a text was lost")
	}
}

func TestBodyThatWasNotKeptIsAbsentNotCut(t *testing.T) {
	t.Parallel()
	for name, ev := range map[string]onceward.Evidence{
		"too large to keep":  {Body: bytes.Repeat([]byte("a"), onceward.DefaultKeepBytes+1)},
		"too large to judge": {Body: []byte("head"), BodyTooBig: true},
		"cut":                {Body: []byte(`{"id":`), BodyCut: true},
	} {
		r := answered(t, ev, unsafely).lacks("operation.result.body", "operation.result.body_base64")
		if r.at("operation.result.body_kept") != false || r.at("operation.result.status") != float64(201) {
			t.Errorf("%s: %s", name, r.raw)
		}
	}
	answered(t, onceward.Evidence{Body: []byte(`{}`)}, digested).want(200, "operation.result.body_kept", false).lacks("operation.result.body")
}

func TestResultIsWithheldFromAnotherPrincipal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.settled(probed)
	w.get("/v1/operations/"+id).want(200, "operation.result.body_kept", true, "operation.events.0.event", "claimed")
	w.who = &onceward.Principal{Tenant: onceward.DefaultTenant, Issuer: "oidc", Subject: "other", Roles: []onceward.Role{onceward.RoleCaller}}
	w.submit(probed, firstInput).want(200, "decision", "replayed", "operation.state", "succeeded", "operation.result_withheld", true).lacks("operation.result")
	w.get("/v1/operations/"+id).want(200, "operation.result_withheld", true).lacks("operation.result")
	w.get("/v1/operations").want(200, "operations.0.id", id).lacks("operations.0.result")
	w.who.Roles = []onceward.Role{onceward.RoleAuditor}
	w.get("/v1/operations/"+id).want(200, "operation.result.body_kept", true).lacks("operation.result_withheld")
}

func TestEvidenceIsWithheldFromAnotherPrincipal(t *testing.T) {
	t.Parallel()
	ev := onceward.Evidence{Status: 503, Body: []byte("secret of the provider"), Header: []onceward.HeaderField{{Name: "ETag", Value: "e"}}}
	w := openWorld(t, func(o *onceward.Options) { o.Provider = answering{ev} })
	id := w.settled(probed)
	seen := w.get("/v1/operations/"+id).want(200, "operation.state", "outcome_unknown", "operation.events.2.event", "attempt_unknown",
		"operation.events.2.evidence.status", 503, "operation.events.2.evidence.body", "secret of the provider", "operation.events.2.evidence.reach", "first_byte")
	if got := seen.at("operation.events.2.evidence.headers.ETag.0"); got != "e" {
		t.Errorf("ETag is %v", got)
	}
	w.who = &onceward.Principal{Tenant: onceward.DefaultTenant, Issuer: "oidc", Subject: "other", Roles: []onceward.Role{onceward.RoleCaller}}
	if r := w.get("/v1/operations/" + id).want(200).lacks("operation.events.2.evidence"); strings.Contains(r.raw, "secret of the provider") {
		t.Error("the evidence is shown")
	}
}

// TestOperationHasTheMembersThatWereAgreed holds the usual operation to the
// list that clients rely on.
func TestOperationHasTheMembersThatWereAgreed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.submit(probed, firstInput, `"run":"r-1"`, `"correlation_id":"c-1"`).want(200, "operation.run", "r-1", "operation.correlation_id", "c-1",
		"operation.tenant", "default", "operation.tool", probed, "operation.key", "k", "operation.contract_version", "v1", "operation.actor", "local:operator",
		"operation.created_at", "2026-01-02T03:04:05Z", "operation.open_attempts", 0, "operation.cancel_requested", false, "operation.result.status", 201)
	var got []string
	for name := range r.at("operation").(map[string]any) {
		got = append(got, name)
	}
	slices.Sort(got)
	want := strings.Fields("actor attempts cancel_requested completed_at contract_version correlation_id created_at digest id key open_attempts provider_key reference result run state tenant tool updated_at")
	if !slices.Equal(got, want) {
		t.Errorf("members are %v, want %v", got, want)
	}
	var answer []string
	for name := range r.body {
		answer = append(answer, name)
	}
	slices.Sort(answer)
	if want := []string{"decision", "operation"}; !slices.Equal(answer, want) {
		t.Errorf("the answer has %v, want %v", answer, want)
	}
}

// TestAnyBytesOfAProviderMakeAValidAnswer throws bodies at the encoder.
func TestAnyBytesOfAProviderMakeAValidAnswer(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.OneOf(rapid.SliceOf(rapid.Byte()), rapid.Map(rapid.StringMatching(`[\[\]{}",:0-9a-z\\ \n]*`), func(s string) []byte { return []byte(s) })).Draw(t, "body")
		r := result(&onceward.Result{Status: 200, Body: b, BodyKept: true})
		encoded, err := json.Marshal(r)
		if err != nil {
			t.Fatalf("the result cannot be encoded: %v", err)
		}
		var back struct {
			Body       json.RawMessage `json:"body"`
			BodyBase64 *string         `json:"body_base64"`
		}
		if err := json.Unmarshal(encoded, &back); err != nil {
			t.Fatal(err)
		}
		if (back.Body != nil) == (back.BodyBase64 != nil) {
			t.Fatalf("the body stands in both members, or in none: %s", encoded)
		}
		if back.BodyBase64 != nil {
			if plain, err := base64.StdEncoding.DecodeString(*back.BodyBase64); err != nil || !bytes.Equal(plain, b) {
				t.Fatalf("%q became %q", b, plain)
			}
			return
		}
		var text string
		if json.Unmarshal(back.Body, &text) == nil && text == string(b) {
			return // shown as text
		}
		var want, got bytes.Buffer
		if json.Compact(&want, b) != nil || json.Compact(&got, back.Body) != nil || unescaped(want.Bytes()) != unescaped(got.Bytes()) {
			t.Fatalf("%q became %s", b, back.Body)
		}
	})
}

// unescaped undoes the escaping that json.Marshal adds inside raw values.
func unescaped(b []byte) string {
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(b))
}
