package drill

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/contract"
	"github.com/onceward/onceward/internal/faultproxy"
)

// staged is a stage on which everything has happened.
func staged(tb testing.TB, tool *contract.Tool, input, scenario string) *stage {
	tb.Helper()
	s, err := newSubject(&Subject{Tool: tool, Input: []byte(input)}, Options{RunID: "r"})
	if err != nil {
		tb.Fatal(err)
	}
	st := &stage{r: &runner{}, s: s, sc: scenarioNamed(tb, scenario), row: &Row{State: "succeeded"}, through: s.Tool, direct: s.Tool, input: s.Input}
	if st.ready, err = s.Tool.Prepare(&onceward.Intent{Principal: onceward.LocalPrincipal(), Input: s.Input}, 0); err != nil {
		tb.Fatal(err)
	}
	return st
}

func answeredWith(status int, body string) faultproxy.Exchange {
	return faultproxy.Exchange{Forwarded: true, Status: status, Header: http.Header{"Content-Type": {"application/json"}}, Answer: []byte(body)}
}

// showing is a provider whose look-up always shows the same.
type showing struct{ body string }

func (p showing) Send(ctx context.Context, req *onceward.Request, o onceward.SendOptions) onceward.Evidence {
	return onceward.Evidence{Status: 200, Reach: onceward.ReachFirstByte, Body: []byte(p.body)}
}

func TestTwoConfirmedReferencesAreTwoEffectsWhateverTheLookUpShows(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		shown    string
		writes   []faultproxy.Exchange
		effects  int
		verdict  Verdict
		countsBy string
	}{
		"it shows one of two":         {`[{"id":"1"}]`, []faultproxy.Exchange{answeredWith(201, `{"id":"1"}`), answeredWith(201, `{"id":"2"}`)}, 2, Broken, "counted by answers"},
		"it shows both":               {`[{"id":"1"},{"id":"2"}]`, []faultproxy.Exchange{answeredWith(201, `{"id":"1"}`), answeredWith(201, `{"id":"2"}`)}, 2, Broken, "look-up"},
		"the same answer twice":       {`[{"id":"1"}]`, []faultproxy.Exchange{answeredWith(201, `{"id":"1"}`), answeredWith(201, `{"id":"1"}`)}, 1, Kept, "look-up"},
		"it shows nothing of the one": {`[]`, []faultproxy.Exchange{answeredWith(201, `{"id":"1"}`)}, 0, Broken, "look-up"},
	} {
		st := staged(t, loadTool(t, probedWith), `{"id":"1"}`, "answer-lost")
		st.r.opts.Provider, st.writes, st.op = showing{c.shown}, c.writes, operation{State: "succeeded", Attempts: len(c.writes)}
		st.measure(t.Context())
		st.judge()
		if row := st.row; row.Effects != c.effects || row.Verdict != c.verdict || !strings.Contains(row.CountedBy, c.countsBy) {
			t.Errorf("%s: %d effects, %s, %s: %s", name, row.Effects, row.CountedBy, row.Verdict, row.Why)
		}
	}
}

// keyedBlind has a key and no look-up.
const keyedBlind = `apiVersion: onceward/v1
kind: Tool
metadata: {name: a.b, owner: o}
spec:
  effect: keyed_write
  key: [input.id]
  provider_key: {in: header, name: Idempotency-Key, window: 24h, window_kind: guaranteed, on_repeat: replay}
  request: {method: POST, url: 'http://provider.invalid/x'}
  horizon: 12h
  outcomes:
    - {when: 'response.status == 201', is: done, reference: '${has(response.json.id) ? response.json.id : ""}'}
`

func TestWritesThatNobodyCanCountAreNotCalledGood(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		writes  []faultproxy.Exchange
		verdict Verdict
		why     string
	}{
		"two confirmed, no reference": {[]faultproxy.Exchange{answeredWith(201, `{}`), answeredWith(201, `{}`)}, NotDrilled, "effects cannot be counted"},
		"two confirmed, one replayed": {[]faultproxy.Exchange{answeredWith(201, `{"id":"1"}`), answeredWith(201, `{"id":"1"}`)}, Kept, "counted by answers only"},
		"two confirmed, two made":     {[]faultproxy.Exchange{answeredWith(201, `{"id":"1"}`), answeredWith(201, `{"id":"2"}`)}, Broken, "2 effects"},
		"one confirmed, no reference": {[]faultproxy.Exchange{answeredWith(201, `{}`)}, Kept, ""},
	} {
		st := staged(t, loadTool(t, keyedBlind), `{"id":"1"}`, "answer-lost")
		st.writes, st.op = c.writes, operation{State: "succeeded", Attempts: len(c.writes)}
		st.measure(t.Context())
		st.judge()
		if row := st.row; row.Verdict != c.verdict || !strings.Contains(row.Why, c.why) {
			t.Errorf("%s: %s: %q", name, row.Verdict, row.Why)
		}
	}
}

