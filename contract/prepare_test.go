package contract

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/onceward/onceward"
)

const ticketSpec = `  effect: probed_write
  input:
    type: object
    required: [source, event_id, subject]
    properties:
      source: {type: string}
      event_id: {type: string}
      subject: {type: string, minLength: 1}
      body: {type: string}
      notes: {type: array, items: {type: object}}
      priority: {enum: [normal, urgent]}
      mail: {type: string, format: email}
      amount: {type: number, minimum: 0.5}
    additionalProperties: false
  key: ['input.source.lower().trim()', input.event_id]
  key_was: [[input.event_id], 'input.source', ['input.source', input.event_id], 'input.mail']
  volatile: [subject, 'notes[*].text']
  provider_key: {in: header, format: uuid4}
  request:
    method: POST
    url: ${env.BASE}/tickets
    headers: {Authorization: 'Bearer ${secret.TOKEN}', X-Op: '${operation.id}'}
    json: {title: '${input.subject}', text: '${input.body}', ext: '${operation.provider_key}', by: '${operation.tenant}/${operation.tool}/${operation.key}'}
  probe: {request: {url: '${env.BASE}/tickets?ext=${operation.provider_key}'}, found: '${response.json.items}', settle: 30s}
  approval: {when: 'input.priority == "urgent"', by: [leads], quorum: 2, separate_requester: true}
  serialize_by: 'input.source'
`

func TestPrepareKeysDigestsAndRenders(t *testing.T) {
	t.Parallel()
	tool := loadSpec(t, ticketSpec)
	p := mustPrepare(t, tool, ` {"subject":"Hi \"you\"","source":" Stripe ", "event_id":"evt_1","priority":"normal"} `)
	op := operationOf(tool, p)
	if want := onceward.Key(`["stripe","evt_1"]`); p.Key != want {
		t.Errorf("key %s, want %s", p.Key, want)
	}
	if diff := cmp.Diff([]onceward.Key{`["evt_1"]`, `[" Stripe "]`, `[" Stripe ","evt_1"]`}, p.Aliases); diff != "" {
		t.Errorf("aliases (a rule without its field makes none): %s", diff)
	}
	if want := `{"event_id":"evt_1","priority":"normal","source":" Stripe ","subject":"Hi \"you\""}`; string(p.Input) != want {
		t.Errorf("input %s", p.Input)
	}
	want := &onceward.Request{
		Method: "POST", URL: "https://api.example.com/v1/tickets",
		Header: []onceward.HeaderField{{Name: "X-Op", Value: op.ID.String()}, {Name: "Content-Type", Value: "application/json"}, {Name: "Idempotency-Key", Value: p.ProviderKey}},
		Body:   []byte(`{"title":"Hi \"you\"","ext":"` + p.ProviderKey + `","by":"acme/things.make/[\"stripe\",\"evt_1\"]"}`),
	}
	if diff := cmp.Diff(want, p.Request); diff != "" {
		t.Error(diff)
	}
	if len(p.ProviderKey) != 36 || p.SerialKey != " Stripe " || p.Approval {
		t.Errorf("provider key %q, serial key %q, approval %v", p.ProviderKey, p.SerialKey, p.Approval)
	}
	secrets, err := tool.Secrets(op)
	if err != nil || len(secrets) != 1 || secrets[0].Value != "Bearer s3cr3t-token-value" {
		t.Errorf("secrets %v, %v", secrets, err)
	}
	digest, prints, err := tool.MaterialDigest(p.Input, op.ID)
	if err != nil || digest != p.Digest || !cmp.Equal(prints, p.Prints) {
		t.Errorf("the digest of the stored input is another one: %v", err)
	}
}

