package store

import (
	"strings"
	"unicode/utf8"

	"github.com/onceward/onceward"
)

// sealedFormat is the first byte of what is kept encrypted. It stands where the
// input does; no JSON begins with it.
const sealedFormat = 1

// Encode turns an operation into its row and the parts that go to the side
// table, in the order of Part. It refuses, with CodeTooLarge, CodeInvalidInput
// or CodeInternal, what no store could keep: such a change is refused alone.
// The result may share memory with op.
func Encode(op *onceward.Operation) (Row, []Body, error) {
	row := Row{
		ID: op.ID, Tenant: string(op.Tenant), Tool: string(op.Tool), Key: string(op.Key),
		Generation: int64(op.Generation), Digest: op.Digest, Prints: encodePrints(op.Prints),
		Contract: op.Contract, Effect: int16(op.Effect), State: int16(op.State), Version: op.Version, Token: op.Token,
		CreatedAt: Stored(op.CreatedAt), UpdatedAt: Stored(op.UpdatedAt), CompletedAt: Stored(op.CompletedAt),
		Run: op.Run, CorrelationID: op.CorrelationID, TraceParent: op.TraceParent, Actor: op.Actor, Subject: string(op.Subject),
		ProviderKey: op.ProviderKey, Reference: op.Reference,
		Input: op.Input, Request: encodeRequest(op.Request), Result: encodeResult(op.Result),
	}
	if op.Sealed != nil {
		row.Input = op.Sealed
	}
	if n := len(op.Attempts); n > 0 {
		last := &op.Attempts[n-1]
		row.Attempt, row.Owner, row.LeaseUntil = int32(last.Number), last.Owner, Stored(last.LeaseUntil)
	}
	if !storable(row.Reference) {
		row.Reference = ""
	}
	row.Detail = encodeDetail(op, &row)
	if err := check(op, &row); err != nil {
		return Row{}, nil, err
	}
	return row, row.moveAside(), nil
}

// moveAside takes the parts that are too long for the row out of it.
func (r *Row) moveAside() []Body {
	var bodies []Body
	for p := range parts {
		part := r.column(p)
		if len(*part) <= PartInlineBytes {
			continue
		}
		bodies = append(bodies, Body{Part: p, Bytes: *part})
		*part = nil
		r.Side |= p.Bit()
	}
	return bodies
}

// storable reports whether every dialect can keep s in a text column.
func storable(s string) bool {
	return len(s) <= TextBytesMax && utf8.ValidString(s) && strings.IndexByte(s, 0) < 0
}

// check refuses what cannot be stored, or could not be told apart from damage.
func check(op *onceward.Operation, row *Row) error {
	switch {
	case op.ID.IsZero() || op.Tenant == "" || op.Tool == "" || op.Key == "":
		return refuse(op, onceward.CodeInternal, "the row has no complete identity")
	case op.State < onceward.StateAwaitingApproval || op.State > onceward.StateCompensated:
		return refuse(op, onceward.CodeInternal, "the row has no state")
	case op.Token == (onceward.WriteToken{}):
		return refuse(op, onceward.CodeInternal, "the row has no write token")
	case op.CreatedAt.IsZero():
		return refuse(op, onceward.CodeInternal, "the row has no time of creation")
	}
	for _, column := range [...]struct{ name, text string }{
		{"tenant", row.Tenant}, {"tool", row.Tool}, {"key", row.Key}, {"contract", row.Contract}, {"owner", row.Owner},
		{"run", row.Run}, {"correlation_id", row.CorrelationID}, {"trace_parent", row.TraceParent},
		{"actor", row.Actor}, {"provider_key", row.ProviderKey}, {"subject", row.Subject},
	} {
		if !storable(column.text) {
			return refuse(op, onceward.CodeInvalidInput, column.name+" is too long, not UTF-8, or holds a NUL character")
		}
	}
	for p := range parts {
		if len(*row.column(p)) > PartBytesMax {
			return refuse(op, onceward.CodeTooLarge, "the "+p.String()+" is longer than 64 MiB")
		}
	}
	return nil
}

