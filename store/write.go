package store

import (
	"bytes"
	"slices"

	"github.com/onceward/onceward"
)

// Write is a change, ready for a store: everything that the store writes if the
// compare-and-set holds.
type Write struct {
	Change  *onceward.Change
	Row     Row
	Aliases []onceward.OperationID // sorted, each once, without the operation's own ID
	Bodies  []Body                 // replace whatever the side table holds of the operation
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
	records := encodeRecords(c)
	return Write{
		Change: c, Row: row, Aliases: earlier(c), Bodies: bodies, Records: records, Entry: entryOf(c, &row, bodies, records),
	}, nil
}

// earlier is the change's aliases, sorted, each once, without its own ID.
func earlier(c *onceward.Change) []onceward.OperationID {
	if len(c.Aliases) == 0 {
		return nil
	}
	ids := slices.Clone(c.Aliases)
	slices.SortFunc(ids, func(a, b onceward.OperationID) int { return bytes.Compare(a[:], b[:]) })
	ids = slices.Compact(ids)
	return slices.DeleteFunc(ids, func(id onceward.OperationID) bool { return id == c.After.ID })
}
