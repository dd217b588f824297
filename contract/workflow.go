package contract

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"cel.dev/cel-go/cel"

	"github.com/onceward/onceward"
)

// Workflow is one compiled document of kind Workflow. It is immutable and safe
// for concurrent use.
type Workflow struct {
	info  *onceward.WorkflowInfo
	doc   *workflowDocument
	file  string
	steps []compiledStep
}

// compiledStep is a step with its schema and rules, compiled.
type compiledStep struct {
	name      string
	schema    *inputSchema
	rules     []compiledRule
	otherwise string // empty: the step has no branches
}

type compiledRule struct {
	when *program
	then string
}

var _ onceward.Workflow = (*Workflow)(nil)

// Info describes the workflow. It must not be changed.
func (w *Workflow) Info() *onceward.WorkflowInfo { return w.info }

// File is the file that the document was read from, as it was named to Load.
func (w *Workflow) File() string { return w.file }

// Line is the document's first line in its file.
func (w *Workflow) Line() int { return w.doc.at.line }

// Decide holds an output to its step's schema and finds its branch; see
// [onceward.Workflow].
func (w *Workflow) Decide(step string, output []byte, confidence float64) (onceward.Ruling, error) {
	i := slices.IndexFunc(w.steps, func(s compiledStep) bool { return s.name == step })
	if i < 0 {
		return onceward.Ruling{}, onceward.Errorf(onceward.CodeInvalidRequest, "the workflow %s has no step %s", w.info.Name, step)
	}
	s := &w.steps[i]
	n, err := onceward.ParseJSON(output)
	if err != nil {
		return onceward.Ruling{}, outputInvalid("the output is not JSON")
	}
	if err := s.schema.validateOutput(n); err != nil {
		return onceward.Ruling{}, err
	}
	v := &variables{output: n, confidence: confidence}
	for r := range s.rules {
		name := "rules[" + strconv.Itoa(r) + "]"
		holds, err := s.rules[r].when.holds(v)
		if err != nil {
			return onceward.Ruling{}, outputInvalid(fmt.Sprintf("%s of the step %s cannot be evaluated: %v", name, step, err))
		}
		if holds {
			return onceward.Ruling{Branch: s.rules[r].then, Rule: name}, nil
		}
	}
	if s.otherwise == "" {
		return onceward.Ruling{}, nil
	}
	return onceward.Ruling{Branch: s.otherwise, Rule: "default"}, nil
}

func outputInvalid(message string) error {
	return &onceward.Error{Code: onceward.CodeOutputInvalid, Op: "check output", Message: message, Hint: "let the step try again, under the same claim, until its output is valid"}
}

// loadWorkflow compiles one document of kind Workflow; nil if there is a problem.
func loadWorkflow(root *node, raw rawDocument, filename string) (*Workflow, Problems) {
	d := &decoder{file: filename}
	doc := &workflowDocument{}
	d.decode(root, reflect.ValueOf(doc).Elem(), "")
	if len(d.problems) > 0 {
		return nil, d.problems
	}
	c := &workflowCompiler{compiler: compiler{file: filename}, flow: &Workflow{doc: doc, file: filename}}
	c.compile(root, raw.text)
	if len(c.problems) > 0 {
		return nil, c.problems
	}
	return c.flow, nil
}

// workflowCompiler turns one document into a Workflow and collects every problem
// on the way.
type workflowCompiler struct {
	compiler
	flow *Workflow
}

func (c *workflowCompiler) compile(root *node, text []byte) {
	doc := c.flow.doc
	m, spec := &doc.Metadata, &doc.Spec
	if _, err := onceward.ParseWorkflowName(m.Name.value); err != nil {
		c.problem(m.Name.at, "metadata.name", "a name is lower-case letters, digits, dots, dashes and underscores, at most 128, the first a letter, such as support.triage")
	}
	if m.Owners.both() {
		c.problem(m.Owners.Owner.at, "metadata.owner", "both owners are named already")
	}
	if v := spec.Version.value; v == "" || len(v) > onceward.VersionBytesMax {
		c.problem(spec.Version.at, "spec.version", "a version is 1 to %d bytes", onceward.VersionBytesMax)
	}
	if len(spec.Steps) == 0 {
		c.problem(spec.at, "spec.steps", "a workflow that decides nothing needs no document")
	}
	hash, err := versionOf(m.Name.value, root.member("spec"))
	c.fault(spec.at, "spec", err)
	info := &onceward.WorkflowInfo{Name: m.Name.value, Version: spec.Version.value, Hash: hash, Description: m.Description.value,
		BusinessOwner: m.Owners.business(), TechnicalOwner: m.Owners.technical(), Source: slices.Clone(text)}
	for i := range spec.Steps {
		c.step(&spec.Steps[i], fmt.Sprintf("spec.steps[%d]", i), info)
	}
	c.flow.info = info
}