func refuse(op *onceward.Operation, code onceward.Code, message string) error {
	return &onceward.Error{Code: code, Op: "store operation", OperationID: op.ID, Message: message}
}

// Decode turns a row and its side bodies back into an operation. It has
// CodeLedgerTooNew where a newer release wrote what this one does not know, and
// CodeLedgerCorrupt where something else cannot be read, or a body is missing. The
// result shares memory with the arguments.
func Decode(row *Row, bodies []Body) (*onceward.Operation, error) {
	full, err := row.withBodies(bodies)
	if err != nil {
		return nil, err
	}
	return full.decode()
}

// DecodeSlim is Decode without input, request, result and prints, wherever
// they are kept.
func DecodeSlim(row *Row) (*onceward.Operation, error) {
	slim := *row
	slim.Side, slim.Input, slim.Request, slim.Result, slim.Prints = 0, nil, nil, nil, nil
	return slim.decode()
}

// withBodies is the row with all its parts inline.
func (r *Row) withBodies(bodies []Body) (*Row, error) {
	if r.Side == 0 {
		return r, nil
	}
	full := *r
	missing := r.Side
	for _, b := range bodies {
		if b.Part < 0 || b.Part >= parts || r.Side&b.Part.Bit() == 0 {
			continue
		}
		*full.column(b.Part) = b.Bytes
		missing &^= b.Part.Bit()
	}
	if missing != 0 {
		return nil, corrupt(r.ID, "a body is missing in the side table")
	}
	full.Side = 0
	return &full, nil
}

func (r *Row) decode() (*onceward.Operation, error) {
	op := &onceward.Operation{
		ID: r.ID, Tenant: onceward.Tenant(r.Tenant), Tool: onceward.ToolName(r.Tool), Key: onceward.Key(r.Key),
		Generation: onceward.Generation(r.Generation), Digest: r.Digest, Contract: r.Contract,
		Effect: onceward.EffectClass(r.Effect), State: onceward.State(r.State), Version: r.Version, Token: r.Token,
		CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, CompletedAt: r.CompletedAt,
		Run: r.Run, CorrelationID: r.CorrelationID, TraceParent: r.TraceParent, Actor: r.Actor,
		ProviderKey: r.ProviderKey, Reference: r.Reference, Input: r.Input, Subject: onceward.SubjectID(r.Subject),
	}
	if len(r.Input) > 0 && r.Input[0] == sealedFormat {
		op.Input, op.Sealed = nil, r.Input
	}
	switch {
	case op.State > onceward.StateCompensated || op.Effect > onceward.EffectUnsafeWrite:
		return nil, tooNew(r.ID, "the state or the effect class is none")
	case op.State < onceward.StateAwaitingApproval:
		return nil, corrupt(r.ID, "the state is none")
	}
	var err error
	if op.Prints, err = onceward.ParseFieldPrints(r.Prints); err != nil {
		return nil, corrupt(r.ID, "the prints cannot be read")
	}
	if op.Request, err = decodeRequest(r.ID, r.Request); err != nil {
		return nil, err
	}
	if op.Result, err = decodeResult(r.ID, r.Result); err != nil {
		return nil, err
	}
	if err = decodeDetail(op, r); err != nil {
		return nil, err
	}
	return op, nil
}

// tooNew says that a row holds what this release does not know.
func tooNew(id onceward.OperationID, message string) error {
	return &onceward.Error{
		Code: onceward.CodeLedgerTooNew, Op: "read operation", OperationID: id, Message: message + ": a newer release wrote it",
		Hint: "a replica of the newer release goes on with it; finish the upgrade",
	}
}

func corrupt(id onceward.OperationID, message string) error {
	return &onceward.Error{
		Code: onceward.CodeLedgerCorrupt, Op: "read operation", OperationID: id, Message: message,
		Hint: "restore the database from a backup; the other operations are not affected",
	}
}