func TestSameIntentionInAnotherSpelling(t *testing.T) {
	t.Parallel()
	tool := loadSpec(t, ticketSpec)
	first := mustPrepare(t, tool, `{"subject":"a","source":"s","event_id":"e","body":"é","amount":1}`)
	for _, input := range []string{
		`{"amount":1.0,"body":"\u00e9","event_id":"e","source":"s","subject":"reworded"}`,
		`{"event_id":"e","amount":1e0,"subject":"a","source":"s","body":"é"}`,
	} {
		p := mustPrepare(t, tool, input)
		if p.Key != first.Key || p.Digest != first.Digest || p.ProviderKey != first.ProviderKey {
			t.Errorf("%s is another intention", input)
		}
	}
	notes := mustPrepare(t, tool, `{"subject":"a","source":"s","event_id":"e","notes":[{"text":"x","by":1}]}`)
	if p := mustPrepare(t, tool, `{"subject":"a","source":"s","event_id":"e","notes":[{"text":"y","by":1}]}`); p.Digest != notes.Digest {
		t.Error("a volatile field inside a list is in the digest")
	}
	for _, input := range []string{
		`{"subject":"a","source":"s","event_id":"e","body":"e\u0301","amount":1}`, // NFD is not NFC
		`{"subject":"a","source":"s","event_id":"e","body":"é","amount":2}`,
		`{"subject":"a","source":"s","event_id":"e","amount":1}`,
	} {
		p := mustPrepare(t, tool, input)
		if p.Key != first.Key || p.Digest == first.Digest {
			t.Errorf("%s has the same digest, or another key", input)
		}
	}
}

func TestInputsAreRefusedWithPlaceAndRule(t *testing.T) {
	t.Parallel()
	tool := loadSpec(t, ticketSpec)
	for _, c := range []struct {
		input string
		code  onceward.Code
		want  string
	}{
		{`{`, onceward.CodeInvalidInput, "line 1"},
		{`{"a":1,"a":2}`, onceward.CodeInvalidInput, "duplicate member name"},
		{`[]`, onceward.CodeInvalidInput, "the input is not an object"},
		{`null`, onceward.CodeInvalidInput, "the input is not an object"},
		{`{}`, onceward.CodeInvalidInput, "the input: it lacks source, event_id, subject"},
		{`{"source":1,"event_id":"e","subject":""}`, onceward.CodeInvalidInput, "source: it is number, not string; subject: it is shorter than 1 characters"},
		{`{"source":"s","event_id":"e","subject":"x","priority":"4111111111111111"}`, onceward.CodeInvalidInput, "priority: it is not one of the allowed values"},
		{`{"source":"s","event_id":"e","subject":"x","mail":"4111111111111111"}`, onceward.CodeInvalidInput, "mail: it is not a valid email"},
		{`{"source":"s","event_id":"e","subject":"x","amount":0.25}`, onceward.CodeInvalidInput, "amount: it is less than 0.5"},
		{`{"source":"s","event_id":"e","subject":"x","notes":[{},4111111111111111]}`, onceward.CodeInvalidInput, "notes.1: it is number, not object"},
		{`{"source":"s","event_id":"e","subject":"x","extra\u0007":1}`, onceward.CodeInvalidInput, "the input: it has no field extra?"},
		{`{"source":"s","event_id":"","subject":"x"}`, onceward.CodeKeyInvalid, "key part 2 is empty"},
		{`{"source":"s","event_id":" ","subject":"x"}`, onceward.CodeKeyInvalid, "key part 2 is blank"},
		{`{"source":"","event_id":"e","subject":"x"}`, onceward.CodeKeyInvalid, "key part 1 is empty"},
		{`{"source":"` + strings.Repeat("s", onceward.KeyBytesMax+1) + `","event_id":"e","subject":"x"}`, onceward.CodeInvalidInput, "spec.serialize_by"},
		{strings.Repeat("[", 100), onceward.CodeTooLarge, "nested deeper"},
		{`{"source":"` + strings.Repeat("s", onceward.JSONBytesMax) + `"}`, onceward.CodeTooLarge, "longer than"},
	} {
		_, err := tool.Prepare(intent(c.input), 0)
		if onceward.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60s\n got %s, %v\nwant %s, …%s…", c.input, onceward.CodeOf(err), err, c.code, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "4111") {
			t.Errorf("the refusal shows a value: %v", err)
		}
	}
}

