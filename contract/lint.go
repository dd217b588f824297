package contract

import (
	"cmp"
	"slices"

	"github.com/onceward/onceward"
)

// Severity says how bad a finding is.
type Severity string

// The severities. A contract with an error does not do what it says.
const (
	SeverityError   Severity = "error"
	SeverityWarning Severity = "warning"
	SeverityInfo    Severity = "info"
)

// Finding is something that loads but is probably not meant. Message says what
// happens because of it, Fix what to write instead.
type Finding struct {
	Severity Severity
	Line     int
	Rule     string // stable short name: horizon_beyond_window
	Message  string
	Fix      string
}

// LintRule is a rule of Lint.
type LintRule struct {
	Name     string
	Severity Severity // the worst that it finds
	About    string
}

// LintRules lists the rules that Lint knows, by name.
var LintRules = []LintRule{
	{"approval_reads_optional", SeverityWarning, "the approval condition reads a field that may be absent, and then always asks"},
	{"automations_repeat", SeverityInfo, "a repeat runs the provider's automations again"},
	{"branch_tool_missing", SeverityWarning, "a branch of a workflow names a tool that has no contract (for a set of contracts)"},
	{"branch_unreachable", SeverityWarning, "no rule of a workflow's step leads to the branch"},
	{"byte_tail", SeverityInfo, "nothing bounds the life of bytes in the kernel, so that absences are believed 15 minutes later"},
	{"caller_key", SeverityWarning, "a write without a key rule: every caller has to give a key"},
	{"cleartext", SeverityWarning, "a secret goes over http:// to another machine"},
	{"compensation_missing", SeverityError, "the tool that undoes the effect has no contract (for a set of contracts)"},
	{"event_id_not_signed", SeverityInfo, "the ID of a sender's event is not covered by its signature"},
	{"event_key_missing", SeverityError, "a mapping of a source makes an operation without a key (for a set of contracts)"},
	{"event_tool_missing", SeverityWarning, "a mapping of a source names a tool that has no contract (for a set of contracts)"},
	{"event_tool_remote", SeverityError, "a mapping of a source names a tool that its caller performs (for a set of contracts)"},
	{"event_workflow_missing", SeverityWarning, "a mapping of a source starts a run of a workflow that has no document (for a set of contracts)"},
	{"exists_by_default", SeverityWarning, "an own ID that is taken is recognised by 412 only"},
	{"found_by_business_fields", SeverityWarning, "the probe also finds what others made"},
	{"horizon_beyond_record", SeverityError, "the key is forgotten while duplicates can still arrive"},
	{"horizon_beyond_window", SeverityError, "the provider forgets its key while duplicates can still arrive, and there is no probe"},
	{"in_progress_without_key", SeverityWarning, "the provider is asked again without a key by which it could know the request"},
	{"key_reads_optional", SeverityWarning, "a key part is taken from a field that may be absent; such a request is refused"},
	{"lag_without_settle", SeverityError, "the probe lags, but settle is zero"},
	{"mark_not_sent", SeverityError, "the probe looks for a mark that the request does not send"},
	{"mark_of_every_use", SeverityError, "a retired key may be used anew, and the probe finds the effects of earlier uses"},
	{"method", SeverityWarning, "a write by GET, or a read by another method"},
	{"model_sees_key", SeverityWarning, "the input has a field that a model would fill with a key of its own"},
	{"no_outcome_reference", SeverityInfo, "nothing reads the provider's name of the effect"},
	{"owner", SeverityWarning, "nobody is named whom a reviewer could ask"},
	{"probe_finds_everything", SeverityError, "the probe does not depend on the operation"},
	{"retries_unknown", SeverityWarning, "nobody says for how long a sender delivers an event again"},
	{"rule_reads_optional", SeverityWarning, "a rule of a workflow reads a field of the output that may be absent; such an output is refused"},
	{"sandbox_not_allowed", SeverityWarning, "a host of the sandbox that spec.hosts does not let in"},
	{"secret_in_clear", SeverityError, "a credential that is not ${secret.NAME}"},
	{ruleSecret, SeverityWarning, "a secret is missing here, empty, or more than one line: the contract is not served so"},
	{"settle_below_lateness", SeverityError, "an absence is believed before the provider's worst lateness is over"},
	{"settle_missing", SeverityWarning, "not found counts as proof at once"},
	{"template_reads_optional", SeverityWarning, "a URL or header is made of a field that may be absent; such a request is refused"},
	{"time_not_signed", SeverityInfo, "a sender signs no time, so that its deliveries can be delivered again for ever"},
	{"unknown_format", SeverityWarning, "a format of the schema that nothing checks"},
	{"unknown_input", SeverityError, "an expression reads a field that the schema does not let in, or does not declare"},
	{"unknown_output", SeverityError, "a rule of a workflow reads a field that the schema of the output does not declare"},
	{"unknown_volatile", SeverityWarning, "a volatile path that the schema does not let in"},
	{ruleVariable, SeverityWarning, "an environment variable is not set here: the contract is not served so"},
	{"window_below_retries", SeverityError, "an event is forgotten while its sender delivers it again"},
	{"window_not_guaranteed", SeverityWarning, "a keyed write whose provider promises nothing: it counts as probed or unsafe"},
	{"window_too_short", SeverityWarning, "the window leaves no time to send again"},
}

