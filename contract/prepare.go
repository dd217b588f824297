package contract

import (
	"crypto/rand"
	"errors"
	"fmt"
	"slices"

	"github.com/onceward/onceward"
)

// Prepare is onceward.Tool's.
func (t *Tool) Prepare(in *onceward.Intent, generation onceward.Generation) (*onceward.Prepared, error) {
	input, err := t.readInput(in.Input)
	if err != nil {
		return nil, err
	}
	v := &variables{env: t.env, input: input, tool: string(t.info.Name), tenant: string(in.Principal.Tenant)}
	out := &onceward.Prepared{Input: input.AppendCanonical(make([]byte, 0, len(in.Input)))}
	if out.Key, out.Aliases, err = t.keys(in, v); err != nil {
		return nil, err
	}
	id := onceward.Identity{Tenant: in.Principal.Tenant, Tool: t.info.Name, Key: out.Key}
	if out.ProviderKey, err = onceward.ProviderKey(id, generation, t.shape); err != nil {
		return nil, err
	}
	v.id, v.key, v.providerKey = id.OperationID(), string(out.Key), out.ProviderKey
	out.Digest, out.Prints = t.digest(input, v.id)
	switch {
	case t.forward != nil:
		out.Request, err = t.renderForward(v)
	case t.request != nil:
		out.Request, err = t.request.render(v)
	}
	if err != nil {
		return nil, err
	}
	out.Approval = t.needsApproval(v)
	if out.SerialKey, err = t.serialBy.single(v, "spec.serialize_by", onceward.KeyBytesMax); err != nil {
		return out, err
	}
	out.Subject, err = t.subject.single(v, "spec.keep.subject", onceward.DataSubjectBytesMax)
	return out, err
}

// readInput parses and checks an input.
func (t *Tool) readInput(raw []byte) (*onceward.Node, error) {
	if t.forward != nil {
		return t.forward.expand(raw)
	}
	input, err := onceward.ParseJSON(raw)
	if err != nil {
		return nil, err
	}
	if input.Kind() != onceward.NodeObject {
		return nil, &onceward.Error{
			Code: onceward.CodeInvalidInput, Op: "check input",
			Message: "the input is not an object", Hint: "send the fields that the tool's input schema names",
		}
	}
	return input, t.schema.validate(input)
}

// keys derives the operation's key, and its keys under earlier rules.
//
// Why a random key for a read without one: a read that nobody gave an identity
// is no repeat of another, and its answer must not stand for later ones.
func (t *Tool) keys(in *onceward.Intent, v *variables) (key onceward.Key, aliases []onceward.Key, err error) {
	switch {
	case in.ForkKey != "":
		return in.ForkKey, nil, nil
	case t.key != nil:
		if key, err = deriveKey(t.key, v); err != nil {
			return "", nil, err
		}
		return key, t.aliases(key, v), nil
	case in.CallerKey != "":
		return in.CallerKey, nil, nil
	case !t.info.Policy.Effect.Writes():
		return onceward.Key("once-" + rand.Text()), nil, nil
	}
	return "", nil, &onceward.Error{
		Code: onceward.CodeKeyMissing, Op: "derive key",
		Message: "the tool writes, and neither its contract nor the request gives a key",
		Hint:    "send an Idempotency-Key that is the same for every repeat of this intention, or add key: to the contract",
	}
}

// aliases are the keys under earlier rules. A rule that gives none cannot have
// made an operation for this input.
func (t *Tool) aliases(key onceward.Key, v *variables) []onceward.Key {
	var aliases []onceward.Key
	for _, rule := range t.keyWas {
		if old, err := deriveKey(rule, v); err == nil && old != key && !slices.Contains(aliases, old) {
			aliases = append(aliases, old)
		}
	}
	return aliases
}

// deriveKey evaluates a key rule.
func deriveKey(rule []*program, v *variables) (onceward.Key, error) {
	var buf [4]string
	parts := buf[:0]
	for i, p := range rule {
		part, err := p.text(v)
		var wrong errNoText
		switch {
		case errors.As(err, &wrong):
			err = fmt.Errorf("it is %s", wrong.kind)
		case err == nil:
			parts = append(parts, part)
			continue
		}
		return "", &onceward.Error{
			Code: onceward.CodeKeyInvalid, Op: "derive key", Message: fmt.Sprintf("key part %d cannot be made: %v", i+1, err),
			Hint: "send the field that the part is taken from; a request without it has no stable key",
		}
	}
	return onceward.DeriveKey(parts)
}

// MaterialDigest is onceward.Tool's.
func (t *Tool) MaterialDigest(input []byte, id onceward.OperationID) (onceward.Digest, []onceward.FieldPrint, error) {
	n, err := onceward.ParseJSON(input)
	if err != nil {
		return onceward.Digest{}, nil, err
	}
	digest, prints := t.digest(n, id)
	return digest, prints, nil
}

func (t *Tool) digest(input *onceward.Node, id onceward.OperationID) (onceward.Digest, []onceward.FieldPrint) {
	pooled := bodyBuffers.Get().(*[]byte)
	material := input.AppendWithout((*pooled)[:0], t.immaterial)
	digest := onceward.MaterialDigest(t.info.Name, material)
	if cap(material) <= pooledBodyMax {
		*pooled = material
	}
	bodyBuffers.Put(pooled)
	return digest, onceward.FieldPrints(id, input, t.immaterial)
}

// needsApproval reports whether a person must say yes. A condition that cannot
// be evaluated asks.
func (t *Tool) needsApproval(v *variables) bool {
	if t.approval == nil {
		return false
	}
	needed, err := t.approval.holds(v)
	return needed || err != nil
}

// single is the value of an expression that stands for one name of at most so many
// bytes; empty: the contract has no such expression.
func (e *program) single(v *variables, path string, bytesMax int) (string, error) {
	if e == nil {
		return "", nil
	}
	s, err := e.text(v)
	switch {
	case err != nil:
		return "", inputError(path, err)
	case s == "" || len(s) > bytesMax:
		return "", inputError(path, fmt.Errorf("the value is empty or longer than %d bytes", bytesMax))
	}
	return s, nil
}

// Secrets is onceward.Tool's.
func (t *Tool) Secrets(op *onceward.Operation) ([]onceward.HeaderField, error) {
	if t.request == nil {
		return nil, nil
	}
	own, err := t.ownSecrets(op)
	if err != nil || t.forward == nil {
		return own, err
	}
	return t.forward.withCaller(op, own)
}

// ownSecrets are the header fields with secrets of the contract itself.
func (t *Tool) ownSecrets(op *onceward.Operation) ([]onceward.HeaderField, error) {
	secrets, input := t.request.hasSecrets()
	if !secrets {
		return nil, nil
	}
	v, err := t.operationVariables(op, input)
	if err != nil {
		return nil, err
	}
	return t.request.secretHeaders(v)
}

// operationVariables shows a stored operation to expressions.
func (t *Tool) operationVariables(op *onceward.Operation, withInput bool) (*variables, error) {
	v := &variables{
		env: t.env, secret: t.secretValues(), id: op.ID,
		tool: string(op.Tool), tenant: string(op.Tenant), key: string(op.Key), providerKey: op.ProviderKey, reference: op.Reference,
	}
	if !withInput || op.Input == nil {
		return v, nil
	}
	input, err := onceward.ParseJSON(op.Input)
	if err != nil {
		return nil, fmt.Errorf("read input of operation %s: %w", op.ID, err)
	}
	v.input = input
	return v, nil
}
