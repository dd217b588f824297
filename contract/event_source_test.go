package contract

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/onceward/onceward"
)

// loadSource loads the only source of a document.
func loadSource(t testing.TB, doc string) *EventSource {
	t.Helper()
	loaded, problems := load([]byte(doc), "s.yaml", testOptions().withDefaults())
	if len(problems) > 0 || len(loaded.sources) != 1 {
		t.Fatalf("%d sources, problems: %v", len(loaded.sources), problems)
	}
	return loaded.sources[0]
}

func shop(t testing.TB) *EventSource {
	t.Helper()
	data, err := os.ReadFile("testdata/everything_source.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return loadSource(t, string(data))
}

const sourceHead = "apiVersion: onceward/v1\nkind: Source\nmetadata: {name: shop, owner: us}\nspec:\n"

// sourceOf is a source of a scheme with one mapping.
func sourceOf(t testing.TB, scheme, more string) *EventSource {
	t.Helper()
	secret := "SHOP_HOOK_SECRET"
	if scheme == "standard-webhooks" {
		secret = "STANDARD"
	}
	url := ""
	if scheme == "twilio" || scheme == "hubspot" {
		url = ", url: 'https://hooks.example.com/v1/hooks/shop'"
	}
	return loadSource(t, sourceHead+"  signature: {scheme: "+scheme+", secrets: ["+secret+"]"+url+"}\n"+more+
		"  mappings: [{name: m, when: 'true', operations: [{tool: t.make, input: {id: '${event.id}'}}]}]\n")
}

var noon = time.Unix(1780000000, 0)

// signedShop is a delivery as the shop signs it.
func signedShop(body string, edits ...func(*onceward.Delivery)) *onceward.Delivery {
	at := strconv.FormatInt(noon.Unix(), 10)
	m := hmac.New(sha256.New, []byte("hush"))
	m.Write([]byte(at + ".https://hooks.example.com/v1/hooks/shop.orders." + body))
	d := &onceward.Delivery{Method: "POST", Target: "/v1/hooks/shop.orders", Body: []byte(body), Header: map[string][]string{
		"Content-Type": {"application/json"}, "X-Shop-Time": {at}, "X-Shop-Signature": {"sha256=" + hex.EncodeToString(m.Sum(nil))},
		"X-Shop-Topic": {"orders"}, "X-Shop-Region": {"eu"}, "Authorization": {"not kept"}}}
	for _, edit := range edits {
		edit(d)
	}
	return d
}

func TestDeliveryOfSeveralEventsIsTakenApart(t *testing.T) {
	t.Parallel()
	s := shop(t)
	d := signedShop(`{"orders":[{"id":"o-1","state":"paid","at":"2026-05-28T20:26:00Z","mail":"a@example.com"},{"id":"o-1","state":"sent","at":1780000000}]}`)
	if err := s.Verify(d, noon); err != nil {
		t.Fatal(err)
	}
	events, err := s.Events(d)
	if err != nil || len(events) != 2 {
		t.Fatalf("%d events, %v", len(events), err)
	}
	kept := []onceward.HeaderField{{Name: "X-Shop-Region", Value: "eu"}, {Name: "X-Shop-Topic", Value: "orders"}}
	want := onceward.InboxEvent{Key: `["o-1","paid"]`, ContentType: "application/json", Header: kept, SentAt: time.Date(2026, 5, 28, 20, 26, 0, 0, time.UTC),
		Body: []byte(`{"id":"o-1","state":"paid","at":"2026-05-28T20:26:00Z","mail":"a@example.com"}`)}
	if diff := cmp.Diff(want, events[0]); diff != "" {
		t.Error(diff)
	}
	if !events[1].SentAt.Equal(noon) || events[1].Key != `["o-1","sent"]` {
		t.Errorf("the second event is %s at %s", events[1].Key, events[1].SentAt)
	}
}

func TestMappingMakesRunAndOperationsOfAnEvent(t *testing.T) {
	t.Parallel()
	s := shop(t)
	plan := func(body string, topic string) []onceward.EventPart {
		return s.Plan(&onceward.InboxEvent{ID: onceward.InboxID{1}, Body: []byte(body), Header: []onceward.HeaderField{{Name: "X-Shop-Topic", Value: topic}}})
	}
	want := []onceward.EventPart{{Mapping: "paid",
		Run: &onceward.EventRun{Workflow: "orders.fulfil", Version: "2", TriggerKey: "o-1", Input: []byte(`{"order":"o-1"}`)},
		Operations: []onceward.EventOperation{
			{Tool: "tickets.create", Input: []byte(`{"source":"shop","event_id":"o-1","subject":"Order o-1 is paid"}`)},
			{Tool: "mail.send", Key: "mail-o-1", Input: []byte(`{"to":"a@example.com","event":"` + onceward.InboxID{1}.String() + `"}`)},
		}}}
	if diff := cmp.Diff(want, plan(`{"id":"o-1","state":"paid","mail":"a@example.com"}`, "orders")); diff != "" {
		t.Error(diff)
	}
	if got := plan(`{"id":"o-1","state":"paid"}`, "orders"); len(got) != 1 || len(got[0].Operations) != 1 {
		t.Errorf("without a mail address: %+v", got)
	}
	if got := plan(`{"id":"o-1","state":"paid"}`, "refunds"); len(got) != 0 {
		t.Errorf("of another topic: %+v", got)
	}
}

func TestMappingMakesEvidenceOfAnEvent(t *testing.T) {
	t.Parallel()
	s := shop(t)
	op := onceward.OperationID{9}
	for body, want := range map[string]onceward.EventEvidence{
		`{"id":"1","state":"charged","operation":"` + op.String() + `","charge":"ch_1"}`: {Tool: "payments.create", Operation: op, Done: true, Effect: "ch_1"},
		`{"id":"1","state":"declined","key":"k","why":"no cover"}`:                       {Tool: "payments.create", Key: "k", Reason: "no cover"},
		`{"id":"1","state":"cancelled","key":"pk"}`:                                      {Tool: "payments.create", ProviderKey: "pk"},
		`{"id":"1","state":"lost","charge":"ch_2"}`:                                      {Tool: "payments.create", Reference: "ch_2", Done: true},
	} {
		parts := s.Plan(&onceward.InboxEvent{Body: []byte(body)})
		if len(parts) != 1 || parts[0].Err != nil {
			t.Errorf("%s: %+v", body, parts)
			continue
		}
		if diff := cmp.Diff([]onceward.EventEvidence{want}, parts[0].Evidence); diff != "" {
			t.Errorf("%s: %s", body, diff)
		}
	}
	for _, body := range []string{`{"id":"1","state":"charged","operation":"nonsense","charge":"c"}`, `{"id":"1","state":"charged","charge":"c"}`, `{"id":"1","state":"lost","charge":""}`} {
		if parts := s.Plan(&onceward.InboxEvent{Body: []byte(body)}); len(parts) != 1 || parts[0].Err == nil {
			t.Errorf("%s names no operation, and gave %+v", body, parts)
		}
	}
}

// TestPartThatCannotBeMadeLeavesTheOthers: what one mapping reads and is not there
// is said with its place, and without a value.
func TestPartThatCannotBeMadeLeavesTheOthers(t *testing.T) {
	t.Parallel()
	s := loadSource(t, sourceHead+`  signature: {scheme: github, secrets: [SHOP_HOOK_SECRET]}
  mappings:
    - {name: broken, when: event.json.secret.word == "x", operations: [{tool: t.make, input: {}}]}
    - {name: half, when: 'true', operations: [{tool: t.make, input: {a: '${event.json.absent}'}}]}
    - {name: whole, when: 'true', operations: [{tool: t.make, input: {a: '${event.json.?absent}', n: '${event.json.n}'}}]}
`)
	parts := s.Plan(&onceward.InboxEvent{Body: []byte(`{"secret":"hidden","n":12345678901234567890.10}`)})
	if len(parts) != 3 || parts[0].Err == nil || parts[1].Err == nil || parts[2].Err != nil {
		t.Fatalf("parts: %+v", parts)
	}
	for i, field := range []string{"when", "operations[0].input"} {
		if message := parts[i].Err.Error(); !strings.Contains(message, field) || strings.Contains(message, "hidden") {
			t.Errorf("%s says %q", parts[i].Mapping, message)
		}
	}
	if got := string(parts[2].Operations[0].Input); got != `{"n":12345678901234567890.1}` && got != `{"n":12345678901234567890.10}` {
		t.Errorf("the input is %s", got)
	}
}

// TestEventWithoutAnIDIsRefused: two events without an ID never share a record.
func TestEventWithoutAnIDIsRefused(t *testing.T) {
	t.Parallel()
	body := func(text string, header ...string) *onceward.Delivery {
		d := &onceward.Delivery{Method: "POST", Body: []byte(text), Header: map[string][]string{"Content-Type": {"application/json"}}}
		for i := 0; i < len(header); i += 2 {
			d.Header[header[i]] = []string{header[i+1]}
		}
		return d
	}
	for _, c := range []struct {
		scheme, more string
		d            *onceward.Delivery
		key          onceward.Key // empty: it is refused
	}{
		{"stripe", "", body(`{"id":"evt_1","created":1}`), `["evt_1"]`},
		{"stripe", "", body(`{"id":null}`), ""},
		{"stripe", "", body(`{"id":""}`), ""},
		{"stripe", "", body(`{}`), ""},
		{"github", "", body(`{}`, "X-Github-Delivery", "d-1"), `["d-1"]`},
		{"github", "", body(`{}`), ""},
		{"shopify", "", body(`{}`, "X-Shopify-Event-Id", "s-1"), `["s-1"]`},
		{"shopify", "", body(`{"id":7}`, "X-Shopify-Event-Id", ""), ""},
		{"slack", "", body(`{"event_id":"Ev1"}`), `["Ev1"]`},
		{"slack", "", body(`{"event_id":{}}`), ""},
		{"standard-webhooks", "", body(`{}`, "Webhook-Id", "msg_1"), `["msg_1"]`},
		{"standard-webhooks", "", body(`{}`, "Svix-Id", "msg_2"), `["msg_2"]`},
		{"standard-webhooks", "", body(`{}`), ""},
		{"hubspot", "", body(`[{"eventId":1,"subscriptionId":2,"objectId":3,"occurredAt":1780000000000}]`), `["1","2","3","1780000000000"]`},
		{"hubspot", "", body(`[{"eventId":1,"subscriptionId":2,"objectId":3}]`), ""},
		{"github", "  id: ['event.json.number', 'event.json.action']\n", body(`{"number":1,"action":"closed"}`), `["1","closed"]`},
		{"github", "  id: ['event.json.number', 'event.json.action']\n", body(`{"number":1}`), ""},
	} {
		events, err := sourceOf(t, c.scheme, c.more).Events(c.d)
		if c.key == "" {
			if !onceward.Is(err, onceward.CodeKeyInvalid) {
				t.Errorf("%s %s: %v", c.scheme, c.d.Body, err)
			}
			continue
		}
		if err != nil || len(events) != 1 || events[0].Key != c.key {
			t.Errorf("%s %s: %+v, %v", c.scheme, c.d.Body, events, err)
		}
	}
}

func TestEventSaysWhenItHappened(t *testing.T) {
	t.Parallel()
	for scheme, d := range map[string]*onceward.Delivery{
		"stripe":  {Body: []byte(`{"id":"e","created":1780000000}`)},
		"slack":   {Body: []byte(`{"event_id":"e","event_time":1780000000}`)},
		"hubspot": {Body: []byte(`[{"eventId":1,"subscriptionId":2,"objectId":3,"occurredAt":1780000000000}]`)},
		"shopify": {Body: []byte(`{}`), Header: map[string][]string{"X-Shopify-Event-Id": {"e"}, "X-Shopify-Triggered-At": {noon.UTC().Format(time.RFC3339Nano)}}},
	} {
		events, err := sourceOf(t, scheme, "").Events(d)
		if err != nil || len(events) != 1 || !events[0].SentAt.Equal(noon) {
			t.Errorf("%s: %+v, %v", scheme, events, err)
		}
	}
	events, err := sourceOf(t, "stripe", "").Events(&onceward.Delivery{Body: []byte(`{"id":"e","created":"yesterday"}`)})
	if err != nil || !events[0].SentAt.IsZero() {
		t.Errorf("a time that cannot be read: %+v, %v", events, err)
	}
}

func TestDeliveryIsHeldToItsSignatureAndMedia(t *testing.T) {
	t.Parallel()
	s := shop(t)
	const body = `{"orders":[]}`
	for name, c := range map[string]struct {
		d    *onceward.Delivery
		at   time.Time
		want onceward.Code
	}{
		"as it is":                      {signedShop(body), noon, ""},
		"nine minutes later":            {signedShop(body), noon.Add(9 * time.Minute), ""},
		"an hour later":                 {signedShop(body), noon.Add(time.Hour), onceward.CodeSignatureInvalid},
		"another body":                  {signedShop(body, func(d *onceward.Delivery) { d.Body = []byte(`{"orders":[ ]}`) }), noon, onceward.CodeSignatureInvalid},
		"no signature":                  {signedShop(body, func(d *onceward.Delivery) { delete(d.Header, "X-Shop-Signature") }), noon, onceward.CodeSignatureInvalid},
		"another query than was signed": {signedShop(body, func(d *onceward.Delivery) { d.Target += "?a=b" }), noon, onceward.CodeSignatureInvalid},
		"no content type":               {signedShop(body, func(d *onceward.Delivery) { delete(d.Header, "Content-Type") }), noon, onceward.CodeUnsupportedMedia},
		"a form":                        {signedShop(body, func(d *onceward.Delivery) { d.Header["Content-Type"] = []string{"application/x-www-form-urlencoded"} }), noon, onceward.CodeUnsupportedMedia},
		"packed":                        {signedShop(body, func(d *onceward.Delivery) { d.Header["Content-Encoding"] = []string{"gzip"} }), noon, onceward.CodeUnsupportedMedia},
		"JSON of a vendor": {signedShop(body, func(d *onceward.Delivery) {
			d.Header["Content-Type"] = []string{"application/cloudevents+json; charset=utf-8"}
		}), noon, ""},
	} {
		if got := onceward.CodeOf(s.Verify(c.d, c.at)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestSecretIsReplacedWithoutARestart: the new secret is good from the second in
// which it is there, and so is the old one until it is gone.
func TestSecretIsReplacedWithoutARestart(t *testing.T) {
	t.Parallel()
	secrets := map[string]string{"SHOP_HOOK_SECRET": "other", "SHOP_HOOK_SECRET_OLD": "hush"}
	opts := testOptions()
	opts.Secrets = func(name string) (string, error) {
		if v := secrets[name]; v != "" {
			return v, nil
		}
		return "", errors.New("it is not there")
	}
	data, err := os.ReadFile("testdata/everything_source.yaml")
	if err != nil {
		t.Fatal(err)
	}
	loaded, problems := load(data, "s.yaml", opts.withDefaults())
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	s, d := loaded.sources[0], signedShop(`{"orders":[]}`)
	if err := s.Verify(d, noon); err != nil {
		t.Fatalf("by the old secret: %v", err)
	}
	delete(secrets, "SHOP_HOOK_SECRET_OLD")
	if err := s.Verify(d, noon.Add(time.Second)); !onceward.Is(err, onceward.CodeSignatureInvalid) {
		t.Fatalf("after the old secret is gone: %v", err)
	}
	delete(secrets, "SHOP_HOOK_SECRET")
	if err := s.Verify(d, noon.Add(3*time.Second)); !onceward.Is(err, onceward.CodeConfigInvalid) {
		t.Fatalf("without any secret: %v", err)
	}
	secrets["SHOP_HOOK_SECRET"] = "hush"
	if err := s.Verify(d, noon.Add(5*time.Second)); err != nil {
		t.Fatalf("after it is there again: %v", err)
	}
}

func TestOnlySlackIsAnsweredItsChallenge(t *testing.T) {
	t.Parallel()
	d := &onceward.Delivery{Body: []byte(`{"type":"url_verification","token":"t","challenge":"c-1"}`)}
	if got := sourceOf(t, "slack", "").Challenge(d); string(got) != "c-1" {
		t.Errorf("the challenge is %q", got)
	}
	if got := sourceOf(t, "github", "").Challenge(d); got != nil {
		t.Errorf("GitHub's is %q", got)
	}
	for _, body := range []string{`{"type":"event_callback","challenge":"c-1"}`, `[]`, `{"type":"url_verification"}`} {
		if got := sourceOf(t, "slack", "").Challenge(&onceward.Delivery{Body: []byte(body)}); got != nil {
			t.Errorf("%s is answered %q", body, got)
		}
	}
}

func TestFormIsMapped(t *testing.T) {
	t.Parallel()
	s := loadSource(t, sourceHead+`  signature: {scheme: twilio, secrets: [SHOP_HOOK_SECRET], url: 'https://hooks.example.com/v1/hooks/shop'}
  id: ['event.form.MessageSid', 'event.form.MessageStatus']
  mappings:
    - name: delivered
      when: event.form.MessageStatus == "delivered"
      evidence: [{tool: sms.send, is: done, operation: event.form.op, effect: event.form.MessageSid}]
`)
	op := onceward.OperationID{3}
	events, err := s.Events(&onceward.Delivery{Body: []byte("MessageSid=SM1&MessageStatus=delivered&op=" + op.String()), Header: map[string][]string{"Content-Type": {"application/x-www-form-urlencoded"}}})
	if err != nil || len(events) != 1 || events[0].Key != `["SM1","delivered"]` {
		t.Fatalf("%+v, %v", events, err)
	}
	parts := s.Plan(&events[0])
	if len(parts) != 1 || len(parts[0].Evidence) != 1 || parts[0].Evidence[0].Operation != op || parts[0].Evidence[0].Effect != "SM1" {
		t.Errorf("%+v", parts)
	}
	if !s.Info().Quiet {
		t.Error("Twilio is answered with a body, which it takes for instructions")
	}
}

func TestStatusCallbackNamesItsOperationInTheSignedURL(t *testing.T) {
	t.Parallel()
	const mapping = `  id: ['event.form.MessageSid', 'event.form.MessageStatus']
  mappings:
    - name: sent
      when: event.form.MessageStatus == "sent"
      evidence: [{tool: sms.send, is: done, operation: event.query.operation, effect: event.form.MessageSid}]
`
	s := loadSource(t, sourceHead+"  signature: {scheme: twilio, secrets: [SHOP_HOOK_SECRET], url: 'https://hooks.example.com/v1/hooks/shop'}\n"+mapping)
	op := onceward.OperationID{3}
	events, err := s.Events(&onceward.Delivery{Target: "/v1/hooks/shop?operation=" + op.String(), Body: []byte("MessageSid=SM1&MessageStatus=sent"),
		Header: map[string][]string{"Content-Type": {"application/x-www-form-urlencoded"}}})
	if err != nil || len(events) != 1 {
		t.Fatalf("%+v, %v", events, err)
	}
	parts := s.Plan(&onceward.InboxEvent{Header: events[0].Header, Body: events[0].Body}) // as it comes out of the inbox
	if len(parts) != 1 || len(parts[0].Evidence) != 1 || parts[0].Evidence[0].Operation != op {
		t.Errorf("%+v", parts)
	}
	_, problems := load([]byte(sourceHead+"  signature: {scheme: github, secrets: [SHOP_HOOK_SECRET]}\n  format: form\n"+mapping), "s.yaml", testOptions().withDefaults())
	if len(problems) != 1 || !strings.Contains(problems[0].Message, "does not sign the URL") {
		t.Errorf("a query that nobody signs is believed: %v", problems)
	}
}

func TestSourceThatCannotBeMeantDoesNotLoad(t *testing.T) {
	t.Parallel()
	const mapping = "  mappings: [{name: m, when: 'true', operations: [{tool: t.make, input: {}}]}]\n"
	for spec, want := range map[string]string{
		"  signature: {scheme: github, secrets: [SHOP_HOOK_SECRET]}\n  mappings: []\n":                                                                                     "a source without mappings does nothing",
		"  signature: {scheme: github, secrets: []}\n" + mapping:                                                                                                           "it names no secret",
		"  signature: {scheme: github, secrets: ['ghp_0123-secret']}\n" + mapping:                                                                                          "not the secret itself",
		"  signature: {scheme: github, secrets: [ABSENT]}\n" + mapping:                                                                                                     "the secret ABSENT is not there",
		"  signature: {scheme: standard-webhooks, secrets: [SHOP_HOOK_SECRET_OLD]}\n" + mapping:                                                                            "not of the scheme's form",
		"  signature: {scheme: twilio, secrets: [SHOP_HOOK_SECRET]}\n" + mapping:                                                                                           "the sender signs the URL that it has",
		"  signature: {scheme: hubspot, secrets: [SHOP_HOOK_SECRET], url: 'hooks.example.com'}\n" + mapping:                                                                "it is a URL such as",
		"  signature: {scheme: hmac, secrets: [SHOP_HOOK_SECRET]}\n  id: ['event.json.id']\n" + mapping:                                                                    "where does the signature stand",
		"  signature: {scheme: hmac, header: X-S, secrets: [SHOP_HOOK_SECRET]}\n" + mapping:                                                                                "what names an event in every delivery",
		"  signature: {scheme: hmac, header: X-S, signs: '{timestamp}', secrets: [SHOP_HOOK_SECRET]}\n  id: ['event.json.id']\n" + mapping:                                 "{body} stands in it once",
		"  signature: {scheme: hmac, header: X-S, time_in: X-T, secrets: [SHOP_HOOK_SECRET]}\n  id: ['event.json.id']\n" + mapping:                                         "a time that is not signed proves nothing",
		"  signature: {scheme: github, header: X-S, secrets: [SHOP_HOOK_SECRET]}\n" + mapping:                                                                              "are for the scheme hmac",
		"  signature: {scheme: github, secrets: [SHOP_HOOK_SECRET]}\n  id: ['\"always\"']\n" + mapping:                                                                     "it is the same for every event",
		"  signature: {scheme: github, secrets: [SHOP_HOOK_SECRET]}\n  id: ['event.id']\n" + mapping:                                                                       "event.id is not known here",
		"  signature: {scheme: github, secrets: [SHOP_HOOK_SECRET]}\n  id: ['input.id']\n" + mapping:                                                                       "a source sees event and env",
		"  signature: {scheme: github, secrets: [SHOP_HOOK_SECRET]}\n  body_max: 1GiB\n" + mapping:                                                                         "it is from 1B to 8MiB",
		"  signature: {scheme: github, secrets: [SHOP_HOOK_SECRET]}\n  tenant: '*'\n" + mapping:                                                                            "a tenant name is",
		"  signature: {scheme: github, secrets: [SHOP_HOOK_SECRET]}\n  mappings: [{name: m, when: 'true'}]\n":                                                              "it does nothing",
		"  signature: {scheme: github, secrets: [SHOP_HOOK_SECRET]}\n  mappings: [{name: m, when: event.json.id, evidence: [{tool: t.make, is: done}]}]\n":                 "says which operation it is",
		"  signature: {scheme: github, secrets: [SHOP_HOOK_SECRET]}\n  mappings: [{name: m, when: event.body == 1, operations: [{tool: t.make, input: {}}]}]\n":            "there is no event.body",
		"  signature: {scheme: github, secrets: [SHOP_HOOK_SECRET]}\n  mappings: [{name: m, when: 'true', operations: [{tool: t.make, input: {a: '${secret.TOKEN}'}}]}]\n": "secret is not known here",
	} {
		lines := strings.Join(problemsOf(t, sourceHead+spec), "\n")
		if !strings.Contains(lines, want) {
			t.Errorf("%s\nsays %q, want %q", spec, lines, want)
		}
	}
	if lines := strings.Join(problemsOf(t, testHead+"  effect: read\n  key: event.json.id\n"), "\n"); !strings.Contains(lines, "it stands in documents of kind Source") {
		t.Errorf("event in a contract: %q", lines)
	}
}

// TestWindowIsComparedWithWhatSendersDocument: an event that is forgotten while
// its sender delivers it again is handled twice.
func TestWindowIsComparedWithWhatSendersDocument(t *testing.T) {
	t.Parallel()
	rules := func(s *EventSource) (names []string) {
		for _, f := range LintEventSource(s) {
			names = append(names, f.Rule)
		}
		return names
	}
	for _, c := range []struct {
		scheme, more string
		want         []string
	}{
		{"stripe", "", nil},
		{"stripe", "  window: 48h\n", []string{"window_below_retries"}},
		{"stripe", "  window: 48h\n  retries: 24h\n", nil},
		{"standard-webhooks", "  window: 3d\n", []string{"window_below_retries"}},
		{"github", "", []string{"event_id_not_signed", "time_not_signed"}},
		{"github", "  id: event.json.number\n", []string{"time_not_signed"}},
	} {
		if diff := cmp.Diff(c.want, rules(sourceOf(t, c.scheme, c.more))); diff != "" {
			t.Errorf("%s with %q: %s", c.scheme, c.more, diff)
		}
	}
	s := loadSource(t, sourceHead+"  signature: {scheme: hmac, header: X-S, secrets: [SHOP_HOOK_SECRET]}\n  id: event.json.id\n  mappings: [{name: m, when: 'true', operations: [{tool: t.make, input: {}}]}]\n")
	if diff := cmp.Diff([]string{"retries_unknown", "time_not_signed"}, rules(s)); diff != "" {
		t.Error(diff)
	}
}

func TestSourceIsComparedWithTheContractsThatItNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(dir+"/"+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("s.yaml", sourceHead+`  signature: {scheme: stripe, secrets: [SHOP_HOOK_SECRET]}
  mappings:
    - name: m
      when: 'true'
      run: {workflow: orders.fulfil}
      operations:
        - {tool: things.make, input: {}}
        - {tool: things.make, input: {}, key: event.json.id}
        - {tool: things.absent, input: {}}
      evidence:
        - {tool: things.make, is: done, operation: event.json.operation}
        - {tool: things.make, is: not_done, operation: event.json.operation}
`)
	write("t.yaml", strings.Replace(minimal, "effect: read\n  request: {method: GET", "effect: unsafe_write\n  request: {method: POST", 1))
	set, err := LoadDir([]string{dir}, testOptions())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range set.LintEventSources()["shop"] {
		got = append(got, f.Rule)
	}
	want := []string{"event_workflow_missing", "event_key_missing", "event_tool_missing", "evidence_after_review"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
