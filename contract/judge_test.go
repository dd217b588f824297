package contract

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/onceward/onceward"
)

// judgeTools has one contract per effect class, without rules of its own.
func judgeTools(t testing.TB) map[string]*Tool {
	t.Helper()
	const request = "  request: {method: POST, url: 'https://h.example.com/'}\n"
	const probe = "  probe: {request: {url: 'https://h.example.com/?k=${operation.provider_key}'}, found: '${response.json.items}', ours: 'item.k == operation.provider_key', settle: 1s}\n"
	specs := map[string]string{
		"read":                request,
		"compute":             request,
		"keyed_write":         "  key: [input.id]\n  provider_key: {in: header, window: 24h, window_kind: guaranteed}\n" + request,
		"conditional_write":   "  key: [input.id]\n  condition: {by: if_none_match}\n" + request,
		"conditional_compare": "  key: [input.id]\n  condition: {by: own_id}\n  conflict: look_up_then_compare\n" + request + probe,
		"probed_write":        "  key: [input.id]\n" + request + probe,
		"unsafe_write":        "  key: [input.id]\n" + request,
	}
	tools := map[string]*Tool{}
	for name, spec := range specs {
		effect := strings.Replace(name, "_compare", "_write", 1)
		tools[name] = loadSpec(t, "  effect: "+effect+"\n"+spec)
	}
	return tools
}

func answerOf(status int, body string, header ...string) *onceward.Evidence {
	ev := &onceward.Evidence{Reach: onceward.ReachFirstByte, Status: status, Body: []byte(body), EndedAt: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)}
	for i := 0; i+1 < len(header); i += 2 {
		ev.Header = append(ev.Header, onceward.HeaderField{Name: header[i], Value: header[i+1]})
	}
	return ev
}

// TestDefaultClassification is the table of every status under every effect
// class, when the contract says nothing.
func TestDefaultClassification(t *testing.T) {
	t.Parallel()
	type verdict struct {
		verdict   onceward.Verdict
		class     onceward.ErrorClass
		retryable bool
	}
	done := verdict{verdict: onceward.VerdictDone}
	refused := verdict{onceward.VerdictNotDone, onceward.ClassValidation, false}
	credential := verdict{onceward.VerdictNotDone, onceward.ClassAuth, true}
	unknown := func(class onceward.ErrorClass, retryable bool) verdict {
		return verdict{onceward.VerdictUnknown, class, retryable}
	}
	want := func(class string, status int) verdict {
		keyed := class == "keyed_write"
		switch {
		case status >= 200 && status < 300:
			return done
		case status == 412 && class == "conditional_write":
			return done // it exists, and our ID or condition made it
		case status == 412 && class == "conditional_compare":
			return unknown(onceward.ClassConflict, false)
		case status == 401 || status == 403:
			return credential
		case status == 422 && keyed:
			return unknown(onceward.ClassConflict, false)
		case slices.Contains([]int{400, 404, 405, 410, 415, 422}, status):
			return refused
		case status == 409:
			return unknown(onceward.ClassConflict, keyed)
		case status == 412:
			return unknown(onceward.ClassConflict, false)
		case status == 408:
			return unknown(onceward.ClassTimeout, true)
		case status == 429:
			return unknown(onceward.ClassRateLimited, true)
		case status >= 500 && status < 600:
			return unknown(onceward.ClassUnavailable, true)
		case status >= 400 && status < 500:
			return unknown(onceward.ClassValidation, false)
		}
		return unknown(onceward.ClassProtocol, true)
	}
	for class, tool := range judgeTools(t) {
		for status := 100; status < 1000; status++ {
			j := tool.Judge(&onceward.Operation{}, answerOf(status, ""))
			got := verdict{j.Verdict, j.Failure.Class, j.Failure.Retryable}
			if w := want(class, status); got != w {
				t.Errorf("%s, status %d: %+v, want %+v", class, status, got, w)
			}
			if j.Rule == "" || j.Verdict != onceward.VerdictDone && (j.Failure.Code == "" || j.Failure.Message == "") {
				t.Errorf("%s, status %d: the judgement does not say why: %+v", class, status, j)
			}
			if j.Exists != (class == "conditional_compare" && status == 412) {
				t.Errorf("%s, status %d: exists is %v", class, status, j.Exists)
			}
		}
	}
}