func TestOneReferenceForDifferentIntentionsNamesNoEffect(t *testing.T) {
	t.Parallel()
	row := func(key string, confirmed int, by string) Row {
		return Row{Tool: "a.b", Keys: []string{key}, References: []string{"ok"}, Confirmed: confirmed, CountedBy: by, Verdict: Kept}
	}
	rows := []Row{row("1", 1, byAnswersOnly), row("2", 2, byAnswersOnly), row("3", 2, "look-up")}
	doubt(rows)
	if rows[0].Verdict != Kept || rows[1].Verdict != NotDrilled || rows[2].Verdict != Kept {
		t.Errorf("%+v", rows)
	}
	own := []Row{row("1", 2, byAnswersOnly)}
	doubt(own)
	if own[0].Verdict != Kept {
		t.Errorf("a reference of its own was doubted: %+v", own[0])
	}
}

func TestAnEmptyLookUpIsBlamedForWhatItDid(t *testing.T) {
	t.Parallel()
	at := time.Unix(1700000000, 0)
	look := answeredWith(200, `[]`)
	look.At = at
	wrote := func(d time.Duration) faultproxy.Exchange {
		x := answeredWith(201, `{"id":"1"}`)
		x.Fault.Kind, x.AnsweredAt = faultproxy.LoseAnswer, at.Add(d)
		return x
	}
	for name, c := range map[string]struct {
		first time.Duration // of the write's answer, after the look-up
		found int           // at the end
		field string
	}{
		"it arrived afterwards":                       {time.Second, 2, "spec.probe.settle"},
		"it was confirmed long before, and seen late": {-time.Minute, 2, "spec.probe.settle"},
		"it was confirmed long before, never seen":    {-time.Minute, 0, "spec.probe.found"},
	} {
		st := staged(t, loadTool(t, probedWith), `{"id":"1"}`, "answer-lost")
		st.looks, st.writes, st.found = []faultproxy.Exchange{look}, []faultproxy.Exchange{wrote(c.first), wrote(2 * time.Second)}, c.found
		st.row.Effects, st.row.Attempts, st.row.Writes = 2, 2, 2
		st.judge()
		if got := st.row.Change; got == nil || got.Field != c.field {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestEachAnswerThatSaysNothingIsTriedAfterACommit(t *testing.T) {
	t.Parallel()
	all, err := Select([]string{"5xx-after-commit"})
	if err != nil || len(all) != 6 {
		t.Fatalf("%d scenarios, %v", len(all), err)
	}
	hidden := answeredWith(201, `{"id":"1"}`)
	for rule, status := range map[string]int{"response.status == 408": 408, "response.status in [500, 502]": 500, "response.json == null": 502} {
		st := staged(t, loadTool(t, strings.Replace(probedWith, "response.status == 503", rule, 1)), `{"id":"1"}`, "5xx-after-commit/html")
		hidden.Fault = faultproxy.HTTPFault{Kind: faultproxy.AnswerAfter, Status: status, Header: http.Header{"Content-Type": {"text/html"}}, Body: gatewayPage}
		st.writes, st.row.Effects = []faultproxy.Exchange{hidden}, 2
		st.judge()
		if c := st.row.Change; c == nil || c.Field != "spec.outcomes[1]" {
			t.Errorf("%s: %+v", rule, c)
		}
	}
}

func TestAFieldThatIsNotWhatItIsCalledIsAFinding(t *testing.T) {
	t.Parallel()
	text := strings.Replace(probedWith, "key: [input.id]", "key: [input.id, input.note]\n  volatile: [amount]", 1)
	tool := loadTool(t, text)
	s, err := newSubject(&Subject{Tool: tool, Input: []byte(`{"id":"1","note":"n","amount":1}`), Volatile: "note", Material: "amount"}, Options{RunID: "r"})
	if err != nil {
		t.Fatal(err)
	}
	for scenario, field := range map[string]string{"reworded": "spec.key[1]", "material-change": "spec.volatile"} {
		r := &runner{opts: Options{RunID: "r"}}
		row := r.one(t.Context(), 0, task{s, scenarioNamed(t, scenario)})
		if row.Verdict != Broken || row.Change == nil || row.Change.Field != field {
			t.Errorf("%s: %+v, %+v", scenario, row, row.Change)
		}
	}
}

func TestAKeyThatIsCutSharesAnOperation(t *testing.T) {
	t.Parallel()
	st := staged(t, loadTool(t, strings.Replace(probedWith, "key: [input.id]", `key: ["input.id.split('-')[0]"]`, 1)), `{"id":"1"}`, "one-delivery")
	st.row.Effects = 4
	st.judge()
	if c := st.row.Change; st.row.Verdict != Broken || c == nil || c.Field != "spec.key" {
		t.Errorf("%s: %+v", st.row.Verdict, c)
	}
}
