package contract

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/onceward/onceward"
)

const probedSpec = `  effect: probed_write
  key: [input.id]
  request: {method: POST, url: '${env.BASE}/t', headers: {Authorization: 'Bearer ${secret.TOKEN}'}, json: {k: '${operation.provider_key}'}}
  probe:
    request: {url: '${env.BASE}/t?k=${operation.provider_key}&id=${input.id}', headers: {Authorization: 'Basic ${base64.encode(bytes(secret.USER + ":" + secret.TOKEN))}', Accept: application/json}}
    found: '${response.json.items}'
    reference: '${item.id}'
    ours: 'item.k == operation.provider_key'
    settle: 30s
    blind_spots: a deleted one
`

func TestProbeRequestCarriesItsSecrets(t *testing.T) {
	t.Parallel()
	tool := loadSpec(t, probedSpec)
	op := operationOf(tool, mustPrepare(t, tool, `{"id":"a b"}`))
	req, err := tool.ProbeRequest(op)
	if err != nil {
		t.Fatal(err)
	}
	want := &onceward.Request{
		Method: "GET", URL: "https://api.example.com/v1/t?k=" + op.ProviderKey + "&id=a%20b",
		Header: []onceward.HeaderField{{Name: "Accept", Value: "application/json"}, {Name: "Authorization", Value: "Basic Ym9iOnMzY3IzdC10b2tlbi12YWx1ZQ=="}},
	}
	if diff := cmp.Diff(want, req); diff != "" {
		t.Error(diff)
	}
	op.Input = nil
	if _, err := tool.ProbeRequest(op); err == nil {
		t.Error("a look-up by the input is rendered without it")
	}
	if _, err := judgeTools(t)["unsafe_write"].ProbeRequest(op); err == nil {
		t.Error("a contract without a probe renders one")
	}
}

func TestProbeAnswers(t *testing.T) {
	t.Parallel()
	tool := loadSpec(t, probedSpec)
	op := operationOf(tool, mustPrepare(t, tool, `{"id":"x"}`))
	ours := `{"id":"t1","k":"` + op.ProviderKey + `"}`
	for _, c := range []struct {
		name string
		ev   *onceward.Evidence
		want onceward.ProbeJudgement
		code string // of an inconclusive one
	}{
		{"absent", answerOf(200, `{"items":[]}`), onceward.ProbeJudgement{Conclusive: true, Found: []onceward.FoundEffect{}}, ""},
		{"null is none", answerOf(200, `{"items":null}`), onceward.ProbeJudgement{Conclusive: true, Found: []onceward.FoundEffect{}}, ""},
		{"one", answerOf(200, `{"items":[`+ours+`]}`), onceward.ProbeJudgement{Conclusive: true, Found: []onceward.FoundEffect{{Reference: "t1", Ours: true}}}, ""},
		{"an object is one", answerOf(200, `{"items":`+ours+`}`), onceward.ProbeJudgement{Conclusive: true, Found: []onceward.FoundEffect{{Reference: "t1", Ours: true}}}, ""},
		{"another's", answerOf(200, `{"items":[{"id":9,"k":"other"},`+ours+`]}`), onceward.ProbeJudgement{Conclusive: true, Found: []onceward.FoundEffect{{Reference: "9"}, {Reference: "t1", Ours: true}}}, ""},
		{"the list is missing", answerOf(200, `{}`), onceward.ProbeJudgement{}, "found_unreadable"},
		{"no JSON", answerOf(200, `<html>`), onceward.ProbeJudgement{}, "found_unreadable"},
		{"a text", answerOf(200, `{"items":"none"}`), onceward.ProbeJudgement{}, "found_unreadable"},
		{"an item without the mark", answerOf(200, `{"items":[{"id":1}]}`), onceward.ProbeJudgement{}, "found_unreadable"},
		{"an item without an ID", answerOf(200, `{"items":[{"k":"x"}]}`), onceward.ProbeJudgement{}, "found_unreadable"},
		{"cut", &onceward.Evidence{Status: 200, Body: []byte(`{"items":[]}`), BodyCut: true}, onceward.ProbeJudgement{}, "body_unreadable"},
		{"too big", &onceward.Evidence{Status: 200, Body: []byte(`{"items":[]}`), BodyTooBig: true}, onceward.ProbeJudgement{}, "body_unreadable"},
		{"404", answerOf(404, `{"items":[]}`), onceward.ProbeJudgement{}, "http_404"},
		{"401", answerOf(401, `{"items":[]}`), onceward.ProbeJudgement{}, "http_401"},
		{"429", answerOf(429, ``, "Retry-After", "5"), onceward.ProbeJudgement{RetryAfter: 5 * time.Second}, "http_429"},
		{"503", answerOf(503, `{"items":[]}`), onceward.ProbeJudgement{}, "http_503"},
		{"302", answerOf(302, ``), onceward.ProbeJudgement{}, "http_302"},
		{"no answer", &onceward.Evidence{Reach: onceward.ReachNotDialled, ErrorCode: "dial_refused"}, onceward.ProbeJudgement{}, "dial_refused"},
		{"too many", answerOf(200, `{"items":[`+strings.Repeat(`0,`, foundMax)+`0]}`), onceward.ProbeJudgement{}, "found_unreadable"},
	} {
		got := tool.JudgeProbe(op, c.ev)
		if got.Failure.Code != c.code {
			t.Errorf("%s: code %q, want %q (%s)", c.name, got.Failure.Code, c.code, got.Failure.Message)
		}
		got.Failure = onceward.Failure{}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// TestNotFoundIsAbsenceOnlyIfTheContractSaysSo is about look-ups by ID.
func TestNotFoundIsAbsenceOnlyIfTheContractSaysSo(t *testing.T) {
	t.Parallel()
	tool := loadSpec(t, `  effect: probed_write
  key: [input.id]
  request: {method: PUT, url: 'https://h.example.com/${operation.provider_key}'}
  probe:
    request: {url: 'https://h.example.com/${operation.provider_key}'}
    found: '${response.status == 404 ? [] : [response.json]}'
    reference: '${item.id}'
    settle: 30s
`)
	for status, conclusive := range map[int]bool{200: true, 404: true, 410: true, 401: false, 403: false, 408: false, 429: false, 500: false, 503: false, 301: false} {
		got := tool.JudgeProbe(&onceward.Operation{}, answerOf(status, `{"id":"a"}`))
		if got.Conclusive != conclusive {
			t.Errorf("%d is conclusive: %v, want %v", status, got.Conclusive, conclusive)
		}
		if conclusive && (len(got.Found) == 0) != (status == 404) {
			t.Errorf("%d found %v", status, got.Found)
		}
	}
}