func TestAnswerLostIsUnknownUnlessNothingWasSent(t *testing.T) {
	t.Parallel()
	for class, tool := range judgeTools(t) {
		for _, c := range []struct {
			reach onceward.Reach
			want  onceward.Verdict
		}{
			{onceward.ReachUnknown, onceward.VerdictUnknown},
			{onceward.ReachNotDialled, onceward.VerdictNotDone},
			{onceward.ReachConnected, onceward.VerdictNotDone},
			{onceward.ReachHeadersWritten, onceward.VerdictUnknown},
			{onceward.ReachBodyWritten, onceward.VerdictUnknown},
			{onceward.ReachFirstByte, onceward.VerdictUnknown},
		} {
			j := tool.Judge(&onceward.Operation{}, &onceward.Evidence{Reach: c.reach})
			if j.Verdict != c.want || !j.Failure.Retryable || j.Failure.Class != onceward.ClassConnection {
				t.Errorf("%s, %s: %+v", class, c.reach, j)
			}
		}
	}
	ev := &onceward.Evidence{Reach: onceward.ReachNotDialled, ErrorClass: onceward.ClassValidation, ErrorCode: "host_refused", ErrorText: "the host is not on the contract's list of hosts"}
	j := judgeTools(t)["unsafe_write"].Judge(&onceward.Operation{}, ev)
	if j.Verdict != onceward.VerdictNotDone || j.Failure.Retryable || j.Failure.Code != "host_refused" {
		t.Errorf("a refused host: %+v", j)
	}
}

func TestBodyCutUnder2xxIsDone(t *testing.T) {
	t.Parallel()
	tool := loadSpec(t, writeHead+`  request: {method: POST, url: 'https://h.example.com/'}
  outcomes:
    - {when: 'response.status == 201', is: done, reference: '${response.json.id}'}
`)
	for _, ev := range []*onceward.Evidence{
		{Status: 201, Body: []byte(`{"id":"t1`), BodyCut: true},
		{Status: 201, Body: []byte(`{"id":"t1"}`), BodyTooBig: true},
		{Status: 201, Body: []byte(`<html>`)},
		{Status: 201},
		{Status: 201, Body: []byte(`{"name":"no id"}`)},
		{Status: 200, Body: []byte(`{"id`), BodyCut: true},
	} {
		if j := tool.Judge(&onceward.Operation{}, ev); j.Verdict != onceward.VerdictDone || j.Reference != "" {
			t.Errorf("%d %s: %+v", ev.Status, ev.Body, j)
		}
	}
	if j := tool.Judge(&onceward.Operation{}, answerOf(201, `{"id":17}`)); j.Reference != "17" || j.Rule != "outcomes[0]" {
		t.Errorf("%+v", j)
	}
}

// TestBodyThatMayHoldARefusalIsUnknownWhenItCannotBeRead is about providers
// that hide errors in a 200.
func TestBodyThatMayHoldARefusalIsUnknownWhenItCannotBeRead(t *testing.T) {
	t.Parallel()
	tool := loadSpec(t, writeHead+`  request: {method: POST, url: 'https://h.example.com/'}
  outcomes:
    - {when: 'response.json.ok == false && response.json.error == "ratelimited"', is: not_done, class: rate_limited}
    - {when: 'response.json.ok == false', is: not_done, class: validation, code: '${response.json.error}'}
`)
	for _, c := range []struct {
		ev   onceward.Evidence
		want onceward.Verdict
	}{
		{onceward.Evidence{Status: 200, Body: []byte(`{"ok":true}`)}, onceward.VerdictDone},
		{onceward.Evidence{Status: 200, Body: []byte(`{"ok":false,"error":"no_channel"}`)}, onceward.VerdictNotDone},
		{onceward.Evidence{Status: 200, Body: []byte(`{"ok":fal`), BodyCut: true}, onceward.VerdictUnknown},
		{onceward.Evidence{Status: 200, Body: []byte(`{"ok":false}`), BodyTooBig: true}, onceward.VerdictUnknown},
		{onceward.Evidence{Status: 200, Body: []byte(`<html>`)}, onceward.VerdictUnknown},
		{onceward.Evidence{Status: 200, Body: []byte(`{"other":1}`)}, onceward.VerdictDone}, // read, and no refusal in it
		{onceward.Evidence{Status: 204}, onceward.VerdictDone},                              // whole, and empty
		{onceward.Evidence{Status: 503, Body: []byte(`{"ok":fal`), BodyCut: true}, onceward.VerdictUnknown},
		{onceward.Evidence{Status: 400, Body: []byte(`{"ok":fal`), BodyCut: true}, onceward.VerdictNotDone},
	} {
		if j := tool.Judge(&onceward.Operation{}, &c.ev); j.Verdict != c.want {
			t.Errorf("%d %s cut %v: %+v, want %s", c.ev.Status, c.ev.Body, c.ev.BodyCut, j, c.want)
		}
	}
	j := tool.Judge(&onceward.Operation{}, answerOf(200, `{"ok":false,"error":"no_channel"}`))
	if j.Failure.Code != "no_channel" || j.Failure.Retryable {
		t.Errorf("%+v", j)
	}
}

