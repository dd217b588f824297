package contract

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"cel.dev/cel-go/common/types"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/webhook"
)

// EventSource is one compiled document of kind Source. It is immutable but for
// the secrets that it remembers for a second, and safe for concurrent use.
type EventSource struct {
	info *onceward.EventSourceInfo
	doc  *eventSourceDocument
	file string

	verifier webhook.Verifier
	url      string // as the sender has it; empty: it is not signed
	form     bool
	split    *program // nil: a delivery is one event
	id       []*program
	time     *program // nil: no event says when it happened
	headers  []string // that are kept, lower case
	mappings []compiledMapping

	env     *Tool // what it takes from its surroundings
	secrets secretCache
}

type compiledMapping struct {
	name       string
	when       *program
	run        *compiledRun
	operations []compiledEventOperation
	evidence   []compiledEvidence
}

type compiledRun struct {
	workflow, version string
	trigger           *program
	input             jsonTemplate
}

type compiledEventOperation struct {
	tool      onceward.ToolName
	when, key *program
	input     jsonTemplate
}

type compiledEvidence struct {
	tool                                                         onceward.ToolName
	done                                                         bool
	when, operation, key, providerKey, reference, effect, reason *program
}

var _ onceward.EventSource = (*EventSource)(nil)

// Info describes the source. It must not be changed.
func (s *EventSource) Info() *onceward.EventSourceInfo { return s.info }

// File is the file that the document was read from, as it was named to Load.
func (s *EventSource) File() string { return s.file }

// Line is the document's first line in its file.
func (s *EventSource) Line() int { return s.doc.at.line }

// SecretNames lists the secrets that are read when a delivery comes.
func (s *EventSource) SecretNames() []string { return s.doc.Spec.Signature.Secrets.values() }

// Retries is for how long the sender delivers again; 0: nobody says.
func (s *EventSource) Retries() time.Duration { return s.doc.Spec.Retries.value }

// secretCache remembers secrets for a second: a file a delivery would cost more
// than the signature.
type secretCache struct {
	mu     sync.Mutex
	at     time.Time
	values []string
}

const secretsFor = time.Second

// usable reads the secrets that can be used now. That one is missing is no
// fault while another one is there: one replaces the other.
func (s *EventSource) usable(now time.Time) ([]string, error) {
	c := &s.secrets
	c.mu.Lock()
	defer c.mu.Unlock()
	if age := now.Sub(c.at); c.values != nil && age >= 0 && age < secretsFor {
		return c.values, nil
	}
	c.values, c.at = nil, now
	for _, name := range s.SecretNames() {
		if value, err := s.env.secrets(name); err == nil && s.verifier.Scheme.CheckSecret(value) == nil {
			c.values = append(c.values, value)
		}
	}
	if c.values == nil {
		return nil, onceward.Errorf(onceward.CodeConfigInvalid, "none of the secrets of the source %s can be used", s.info.Name)
	}
	return c.values, nil
}

// Verify is onceward.EventSource's.
func (s *EventSource) Verify(d *onceward.Delivery, now time.Time) error {
	if err := s.media(d); err != nil {
		return err
	}
	secrets, err := s.usable(now)
	if err != nil {
		return err
	}
	url := s.url
	if _, query, has := strings.Cut(d.Target, "?"); has {
		url += "?" + query
	}
	err = s.verifier.Verify(&webhook.Request{Method: d.Method, URL: url, Header: http.Header(d.Header), Body: d.Body}, secrets, now)
	if err == nil {
		return nil
	}
	hint := "check the secret on both sides"
	switch {
	case errors.Is(err, webhook.ErrStale):
		hint = "check the clocks; a delivery that was held back has to be signed anew"
	case s.url != "":
		hint += ", and that spec.signature.url is the URL as the sender has it"
	}
	return &onceward.Error{Code: onceward.CodeSignatureInvalid, Op: "verify delivery", Message: err.Error(), Hint: hint}
}

// media refuses a body that is not of the source's format.
func (s *EventSource) media(d *onceward.Delivery) error {
	h := http.Header(d.Header)
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	want := "application/json"
	ok := kind == want || strings.HasSuffix(kind, "+json")
	if s.form {
		want = "application/x-www-form-urlencoded"
		ok = kind == want
	}
	coding := h.Get("Content-Encoding")
	if err != nil || !ok || coding != "" && !strings.EqualFold(coding, "identity") {
		return &onceward.Error{Code: onceward.CodeUnsupportedMedia, Op: "verify delivery", Message: "the delivery is not " + want + " as it stands", Hint: "set the sender to " + want + ", without a content coding, or correct spec.format"}
	}
	return nil
}

