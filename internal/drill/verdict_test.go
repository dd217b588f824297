package drill

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/faultproxy"
)

// probedWith is a probed write whose rule for 503 may be one that lies.
const probedWith = `apiVersion: onceward/v1
kind: Tool
metadata: {name: a.b, owner: o}
spec:
  effect: probed_write
  key: [input.id]
  request: {method: POST, url: 'http://provider.invalid/x', json: {k: '${operation.provider_key}'}}
  outcomes:
    - {when: 'response.status == 201', is: done, reference: '${response.json.id}'}
    - {when: 'response.status == 503', is: not_done, class: unavailable}
  probe:
    request: {url: 'http://provider.invalid/x?k=${operation.provider_key}'}
    found: '${response.json}'
    settle: 2s
`

func scenarioNamed(tb testing.TB, name string) *Scenario {
	tb.Helper()
	found, err := Select([]string{name})
	if err != nil {
		tb.Fatal(err)
	}
	return found[0]
}

func TestVerdictsCompareWithWhatTheClassPromises(t *testing.T) {
	t.Parallel()
	wrote := faultproxy.Exchange{Forwarded: true, Status: 201, Answer: []byte(`{"id":"1"}`)}
	hidden := wrote
	hidden.Fault = faultproxy.HTTPFault{Kind: faultproxy.AnswerAfter, Status: 503}
	late := Lateness{Worst: 5 * time.Second, Known: true}
	for name, c := range map[string]struct {
		tool, scenario string
		late           Lateness
		row            Row
		writes         []faultproxy.Exchange
		want           Verdict
		line           int    // to change; 0: none
		says           string // in the sentence
	}{
		"one effect":                         {probedWith, "answer-lost", late, Row{State: "succeeded", Effects: 1, Attempts: 1, Writes: 1}, nil, Kept, 0, ""},
		"two effects, settle too short":      {probedWith, "late-commit", late, Row{State: "succeeded", Effects: 2, Attempts: 2, Writes: 2}, nil, Broken, 14, "at least 5s"},
		"settle too short, and good luck":    {probedWith, "late-commit", late, Row{State: "succeeded", Effects: 1, Attempts: 1, Writes: 1}, nil, Broken, 14, "at least 5s"},
		"settle long enough":                 {probedWith, "late-commit", Lateness{Worst: time.Second, Known: true}, Row{State: "succeeded", Effects: 1, Attempts: 1, Writes: 1}, nil, Kept, 0, ""},
		"lateness not told, found in time":   {probedWith, "late-commit", Lateness{}, Row{State: "succeeded", Effects: 1, Attempts: 1, Writes: 1}, nil, Kept, 0, ""},
		"two effects, within settle":         {probedWith, "late-commit", Lateness{}, Row{State: "succeeded", Effects: 2, Attempts: 2, Writes: 2}, nil, Broken, 14, "within settle"},
		"two effects, beyond settle":         {probedWith, "late-commit-beyond", late, Row{State: "succeeded", Effects: 2, Attempts: 2, Writes: 2}, nil, Outside, 14, "lateness"},
		"two effects, a rule lied":           {probedWith, "5xx-after-commit", late, Row{State: "succeeded", Effects: 2, Attempts: 2, Writes: 2}, []faultproxy.Exchange{hidden, wrote}, Broken, 10, "503 is called not done"},
		"failed with an effect, a rule lied": {probedWith, "5xx-after-commit", late, Row{State: "failed", Effects: 1, Attempts: 1, Writes: 1}, []faultproxy.Exchange{hidden}, Broken, 10, "503 is called not done"},
		"two effects, nobody looked":         {probedWith, "answer-lost", late, Row{State: "succeeded", Effects: 2, Attempts: 2, Writes: 2}, nil, Broken, 5, "outcome rule"},
		"failed by a default, and an effect": {probedWith, "one-delivery", late, Row{State: "failed", Effects: 1, Attempts: 1, Writes: 1}, []faultproxy.Exchange{{Forwarded: true, Status: 422}}, Broken, 8, "default: 422"},
		"a redirect, tried again and again":  {probedWith, "one-delivery", late, Row{State: "failed", Attempts: 5, Writes: 5}, []faultproxy.Exchange{{Forwarded: true, Status: 307}}, Broken, 8, "default: 307"},
		"one request, two effects":           {probedWith, "one-delivery", late, Row{State: "succeeded", Effects: 2, Attempts: 1, Writes: 1}, nil, Broken, 7, "one request"},
		"nothing answers":                    {probedWith, "one-delivery", late, Row{State: "outcome_unknown", Attempts: 1, Writes: 1}, []faultproxy.Exchange{{Forwarded: true, Err: io.ErrUnexpectedEOF}}, Trouble, 0, ""},
		"done without effect":                {probedWith, "one-delivery", late, Row{State: "succeeded", Attempts: 1, Writes: 1}, []faultproxy.Exchange{wrote}, Broken, 13, "still shows nothing"},
		"a needless human ask":               {probedWith, "answer-lost", late, Row{State: "needs_review", Effects: 1, Attempts: 1, Writes: 1}, nil, Broken, 13, "settled nothing"},
		"never settled":                      {probedWith, "answer-lost", late, Row{State: "outcome_unknown", Effects: 1, Attempts: 1, Writes: 1}, nil, Broken, 4, "recovery_window"},
		"more requests than attempts":        {probedWith, "answer-lost", late, Row{State: "succeeded", Effects: 1, Attempts: 1, Writes: 2}, nil, Broken, 0, ""},
		"two writes where one is enough":     {probedWith, "ten-duplicates", late, Row{State: "succeeded", Effects: 1, Attempts: 2, Writes: 2}, nil, Broken, 0, ""},
		"budget spent, truly nothing":        {probedWith, "request-lost", late, Row{State: "failed", Attempts: 5}, nil, Kept, 0, ""},
		"failed early, truly nothing":        {probedWith, "one-delivery", late, Row{State: "failed", Attempts: 1, Writes: 1}, []faultproxy.Exchange{{Forwarded: true, Status: 400}}, Broken, 8, "400"},
		"no probe, a person is asked":        {unsafeWrite, "answer-lost", late, Row{State: "needs_review", Effects: 1, Attempts: 1, Writes: 1, HumanAsks: 1}, nil, Kept, 0, ""},
		"no probe, succeeded without a word": {unsafeWrite, "answer-lost", late, Row{State: "succeeded", Effects: 1, Attempts: 1, Writes: 1}, nil, Broken, 0, ""},
		"no probe, a known end":              {unsafeWrite, "ten-duplicates", late, Row{State: "needs_review", Effects: 1, Attempts: 1, Writes: 1}, nil, Broken, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := newSubject(&Subject{Tool: loadTool(t, c.tool), Input: []byte(`{"id":"1"}`), Lateness: c.late}, Options{RunID: "r"})
			if err != nil {
				t.Fatal(err)
			}
			row := c.row
			st := &stage{s: s, sc: scenarioNamed(t, c.scenario), row: &row, through: s.Tool, input: s.Input, writes: c.writes}
			if st.ready, err = s.Tool.Prepare(&onceward.Intent{Principal: onceward.LocalPrincipal(), Input: s.Input}, 0); err != nil {
				t.Fatal(err)
			}
			st.judge()
			line, sentence := 0, ""
			if row.Change != nil {
				line, sentence = row.Change.Line, row.Change.Sentence
			}
			if row.Verdict != c.want || line != c.line || !strings.Contains(sentence, c.says) {
				t.Errorf("%s: %s; line %d: %q", row.Verdict, row.Why, line, sentence)
			}
		})
	}
}

