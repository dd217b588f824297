package onceward

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Workflow is one version of a workflow's document, compiled. Its methods are
// pure and safe for concurrent use.
type Workflow interface {
	Info() *WorkflowInfo

	// Decide holds an output to the step's schema and evaluates the step's rules
	// over it, in their order. An Error with CodeOutputInvalid: it breaks the
	// schema, or a rule has no value with it. confidence is 0 where the step gave
	// none.
	Decide(step string, output []byte, confidence float64) (Ruling, error)
}

// Ruling is what the rules of a step make of an output.
type Ruling struct {
	Branch string // empty: the step has no branches
	Rule   string // "rules[1]" or "default"; empty: the step has no branches
}

// WorkflowInfo describes a workflow's document. It is immutable.
type WorkflowInfo struct {
	Name           string
	Version        string // as its author names it
	Hash           string // short hash of the document's meaning: the rule version
	Description    string
	BusinessOwner  string
	TechnicalOwner string
	Steps          []WorkflowStep
	Source         []byte // the YAML document, kept so that runs keep their rules
}

// WorkflowStep is one step that decides something.
type WorkflowStep struct {
	Name        string
	Description string
	Schema      []byte // JSON Schema of the output
	Branches    []WorkflowBranch
}

// WorkflowBranch is one way that a run may go on after a step.
type WorkflowBranch struct {
	Name  string
	Tools []ToolName // that may be called on it
}

// Step returns a step, or nil.
func (i *WorkflowInfo) Step(name string) *WorkflowStep {
	for s := range i.Steps {
		if i.Steps[s].Name == name {
			return &i.Steps[s]
		}
	}
	return nil
}

// Has reports whether the workflow has the step.
func (i *WorkflowInfo) Has(step string) bool { return i.Step(step) != nil }

// Guards lists the steps of which a branch names the tool: within a run of this
// workflow the tool is called on the branch of such a decision only.
func (i *WorkflowInfo) Guards(tool ToolName) []string {
	var steps []string
	for _, s := range i.Steps {
		if slices.ContainsFunc(s.Branches, func(b WorkflowBranch) bool { return slices.Contains(b.Tools, tool) }) {
			steps = append(steps, s.Name)
		}
	}
	return steps
}

// Branch returns a branch of the step, or nil.
func (s *WorkflowStep) Branch(name string) *WorkflowBranch {
	for b := range s.Branches {
		if s.Branches[b].Name == name {
			return &s.Branches[b]
		}
	}
	return nil
}

// WorkflowCompiler turns a stored document back into a Workflow.
type WorkflowCompiler func(name string, source []byte) (Workflow, error)

// workflows are the documents of a registry: those in force, and those that runs
// started under.
type workflows struct {
	compile WorkflowCompiler
	active  map[string]Workflow
	old     map[toolVersion]Workflow
}

// workflowPrefix keeps documents of workflows apart from contracts where both
// are stored: no tool has such a name.
const workflowPrefix = "workflow:"

func storedAs(workflow string) ToolName { return ToolName(workflowPrefix + workflow) }

// CompileWorkflows sets what stored workflow documents are read with. Call it
// before use.
func (r *Registry) CompileWorkflows(compile WorkflowCompiler) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flows.compile = compile
}

// ActivateWorkflows puts a set of workflows in force in place of the present
// set, as Activate does with contracts.
func (r *Registry) ActivateWorkflows(ctx context.Context, flows []Workflow, force bool) error {
	next := make(map[string]Workflow, len(flows))
	for _, w := range flows {
		if next[w.Info().Name] != nil {
			return Errorf(CodeContractInvalid, "two workflows are named %s", w.Info().Name)
		}
		next[w.Info().Name] = w
	}
	for _, name := range slices.Sorted(maps.Keys(next)) {
		i := next[name].Info()
		if err := r.store.Activate(ctx, ContractVersion{Tool: storedAs(name), Version: i.Hash, Source: i.Source}, force, putInForce(AuditWorkflowInForce, name, i.Hash)); err != nil {
			return fmt.Errorf("activate workflow %s: %w", name, err)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, w := range r.flows.active {
		r.flows.keep(name, w)
	}
	r.flows.active = next
	return nil
}

func (f *workflows) keep(name string, w Workflow) {
	if f.old == nil {
		f.old = map[toolVersion]Workflow{}
	}
	f.old[toolVersion{storedAs(name), w.Info().Hash}] = w
}

// Workflow returns the document in force.
func (r *Registry) Workflow(name string) (Workflow, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	w := r.flows.active[name]
	return w, w != nil
}

// Workflows returns the documents in force, by name.
func (r *Registry) Workflows() []Workflow {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.SortedFunc(maps.Values(r.flows.active), func(a, b Workflow) int { return strings.Compare(a.Info().Name, b.Info().Name) })
}

// WorkflowVersion returns one version of a document, from memory or from the ledger.
func (r *Registry) WorkflowVersion(ctx context.Context, name, hash string) (Workflow, error) {
	r.mu.RLock()
	w, compile := r.flows.active[name], r.flows.compile
	if w == nil || w.Info().Hash != hash {
		w = r.flows.old[toolVersion{storedAs(name), hash}]
	}
	r.mu.RUnlock()
	if w != nil {
		return w, nil
	}
	c, err := r.store.Contract(ctx, storedAs(name), hash)
	if err != nil {
		return nil, fmt.Errorf("load workflow %s version %s: %w", name, hash, err)
	}
	if compile == nil {
		return nil, &Error{Code: CodeConfigInvalid, Op: "compile workflow", Message: fmt.Sprintf("version %s of %s stands in the ledger, and there is no compiler for it", hash, name),
			Hint: "set one: Registry.CompileWorkflows(contract.WorkflowCompiler(…))"}
	}
	if w, err = compile(name, c.Source); err != nil {
		return nil, fmt.Errorf("compile workflow %s version %s: %w", name, hash, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flows.keep(name, w)
	return w, nil
}