// Lint looks for what a contract promises but cannot keep, and for what its
// author has probably forgotten. Findings are in order of line.
func Lint(t *Tool) []Finding {
	l := &linter{t: t, spec: &t.doc.Spec}
	l.owners()
	l.keys()
	l.windows()
	l.retention()
	l.look()
	l.secrets()
	l.methods()
	l.answers()
	l.inputs()
	l.surroundings()
	l.sandbox()
	slices.SortStableFunc(l.findings, func(a, b Finding) int { return cmp.Compare(a.Line, b.Line) })
	return l.findings
}

// Lint looks at every tool of the set, and at what they say of each other.
func (s *Set) Lint() map[onceward.ToolName][]Finding {
	all := make(map[onceward.ToolName][]Finding, len(s.tools))
	for _, t := range s.tools {
		findings := Lint(t)
		if u := t.undo; u != nil {
			if _, found := s.Tool(u.tool); !found {
				findings = append(findings, Finding{
					Severity: SeverityError, Line: t.doc.Spec.Compensate.Tool.at.line, Rule: "compensation_missing",
					Message: "no contract describes the tool " + string(u.tool) + ", which would undo the effect",
					Fix:     "load its contract as well, or leave compensate out",
				})
			}
		}
		all[t.info.Name] = findings
	}
	return all
}

type linter struct {
	t        *Tool
	spec     *spec
	findings []Finding
}

func (l *linter) find(s Severity, at pos, rule, message, fix string) {
	line := at.line
	if line == 0 {
		line = l.spec.at.line
	}
	l.findings = append(l.findings, Finding{Severity: s, Line: line, Rule: rule, Message: message, Fix: fix})
}

func (l *linter) writes() bool { return l.t.info.Policy.Effect.Writes() }

func (l *linter) owners() {
	if l.t.info.BusinessOwner == "" || l.t.info.TechnicalOwner == "" {
		l.find(SeverityWarning, l.t.doc.Metadata.at, "owner", "nobody is named whom a reviewer could ask", "add owner, or business_owner and technical_owner")
	}
}

// keyNames are input fields that a model would take for its own key.
var keyNames = []string{"idempotency_key", "idempotencyKey", "request_id", "requestId", "dedupe_key", "operation_key"}

func (l *linter) keys() {
	if l.writes() && !l.spec.Key.set {
		l.find(SeverityWarning, l.spec.Effect.at, "caller_key",
			"the tool writes and has no key rule: every caller has to give a key that is the same for each repeat of an intention",
			"add key: with the input fields that name the business event")
	}
	properties := l.schemaRoot().member("properties")
	if properties == nil || properties.kind != nodeMap {
		return
	}
	for _, m := range properties.members {
		if slices.Contains(keyNames, m.name) {
			l.find(SeverityWarning, m.at, "model_sees_key",
				"the input has a field "+m.name+": a model that fills it in anew on each try makes each try another intention",
				"take the key from fields of the business event, or from the caller's Idempotency-Key")
		}
	}
}

func (l *linter) schemaRoot() *node {
	if l.spec.Input.root == nil {
		return &node{kind: nodeMap}
	}
	return l.spec.Input.root
}

// windows compares what the provider promises of its keys with what we rely on.
func (l *linter) windows() {
	k := l.spec.ProviderKey
	p := &l.t.info.Policy
	if p.Effect != onceward.EffectKeyedWrite || k == nil {
		return
	}
	if p.KeyWindow == 0 {
		counts, fix := "unsafe_write", "add a probe, or declare window and window_kind: guaranteed if the provider's manual says so"
		if p.HasProbe {
			counts, fix = "probed_write", "declare window and window_kind: guaranteed if the provider's manual says so"
		}
		l.find(SeverityWarning, k.at, "window_not_guaranteed",
			"the provider does not promise for how long it remembers a key ("+k.WindowKind.value+"): an unknown outcome is never settled by sending again, so the contract counts as "+counts, fix)
		return
	}
	if p.KeyWindow == onceward.KeyWindowForever {
		return
	}
	if !p.HasProbe && l.t.info.Horizon > p.KeyWindow {
		l.find(SeverityError, l.spec.Horizon.at, "horizon_beyond_window",
			"a duplicate can arrive up to "+formatDuration(l.t.info.Horizon)+" later, but the provider remembers a key for "+formatDuration(p.KeyWindow)+" only, and there is no probe for what comes after",
			"add a probe, or a shorter horizon if duplicates cannot arrive later")
	}
	if p.ResendWithin() <= 0 {
		l.find(SeverityWarning, k.Window.at, "window_too_short",
			"the window ("+formatDuration(p.KeyWindow)+") less the deadline and one minute leaves no time to send again",
			"rely on the probe, or shorten request.deadline")
	}
}