func TestKeyPartsThatGiveNoStableKeyAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ key, input, want string }{
		{`input.a`, `{}`, "key part 1 cannot be made: the input has no a"},
		{`input.a`, `{"a":null}`, "key part 1 cannot be made: it is null"},
		{`input.a`, `{"a":{}}`, "key part 1 cannot be made: it is an object"},
		{`input.a`, `{"a":["x"]}`, "key part 1 cannot be made: it is a list"},
		{`input.a.lower()`, `{"a":null}`, "key part 1 cannot be made: a value has a type"},
		{`input.a.e164()`, `{"a":"12"}`, "key part 1 cannot be made: e164(): it does not start with + and a country code"},
		{`input.?a`, `{}`, "key part 1 cannot be made: the value is absent"},
		{`input.a.b`, `{"a":"x"}`, "key part 1 cannot be made: the input has no a.b"},
		{`input.a[0]`, `{"a":[]}`, "key part 1 cannot be made: the input has no a[0]"},
	} {
		tool := loadSpec(t, "  effect: unsafe_write\n  key: ['"+c.key+"']\n  request: {method: POST, url: 'https://h.example.com/'}\n")
		_, err := tool.Prepare(intent(c.input), 0)
		if !onceward.Is(err, onceward.CodeKeyInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s over %s: %v, want %s", c.key, c.input, err, c.want)
		}
	}
}

func TestWhereTheKeyComesFrom(t *testing.T) {
	t.Parallel()
	own := loadSpec(t, writeHead+"  request: {method: POST, url: 'https://h.example.com/'}\n")
	caller := loadSpec(t, "  effect: unsafe_write\n  request: {method: POST, url: 'https://h.example.com/'}\n")
	read := loadSpec(t, "  effect: read\n  request: {method: GET, url: 'https://h.example.com/'}\n")
	key := func(tool *Tool, callerKey, fork onceward.Key) (onceward.Key, error) {
		in := intent(`{"id":"x"}`)
		in.CallerKey, in.ForkKey = callerKey, fork
		p, err := tool.Prepare(in, 0)
		if err != nil {
			return "", err
		}
		return p.Key, nil
	}
	for _, c := range []struct {
		tool            *Tool
		callerKey, fork onceward.Key
		want            onceward.Key
	}{
		{own, "", "", `["x"]`},
		{own, "abc", "", `["x"]`}, // the contract's wins
		{own, "abc", `["x","fork","1"]`, `["x","fork","1"]`},
		{caller, "abc", "", "abc"},
		{read, "abc", "", "abc"},
	} {
		if got, err := key(c.tool, c.callerKey, c.fork); err != nil || got != c.want {
			t.Errorf("key %s, %v; want %s", got, err, c.want)
		}
	}
	if _, err := key(caller, "", ""); !onceward.Is(err, onceward.CodeKeyMissing) {
		t.Errorf("a write without any key gives %v", err)
	}
	first, _ := key(read, "", "")
	second, err := key(read, "", "")
	if err != nil || first == "" || first == second {
		t.Errorf("two reads without a key share %q", first)
	}
	if !caller.Info().KeyFromCaller || own.Info().KeyFromCaller || read.Info().KeyFromCaller {
		t.Error("KeyFromCaller is wrong")
	}
}

func TestTenantsToolsAndGenerationsHaveKeysOfTheirOwn(t *testing.T) {
	t.Parallel()
	tool := loadSpec(t, ticketSpec)
	const input = `{"source":"s","event_id":"e","subject":"x"}`
	seen := map[string]string{}
	for _, tenant := range []onceward.Tenant{"acme", "other"} {
		for generation := range onceward.Generation(3) {
			in := intent(input)
			in.Principal.Tenant = tenant
			p, err := tool.Prepare(in, generation)
			if err != nil {
				t.Fatal(err)
			}
			here := fmt.Sprintf("%s, generation %d", tenant, generation)
			if there, twice := seen[p.ProviderKey]; twice {
				t.Errorf("%s and %s share a provider key", here, there)
			}
			seen[p.ProviderKey] = here
		}
	}
}

