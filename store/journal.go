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

// EncodeJournal encodes the entries of one commit. It is JournalHead followed
// by what AppendEntry makes of each, so that a store that learns only inside
// its statement which changes were applied can put the row together there.
func EncodeJournal(entries []Entry) []byte {
	b := append(make([]byte, 0, 1+len(entries)*20), JournalHead...)
	for i := range entries {
		b = AppendEntry(b, &entries[i])
	}
	return b
}

// JournalHead is how every row of the journal begins.
const JournalHead = string(rune(journalFormat))

// AppendEntry appends one entry as it stands in a row of the journal.
func AppendEntry(dst []byte, entry *Entry) []byte {
	e := encoder{buf: dst}
	e.raw(entry.ID[:])
	e.uint(uint64(entry.Version))
	e.byte(byte(entry.From))
	e.byte(byte(entry.To))
	e.string(entry.Event)
	return e.buf
}

// DecodeJournal reads a row of the journal; it has CodeLedgerCorrupt if that
// cannot be read.
func DecodeJournal(b []byte) ([]Entry, error) {
	d := decoder{buf: b}
	if d.byte() != journalFormat {
		return nil, corruptJournal()
	}
	var entries []Entry
	for d.more() {
		var e Entry
		d.fill(e.ID[:])
		e.Version = int64(d.uint())
		e.From, e.To = onceward.State(d.byte()), onceward.State(d.byte())
		e.Event = d.string()
		entries = append(entries, e)
	}
	if d.bad {
		return nil, corruptJournal()
	}
	return entries, nil
}

func corruptJournal() error {
	return &onceward.Error{Code: onceward.CodeLedgerCorrupt, Op: "read journal", Message: "a row of the journal cannot be read"}
}