// step compiles one step.
func (c *workflowCompiler) step(s *workflowStep, field string, info *onceward.WorkflowInfo) {
	c.name(&s.Name, field+".name")
	if info.Has(s.Name.value) {
		c.problem(s.Name.at, field+".name", "another step has this name")
	}
	out := onceward.WorkflowStep{Name: s.Name.value, Description: s.Description.value}
	compiled := compiledStep{name: s.Name.value}
	if t := s.Schema.root.member("type"); t != nil && (t.kind != nodeText || t.text != "object") {
		c.problem(t.at, field+".schema", "an output is always an object")
	} else {
		var faults []error
		compiled.schema, faults = compileSchema(s.Schema.root)
		for _, err := range faults {
			c.fault(s.Schema.at, field+".schema", err)
		}
	}
	out.Schema = s.Schema.root.appendJSON(nil)
	for i := range s.Branches {
		c.branch(&s.Branches[i], fmt.Sprintf("%s.branches[%d]", field, i), &out)
	}
	c.chosen(s, field, &out, &compiled)
	info.Steps = append(info.Steps, out)
	c.flow.steps = append(c.flow.steps, compiled)
}

func (c *workflowCompiler) name(t *text, field string) {
	_, err := onceward.ParseStepName(t.value)
	c.fault(t.at, field, plain(err))
}

// plain is an error without what was being done.
func plain(err error) error {
	if err == nil {
		return nil
	}
	return &plainError{messageOf(err)}
}

func (c *workflowCompiler) branch(b *workflowBranch, field string, step *onceward.WorkflowStep) {
	c.name(&b.Name, field+".name")
	if step.Branch(b.Name.value) != nil {
		c.problem(b.Name.at, field+".name", "another branch has this name")
	}
	out := onceward.WorkflowBranch{Name: b.Name.value}
	for i := range b.Tools.items {
		tool, err := onceward.ParseToolName(b.Tools.items[i].value)
		c.fault(b.Tools.items[i].at, fmt.Sprintf("%s.tools[%d]", field, i), plain(err))
		out.Tools = append(out.Tools, tool)
	}
	step.Branches = append(step.Branches, out)
}

// chosen compiles the rules of a step, and its default.
func (c *workflowCompiler) chosen(s *workflowStep, field string, step *onceward.WorkflowStep, compiled *compiledStep) {
	lead := func(to *text, at string) {
		if step.Branch(to.value) == nil {
			c.problem(to.at, at, "the step has no branch of this name")
		}
	}
	switch {
	case len(s.Branches) == 0 && (len(s.Rules) > 0 || s.Otherwise.set):
		c.problem(s.at, field+".branches", "rules and default need branches to lead to")
		return
	case len(s.Branches) > 0 && !s.Otherwise.set:
		c.problem(s.at, field+".default", "it is missing: where no rule holds, the run has to go on somewhere")
	case s.Otherwise.set:
		lead(&s.Otherwise, field+".default")
		compiled.otherwise = s.Otherwise.value
	}
	for i := range s.Rules {
		r, at := &s.Rules[i], fmt.Sprintf("%s.rules[%d]", field, i)
		lead(&r.Then, at+".then")
		p, err := compile(r.When.value, scopeRule, cel.BoolType)
		c.fault(r.When.at, at+".when", err)
		compiled.rules = append(compiled.rules, compiledRule{when: p, then: r.Then.value})
	}
}

// WorkflowCompiler compiles workflow documents that a ledger stored for its runs.
func WorkflowCompiler(opts Options) onceward.WorkflowCompiler {
	return func(name string, source []byte) (onceward.Workflow, error) {
		loaded, problems := load(source, "stored document of "+name, opts.withDefaults())
		switch {
		case len(problems) > 0:
			return nil, problems.err()
		case len(loaded.flows) != 1 || loaded.flows[0].info.Name != name:
			return nil, onceward.Errorf(onceward.CodeLedgerCorrupt, "the stored document of %s describes another workflow", name)
		}
		return loaded.flows[0], nil
	}
}