const unsafeWrite = inputHead + "  key: [input.id]\n"

func TestEffectsAreCountedByReferenceWhereNothingCanBeLookedUp(t *testing.T) {
	t.Parallel()
	answered := func(status int, body string) faultproxy.Exchange {
		return faultproxy.Exchange{Forwarded: true, Status: status, Header: http.Header{"Content-Type": {"application/json"}}, Answer: []byte(body)}
	}
	for name, c := range map[string]struct {
		tool, input string
		writes      []faultproxy.Exchange
		want        int
	}{
		"the key's own answer again": {"payments.create", `{"order_id":"1","amount":1,"currency":"EUR"}`, []faultproxy.Exchange{answered(201, `{"id":"P-1"}`), answered(201, `{"id":"P-1"}`)}, 1},
		"two references":             {"payments.create", `{"order_id":"1","amount":1,"currency":"EUR"}`, []faultproxy.Exchange{answered(201, `{"id":"P-1"}`), answered(201, `{"id":"P-2"}`)}, 2},
		"no references, two faxes":   {"fax.send", `{"case_id":"1","to":"+493012345","document":"d"}`, []faultproxy.Exchange{answered(200, `{"accepted":true}`), answered(200, `{"accepted":true}`)}, 2},
		"refused":                    {"fax.send", `{"case_id":"1","to":"+493012345","document":"d"}`, []faultproxy.Exchange{answered(429, `{}`), {Forwarded: true}}, 0},
	} {
		s, err := newSubject(&Subject{Tool: simTool(t, c.tool), Input: []byte(c.input)}, Options{RunID: "r"})
		if err != nil {
			t.Fatal(err)
		}
		st := &stage{s: s, through: s.Tool, input: s.Input, writes: c.writes}
		if st.ready, err = s.Tool.Prepare(&onceward.Intent{Principal: onceward.LocalPrincipal(), Input: s.Input}, 0); err != nil {
			t.Fatal(err)
		}
		if got, references := st.byAnswers(); got != c.want {
			t.Errorf("%s: %d effects %q, want %d", name, got, references, c.want)
		}
	}
}