func TestFirstMatchingRuleDecides(t *testing.T) {
	t.Parallel()
	tool := loadSpec(t, writeHead+`  request: {method: POST, url: 'https://h.example.com/'}
  outcomes:
    - {when: 'response.json.absent.member == 1', is: done}
    - {when: 'response.status == 409 && response.json.code == "in_progress"', is: in_progress}
    - {when: 'response.status == 409', is: not_done, class: conflict, retryable: true, code: 'E-${response.json.code}', message: 'the order is ${response.json.state}'}
    - {when: 'response.headers["X-Outcome"] == "none" || response.header_values["x-many"][1] == "b"', is: not_done, class: unavailable, retry_after: 90s}
    - {when: 'response.status == 418', is: unknown, retry_after: '${response.json.wait}', message: '${response.text}'}
    - {when: 'response.status == 503 && input.id == "safe"', is: not_done}
    - {when: 'response.status >= 500', is: unknown, class: timeout, retryable: false}
`)
	op := &onceward.Operation{Input: []byte(`{"id":"safe"}`)}
	for _, c := range []struct {
		ev   *onceward.Evidence
		want onceward.Judgement
	}{
		{answerOf(409, `{"code":"in_progress"}`, "Retry-After", "3"), onceward.Judgement{
			Verdict: onceward.VerdictInProgress, Rule: "outcomes[1]", RetryAfter: 3 * time.Second,
			Failure: onceward.Failure{Class: onceward.ClassConflict, Code: "http_409", Message: "the provider is still working under this key", Retryable: true},
		}},
		{answerOf(409, `{"code":"gone away!","state":"shut\n"}`), onceward.Judgement{
			Verdict: onceward.VerdictNotDone, Rule: "outcomes[2]",
			Failure: onceward.Failure{Class: onceward.ClassConflict, Code: "E-goneaway", Message: "the order is shut", Retryable: true},
		}},
		{answerOf(500, ``, "x-outcome", "none"), onceward.Judgement{
			Verdict: onceward.VerdictNotDone, Rule: "outcomes[3]", RetryAfter: 90 * time.Second,
			Failure: onceward.Failure{Class: onceward.ClassUnavailable, Code: "http_500", Message: "the provider answered 500", Retryable: true},
		}},
		{answerOf(201, ``, "X-Many", "a", "x-MANY", "b"), onceward.Judgement{
			Verdict: onceward.VerdictNotDone, Rule: "outcomes[3]", RetryAfter: 90 * time.Second,
			Failure: onceward.Failure{Class: onceward.ClassUnavailable, Code: "http_201", Message: "the provider answered 201", Retryable: true},
		}},
		{answerOf(418, `{"wait":"2m"}`), onceward.Judgement{
			Verdict: onceward.VerdictUnknown, Rule: "outcomes[4]", RetryAfter: 2 * time.Minute,
			Failure: onceward.Failure{Class: onceward.ClassValidation, Code: "http_418", Message: `{"wait":"2m"}`},
		}},
		{answerOf(503, ``), onceward.Judgement{
			Verdict: onceward.VerdictNotDone, Rule: "outcomes[5]",
			Failure: onceward.Failure{Class: onceward.ClassUnavailable, Code: "http_503", Message: "the provider answered 503", Retryable: true},
		}},
		{answerOf(502, ``), onceward.Judgement{
			Verdict: onceward.VerdictUnknown, Rule: "outcomes[6]",
			Failure: onceward.Failure{Class: onceward.ClassTimeout, Code: "http_502", Message: "the provider answered 502"},
		}},
	} {
		if diff := cmp.Diff(c.want, tool.Judge(op, c.ev)); diff != "" {
			t.Errorf("%d %s: %s", c.ev.Status, c.ev.Body, diff)
		}
	}
	// A rule that looks at an input which is no longer there does not hold.
	if j := tool.Judge(&onceward.Operation{}, answerOf(503, ``)); j.Rule != "outcomes[6]" {
		t.Errorf("without the input: %+v", j)
	}
	if j := tool.Judge(&onceward.Operation{Input: []byte(`not JSON`)}, answerOf(503, ``)); j.Rule != "outcomes[6]" {
		t.Errorf("with a broken input: %+v", j)
	}
}

