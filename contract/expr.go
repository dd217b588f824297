package contract

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/onceward/onceward"
)

// Limits of an expression.
const (
	exprCharactersMax = 4096    // of its source
	exprCostMax       = 100_000 // CEL cost units of one evaluation
)

// scope says which variables an expression may use besides input, env,
// operation.tool and operation.tenant.
type scope uint8

const (
	withOperation scope = 1 << iota // operation.id, .key, .provider_key
	withReference                   // operation.reference
	withSecret                      // secret
	withResponse                    // response
	withItem                        // item
	withOutput                      // output and confidence, and nothing else
	withDelivery                    // event but for its ID, and env
	withEventID                     // event.id
)

// The scopes of the places in a contract.
const (
	scopeKey         scope = 0
	scopeRequest           = withOperation
	scopeHeader            = withOperation | withSecret
	scopeProbe             = withOperation | withReference
	scopeProbeHeader       = withOperation | withReference | withSecret
	scopeOutcome           = withOperation | withReference | withResponse
	scopeRule              = withOutput
	scopeDelivery          = withDelivery
	scopeEvent             = withDelivery | withEventID
	scopeItem              = withOperation | withReference | withResponse | withItem
)

// baseEnvironment is shared by all scopes; building it is what costs.
var baseEnvironment = sync.OnceValues(func() (*cel.Env, error) {
	options := append(functions(),
		cel.CrossTypeNumericComparisons(true),
		cel.DefaultUTCTimeZone(true),
		cel.ParserExpressionSizeLimit(exprCharactersMax),
		cel.Variable("input", cel.MapType(cel.StringType, cel.DynType)),
		cel.Variable("env", cel.MapType(cel.StringType, cel.StringType)),
		cel.Variable("operation.tool", cel.StringType),
		cel.Variable("operation.tenant", cel.StringType),
	)
	return cel.NewEnv(options...)
})

var environments sync.Map // scope → *cel.Env

// environment is the CEL environment of a scope.
func environment(s scope) (*cel.Env, error) {
	if env, ok := environments.Load(s); ok {
		return env.(*cel.Env), nil
	}
	base, err := baseEnvironment()
	if err != nil {
		return nil, err
	}
	var options []cel.EnvOption
	add := func(part scope, name string, t *cel.Type) {
		if s&part != 0 {
			options = append(options, cel.Variable(name, t))
		}
	}
	add(withOperation, "operation.id", cel.StringType)
	add(withOperation, "operation.key", cel.StringType)
	add(withOperation, "operation.provider_key", cel.StringType)
	add(withReference, "operation.reference", cel.StringType)
	add(withSecret, "secret", cel.MapType(cel.StringType, cel.StringType))
	add(withResponse, "response.status", cel.IntType)
	add(withResponse, "response.headers", cel.MapType(cel.StringType, cel.StringType))
	add(withResponse, "response.header_values", cel.MapType(cel.StringType, cel.ListType(cel.StringType)))
	add(withResponse, "response.json", cel.DynType)
	add(withResponse, "response.text", cel.StringType)
	add(withItem, "item", cel.DynType)
	add(withOutput, "output", cel.MapType(cel.StringType, cel.DynType))
	add(withOutput, "confidence", cel.DoubleType)
	add(withEventID, "event.id", cel.StringType)
	add(withDelivery, "event.source", cel.StringType)
	add(withDelivery, "event.headers", cel.MapType(cel.StringType, cel.StringType))
	add(withDelivery, "event.json", cel.DynType)
	add(withDelivery, "event.form", cel.MapType(cel.StringType, cel.StringType))
	add(withDelivery, "event.text", cel.StringType)
	add(withDelivery, "event.query", cel.MapType(cel.StringType, cel.StringType))
	env, err := base.Extend(options...)
	if err != nil {
		return nil, err
	}
	stored, _ := environments.LoadOrStore(s, env)
	return stored.(*cel.Env), nil
}

// program is a compiled expression. It is safe for concurrent use.
type program struct {
	cel    cel.Program
	source string
	uses   uses
	// path is set if the expression is a plain look-up into input: it is followed
	// without CEL, and keeps the JSON token.
	path *onceward.Path
	root bool // the expression is input itself
	// field is set if the expression is one field of operation, read without CEL.
	field string
}

