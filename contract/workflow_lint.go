package contract

import (
	"cmp"
	"slices"

	"github.com/onceward/onceward"
)

// LintWorkflow looks for what a workflow's document says and cannot mean.
// Findings are in order of line.
func LintWorkflow(w *Workflow) []Finding {
	l := &workflowLinter{}
	m := &w.doc.Metadata
	if m.Owners.nobody() {
		l.find(SeverityWarning, m.at, "owner", "nobody is named whom a reviewer could ask", "add owner, or business_owner and technical_owner")
	}
	for i := range w.doc.Spec.Steps {
		l.step(&w.doc.Spec.Steps[i], &w.steps[i])
	}
	slices.SortStableFunc(l.findings, func(a, b Finding) int { return cmp.Compare(a.Line, b.Line) })
	return l.findings
}

// LintWorkflows looks at every workflow of the set, and at the tools that they
// name.
func (s *Set) LintWorkflows() map[string][]Finding {
	all := make(map[string][]Finding, len(s.flows))
	for _, w := range s.flows {
		l := &workflowLinter{findings: LintWorkflow(w)}
		for i := range w.doc.Spec.Steps {
			for _, b := range w.doc.Spec.Steps[i].Branches {
				for _, t := range b.Tools.items {
					if _, found := s.Tool(onceward.ToolName(t.value)); !found {
						l.find(SeverityWarning, t.at, "branch_tool_missing", "no contract of the set describes the tool "+t.value, "load its contract as well, or correct the name")
					}
				}
			}
		}
		all[w.info.Name] = l.findings
	}
	return all
}

type workflowLinter struct{ findings []Finding }

func (l *workflowLinter) find(s Severity, at pos, rule, message, fix string) {
	l.findings = append(l.findings, Finding{Severity: s, Line: at.line, Rule: rule, Message: message, Fix: fix})
}

func (l *workflowLinter) step(s *workflowStep, compiled *compiledStep) {
	for i := range s.Branches {
		name := s.Branches[i].Name.value
		if name == s.Otherwise.value || slices.ContainsFunc(s.Rules, func(r workflowRule) bool { return r.Then.value == name }) {
			continue
		}
		l.find(SeverityWarning, s.Branches[i].Name.at, "branch_unreachable", "no rule, and not the default, leads to the branch "+name, "write a rule that leads there, or leave the branch out")
	}
	for i := range s.Rules {
		at := s.Rules[i].When.at
		for _, use := range compiled.rules[i].when.uses.output {
			path := "output"
			if parsed, err := onceward.ParsePath(use.path); err == nil {
				path += "." + parsed.String()
			}
			switch presenceOf(s.Schema.root, use.steps) {
			case presenceForbidden, presenceUndeclared:
				l.find(SeverityError, at, "unknown_output", "the schema does not declare "+path+": no output has it for certain", "correct the name, or add the field to the schema")
			case presenceOptional:
				if !use.tested {
					l.find(SeverityWarning, at, "rule_reads_optional", path+" may be absent; such an output is refused", "require it in the schema, or ask has("+path+") first")
				}
			case presenceUnknown, presenceRequired:
			}
		}
	}
}
