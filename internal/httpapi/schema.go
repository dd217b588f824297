package httpapi

import (
	"fmt"
	"reflect"
	"time"

	"github.com/onceward/onceward"
)

// enums are the closed lists that enum tags name.
var enums = map[string][]string{
	"codes":            stringsOf(onceward.AllCodes),
	"decisions":        stringsOf([]onceward.Decision{onceward.DecisionFresh, onceward.DecisionReplayed, onceward.DecisionJoined, onceward.DecisionBlocked, onceward.DecisionEscalated}),
	"states":           namesOf(onceward.AllStates),
	"classes":          namesOf(onceward.AllErrorClasses),
	"effects":          namesOf(onceward.AllEffectClasses),
	"parked":           stringsOf([]onceward.ParkReason{onceward.ParkToolPaused, onceward.ParkRate, onceward.ParkSerialize}),
	"attempt_statuses": namesOf([]onceward.AttemptStatus{onceward.StatusRunning, onceward.StatusOpen, onceward.StatusDone, onceward.StatusNotDone}),
	"settlers":         namesOf([]onceward.Settler{onceward.SettledByAnswer, onceward.SettledByProbe, onceward.SettledByPerson, onceward.SettledByCallback, onceward.SettledByLater}),
	"reaches": namesOf([]onceward.Reach{onceward.ReachUnknown, onceward.ReachNotDialled, onceward.ReachConnected, onceward.ReachHeadersWritten,
		onceward.ReachBodyWritten, onceward.ReachFirstByte}),
	"approvals":        stringsOf(onceward.AllApprovalStates),
	"answers":          stringsOf(onceward.AllApprovalActs),
	"on_duplicate":     {"return", "fail", "fail_if_running"},
	"outcomes":         {"done", "not_done", "unknown"},
	"resolutions":      {"succeeded", "not_performed", "abandoned"},
	"then":             {"retry", "fail"},
	"scopes":           {scopeTool, scopeTenant, scopeEverything},
	"stop_scopes":      {scopeTenant, scopeEverything},
	"sign_as":          stringsOf(onceward.AllSignAs),
	"inbox_states":     stringsOf(onceward.AllInboxStates),
	"saga_states":      stringsOf(onceward.AllSagaStates),
	"saga_kinds":       stringsOf(onceward.AllSagaKinds),
	"saga_step_states": stringsOf(onceward.AllSagaStepStates),
	"saga_outcomes":    stringsOf([]onceward.SagaStepState{onceward.SagaStepUndone, onceward.SagaStepKept, onceward.SagaStepDone}),
	"bulk_states":      stringsOf([]onceward.BulkState{onceward.BulkRunning, onceward.BulkFinished, onceward.BulkCancelled}),
	"bulk_outcomes":    stringsOf(onceward.BulkOutcomes),
	"review_needs":     {needsReference, needsReason},
	"verdicts":         stringsOf([]onceward.ReplayVerdict{onceward.ReplaySafe, onceward.ReplayConfirm, onceward.ReplayRefuse}),
	"probes":           {"none", "found", "absent", "inconclusive"},
	"executors":        {"onceward", "caller"},
	"key_sources":      {"contract", "caller"},
	"run_states":       stringsOf([]onceward.RunState{onceward.RunOpen, onceward.RunFinished}),
	"run_outcomes":     stringsOf(onceward.AllRunOutcomes),
	"run_events":       {onceward.RunEventRun, onceward.RunEventDecision, onceward.RunEventOperation, onceward.RunEventApproval, onceward.RunEventSaga},
	"decision_states":  stringsOf([]onceward.DecisionState{onceward.DecisionPinned, onceward.DecisionClaimed, onceward.DecisionPending}),
	"decided_states":   {decidedOpen, decidedClaimed, decidedPinned},
	"audit_sources":    {onceward.SourceJournal.String(), onceward.SourceEvents.String()},
	"healths":          {"ok", "ready"},
}

func stringsOf[T ~string](values []T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}

func namesOf[T fmt.Stringer](values []T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = v.String()
	}
	return out
}

func textSchema() map[string]any { return map[string]any{"type": "string"} }

func boolSchema() map[string]any { return map[string]any{"type": "boolean"} }

func durationSchema() map[string]any {
	return map[string]any{"type": "string", "examples": []any{"5s", "1m30s"}, "description": "A Go duration."}
}

func enumSchema(name string) map[string]any {
	values, ok := enums[name]
	if !ok {
		panic("no list of values is called " + name)
	}
	return map[string]any{"type": "string", "enum": values}
}

// schemas collects the JSON Schemas of wire types by name, for the document's
// components.
type schemas map[string]any

var timeType = reflect.TypeFor[time.Time]()

// of returns a schema for a wire type: a reference for a named struct.
func (s schemas) of(t reflect.Type, tag reflect.StructTag) map[string]any {
	switch t {
	case rawJSONType:
		return map[string]any{} // any value
	case nodeType:
		return s.of(reflect.TypeFor[OperationRequest](), "")
	case durationType:
		return durationSchema()
	case timeType:
		return map[string]any{"type": "string", "format": "date-time"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem(), tag)
	case reflect.String:
		return s.text(tag)
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return map[string]any{"type": "integer"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": s.of(t.Elem(), tag)}
	case reflect.Map:
		if t.Elem().Kind() == reflect.Interface {
			return map[string]any{"type": "object"}
		}
		return map[string]any{"type": "object", "additionalProperties": s.of(t.Elem(), tag)}
	case reflect.Struct:
		return s.named(t)
	default:
		panic(fmt.Sprintf("wire type %s has no schema", t))
	}
}

func (s schemas) text(tag reflect.StructTag) map[string]any {
	if name := tag.Get("enum"); name != "" {
		return enumSchema(name)
	}
	out := textSchema()
	if name := tag.Get("max"); name != "" {
		out["maxLength"] = textLimits[name]
	}
	return out
}

// named puts a struct into the components and refers to it.
func (s schemas) named(t reflect.Type) map[string]any {
	name := t.Name()
	if name == "" { // an empty object: an action without members
		return map[string]any{"type": "object", "additionalProperties": false}
	}
	if _, done := s[name]; !done {
		s[name] = nil // a type that refers to itself
		s[name] = s.object(t)
	}
	return map[string]any{"$ref": "#/components/schemas/" + name}
}

func (s schemas) object(t reflect.Type) map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, f := range planOf(t).fields {
		p := s.of(f.typ, f.tag)
		if doc := f.tag.Get("doc"); doc != "" {
			p["description"] = doc
		}
		if f.typ == reflect.TypeFor[[]*onceward.Node]() {
			p["minItems"], p["maxItems"] = 1, BatchItemsMax
		}
		properties[f.name] = p
		if f.required {
			required = append(required, f.name)
		}
	}
	out := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}