func TestRetryAfterIsReadInEveryForm(t *testing.T) {
	t.Parallel()
	tool := judgeTools(t)["unsafe_write"]
	end := answerOf(429, "").EndedAt
	for value, want := range map[string]time.Duration{
		"7":                     7 * time.Second,
		" 7 ":                   7 * time.Second,
		"0.5":                   500 * time.Millisecond,
		"0":                     0,
		"-1":                    0,
		"":                      0,
		"soon":                  0,
		"NaN":                   0,
		"1e300":                 RetryAfterMax,
		"999999999999999999999": RetryAfterMax,
		"1m30s":                 90 * time.Second,
		"2d":                    RetryAfterMax,
		end.Add(90 * time.Second).Format(http.TimeFormat):    90 * time.Second,
		end.Add(-time.Hour).Format(http.TimeFormat):          0,
		end.Add(90 * 24 * time.Hour).Format(http.TimeFormat): RetryAfterMax,
	} {
		if j := tool.Judge(&onceward.Operation{}, answerOf(429, "", "retry-after", value)); j.RetryAfter != want {
			t.Errorf("Retry-After %q is %s, want %s", value, j.RetryAfter, want)
		}
	}
}

func TestSecretsThatAProviderEchoesAreTakenOut(t *testing.T) {
	t.Parallel()
	tool := loadSpec(t, writeHead+`  request: {method: POST, url: 'https://h.example.com/', headers: {Authorization: 'Bearer ${secret.TOKEN}'}}
  outcomes:
    - {when: 'response.status == 200', is: done, reference: '${response.json.id}'}
    - {when: 'true', is: not_done, code: '${response.json.code}', message: 'said: ${response.text}'}
`)
	body := `{"id":"ref s3cr3t-token-value","code":"s3cr3t-token-value","x":"` + strings.Repeat("ä", 400) + `"}`
	for _, status := range []int{200, 400} {
		j := tool.Judge(&onceward.Operation{}, answerOf(status, body))
		if s := fmt.Sprintf("%+v", j); strings.Contains(s, "s3cr3t") {
			t.Errorf("the judgement shows the secret: %s", s)
		}
		if len(j.Failure.Message) > messageBytesMax {
			t.Errorf("the message has %d bytes", len(j.Failure.Message))
		}
	}
}

func TestConditionThatAProviderAnswersOtherwise(t *testing.T) {
	t.Parallel()
	tool := loadSpec(t, `  effect: conditional_write
  key: [input.id]
  condition: {by: own_id, exists: 'response.status == 409 && response.json.reason == "duplicate"'}
  request: {method: POST, url: 'https://h.example.com/', json: {id: '${operation.provider_key}'}}
`)
	if j := tool.Judge(&onceward.Operation{}, answerOf(409, `{"reason":"duplicate"}`)); j.Verdict != onceward.VerdictDone || j.Rule != "condition.exists" {
		t.Errorf("duplicate: %+v", j)
	}
	if j := tool.Judge(&onceward.Operation{}, answerOf(409, `{"reason":"busy"}`)); j.Verdict != onceward.VerdictUnknown {
		t.Errorf("another 409: %+v", j)
	}
	if j := tool.Judge(&onceward.Operation{}, answerOf(412, ``)); j.Verdict != onceward.VerdictUnknown {
		t.Errorf("412: %+v", j)
	}
}
