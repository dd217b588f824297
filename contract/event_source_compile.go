package contract

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"cel.dev/cel-go/cel"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/webhook"
)

// senderFacts is what a sender documents: how it names an event in every
// delivery, when the event happened, and for how long it delivers again.
// docs/operating/webhooks.md names the manuals.
type senderFacts struct {
	id      []string
	time    string
	split   string
	retries time.Duration // 0: it does not say
	// idSigned: the event's ID is covered by the signature.
	idSigned bool
}

var senders = map[webhook.Scheme]senderFacts{
	webhook.StandardWebhooks: {id: []string{`event.headers[?"webhook-id"].orValue(event.headers[?"svix-id"].orValue(""))`}, retries: 75*time.Hour + 30*time.Minute, idSigned: true},
	webhook.Stripe:           {id: []string{`event.json.id`}, time: `event.json.created`, retries: 3 * 24 * time.Hour, idSigned: true},
	webhook.GitHub:           {id: []string{`event.headers["x-github-delivery"]`}, retries: 3 * 24 * time.Hour},
	webhook.Shopify:          {id: []string{`event.headers["x-shopify-event-id"]`}, time: `event.headers["x-shopify-triggered-at"]`, retries: 4 * time.Hour},
	webhook.Slack:            {id: []string{`event.json.event_id`}, time: `event.json.event_time`, retries: time.Hour, idSigned: true},
	webhook.Twilio:           {id: []string{`event.headers["i-twilio-idempotency-token"]`}, retries: 4 * time.Hour},
	webhook.HubSpot: {id: []string{`event.json.eventId`, `event.json.subscriptionId`, `event.json.objectId`, `event.json.occurredAt`}, time: `event.json.occurredAt / 1000`,
		split: `event.json`, retries: 24 * time.Hour, idSigned: true},
	webhook.HMAC: {},
}

// sourceCompiler turns one document into an EventSource and collects every
// problem on the way.
type sourceCompiler struct {
	compiler
	src   *EventSource
	names []string // of headers that expressions read
	tools []onceward.ToolName
}

// deliveryBytesMax is the longest delivery that a document may let in.
const deliveryBytesMax = 8 << 20

func (c *sourceCompiler) compile(root *node, text []byte) {
	doc := c.src.doc
	m, spec := &doc.Metadata, &doc.Spec
	if _, err := onceward.ParseWorkflowName(m.Name.value); err != nil {
		c.problem(m.Name.at, "metadata.name", "a name is lower-case letters, digits, dots, dashes and underscores, at most 128, the first a letter, such as shop.orders")
	}
	if m.Owners.both() {
		c.problem(m.Owners.Owner.at, "metadata.owner", "both owners are named already")
	}
	tenant, err := onceward.ParseTenant(spec.Tenant.value)
	c.fault(spec.Tenant.at, "spec.tenant", plain(err))
	if spec.BodyMax.value < 1 || spec.BodyMax.value > deliveryBytesMax {
		c.problem(spec.BodyMax.at, "spec.body_max", "it is from 1B to %s", formatSize(deliveryBytesMax))
	}
	c.signature(&spec.Signature)
	facts := senders[c.src.verifier.Scheme]
	c.identify(spec, &facts)
	if len(spec.Mappings) == 0 {
		c.problem(spec.at, "spec.mappings", "a source without mappings does nothing")
	}
	for i := range spec.Mappings {
		c.mapping(&spec.Mappings[i], fmt.Sprintf("spec.mappings[%d]", i))
	}
	for i := range spec.Headers.items {
		addOnce(&c.names, asciiLower(spec.Headers.items[i].value))
	}
	if slices.Contains(c.names, queryHeader) && !c.src.signsURL() {
		c.problem(spec.Signature.at, "spec.signature", "event.query stands in an expression, but the sender does not sign the URL: anybody who holds a delivery could change it")
	}
	c.src.headers = c.names
	version, err := versionOf(m.Name.value, root.member("spec"))
	c.fault(spec.at, "spec", err)
	c.placeMissing(root)
	slices.Sort(c.tools)
	c.src.info = &onceward.EventSourceInfo{Name: m.Name.value, Version: version, Description: m.Description.value,
		BusinessOwner: m.Owners.business(), TechnicalOwner: m.Owners.technical(),
		Tenant: tenant, Scheme: spec.Signature.Scheme.value, Tools: slices.Compact(c.tools), BodyBytesMax: spec.BodyMax.value, Window: spec.Window.value,
		IgnoreUnmapped: spec.Otherwise.value == "ignore", Quiet: c.src.verifier.Scheme == webhook.Twilio, Source: slices.Clone(text)}
}

// signsURL reports whether the URL with its query is signed.
func (s *EventSource) signsURL() bool {
	return s.verifier.Scheme.SignsURL() || s.verifier.Scheme == webhook.HMAC && strings.Contains(s.doc.Spec.Signature.Signs.value, "{url}")
}