// Challenge is onceward.EventSource's: Slack asks for one when it is told a URL.
func (s *EventSource) Challenge(d *onceward.Delivery) []byte {
	if s.verifier.Scheme != webhook.Slack || s.form {
		return nil
	}
	n, err := onceward.ParseJSON(d.Body)
	if err != nil || n.Kind() != onceward.NodeObject {
		return nil
	}
	member := func(name string) string {
		v, ok := n.Member(name)
		if !ok {
			return ""
		}
		text, _ := v.Text()
		return text
	}
	if challenge := member("challenge"); challenge != "" && member("type") == "url_verification" {
		return []byte(challenge)
	}
	return nil
}

// eventsMax is how many events one delivery may carry.
const eventsMax = 500

// Events is onceward.EventSource's.
func (s *EventSource) Events(d *onceward.Delivery) ([]onceward.InboxEvent, error) {
	all := header(d.Header)
	if _, query, has := strings.Cut(d.Target, "?"); has {
		all = append(all, onceward.HeaderField{Name: queryHeader, Value: query})
	}
	whole := &eventVars{header: all, body: d.Body, form: s.form, source: s.info.Name}
	if err := whole.readable(); err != nil {
		return nil, err
	}
	one := onceward.InboxEvent{ContentType: http.Header(d.Header).Get("Content-Type"), Header: s.kept(all)}
	if s.split == nil {
		e, err := s.event(one, whole)
		return []onceward.InboxEvent{e}, err
	}
	items, err := itemsOf(s.split, &variables{env: s.env.env, event: whole})
	switch {
	case err != nil:
		return nil, onceward.Errorf(onceward.CodeInvalidInput, "spec.split gives no list of events: %v", err)
	case len(items) > eventsMax:
		return nil, onceward.Errorf(onceward.CodeTooLarge, "the delivery carries %d events; %d are taken", len(items), eventsMax)
	}
	events := make([]onceward.InboxEvent, 0, len(items))
	for i, item := range items {
		body, err := appendJSONValue(nil, item)
		if err != nil {
			return nil, onceward.Errorf(onceward.CodeInvalidInput, "event %d of the delivery is no JSON value", i+1)
		}
		e, err := s.event(one, &eventVars{header: all, body: body, source: s.info.Name})
		if err != nil {
			return nil, err
		}
		events = append(events, e)
	}
	return events, nil
}

// event gives an event its key and its time.
func (s *EventSource) event(e onceward.InboxEvent, vars *eventVars) (onceward.InboxEvent, error) {
	v := &variables{env: s.env.env, event: vars}
	key, err := deriveKey(s.id, v)
	if err != nil {
		return e, &onceward.Error{Code: onceward.CodeKeyInvalid, Op: "name event", Message: "the event has no ID that could tell it from another: " + messageOf(err),
			Hint: "correct spec.id, or let the sender put the field in"}
	}
	e.Key, e.Body = key, slices.Clone(vars.body)
	if s.time != nil {
		if out, err := s.time.eval(v); err == nil {
			e.SentAt = timeFrom(out)
		}
	}
	return e, nil
}

// kept are the headers that an event keeps.
func (s *EventSource) kept(all []onceward.HeaderField) []onceward.HeaderField {
	var kept []onceward.HeaderField
	for _, f := range all {
		if slices.Contains(s.headers, asciiLower(f.Name)) {
			kept = append(kept, f)
		}
	}
	return kept
}

// header lists header fields by name.
func header(h map[string][]string) []onceward.HeaderField {
	var fields []onceward.HeaderField
	for name, values := range h {
		for _, value := range values {
			fields = append(fields, onceward.HeaderField{Name: name, Value: value})
		}
	}
	slices.SortStableFunc(fields, func(a, b onceward.HeaderField) int { return strings.Compare(a.Name, b.Name) })
	return fields
}

// SourceCompiler compiles documents of sources that a ledger stored for its
// events.
func SourceCompiler(opts Options) onceward.EventSourceCompiler {
	return func(name string, source []byte) (onceward.EventSource, error) {
		loaded, problems := load(source, "stored document of "+name, opts.withDefaults())
		switch {
		case len(problems) > 0:
			return nil, problems.err()
		case len(loaded.sources) != 1 || loaded.sources[0].info.Name != name:
			return nil, onceward.Errorf(onceward.CodeLedgerCorrupt, "the stored document of %s describes another source", name)
		}
		return loaded.sources[0], nil
	}
}

// loadEventSource compiles one document of kind Source; nil if there is a problem.
func loadEventSource(root *node, raw rawDocument, filename string, opts Options) (*EventSource, Problems) {
	d := &decoder{file: filename}
	doc := &eventSourceDocument{}
	d.decode(root, reflect.ValueOf(doc).Elem(), "")
	if len(d.problems) > 0 {
		return nil, d.problems
	}
	around := &Tool{secrets: opts.Secrets}
	c := &sourceCompiler{compiler: compiler{file: filename, doc: &document{}, opts: opts, tool: around, values: map[string]string{}},
		src: &EventSource{doc: doc, file: filename, env: around}}
	c.builder = &templateBuilder{env: types.NewStringStringMap(types.DefaultTypeAdapter, c.values), admit: c.admit}
	around.env = c.builder.env
	c.compile(root, raw.text)
	if len(c.problems) > 0 {
		return nil, c.problems
	}
	return c.src, nil
}