func TestWaitsAreDividedByOneFactorWithinLimits(t *testing.T) {
	t.Parallel()
	hours := onceward.Policy{
		Effect: onceward.EffectProbedWrite, HasProbe: true, Deadline: time.Minute, Lease: time.Hour, Settle: 2 * time.Hour, ProbeDeadline: time.Minute,
		BackoffInitial: time.Minute, BackoffMax: time.Hour, RecoveryWindow: 24 * time.Hour,
	}
	w := plan(&hours, 0, 0, false)
	if w.lease+w.deadline+w.settle > 10*time.Second || w.deadline != answerDefault || w.lease <= w.deadline || w.backoffMax > backoffMaxCap || w.recovery < recoveryFloor {
		t.Errorf("%+v", w)
	}
	if got := w.divided(hours.Settle); got.Round(time.Millisecond) != w.settle {
		t.Errorf("settle is %s, the provider's lateness of the same length %s", w.settle, got)
	}
	if lag := plan(&hours, 0, 0, true); lag.factor != 1 || lag.settle != hours.Settle {
		t.Errorf("a look-up that lags is hurried: %+v", lag)
	}
	short := onceward.Policy{HasProbe: true, Deadline: 100 * time.Millisecond, Lease: 300 * time.Millisecond, Settle: 200 * time.Millisecond, ProbeDeadline: 50 * time.Millisecond, BackoffInitial: time.Millisecond, BackoffMax: time.Millisecond}
	if w := plan(&short, 0, 0, false); w.factor != 1 || w.deadline != short.Deadline || w.lease != short.Lease || w.settle != short.Settle {
		t.Errorf("short waits were changed: %+v", w)
	}
	if w := plan(&hours, 10, 0, false); w.factor != 10 || w.settle != 12*time.Minute {
		t.Errorf("the wanted factor is not taken: %+v", w)
	}
}
