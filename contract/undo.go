package contract

import (
	"fmt"

	"github.com/onceward/onceward"
)

// undoTemplate is how an effect is undone, compiled.
type undoTemplate struct {
	tool  onceward.ToolName
	input jsonTemplate
	byKey bool
}

// Compensation names the tool that undoes an operation's effect and renders its
// input. ok is false if the contract has none. Where the effect is undone by its
// reference and none is known, that is an error.
func (t *Tool) Compensation(op *onceward.Operation) (tool onceward.ToolName, input []byte, ok bool, err error) {
	if t.undo == nil {
		return "", nil, false, nil
	}
	if !t.undo.byKey && op.Reference == "" {
		return "", nil, true, &onceward.Error{
			Code: onceward.CodeStateForbids, Op: "render compensation", OperationID: op.ID,
			Message: "the effect has no reference by which it could be undone", Hint: "reconcile the operation, or resolve it with its reference",
		}
	}
	v, err := t.operationVariables(op, true)
	if err != nil {
		return "", nil, true, err
	}
	v.secret = nil
	if input, err = t.undo.input.append(nil, v); err != nil {
		return "", nil, true, inputError("spec.compensate.input", err)
	}
	return t.undo.tool, input, true, nil
}

// UndoneBy names the tool that undoes an operation's effect; empty: none does.
func (t *Tool) UndoneBy() onceward.ToolName {
	if t.undo == nil {
		return ""
	}
	return t.undo.tool
}

var _ onceward.Undoable = (*Tool)(nil)

// rereadTemplate is how the record that caused a write is read again.
type rereadTemplate struct {
	request *requestTemplate
	value   *program
	was     *program // nil: the input does not bring it
}

// SourceRequest renders the read of the record that caused the write, secrets
// included; nil if the contract names none.
func (t *Tool) SourceRequest(op *onceward.Operation) (*onceward.Request, error) {
	if t.reread == nil {
		return nil, nil
	}
	return t.lookupRequest(op, t.reread.request)
}

// SourceValue reads the source record out of an answer, as JSON.
func (t *Tool) SourceValue(op *onceward.Operation, ev *onceward.Evidence) ([]byte, error) {
	if t.reread == nil || ev.Status < 200 || ev.Status > 299 || ev.BodyCut || ev.BodyTooBig {
		return nil, onceward.Errorf(onceward.CodeProviderUnreachable, "the source record could not be read")
	}
	v, err := t.operationVariables(op, true)
	if err != nil {
		return nil, err
	}
	v.response = &responseVars{evidence: ev}
	out, err := t.reread.value.eval(v)
	if err != nil {
		return nil, fmt.Errorf("read source record: %w", err)
	}
	return appendJSONValue(nil, out)
}

var _ onceward.Sourced = (*Tool)(nil)

// SourceThen is what the input says that the record was when it caused the write,
// as JSON; nil if the contract does not say.
func (t *Tool) SourceThen(op *onceward.Operation) ([]byte, error) {
	if t.reread == nil || t.reread.was == nil {
		return nil, nil
	}
	v, err := t.operationVariables(op, true)
	if err != nil {
		return nil, err
	}
	out, err := t.reread.was.eval(v)
	if err != nil {
		return nil, fmt.Errorf("read source.was: %w", err)
	}
	return appendJSONValue(nil, out)
}

// auditTemplate is how the provider's objects are listed.
type auditTemplate struct {
	request                     *requestTemplate
	found, reference, operation *program
}

// AuditRequest is onceward.Lister's. A listing is about no operation.
func (t *Tool) AuditRequest(tenant onceward.Tenant) (*onceward.Request, error) {
	if t.audit == nil {
		return nil, nil
	}
	return t.lookupRequest(&onceward.Operation{Tenant: tenant, Tool: t.info.Name}, t.audit.request)
}

// AuditedObjects is onceward.Lister's.
func (t *Tool) AuditedObjects(tenant onceward.Tenant, ev *onceward.Evidence) ([]onceward.AuditedObject, error) {
	if t.audit == nil || ev.Status < 200 || ev.Status > 299 || ev.BodyCut || ev.BodyTooBig {
		return nil, onceward.Errorf(onceward.CodeProviderUnreachable, "the provider's objects could not be listed")
	}
	v, err := t.operationVariables(&onceward.Operation{Tenant: tenant, Tool: t.info.Name}, false)
	if err != nil {
		return nil, err
	}
	v.response = &responseVars{evidence: ev}
	items, err := itemsOf(t.audit.found, v)
	if err != nil {
		return nil, fmt.Errorf("read listing: %w", err)
	}
	objects := make([]onceward.AuditedObject, 0, len(items))
	for _, item := range items {
		v.item = item
		object := onceward.AuditedObject{}
		if object.Reference, err = t.audit.reference.text(v); err != nil {
			return nil, fmt.Errorf("read listing: %w", err)
		}
		if t.audit.operation != nil {
			if key, err := t.audit.operation.text(v); err == nil {
				object.ProviderKey = key
			}
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// lookupRequest renders a read with its secrets.
func (t *Tool) lookupRequest(op *onceward.Operation, r *requestTemplate) (*onceward.Request, error) {
	v, err := t.operationVariables(op, true)
	if err != nil {
		return nil, err
	}
	req, err := r.render(v)
	if err != nil {
		return nil, err
	}
	secrets, err := r.secretHeaders(v)
	if err != nil {
		return nil, err
	}
	req.Header = append(req.Header, secrets...)
	return req, nil
}