// signature compiles how deliveries are verified.
func (c *sourceCompiler) signature(s *eventSignature) {
	scheme := webhook.Scheme(s.Scheme.value)
	c.src.verifier = webhook.Verifier{Scheme: scheme, Tolerance: s.Tolerance.value}
	if s.Tolerance.value <= 0 || s.Tolerance.value > time.Hour {
		c.problem(s.Tolerance.at, "spec.signature.tolerance", "it is more than 0s and at most 1h")
	}
	c.src.url = c.constant(&s.URL, "spec.signature.url")
	switch needed := c.src.signsURL(); {
	case needed && !s.URL.set:
		c.problem(s.at, "spec.signature.url", "it is missing: the sender signs the URL that it has")
	case c.src.url == "":
	case needed && !strings.HasPrefix(c.src.url, "https://") && !strings.HasPrefix(c.src.url, "http://"), strings.ContainsAny(c.src.url, "?#"):
		c.problem(s.URL.at, "spec.signature.url", "it is a URL such as https://hooks.example.com/v1/hooks/NAME, without a query")
	}
	if len(s.Secrets.items) == 0 {
		c.problem(s.Secrets.at, "spec.signature.secrets", "it names no secret")
	}
	for i := range s.Secrets.items {
		c.secret(&s.Secrets.items[i], fmt.Sprintf("spec.signature.secrets[%d]", i))
	}
	if scheme != webhook.HMAC {
		for _, f := range []*placed{&s.Header.placed, &s.Prefix.placed, &s.Algorithm.placed, &s.Encoding.placed, &s.TimeIn.placed, &s.Signs.placed} {
			if f.set {
				c.problem(f.at, "spec.signature", "header, prefix, algorithm, encoding, time_in and signs are for the scheme hmac")
			}
		}
		return
	}
	if s.Header.value == "" {
		c.problem(s.at, "spec.signature.header", "it is missing: where does the signature stand?")
	}
	if n := strings.Count(s.Signs.value, "{body}"); n != 1 {
		c.problem(s.Signs.at, "spec.signature.signs", "{body} stands in it once: what is not signed could be anybody's")
	}
	if strings.Contains(s.Signs.value, "{timestamp}") != (s.TimeIn.value != "") {
		c.problem(s.at, "spec.signature.time_in", "it goes together with {timestamp} in signs: a time that is not signed proves nothing")
	}
	c.src.verifier.HMAC = webhook.HMACSettings{Header: s.Header.value, Prefix: s.Prefix.value, Algorithm: s.Algorithm.value, Encoding: s.Encoding.value, TimeIn: s.TimeIn.value, Signs: s.Signs.value}
}

// constant compiles a text in which only env stands.
func (c *sourceCompiler) constant(p *pattern, field string) string {
	if !p.set {
		return ""
	}
	t, err := c.builder.compile(p.value, scopeKey)
	if err == nil {
		t, err = c.builder.fold(t)
	}
	if err != nil {
		c.fault(p.at, field, err)
		return ""
	}
	value, ok := t.constant()
	if !ok {
		c.problem(p.at, field, "only env may stand in it")
	}
	return value
}

// secret looks a secret up, as the contract of a tool does.
func (c *sourceCompiler) secret(name *text, field string) {
	if !secretName.MatchString(name.value) {
		c.problem(name.at, field, "it is the name of a secret, such as SHOP_HOOK_SECRET, and not the secret itself")
		return
	}
	err := c.checkSecret(name.value)
	if err == nil {
		value, _ := c.opts.Secrets(name.value)
		if c.src.verifier.Scheme.CheckSecret(value) != nil {
			err = fmt.Errorf("the secret %s is not of the scheme's form: Standard Webhooks gives whsec_ and base64", name.value)
		}
	}
	switch {
	case err == nil:
	case c.opts.StandIns:
		c.miss(ruleSecret, name.value, err.Error())
		c.tool.missing[len(c.tool.missing)-1].at = name.at
	default:
		c.fault(name.at, field, err)
	}
}

// identify compiles what names an event, and what it says of its time.
func (c *sourceCompiler) identify(spec *eventSourceSpec, facts *senderFacts) {
	c.src.form = spec.Format.value == "form" || spec.Format.value == "" && c.src.verifier.Scheme == webhook.Twilio
	expr := func(s source, fallback, field string, want *cel.Type) *program {
		if !s.set {
			s.value = fallback
		}
		return c.reads(c.expression(&s, field, scopeDelivery, want))
	}
	if split := facts.split; spec.Split.set || split != "" && !c.src.form {
		c.src.split = expr(spec.Split, split, "spec.split", nil)
	}
	if c.src.split != nil && c.src.form {
		c.problem(spec.Split.at, "spec.split", "a form is one event")
	}
	c.src.time = expr(spec.Time, facts.time, "spec.time", nil)
	ids := spec.ID.items
	if !spec.ID.set {
		for _, id := range facts.id {
			ids = append(ids, source{value: id})
		}
	}
	if len(ids) == 0 {
		c.problem(spec.at, "spec.id", "it is missing: what names an event in every delivery of it?")
	}
	for i := range ids {
		p := c.reads(c.expression(&ids[i], fmt.Sprintf("spec.id[%d]", i), scopeDelivery, nil))
		if p != nil && len(p.uses.names) == 0 {
			c.problem(ids[i].at, fmt.Sprintf("spec.id[%d]", i), "it is the same for every event")
		}
		c.src.id = append(c.src.id, p)
	}
	if !spec.Retries.set {
		spec.Retries.value = facts.retries
	}
	if spec.Window.value <= 0 {
		c.problem(spec.Window.at, "spec.window", "it is more than 0s")
	}
}

