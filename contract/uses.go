package contract

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"

	"github.com/onceward/onceward"
)

// uses is what an expression looks at.
type uses struct {
	names         []string // root variables, each once
	input         []inputUse
	output        []inputUse // look-ups into the output of a step
	env           []string
	secret        []string
	operation     []string // fields of operation
	response      []string // fields of response
	event         []string // fields of event
	eventHeaders  []string // that are read by a literal name
	wholeEnv      bool     // env other than by a literal name
	wholeSecret   bool
	dynamicRegexp bool

	loops bool // all, exists, map, filter

	plain      *inputUse // the whole expression is this look-up
	normalised string    // the whole expression is the text at this path, normalised; empty: it is something else
	plainField string    // the whole expression is this field of operation
}

// inputUse is one look-up into the input.
type inputUse struct {
	path     string // as onceward.ParsePath reads it; empty: the whole input
	complete bool   // the path is all of it: no computed index, no .? behind it
	tested   bool   // inside has(), or optional (.?): may be absent
	steps    []chainStep
}

// static reports whether the value is known at load: it depends on env alone.
func (u *uses) static() bool {
	return !slices.ContainsFunc(u.names, func(name string) bool { return name != "env" })
}

// plainPath is the path of an expression that is nothing but a look-up.
func (u *uses) plainPath() (path *onceward.Path, root bool) {
	if u.plain == nil {
		return nil, false
	}
	if u.plain.path == "" {
		return nil, true
	}
	p, err := onceward.ParsePath(u.plain.path)
	if err != nil {
		return nil, false
	}
	return &p, false
}

// usesOf walks an expression.
func usesOf(e ast.Expr) uses {
	w := usesWalker{}
	if c, ok := chainOf(e); ok && c.complete() {
		switch {
		case c.root == "input":
			w.uses.plain = &inputUse{path: c.path(), complete: true}
		case c.root == "operation" && len(c.steps) == 1 && slices.Contains(operationFields, c.steps[0].name):
			w.uses.plainField = c.steps[0].name
		}
	}
	w.uses.normalised = normalisedPath(e)
	w.walk(e)
	return w.uses
}

// normalisers are the functions that bring the spellings of one value together.
var normalisers = []string{"trim", "lower", "nfc", "digits", "e164", "email", "date", "upper"}

// normalisedPath is the path whose text an expression normalises and does
// nothing else with; empty for any other expression.
func normalisedPath(e ast.Expr) string {
	normalised := false
	for e.Kind() == ast.CallKind {
		c := e.AsCall()
		if !c.IsMemberFunction() || len(c.Args()) > 0 || !slices.Contains(normalisers, c.FunctionName()) {
			break
		}
		e, normalised = c.Target(), true
	}
	if c, ok := chainOf(e); ok && normalised && c.root == "input" && c.complete() {
		return c.path()
	}
	return ""
}

type usesWalker struct {
	uses  uses
	bound []string // variables of comprehensions around the place
}

func (w *usesWalker) walk(e ast.Expr) {
	if c, ok := chainOf(e); ok {
		if !slices.Contains(w.bound, c.root) {
			w.record(c)
		}
		for _, step := range c.steps {
			if step.computed != nil {
				w.walk(step.computed)
			}
		}
		return
	}
	switch e.Kind() {
	case ast.SelectKind:
		w.walk(e.AsSelect().Operand())
	case ast.CallKind:
		w.call(e.AsCall())
	case ast.ListKind:
		w.walkAll(e.AsList().Elements())
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			w.walk(entry.AsMapEntry().Key())
			w.walk(entry.AsMapEntry().Value())
		}
	case ast.StructKind:
		for _, field := range e.AsStruct().Fields() {
			w.walk(field.AsStructField().Value())
		}
	case ast.ComprehensionKind:
		w.comprehension(e.AsComprehension())
	case ast.IdentKind, ast.LiteralKind, ast.UnspecifiedExprKind:
	}
}

func (w *usesWalker) walkAll(list []ast.Expr) {
	for _, e := range list {
		w.walk(e)
	}
}

func (w *usesWalker) call(c ast.CallExpr) {
	if c.FunctionName() == overloads.Matches {
		pattern := c.Args()[len(c.Args())-1]
		w.uses.dynamicRegexp = w.uses.dynamicRegexp || pattern.Kind() != ast.LiteralKind
	}
	if c.IsMemberFunction() {
		w.walk(c.Target())
	}
	w.walkAll(c.Args())
}

