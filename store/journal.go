package store

import (
	"crypto/sha256"
	"sync"

	"github.com/onceward/onceward"
)

// Entry is what the journal keeps of one applied change. All entries of one
// commit are one row of the journal.
type Entry = onceward.JournalEntry

// Formats: the first byte of an encoded journal row.
const (
	journalPlain  = 1 // ID, version, states and event: what earlier versions wrote
	journalFormat = 2
)

// Flags of an entry.
const (
	entryRecords = 1 << iota
	entrySlim
	entryGone
)

// entryOf is the journal entry of a change, whose row, bodies and records are
// encoded already.
func entryOf(c *onceward.Change, row *Row, bodies []Body, records []RecordRow) Entry {
	e := Entry{
		ID: c.After.ID, Tenant: c.After.Tenant, Generation: c.After.Generation, Version: c.After.Version, To: c.After.State,
		Row: HashRow(row, bodies), Records: HashRecords(records), Slim: c.Slim, Actor: row.Owner,
	}
	if c.Before == 0 {
		e.Actor = c.After.Actor
	}
	if n := len(c.Records); n > 0 {
		e.From, e.Event = c.Records[0].From, c.Records[n-1].Event
		if actor := c.Records[n-1].Actor; actor != "" {
			e.Actor = actor
		}
	}
	return e
}

// Dropped is the journal entry of a tombstone that is removed.
func Dropped(t onceward.Tombstone) Entry {
	return Entry{ID: t.ID, Tenant: t.Tenant, Generation: t.Generation, Version: t.Version + 1, Event: "dropped", Gone: true}
}

// EncodeJournal encodes the entries of one commit. It is JournalHead followed
// by what AppendEntry makes of each, so that a store that learns only inside
// its statement which changes were applied can put the row together there.
func EncodeJournal(entries []Entry) []byte {
	b := append(make([]byte, 0, 1+len(entries)*96), JournalHead...)
	for i := range entries {
		b = AppendEntry(b, &entries[i])
	}
	return b
}

// JournalHead is how every row of the journal begins.
const JournalHead = string(rune(journalFormat))

// AppendEntry appends one entry as it stands in a row of the journal. It begins
// with the ID.
func AppendEntry(dst []byte, entry *Entry) []byte {
	e := encoder{buf: dst}
	e.raw(entry.ID[:])
	flags := byte(0)
	if !entry.Records.IsZero() {
		flags |= entryRecords
	}
	if entry.Slim {
		flags |= entrySlim
	}
	if entry.Gone {
		flags |= entryGone
	}
	e.byte(flags)
	e.uint(uint64(entry.Generation))
	e.uint(uint64(entry.Version))
	e.byte(byte(entry.From))
	e.byte(byte(entry.To))
	e.string(entry.Event)
	e.string(entry.Actor)
	e.string(string(entry.Tenant))
	e.raw(entry.Row[:])
	if flags&entryRecords != 0 {
		e.raw(entry.Records[:])
	}
	return e.buf
}

// DecodeJournal reads a row of the journal; it has CodeLedgerCorrupt if that
// cannot be read.
func DecodeJournal(b []byte) ([]Entry, error) {
	d := decoder{buf: b}
	format := d.byte()
	if format != journalFormat && format != journalPlain {
		return nil, corruptJournal()
	}
	var entries []Entry
	for d.more() {
		entries = append(entries, d.entry(format))
	}
	if d.bad {
		return nil, corruptJournal()
	}
	return entries, nil
}

func (d *decoder) entry(format byte) (e Entry) {
	d.fill(e.ID[:])
	flags := byte(0)
	if format == journalFormat {
		flags = d.byte()
		e.Generation = onceward.Generation(d.uint())
	}
	e.Version = int64(d.uint())
	e.From, e.To = onceward.State(d.byte()), onceward.State(d.byte())
	e.Event = d.string()
	if format == journalPlain {
		return e
	}
	e.Actor, e.Tenant = d.string(), onceward.Tenant(d.string())
	d.fill(e.Row[:])
	if flags&entryRecords != 0 {
		d.fill(e.Records[:])
	}
	e.Slim, e.Gone = flags&entrySlim != 0, flags&entryGone != 0
	return e
}

func corruptJournal() error {
	return &onceward.Error{Code: onceward.CodeLedgerCorrupt, Op: "read journal", Message: "a row of the journal cannot be read"}
}

// HashRow is the hash of a row as the journal keeps it: of every column, and of
// the parts that are kept beside it.
func HashRow(r *Row, bodies []Body) onceward.Digest {
	e := rowEncoders.Get().(*encoder)
	defer rowEncoders.Put(e)
	e.buf = e.buf[:0]
	e.string("onceward/row/v1")
	e.raw(r.ID[:])
	e.string(r.Tenant)
	e.string(r.Tool)
	e.string(r.Key)
	e.int(r.Generation)
	e.raw(r.Digest[:])
	e.string(r.Contract)
	e.int(int64(r.Effect))
	e.int(int64(r.State))
	e.int(r.Version)
	e.raw(r.Token[:])
	e.int(int64(r.Attempt))
	e.string(r.Owner)
	e.time(r.LeaseUntil)
	e.time(r.CreatedAt)
	e.time(r.UpdatedAt)
	e.time(r.CompletedAt)
	for _, s := range [...]string{r.Run, r.CorrelationID, r.TraceParent, r.Actor, r.ProviderKey, r.Reference} {
		e.string(s)
	}
	if r.Subject != "" { // rows of earlier versions have none
		e.string("subject")
		e.string(r.Subject)
	}
	e.int(int64(r.Side))
	for _, part := range [...][]byte{r.Prints, r.Input, r.Request, r.Result} {
		e.bytes(part)
	}
	if len(r.Detail) <= PartInlineBytes && len(bodies) == 0 { // nearly always: one pass over one buffer
		e.bytes(r.Detail)
		return sha256.Sum256(e.buf)
	}
	h := sha256.New()
	long := func(part []byte) {
		e.length(part)
		_, _ = h.Write(e.buf) // a hash takes everything
		_, _ = h.Write(part)
		e.buf = e.buf[:0]
	}
	long(r.Detail)
	for i := range bodies {
		e.byte(byte(bodies[i].Part))
		long(bodies[i].Bytes)
	}
	return onceward.Digest(h.Sum(nil))
}

// rowEncoders keeps the buffers of HashRow, none longer than a row without its
// long parts.
var rowEncoders = sync.Pool{New: func() any { return &encoder{buf: make([]byte, 0, 2048)} }}

// HashRecords is the hash of the records of one version, in their order; zero
// for none.
func HashRecords(records []RecordRow) onceward.Digest {
	if len(records) == 0 {
		return onceward.Digest{}
	}
	e := encoder{buf: make([]byte, 0, 256)}
	e.string("onceward/records/v1")
	for i := range records {
		r := &records[i]
		e.int(r.Version)
		e.int(int64(r.Seq))
		e.time(r.At)
		e.string(r.Event)
		e.bytes(r.Body)
	}
	return sha256.Sum256(e.buf)
}