// reads notes the headers that an expression names, so that they are kept.
func (c *sourceCompiler) reads(p *program) *program {
	if p != nil {
		for _, name := range p.uses.eventHeaders {
			addOnce(&c.names, asciiLower(name))
		}
		if slices.Contains(p.uses.event, "query") {
			addOnce(&c.names, queryHeader)
		}
	}
	return p
}

func (c *sourceCompiler) event(s *source, field string, want *cel.Type) *program {
	return c.reads(c.expression(s, field, scopeEvent, want))
}

// input compiles an input of which the headers are kept that it names.
func (c *sourceCompiler) eventInput(t *tree, field string) jsonTemplate {
	admit := c.builder.admit
	defer func() { c.builder.admit = admit }()
	c.builder.admit = func(p *program) error { c.reads(p); return admit(p) }
	return c.jsonBody(t.root, field, scopeEvent)
}

func (c *sourceCompiler) toolName(t *text, field string) onceward.ToolName {
	name, err := onceward.ParseToolName(t.value)
	c.fault(t.at, field, plain(err))
	c.tools = append(c.tools, name)
	return name
}

// mapping compiles one mapping.
func (c *sourceCompiler) mapping(m *eventMapping, field string) {
	if _, err := onceward.ParseWorkflowName(m.Name.value); err != nil {
		c.problem(m.Name.at, field+".name", "a name is lower-case letters, digits, dots, dashes and underscores, the first a letter")
	}
	if slices.ContainsFunc(c.src.mappings, func(o compiledMapping) bool { return o.name == m.Name.value }) {
		c.problem(m.Name.at, field+".name", "another mapping has this name")
	}
	if m.Run == nil && len(m.Operations) == 0 && len(m.Evidence) == 0 {
		c.problem(m.at, field, "it does nothing: give it a run, operations or evidence")
	}
	out := compiledMapping{name: m.Name.value, when: c.event(&m.When, field+".when", cel.BoolType)}
	if r := m.Run; r != nil {
		if _, err := onceward.ParseWorkflowName(r.Workflow.value); err != nil {
			c.fault(r.Workflow.at, field+".run.workflow", plain(err))
		}
		out.run = &compiledRun{workflow: r.Workflow.value, version: r.Version.value, trigger: c.event(&r.Trigger, field+".run.trigger", nil)}
		if r.Input.root != nil {
			out.run.input = c.eventInput(&r.Input, field+".run.input")
		}
	}
	for i := range m.Operations {
		o, at := &m.Operations[i], fmt.Sprintf("%s.operations[%d]", field, i)
		if o.Input.root.kind != nodeMap {
			c.problem(o.Input.at, at+".input", "an input is an object")
		}
		out.operations = append(out.operations, compiledEventOperation{tool: c.toolName(&o.Tool, at+".tool"), when: c.event(&o.When, at+".when", cel.BoolType),
			key: c.event(&o.Key, at+".key", nil), input: c.eventInput(&o.Input, at+".input")})
	}
	for i := range m.Evidence {
		out.evidence = append(out.evidence, c.proof(&m.Evidence[i], fmt.Sprintf("%s.evidence[%d]", field, i)))
	}
	c.src.mappings = append(c.src.mappings, out)
}

// proof compiles one piece of evidence.
func (c *sourceCompiler) proof(e *eventEvidenceMapping, field string) compiledEvidence {
	ways := 0
	for _, way := range []*source{&e.Operation, &e.Key, &e.ProviderKey, &e.Reference} {
		if way.set {
			ways++
		}
	}
	if ways != 1 {
		c.problem(e.at, field, "one of operation, key, provider_key and reference says which operation it is")
	}
	done := e.Is.value == "done"
	if !done && e.Effect.set || done && e.Reason.set {
		c.problem(e.at, field, "effect is for what is done, and reason for what is not")
	}
	get := func(s *source, name string) *program { return c.event(s, field+"."+name, nil) }
	return compiledEvidence{tool: c.toolName(&e.Tool, field+".tool"), done: done, when: c.event(&e.When, field+".when", cel.BoolType),
		operation: get(&e.Operation, "operation"), key: get(&e.Key, "key"), providerKey: get(&e.ProviderKey, "provider_key"), reference: get(&e.Reference, "reference"),
		effect: get(&e.Effect, "effect"), reason: get(&e.Reason, "reason")}
}

var secretName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)
