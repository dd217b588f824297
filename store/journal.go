package store

import "github.com/onceward/onceward"

// Entry is what the journal keeps of one applied change. All entries of one
// commit are one row of the journal.
type Entry struct {
	ID      onceward.OperationID
	Version int64
	From    onceward.State // zero: a new operation, or not known
	To      onceward.State
	Event   string // of the last record; empty on the happy path, which writes none
}

// journalFormat is the first byte of an encoded journal row.
const journalFormat = 1

// entryOf is the journal entry of a change.
func entryOf(c *onceward.Change) Entry {
	e := Entry{ID: c.After.ID, Version: c.After.Version, To: c.After.State}
	if n := len(c.Records); n > 0 {
		e.From, e.Event = c.Records[0].From, c.Records[n-1].Event
	}
	return e
}

// EncodeJournal encodes the entries of one commit.
func EncodeJournal(entries []Entry) []byte {
	e := encoder{buf: make([]byte, 0, 4+len(entries)*20)}
	e.byte(journalFormat)
	e.uint(uint64(len(entries)))
	for i := range entries {
		e.raw(entries[i].ID[:])
		e.uint(uint64(entries[i].Version))
		e.byte(byte(entries[i].From))
		e.byte(byte(entries[i].To))
		e.string(entries[i].Event)
	}
	return e.buf
}

// DecodeJournal reads a row of the journal; it has CodeLedgerCorrupt if that
// cannot be read.
func DecodeJournal(b []byte) ([]Entry, error) {
	d := decoder{buf: b}
	if d.byte() != journalFormat {
		return nil, corruptJournal()
	}
	entries := make([]Entry, d.count())
	for i := range entries {
		d.fill(entries[i].ID[:])
		entries[i].Version = int64(d.uint())
		entries[i].From, entries[i].To = onceward.State(d.byte()), onceward.State(d.byte())
		entries[i].Event = d.string()
	}
	if !d.done() {
		return nil, corruptJournal()
	}
	return entries, nil
}

func corruptJournal() error {
	return &onceward.Error{Code: onceward.CodeLedgerCorrupt, Op: "read journal", Message: "a row of the journal cannot be read"}
}
