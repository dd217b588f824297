package store

import "github.com/onceward/onceward"

// Write is a change, ready for a store: everything that the store writes if the
// compare-and-set holds.
type Write struct {
	Change  *onceward.Change
	Row     Row
	Bodies  []Body // replace whatever the side table holds of the operation
	Records []RecordRow
	Entry   Entry
}

// Prepare encodes a change. An error refuses this change alone and is what
// [onceward.Committed] says of it: CodeTooLarge, CodeInvalidInput (a text that
// no column can hold), CodeInternal (a change that no ledger would make). The
// result may share memory with the change.
func Prepare(c *onceward.Change) (Write, error) {
	if c.Before < 0 || c.After.Version != c.Before+1 {
		return Write{}, refuse(&c.After, onceward.CodeInternal, "the version is not the next one")
	}
	if len(c.Aliases) > 0 && c.Before != 0 {
		return Write{}, refuse(&c.After, onceward.CodeInternal, "only a new operation can have aliases")
	}
	row, bodies, err := Encode(&c.After)
	if err != nil {
		return Write{}, err
	}
	return Write{Change: c, Row: row, Bodies: bodies, Records: encodeRecords(c), Entry: entryOf(c)}, nil
}

// Collision is what a change is refused with when the row under its ID belongs
// to another intention.
func Collision(id onceward.OperationID) error {
	return &onceward.Error{
		Code: onceward.CodeKeyCollision, Op: "store operation", OperationID: id,
		Message: "another tenant, tool or key has the same operation ID",
		Hint:    "use another key for this intention",
	}
}

// Gone is what a change of a row is refused with when there is no such row.
func Gone(id onceward.OperationID) error {
	return &onceward.Error{Code: onceward.CodeOperationNotFound, Op: "store operation", OperationID: id, Message: "there is no such row"}
}
