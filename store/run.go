package store

import "github.com/onceward/onceward"

// runFormat is the first byte of an encoded run.
const runFormat = 1

// EncodeRun is everything of a run but its ID, revision, token and input. It
// refuses, with CodeInvalidInput, CodeTooLarge or CodeInternal, what no store
// could keep.
func EncodeRun(r *onceward.Run) ([]byte, error) {
	if r.ID.IsZero() || r.Tenant == "" || r.Revision < 1 || r.Token == (onceward.WriteToken{}) || r.CreatedAt.IsZero() {
		return nil, &onceward.Error{Code: onceward.CodeInternal, Op: "store run", Message: "the row is not complete"}
	}
	if len(r.Input) > PartBytesMax {
		return nil, &onceward.Error{Code: onceward.CodeTooLarge, Op: "store run", Message: "the input is longer than 64 MiB"}
	}
	for _, text := range []string{string(r.Tenant), r.Workflow, string(r.TriggerKey), r.CorrelationID, string(r.State)} {
		if !storable(text) {
			return nil, &onceward.Error{Code: onceward.CodeInvalidInput, Op: "store run", Message: "a text of it is too long, not UTF-8, or holds a NUL character"}
		}
	}
	e := encoder{buf: make([]byte, 0, 256)}
	e.sealable(runFormat, r.Sealed)
	for _, text := range []string{string(r.Tenant), r.Workflow, r.Version, r.Rules, string(r.TriggerKey), r.CorrelationID, r.Actor,
		string(r.State), string(r.Outcome), r.Reason, r.FinishedBy} {
		e.string(text)
	}
	e.raw(r.InputDigest[:])
	e.time(Stored(r.CreatedAt))
	e.time(Stored(r.FinishedAt))
	e.sealed(r.Sealed)
	return e.buf, nil
}

// DecodeRun reads what EncodeRun wrote; it has CodeLedgerCorrupt if that cannot
// be read.
func DecodeRun(id onceward.RunID, revision int64, token onceward.WriteToken, body, input []byte) (*onceward.Run, error) {
	d := decoder{buf: body}
	sealed := d.sealable(runFormat)
	r := &onceward.Run{ID: id, Revision: revision, Token: token, Input: input,
		Tenant: onceward.Tenant(d.string()), Workflow: d.string(), Version: d.string(), Rules: d.string(), TriggerKey: onceward.Key(d.string()),
		CorrelationID: d.string(), Actor: d.string(), State: onceward.RunState(d.string()), Outcome: onceward.RunOutcome(d.string()),
		Reason: d.string(), FinishedBy: d.string()}
	d.fill(r.InputDigest[:])
	r.CreatedAt, r.FinishedAt = d.time(), d.time()
	r.Sealed = d.sealed(sealed)
	if !d.done() {
		return nil, corruptRow("run", id.String())
	}
	return r, nil
}

func corruptRow(noun, id string) error {
	return &onceward.Error{Code: onceward.CodeLedgerCorrupt, Op: "read " + noun, Message: id + " cannot be read", Hint: "restore the database from a backup; the other rows are not affected"}
}

// SelectsRun reports whether a filter selects a run, place in the page included.
func SelectsRun(f *onceward.RunFilter, r *onceward.Run) bool {
	switch {
	case r.Tenant != f.Tenant,
		f.Workflow != "" && r.Workflow != f.Workflow,
		f.State != "" && r.State != f.State,
		f.CorrelationID != "" && r.CorrelationID != f.CorrelationID:
		return false
	case f.After == (onceward.RunCursor{}):
		return true
	}
	if at := Stored(f.After.CreatedAt); !r.CreatedAt.Equal(at) {
		return r.CreatedAt.Before(at)
	}
	return string(r.ID[:]) < string(f.After.ID[:])
}

// TakeRunSecrets takes the reason out of a run, and returns it encoded. The input
// stands in a place of its own.
func TakeRunSecrets(r *onceward.Run) []byte {
	e := encoder{}
	e.byte(secretFormat)
	e.string(r.Reason)
	r.Reason = ""
	return e.buf
}

// PutRunSecrets puts back what TakeRunSecrets took. It has CodeLedgerCorrupt if
// that cannot be read.
func PutRunSecrets(r *onceward.Run, b []byte) error {
	d := decoder{buf: b}
	d.format(secretFormat)
	r.Reason = d.string()
	return d.secret("run", r.ID.String())
}
