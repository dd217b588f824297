package contract

import (
	"cmp"
	"slices"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/webhook"
)

// LintEventSource looks for what a document of kind Source promises and cannot
// keep. Findings are in order of line.
func LintEventSource(s *EventSource) []Finding {
	l := &sourceLinter{src: s}
	l.all()
	slices.SortStableFunc(l.findings, func(a, b Finding) int { return cmp.Compare(a.Line, b.Line) })
	return l.findings
}

// LintEventSources looks at every source of the set, and at the tools and
// workflows that they name.
func (s *Set) LintEventSources() map[string][]Finding {
	all := make(map[string][]Finding, len(s.sources))
	for _, src := range s.sources {
		l := &sourceLinter{src: src}
		l.all()
		for i := range src.doc.Spec.Mappings {
			l.against(s, &src.doc.Spec.Mappings[i])
		}
		slices.SortStableFunc(l.findings, func(a, b Finding) int { return cmp.Compare(a.Line, b.Line) })
		all[src.info.Name] = l.findings
	}
	return all
}

type sourceLinter struct {
	src      *EventSource
	findings []Finding
}

func (l *sourceLinter) find(s Severity, at pos, rule, message, fix string) {
	line := at.line
	if line == 0 {
		line = l.src.doc.Spec.at.line
	}
	l.findings = append(l.findings, Finding{Severity: s, Line: line, Rule: rule, Message: message, Fix: fix})
}

func (l *sourceLinter) all() {
	doc := l.src.doc
	m, spec := &doc.Metadata, &doc.Spec
	if l.src.info.BusinessOwner == "" || l.src.info.TechnicalOwner == "" {
		l.find(SeverityWarning, m.at, "owner", "nobody is named whom a reviewer could ask", "add owner, or business_owner and technical_owner")
	}
	switch retries := spec.Retries.value; {
	case retries == 0:
		l.find(SeverityWarning, spec.at, "retries_unknown", "nobody says for how long the sender delivers an event again, so that window cannot be compared with it", "add retries, as the sender's manual has it")
	case spec.Window.value < retries:
		l.find(SeverityError, spec.Window.at, "window_below_retries",
			"the sender delivers an event again for "+formatDuration(retries)+", but it is remembered for "+formatDuration(spec.Window.value)+" only",
			"make window at least "+formatDuration(retries))
	}
	facts := senders[l.src.verifier.Scheme]
	if !spec.ID.set && !facts.idSigned {
		l.find(SeverityInfo, spec.Signature.at, "event_id_not_signed",
			"the sender's event ID stands in a header that it does not sign: whoever holds a delivery can deliver it under another ID",
			"rely on the tools' own key rules, or take id from the body")
	}
	if !signsTime(l.src) {
		l.find(SeverityInfo, spec.Signature.at, "time_not_signed",
			"the sender signs no time: whoever holds a delivery can deliver it again at any time, and after window nobody remembers it here",
			"rely on the tools' own key rules, whose tombstones last longer")
	}
	for _, x := range l.src.env.missing {
		if x.rule == ruleSecret {
			l.find(SeverityWarning, x.at, x.rule, x.reason+"; where it is so, the source is not served", "set "+x.name+", or "+x.name+"_FILE, where the source is served")
			continue
		}
		l.find(SeverityWarning, x.at, x.rule, x.reason+"; where it is missing, the source is not served", "set "+x.name+" where the source is served")
	}
}

func signsTime(s *EventSource) bool {
	return s.verifier.Scheme.SignsTime() || s.verifier.Scheme == webhook.HMAC && s.verifier.HMAC.TimeIn != ""
}

// against compares a mapping with the contracts of the set.
func (l *sourceLinter) against(set *Set, m *eventMapping) {
	missing := func(t *text) *Tool {
		tool, found := set.Tool(onceward.ToolName(t.value))
		if !found {
			l.find(SeverityWarning, t.at, "event_tool_missing", "no contract of the set describes the tool "+t.value, "load its contract as well, or correct the name")
		}
		return tool
	}
	for i := range m.Operations {
		o := &m.Operations[i]
		t := missing(&o.Tool)
		if t != nil && t.key == nil && t.info.Policy.Effect.Writes() && !o.Key.set {
			l.find(SeverityError, o.at, "event_key_missing", "the tool "+o.Tool.value+" has no key rule, and the mapping gives no key: the operation is refused", "add key, from what names the business event")
		}
		if t != nil && t.info.Policy.RemoteExecutor {
			l.find(SeverityError, o.at, "event_tool_remote", "the tool "+o.Tool.value+" is performed by its caller: an event has nobody who could", "name another tool, or start a run")
		}
	}
	for i := range m.Evidence {
		t := missing(&m.Evidence[i].Tool)
		if t == nil || m.Evidence[i].Is.value != "done" {
			continue
		}
		if p := t.info.Policy; p.Effect == onceward.EffectUnsafeWrite && !p.HasProbe && p.EvidenceWithin == 0 {
			l.find(SeverityWarning, m.Evidence[i].at, "evidence_after_review", "an outcome of "+m.Evidence[i].Tool.value+" that is unknown goes to a person at once, and in review no event settles it",
				"add retry.evidence_within to its contract: how long the sender takes at most")
		}
	}
	if r := m.Run; r != nil && !r.Version.set {
		if _, found := set.Workflow(r.Workflow.value); !found {
			l.find(SeverityWarning, r.Workflow.at, "event_workflow_missing", "no document of the set describes the workflow "+r.Workflow.value+", and version is missing", "load its document as well, or add version")
		}
	}
}