// compile type-checks an expression. want is the type it must have, nil if any.
func compile(src string, s scope, want *cel.Type) (*program, error) {
	env, err := environment(s)
	if err != nil {
		return nil, fmt.Errorf("set up expressions: %w", err)
	}
	parsed, issues := env.Parse(src)
	if issues.Err() != nil {
		return nil, issueError(src, issues)
	}
	found := usesOf(parsed.NativeRep().Expr())
	if err := found.allowed(s); err != nil {
		return nil, err
	}
	checked, issues := env.Check(parsed)
	if issues.Err() != nil {
		return nil, issueError(src, issues)
	}
	if t := checked.OutputType(); want != nil && !want.IsAssignableType(t) && t.Kind() != types.DynKind {
		return nil, fmt.Errorf("it is of type %s, not %s", t, want)
	}
	p := &program{source: src, uses: found}
	p.path, p.root = found.plainPath()
	p.field = found.plainField
	options := []cel.ProgramOption{
		cel.EvalOptions(cel.OptOptimize),
		cel.CustomDecoratorV2(exactNumbers(checked.NativeRep().GetType)),
	}
	if found.loops { // without a loop, the source's length bounds the steps
		options = append(options, cel.CostLimit(exprCostMax))
	}
	p.cel, err = env.Program(checked, options...)
	if err != nil {
		return nil, fmt.Errorf("it cannot be compiled: %w", err)
	}
	return p, nil
}

// issueError is the first thing that CEL has to say, with its place in the
// expression and without the excerpt.
func issueError(src string, issues *cel.Issues) error {
	first := issues.Errors()[0]
	message, _, _ := strings.Cut(first.Message, "\n")
	message = strings.TrimSuffix(message, " (in container '')")
	message, _, _ = strings.Cut(message, " expecting {")
	line, column := first.Location.Line(), first.Location.Column()+1
	switch {
	case line <= 0:
		return fmt.Errorf("%s", message)
	case strings.Contains(src, "\n"):
		return fmt.Errorf("%s (line %d, character %d of the expression)", message, line, column)
	}
	return fmt.Errorf("%s (character %d of the expression)", message, column)
}

// errAbsent says that a plain look-up, or an optional value, leads nowhere.
var errAbsent = errors.New("it is absent")

// errInputGone says that the operation's input is not stored any more, or never
// was part of what is evaluated. It must not pass for an absent field.
var errInputGone = &plainError{"the input is not there any more"}

// node follows a plain look-up into the input, without CEL; ok is false if the
// expression is none.
func (p *program) node(v *variables) (n *onceward.Node, ok bool, err error) {
	switch {
	case !p.root && p.path == nil:
		return nil, false, nil
	case v.input == nil:
		return nil, true, errInputGone
	case p.root:
		return v.input, true, nil
	}
	n, found := v.input.Lookup(*p.path)
	if !found {
		return nil, true, errAbsent
	}
	return n, true, nil
}

// eval runs the program. An error never shows a value of the input.
func (p *program) eval(v *variables) (ref.Val, error) {
	if n, ok, err := p.node(v); ok {
		if err != nil {
			return nil, err
		}
		return valueOf(n), nil
	}
	if p.field != "" {
		return types.String(v.operationField(p.field)), nil
	}
	out, _, err := p.cel.Eval(v)
	if err != nil {
		return nil, p.explain(err, v)
	}
	if o, ok := out.(*types.Optional); ok {
		if !o.HasValue() {
			return nil, errAbsent
		}
		return o.GetValue(), nil
	}
	return out, nil
}

// explain says why an evaluation failed, in words that show no value.
func (p *program) explain(err error, v *variables) error {
	var plain *plainError
	if errors.As(err, &plain) {
		return plain
	}
	for _, use := range p.uses.input {
		if use.path == "" || use.tested || v.input == nil {
			continue
		}
		path, pathErr := onceward.ParsePath(use.path)
		if pathErr != nil {
			continue
		}
		if _, found := v.input.Lookup(path); !found {
			return &plainError{"the input has no " + path.String()}
		}
	}
	switch message := err.Error(); {
	case strings.Contains(message, "no such overload"):
		return &plainError{"a value has a type for which that is not defined"}
	case strings.Contains(message, "cost limit"):
		return &plainError{"it takes too many steps with this input"}
	case strings.Contains(message, "no such key"):
		return &plainError{"a member that it asks for is absent"}
	}
	return &plainError{"it has no value with this input"}
}