func (w *usesWalker) comprehension(c ast.ComprehensionExpr) {
	w.uses.loops = true
	w.walk(c.IterRange())
	w.walk(c.AccuInit())
	depth := len(w.bound)
	w.bound = append(w.bound, c.IterVar(), c.AccuVar())
	if c.HasIterVar2() {
		w.bound = append(w.bound, c.IterVar2())
	}
	w.walk(c.LoopCondition())
	w.walk(c.LoopStep())
	w.walk(c.Result())
	w.bound = w.bound[:depth]
}

// record notes one look-up.
func (w *usesWalker) record(c chain) {
	u := &w.uses
	addOnce(&u.names, c.root)
	field, named := "", false
	if len(c.steps) > 0 {
		field, named = c.steps[0].name, c.steps[0].named
	}
	switch c.root {
	case "input":
		u.input = append(u.input, inputUse{path: c.path(), complete: c.complete(), tested: c.tested(), steps: c.steps})
	case "output":
		u.output = append(u.output, inputUse{path: c.path(), complete: c.complete(), tested: c.tested(), steps: c.steps})
	case "env":
		u.wholeEnv = u.wholeEnv || !named
		addOnce(&u.env, field)
	case "secret":
		u.wholeSecret = u.wholeSecret || !named
		addOnce(&u.secret, field)
	case "operation":
		addOnce(&u.operation, field)
	case "response":
		addOnce(&u.response, field)
	case "event":
		addOnce(&u.event, field)
		if field == "headers" && len(c.steps) > 1 && c.steps[1].named {
			addOnce(&u.eventHeaders, c.steps[1].name)
		}
	}
}

func addOnce(list *[]string, s string) {
	if s != "" && !slices.Contains(*list, s) {
		*list = append(*list, s)
	}
}

// chain is a variable and the steps into it: input.items[0].name.
type chain struct {
	root  string
	steps []chainStep
}

type chainStep struct {
	named    bool // name is set; else index, or computed
	name     string
	index    int
	computed ast.Expr // an index that is no literal
	maybe    bool     // has(), .? or [?]
}

// chainOf reads a look-up; ok is false for any other expression.
func chainOf(e ast.Expr) (c chain, ok bool) {
	switch e.Kind() {
	case ast.IdentKind:
		return chain{root: strings.TrimPrefix(e.AsIdent(), ".")}, true
	case ast.SelectKind:
		s := e.AsSelect()
		c, ok = chainOf(s.Operand())
		c.steps = append(c.steps, chainStep{named: true, name: s.FieldName(), maybe: s.IsTestOnly()})
		return c, ok
	case ast.CallKind:
		call := e.AsCall()
		name := call.FunctionName()
		if name != operators.Index && name != operators.OptIndex && name != operators.OptSelect {
			return c, false
		}
		c, ok = chainOf(call.Args()[0])
		step := stepOf(call.Args()[1])
		step.maybe = name != operators.Index
		c.steps = append(c.steps, step)
		return c, ok
	case ast.LiteralKind, ast.ListKind, ast.MapKind, ast.StructKind, ast.ComprehensionKind, ast.UnspecifiedExprKind:
	}
	return c, false
}

func stepOf(index ast.Expr) chainStep {
	if index.Kind() == ast.LiteralKind {
		switch v := index.AsLiteral().(type) {
		case types.String:
			return chainStep{named: true, name: string(v)}
		case types.Int:
			if v >= 0 && v < 1<<31 {
				return chainStep{index: int(v)}
			}
		}
	}
	return chainStep{computed: index}
}

// complete reports whether the path says all of the look-up.
func (c *chain) complete() bool {
	return !slices.ContainsFunc(c.steps, func(s chainStep) bool { return s.computed != nil || s.maybe })
}

func (c *chain) tested() bool {
	return slices.ContainsFunc(c.steps, func(s chainStep) bool { return s.maybe })
}

// path writes the steps up to the first computed one as onceward.ParsePath
// reads them.
func (c *chain) path() string {
	var b strings.Builder
	for _, s := range c.steps {
		switch {
		case s.computed != nil:
			return b.String()
		case s.named:
			quoted, err := json.Marshal(s.name)
			if err != nil {
				return b.String()
			}
			b.WriteString("[" + string(quoted) + "]")
		default:
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
		}
	}
	return b.String()
}
