package store

import (
	"slices"

	"github.com/onceward/onceward"
)

// secretFormat is the first byte of the encoded secrets of an operation, or of a record.
const secretFormat = 1

// TakeSecrets takes out of an operation whatever tells of its bodies, and returns
// it encoded. Slices of the operation are replaced, never written into.
func TakeSecrets(op *onceward.Operation) []byte {
	e := encoder{buf: make([]byte, 0, len(op.Input)+256)}
	e.byte(secretFormat)
	e.bytes(op.Input)
	e.bytes(encodeRequest(op.Request))
	e.bytes(encodeResult(op.Result))
	e.bytes(encodePrints(op.Prints))
	e.string(op.Failure.Message)
	e.string(op.ReviewReason)
	e.uint(uint64(len(op.Attempts)))
	attempts := slices.Clone(op.Attempts)
	for i := range attempts {
		e.string(attempts[i].Failure.Message)
		attempts[i].Failure.Message = ""
	}
	e.uint(uint64(len(op.Supersedes)))
	was := slices.Clone(op.Supersedes)
	for i := range was {
		e.raw(was[i].Digest[:])
		was[i].Digest = onceward.Digest{}
	}
	op.Attempts, op.Supersedes = attempts, was
	op.Input, op.Request, op.Prints, op.Failure.Message, op.ReviewReason = nil, nil, nil, "", ""
	if op.Result != nil {
		op.Result = &onceward.Result{Status: op.Result.Status}
	}
	return e.buf
}

// PutSecrets puts back what TakeSecrets took. It has the errors of [Decode].
func PutSecrets(op *onceward.Operation, b []byte) error {
	d := decoder{buf: b}
	d.format(secretFormat)
	op.Input = d.bytes()
	request, result, prints := d.bytes(), d.bytes(), d.bytes()
	op.Failure.Message, op.ReviewReason = d.string(), d.string()
	attempts := slices.Clone(op.Attempts)
	for i := range d.count() {
		message := d.string()
		if i < len(attempts) {
			attempts[i].Failure.Message = message
		}
	}
	was := slices.Clone(op.Supersedes)
	for i := range d.count() {
		var digest onceward.Digest
		d.fill(digest[:])
		if i < len(was) {
			was[i].Digest = digest
		}
	}
	op.Attempts, op.Supersedes = attempts, was
	if err := d.problem(op.ID, "what is encrypted cannot be read"); err != nil {
		return err
	}
	var err error
	if op.Prints, err = onceward.ParseFieldPrints(prints); err != nil {
		return corrupt(op.ID, "the prints cannot be read")
	}
	if op.Request, err = decodeRequest(op.ID, request); err != nil {
		return err
	}
	op.Result, err = decodeResult(op.ID, result)
	return err
}

// TakeRecordSecrets takes out of a record whatever may tell of the operation's
// bodies, and returns it encoded; nil: there is nothing.
func TakeRecordSecrets(r *onceward.Record) []byte {
	if r.Reason == "" && r.Evidence == nil {
		return nil
	}
	e := encoder{buf: make([]byte, 0, 128)}
	e.byte(secretFormat)
	e.string(r.Reason)
	e.bool(r.Evidence != nil)
	if r.Evidence != nil {
		e.evidence(r.Evidence)
	}
	r.Reason, r.Evidence = "", nil
	return e.buf
}

// PutRecordSecrets puts back what TakeRecordSecrets took of a record of the
// operation. It has the errors of [DecodeRecord].
func PutRecordSecrets(id onceward.OperationID, r *onceward.Record, b []byte) error {
	d := decoder{buf: b}
	d.format(secretFormat)
	r.Reason = d.string()
	if d.bool() {
		r.Evidence = d.evidence()
	}
	return d.problem(id, "a record of its timeline cannot be read")
}

// sealable writes the first byte of a row beside the operations: one that ends
// with what is encrypted of it has the format after the given one.
func (e *encoder) sealable(format byte, sealed []byte) {
	if sealed != nil {
		format++
	}
	e.byte(format)
}

func (e *encoder) sealed(sealed []byte) {
	if sealed != nil {
		e.bytes(sealed)
	}
}

// sealable reads the first byte of such a row, and says whether it ends so.
func (d *decoder) sealable(format byte) bool {
	f := d.byte()
	if f != format && f != format+1 {
		d.bad = true
	}
	return f == format+1
}

// sealed is what is encrypted; there has to be something.
func (d *decoder) sealed(there bool) []byte {
	if !there {
		return nil
	}
	sealed := d.bytes()
	d.bad = d.bad || sealed == nil
	return sealed
}

// secret is nil if the secrets of a row were read, and read well.
func (d *decoder) secret(noun, id string) error {
	if !d.done() {
		return corruptRow(noun, id)
	}
	return nil
}