// Plan is onceward.EventSource's.
func (s *EventSource) Plan(e *onceward.InboxEvent) []onceward.EventPart {
	v := &variables{env: s.env.env, event: &eventVars{header: e.Header, body: e.Body, form: s.form, source: s.info.Name, id: e.ID.String()}}
	var parts []onceward.EventPart
	for i := range s.mappings {
		m := &s.mappings[i]
		holds, err := m.when.holds(v)
		if err == nil && !holds {
			continue
		}
		part := onceward.EventPart{Mapping: m.name}
		if err == nil {
			err = m.fill(&part, v)
		} else {
			err = cannot("when", err)
		}
		if err != nil {
			part = onceward.EventPart{Mapping: m.name, Err: err}
		}
		parts = append(parts, part)
	}
	return parts
}

// cannot says which field of a mapping has no value for the event.
func cannot(field string, err error) error {
	if errors.Is(err, errAbsent) {
		err = errors.New("what it asks for is absent")
	}
	return &onceward.Error{Code: onceward.CodeInvalidInput, Op: "map event", Message: fmt.Sprintf("%s cannot be evaluated for this event: %s", field, err)}
}

// fill renders a mapping.
func (m *compiledMapping) fill(part *onceward.EventPart, v *variables) (err error) {
	if m.run != nil {
		if part.Run, err = m.run.render(v); err != nil {
			return err
		}
	}
	for i := range m.operations {
		o, field := &m.operations[i], fmt.Sprintf("operations[%d]", i)
		if wanted, err := wantedBy(o.when, v); err != nil || !wanted {
			if err != nil {
				return cannot(field+".when", err)
			}
			continue
		}
		out := onceward.EventOperation{Tool: o.tool}
		if out.Input, err = o.input.append(nil, v); err != nil {
			return cannot(field+".input", err)
		}
		if o.key != nil {
			if out.Key, err = callerKey(o.key, v); err != nil {
				return cannot(field+".key", err)
			}
		}
		part.Operations = append(part.Operations, out)
	}
	for i := range m.evidence {
		x := &m.evidence[i]
		wanted, err := wantedBy(x.when, v)
		if err == nil && wanted {
			err = x.render(part, v)
		}
		if err != nil {
			return cannot(fmt.Sprintf("evidence[%d]", i), err)
		}
	}
	return nil
}

func wantedBy(when *program, v *variables) (bool, error) {
	if when == nil {
		return true, nil
	}
	return when.holds(v)
}

// callerKey is a key as a caller would send it.
func callerKey(p *program, v *variables) (onceward.Key, error) {
	text, err := p.text(v)
	if err != nil {
		return "", err
	}
	key, err := onceward.ValidateCallerKey(text)
	return key, plain(err)
}

func (r *compiledRun) render(v *variables) (_ *onceward.EventRun, err error) {
	out := &onceward.EventRun{Workflow: r.workflow, Version: r.version, TriggerKey: onceward.Key(v.event.id)}
	if r.trigger != nil {
		if out.TriggerKey, err = callerKey(r.trigger, v); err != nil {
			return nil, cannot("run.trigger", err)
		}
	}
	if r.input != nil {
		if out.Input, err = r.input.append(nil, v); err != nil {
			return nil, cannot("run.input", err)
		}
	}
	return out, nil
}

// render adds what the event proves.
func (x *compiledEvidence) render(part *onceward.EventPart, v *variables) error {
	out := onceward.EventEvidence{Tool: x.tool, Done: x.done}
	var operation, key string
	for _, f := range []struct {
		from *program
		into *string
	}{{x.operation, &operation}, {x.key, &key}, {x.providerKey, &out.ProviderKey}, {x.reference, &out.Reference}, {x.effect, &out.Effect}, {x.reason, &out.Reason}} {
		if f.from == nil {
			continue
		}
		var err error
		if *f.into, err = f.from.text(v); err != nil {
			return err
		}
	}
	out.Key = onceward.Key(key)
	if x.operation != nil {
		var err error
		if out.Operation, err = onceward.ParseOperationID(operation); err != nil {
			return plain(err)
		}
	}
	if out.Operation.IsZero() && out.Key == "" && out.ProviderKey == "" && out.Reference == "" {
		return errors.New("it names no operation")
	}
	part.Evidence = append(part.Evidence, out)
	return nil
}
