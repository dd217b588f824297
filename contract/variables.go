package contract

import (
	"slices"
	"strings"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"

	"github.com/onceward/onceward"
)

// variables is what one evaluation sees. Absent parts resolve to nothing: the
// scopes keep expressions from asking for them.
type variables struct {
	env    ref.Val
	secret ref.Val

	input *onceward.Node

	tool, tenant, key, providerKey, reference string
	id                                        onceward.OperationID

	response *responseVars
	item     ref.Val

	event *eventVars

	output     *onceward.Node
	confidence float64
}

var _ interpreter.Activation = (*variables)(nil)

// Parent is none.
func (v *variables) Parent() interpreter.Activation { return nil }

// ResolveName finds a variable by the name under which its scope declares it.
func (v *variables) ResolveName(name string) (any, bool) {
	switch name {
	case "input":
		if v.input != nil {
			return jsonObject{v.input}, true
		}
	case "output":
		if v.output != nil {
			return jsonObject{v.output}, true
		}
	case "confidence":
		return types.Double(v.confidence), v.output != nil
	case "env":
		return v.env, v.env != nil
	case "secret":
		return v.secret, v.secret != nil
	case "item":
		return v.item, v.item != nil
	}
	if field, ok := strings.CutPrefix(name, "operation."); ok && slices.Contains(operationFields, field) {
		return types.String(v.operationField(field)), true
	}
	if v.event != nil && strings.HasPrefix(name, "event.") {
		return v.event.resolve(name)
	}
	if v.response != nil {
		return v.response.resolve(name)
	}
	return nil, false
}

// operationField is operation.FIELD.
func (v *variables) operationField(field string) string {
	switch field {
	case "id":
		return v.id.String()
	case "key":
		return v.key
	case "provider_key":
		return v.providerKey
	case "tool":
		return v.tool
	case "tenant":
		return v.tenant
	case "reference":
		return v.reference
	}
	return ""
}

// responseVars is an answer as expressions see it; parts are made when asked for.
type responseVars struct {
	evidence *onceward.Evidence
	json     ref.Val
}

func (r *responseVars) resolve(name string) (any, bool) {
	switch name {
	case "response.status":
		return types.Int(r.evidence.Status), true
	case "response.headers":
		return newHeaderMap(r.evidence.Header, false), true
	case "response.header_values":
		return newHeaderMap(r.evidence.Header, true), true
	case "response.json":
		return r.value(), true
	case "response.text":
		return types.String(r.evidence.Body), true
	}
	return nil, false
}

// value is the body as JSON, null when it is not JSON or not all of it is there.
func (r *responseVars) value() ref.Val {
	if r.json != nil {
		return r.json
	}
	r.json = types.NullValue
	if r.evidence.BodyCut || r.evidence.BodyTooBig {
		return r.json
	}
	if n, err := onceward.ParseJSON(r.evidence.Body); err == nil {
		r.json = valueOf(n)
	}
	return r.json
}