func TestApprovalIsAskedWhenInDoubt(t *testing.T) {
	t.Parallel()
	tool := loadSpec(t, ticketSpec)
	for input, want := range map[string]bool{
		`{"source":"s","event_id":"e","subject":"x","priority":"urgent"}`: true,
		`{"source":"s","event_id":"e","subject":"x","priority":"normal"}`: false,
		`{"source":"s","event_id":"e","subject":"x"}`:                     true, // cannot be evaluated
	} {
		if p := mustPrepare(t, tool, input); p.Approval != want {
			t.Errorf("%s: approval %v, want %v", input, p.Approval, want)
		}
	}
	rule, ok := tool.Approval()
	if !ok || rule.Quorum != 2 || !rule.SeparateRequester || len(rule.Groups) != 1 || tool.Info().Policy.ApprovalExpiry != 24*time.Hour {
		t.Errorf("rule %+v, %v", rule, ok)
	}
	always := loadSpec(t, writeHead+"  request: {method: POST, url: 'https://h.example.com/'}\n  approval: {}\n")
	if p := mustPrepare(t, always, `{"id":"x"}`); !p.Approval {
		t.Error("an approval without a condition is not asked for")
	}
}

func TestProviderKeyStandsWhereTheContractSays(t *testing.T) {
	t.Parallel()
	prepare := func(key, request string) *onceward.Prepared {
		return mustPrepare(t, loadSpec(t, "  effect: keyed_write\n  key: [input.id]\n  provider_key: "+key+"\n  request: "+request+"\n"), `{"id":"x","m":{"a":1}}`)
	}
	p := prepare(`{in: query, name: request id}`, `{method: POST, url: 'https://h.example.com/a'}`)
	if want := "https://h.example.com/a?request%20id=" + p.ProviderKey; p.Request.URL != want {
		t.Errorf("query: %s", p.Request.URL)
	}
	p = prepare(`{in: query, name: r}`, `{method: POST, url: 'https://h.example.com/a?x=${input.id}'}`)
	if want := "https://h.example.com/a?x=x&r=" + p.ProviderKey; p.Request.URL != want {
		t.Errorf("query behind another: %s", p.Request.URL)
	}
	p = prepare(`{in: json, name: meta.keys.own}`, `{method: POST, url: 'https://h.example.com/a', json: {meta: {a: 1}}}`)
	if want := `{"meta":{"a":1,"keys":{"own":"` + p.ProviderKey + `"}}}`; string(p.Request.Body) != want {
		t.Errorf("json: %s", p.Request.Body)
	}
	p = prepare(`{in: header, format: base32hex, max: 20}`, `{method: POST, url: 'https://h.example.com/a'}`)
	if len(p.ProviderKey) != 20 || p.Request.Header[0] != (onceward.HeaderField{Name: "Idempotency-Key", Value: p.ProviderKey}) {
		t.Errorf("header: %v", p.Request.Header)
	}
	p = prepare(`{in: header}`, `{method: POST, url: 'https://h.example.com/a', headers: {idempotency-key: 'v1-${operation.provider_key}'}}`)
	if len(p.Request.Header) != 1 || p.Request.Header[0].Value != "v1-"+p.ProviderKey {
		t.Errorf("own header: %v", p.Request.Header)
	}
	p = prepare(`{in: graphql}`, `{method: POST, url: 'https://h.example.com/a', json: {query: 'mutation { x @idempotent(key: "${operation.provider_key}") }'}}`)
	if !strings.Contains(string(p.Request.Body), `key: \"`+p.ProviderKey+`\"`) {
		t.Errorf("graphql: %s", p.Request.Body)
	}
	p = prepare(`{in: path}`, `{method: PUT, url: 'https://h.example.com/a/${operation.provider_key}'}`)
	if p.Request.URL != "https://h.example.com/a/"+p.ProviderKey {
		t.Errorf("path: %s", p.Request.URL)
	}
}

func TestConditionSendsItsHeader(t *testing.T) {
	t.Parallel()
	p := mustPrepare(t, judgeTools(t)["conditional_write"], `{"id":"x"}`)
	if diff := cmp.Diff([]onceward.HeaderField{{Name: "If-None-Match", Value: "*"}}, p.Request.Header); diff != "" {
		t.Error(diff)
	}
}