// retention compares how long duplicates can arrive with how long they are known.
func (l *linter) retention() {
	i := l.t.info
	reuse := i.Policy.KeyReusable
	if !l.writes() || i.KeepRecord == 0 || !reuse && i.KeepTombstone == 0 {
		return
	}
	known := i.KeepRecord
	if !reuse {
		known += i.KeepTombstone
	}
	if known < i.Horizon {
		l.find(SeverityError, l.spec.Keep.at, "horizon_beyond_record",
			"a duplicate can arrive up to "+formatDuration(i.Horizon)+" later, but the key is forgotten after "+formatDuration(known)+": it would be a new effect",
			"keep the record or its tombstone at least as long as horizon")
	}
}

// look asks whether the probe can find what was sent, and only that.
func (l *linter) look() {
	p := l.spec.Probe
	if p == nil {
		return
	}
	if !p.Settle.set {
		l.find(SeverityWarning, p.at, "settle_missing",
			"without settle, not found counts as proof at once: an effect that appears late is made twice",
			"add settle: the longest time in which a request may still take effect")
	} else if p.Consistency.value == "lag" && p.Settle.value == 0 {
		l.find(SeverityError, p.Settle.at, "lag_without_settle", "the look-up lags behind, but settle gives it no time", "make settle at least the longest lag")
	}
	inRequest, byInput := l.probeUses()
	switch {
	case !inRequest && !byInput && l.t.probe.ours == nil:
		l.find(SeverityError, p.Request.URL.at, "probe_finds_everything",
			"neither the look-up nor probe.ours depends on the operation: what it finds may be anybody's",
			"look up by ${operation.provider_key}, or compare it in ours")
	case !inRequest && l.t.probe.ours == nil:
		l.find(SeverityWarning, p.Request.URL.at, "found_by_business_fields",
			"the look-up goes by fields of the input alone: it also finds the effect of a wanted second operation, or of somebody else",
			"send ${operation.provider_key} along and look it up, or compare it in ours")
	}
	if (inRequest || l.oursUsesMark()) && l.t.request != nil && !usesOperation(l.t.request.programs(), "provider_key", "id", "key") {
		l.find(SeverityError, p.at, "mark_not_sent",
			"the look-up goes by the operation's own mark, but the request does not send it: it will never be found",
			"put ${operation.provider_key} into a field of the request that can be looked up")
	}
	if l.t.info.Policy.KeyReusable && !l.tellsUsesApart() {
		l.find(SeverityError, p.at, "mark_of_every_use",
			"a retired key may be used anew, but what the look-up goes by is the same for all uses of a key: it takes the effect of an earlier one for this one's",
			"look up by ${operation.provider_key}, which each use has of its own, or compare it in ours")
	}
}

// tellsUsesApart reports whether the probe goes by what differs between two uses
// of one key. The operation's ID and key do not.
func (l *linter) tellsUsesApart() bool {
	programs := append(l.t.probe.request.programs(), l.t.probe.found)
	if l.t.probe.ours != nil {
		programs = append(programs, l.t.probe.ours)
	}
	return usesOperation(programs, "provider_key")
}

// probeUses tells by what the look-up goes.
func (l *linter) probeUses() (mark, input bool) {
	programs := append(l.t.probe.request.programs(), l.t.probe.found)
	for _, p := range programs {
		input = input || len(p.uses.input) > 0
	}
	return usesOperation(programs, "provider_key", "id", "key"), input
}

func (l *linter) oursUsesMark() bool {
	return l.t.probe.ours != nil && usesOperation([]*program{l.t.probe.ours}, "provider_key", "id", "key")
}

// usesOperation reports whether an expression reads one of these fields of operation.
func usesOperation(programs []*program, fields ...string) bool {
	for _, p := range programs {
		for _, field := range fields {
			if slices.Contains(p.uses.operation, field) {
				return true
			}
		}
	}
	return false
}