// text is the program's value as it stands inside a longer text.
func (p *program) text(v *variables) (string, error) {
	if p.field != "" {
		return v.operationField(p.field), nil
	}
	if n, ok, err := p.node(v); ok && err == nil {
		switch n.Kind() {
		case onceward.NodeString:
			s, _ := n.Text()
			return s, nil
		case onceward.NodeNumber:
			return string(n.AppendCanonical(nil)), nil
		case onceward.NodeNull, onceward.NodeBool, onceward.NodeArray, onceward.NodeObject:
		}
	}
	out, err := p.eval(v)
	if errors.Is(err, errAbsent) {
		return "", &plainError{p.absentMessage()}
	}
	if err != nil {
		return "", err
	}
	return textOf(out)
}

func (p *program) absentMessage() string {
	if p.path != nil {
		return "the input has no " + p.path.String()
	}
	return "the value is absent"
}

// holds runs a condition.
func (p *program) holds(v *variables) (bool, error) {
	out, err := p.eval(v)
	if err != nil {
		return false, err
	}
	b, ok := out.(types.Bool)
	if !ok {
		return false, fmt.Errorf("the condition is a %s, not true or false", out.Type().TypeName())
	}
	return bool(b), nil
}

// changing are the names that would differ between attempts.
var changing = []string{"attempt", "now", "time", "today", "random", "uuid", "rand"}

// roots are the variables of other scopes.
var roots = []string{"input", "env", "operation", "secret", "response", "item"}

var (
	operationFields = []string{"id", "key", "provider_key", "reference", "tool", "tenant"}
	responseFields  = []string{"status", "headers", "header_values", "json", "text"}
)

// allowed refuses what a scope must not use, in words that say why.
func (u *uses) allowed(s scope) error {
	for _, name := range u.names {
		switch {
		case s&withOutput != 0 && (slices.Contains(changing, name) || slices.Contains(roots, name)):
			return fmt.Errorf("%s is not known here: a rule sees output and confidence", name)
		case s&withDelivery != 0 && name != "env" && slices.Contains(roots, name):
			return fmt.Errorf("%s is not known here: a source sees event and env", name)
		case name == "event" && s&withDelivery == 0:
			return fmt.Errorf("event is not known here: it stands in documents of kind Source")
		case slices.Contains(changing, name):
			return fmt.Errorf("%s differs between attempts: every attempt sends the same bytes", name)
		case name == "secret" && s&withSecret == 0:
			return fmt.Errorf("secret stands in headers only")
		case name == "response" && s&withResponse == 0:
			return fmt.Errorf("response is not known here: nothing was sent yet")
		case name == "item" && s&withItem == 0:
			return fmt.Errorf("item is not known here: it stands for one found effect")
		}
	}
	for _, field := range u.response {
		if !slices.Contains(responseFields, field) {
			return fmt.Errorf("there is no response.%s: it has %s", field, strings.Join(responseFields, ", "))
		}
	}
	for _, field := range u.operation {
		switch {
		case slices.Contains(changing, field) || field == "attempts" || field == "attempt_id":
			return fmt.Errorf("operation.%s differs between attempts: every attempt sends the same bytes", field)
		case field == "reference" && s&withReference == 0:
			return fmt.Errorf("operation.reference is not known here: there is no effect yet")
		case s&withOperation == 0 && (field == "id" || field == "key" || field == "provider_key"):
			return fmt.Errorf("operation.%s is not known here: it is made from the key", field)
		case !slices.Contains(operationFields, field):
			return fmt.Errorf("there is no operation.%s: it has %s", field, strings.Join(operationFields, ", "))
		}
	}
	for _, field := range u.event {
		switch {
		case !slices.Contains(eventFields, field):
			return fmt.Errorf("there is no event.%s: it has %s", field, strings.Join(eventFields, ", "))
		case field == "id" && s&withEventID == 0:
			return fmt.Errorf("event.id is not known here: it is made from what stands here")
		}
	}
	if u.wholeEnv {
		return fmt.Errorf("env is read by name, as in env.NAME")
	}
	if u.wholeSecret {
		return fmt.Errorf("secret is read by name, as in secret.NAME")
	}
	if u.dynamicRegexp {
		return fmt.Errorf("the pattern of matches() is a literal text")
	}
	return nil
}