func TestCallerPerformsTheWrite(t *testing.T) {
	t.Parallel()
	tool := loadSpec(t, "  effect: unsafe_write\n  executor: caller\n  key: [input.id]\n  lease: 1m\n")
	p := mustPrepare(t, tool, `{"id":"x"}`)
	op := operationOf(tool, p)
	secrets, err := tool.Secrets(op)
	if p.Request != nil || len(p.ProviderKey) == 0 || len(secrets) != 0 || err != nil || !tool.Info().Policy.RemoteExecutor {
		t.Errorf("request %v, provider key %q, secrets %v, %v", p.Request, p.ProviderKey, secrets, err)
	}
}

func TestCompensationIsRendered(t *testing.T) {
	t.Parallel()
	tool := loadSpec(t, writeHead+"  request: {method: POST, url: 'https://h.example.com/'}\n  compensate: {tool: things.undo, input: {id: '${operation.reference}', of: '${input.id}', why: undo}}\n")
	op := operationOf(tool, mustPrepare(t, tool, `{"id":7}`))
	if _, _, _, err := tool.Compensation(op); !onceward.Is(err, onceward.CodeStateForbids) {
		t.Errorf("without a reference: %v", err)
	}
	op.Reference = "t1"
	undo, input, ok, err := tool.Compensation(op)
	if err != nil || !ok || undo != "things.undo" || string(input) != `{"id":"t1","of":7,"why":"undo"}` {
		t.Errorf("%s %s %v %v", undo, input, ok, err)
	}
	byKey := loadSpec(t, writeHead+"  request: {method: POST, url: 'https://h.example.com/'}\n  compensate: {tool: things.undo, by: key, input: {key: '${operation.provider_key}'}}\n")
	if _, input, _, err := byKey.Compensation(operationOf(byKey, mustPrepare(t, byKey, `{"id":7}`))); err != nil || !strings.Contains(string(input), `"key":"`) {
		t.Errorf("by key: %s %v", input, err)
	}
}

func TestSourceAndAuditAreReadBack(t *testing.T) {
	t.Parallel()
	tool := loadSpec(t, writeHead+`  request: {method: POST, url: 'https://h.example.com/'}
  source: {request: {url: 'https://crm.example.com/orders/${input.id}', headers: {Authorization: 'Bearer ${secret.TOKEN}'}}, value: '${response.json.order}'}
  audit: {request: {url: 'https://h.example.com/list?tenant=${operation.tenant}'}, found: '${response.json}', reference: '${item.id}', operation: '${item.key}'}
`)
	if diff := cmp.Diff([]string{"h.example.com", "crm.example.com"}, tool.Info().Hosts); diff != "" {
		t.Error(diff)
	}
	op := operationOf(tool, mustPrepare(t, tool, `{"id":"o/1"}`))
	req, err := tool.SourceRequest(op)
	if err != nil || req.URL != "https://crm.example.com/orders/o%2F1" || req.Header[0].Value != "Bearer s3cr3t-token-value" {
		t.Errorf("source request %+v, %v", req, err)
	}
	value, err := tool.SourceValue(op, answerOf(200, `{"order":{"a":1.50}}`))
	if err != nil || string(value) != `{"a":1.50}` {
		t.Errorf("source value %s, %v", value, err)
	}
	if _, err := tool.SourceValue(op, answerOf(404, `{}`)); !onceward.Is(err, onceward.CodeProviderUnreachable) {
		t.Errorf("a missing source gives %v", err)
	}
	list, err := tool.AuditRequest("acme")
	if err != nil || list.URL != "https://h.example.com/list?tenant=acme" {
		t.Errorf("audit request %+v, %v", list, err)
	}
	objects, err := tool.AuditedObjects("acme", answerOf(200, `[{"id":1,"key":"k"},{"id":2}]`))
	if diff := cmp.Diff([]onceward.AuditedObject{{Reference: "1", ProviderKey: "k"}, {Reference: "2"}}, objects); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestSecretIsReadAnewAtEachSend(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	value := "first"
	opts := testOptions()
	opts.Secrets = func(string) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		if value == "" {
			return "", fmt.Errorf("gone")
		}
		return value, nil
	}
	tools, err := Load([]byte(testHead+writeHead+"  request: {method: POST, url: 'https://h.example.com/', headers: {A: 'B ${secret.T}', C: '${input.id}-${secret.T}'}}\n"), "f", opts)
	if err != nil {
		t.Fatal(err)
	}
	op := operationOf(tools[0], mustPrepare(t, tools[0], `{"id":"x"}`))
	gone := *op
	gone.Input = nil
	if _, err := tools[0].Secrets(&gone); err == nil {
		t.Error("a header that looks at the input is rendered without it")
	}
	for _, h := range op.Request.Header {
		t.Errorf("a header with a secret is stored: %s", h.Name)
	}
	for _, next := range []string{"first", "second"} {
		mu.Lock()
		value = next
		mu.Unlock()
		secrets, err := tools[0].Secrets(op)
		want := []onceward.HeaderField{{Name: "A", Value: "B " + next}, {Name: "C", Value: "x-" + next}}
		if diff := cmp.Diff(want, secrets); diff != "" || err != nil {
			t.Error(diff, err)
		}
	}
	for _, bad := range []string{"", "with\nbreak"} {
		mu.Lock()
		value = bad
		mu.Unlock()
		if _, err := tools[0].Secrets(op); err == nil || strings.Contains(err.Error(), "break\"") || strings.Contains(err.Error(), "with") {
			t.Errorf("secret %q gives %v", bad, err)
		}
	}
}

func TestToolIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	tool := loadSpec(t, ticketSpec)
	const workers, rounds = 8, 50
	want := make([]*onceward.Prepared, workers)
	for i := range want {
		want[i] = mustPrepare(t, tool, fmt.Sprintf(`{"source":"s","event_id":"e%d","subject":"x"}`, i))
	}
	var group sync.WaitGroup
	for i := range workers {
		group.Go(func() {
			for range rounds {
				p, err := tool.Prepare(intent(fmt.Sprintf(`{"source":"s","event_id":"e%d","subject":"x"}`, i)), 0)
				if err != nil || !cmp.Equal(want[i], p, cmpopts.IgnoreUnexported(onceward.Prepared{})) {
					t.Errorf("another preparation than alone: %v", err)
					return
				}
				op := operationOf(tool, p)
				if _, err := tool.Secrets(op); err != nil {
					t.Error(err)
				}
				if j := tool.Judge(op, answerOf(201, `{}`)); j.Verdict != onceward.VerdictDone {
					t.Errorf("%+v", j)
				}
				if j := tool.JudgeProbe(op, answerOf(200, `{"items":[]}`)); !j.Conclusive {
					t.Errorf("%+v", j)
				}
			}
		})
	}
	group.Wait()
}

// A normaliser on a key part says that its spellings are one intention: the field
// makes no difference beyond the key. Any other expression over a field says
// nothing about what it leaves out.
func TestSpellingsThatTheKeyNormalisesAreOneIntention(t *testing.T) {
	t.Parallel()
	const spec = `  effect: unsafe_write
  key: ['input.source.lower().trim()', 'input.id.nfc()', 'input.name.split(" ")[0]']
  request: {method: POST, url: 'https://provider.test/', json: {source: '${input.source}', id: '${input.id}', name: '${input.name}'}}`
	tool := loadSpec(t, spec)
	first := mustPrepare(t, tool, `{"source":"x","id":"é","name":"Ada L"}`)
	same := mustPrepare(t, tool, `{"source":" X ","id":"e\u0301","name":"Ada L"}`)
	if same.Key != first.Key || same.Digest != first.Digest || len(same.Prints) != len(first.Prints) {
		t.Error("another spelling of the key's fields is another intention")
	}
	other := mustPrepare(t, tool, `{"source":"x","id":"é","name":"Ada M"}`)
	if other.Key != first.Key || other.Digest == first.Digest {
		t.Error("what the key leaves out of a name makes no difference")
	}
}
