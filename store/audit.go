package store

import (
	"bytes"

	"github.com/onceward/onceward"
)

// eventFormat is the first byte of an encoded audit event.
const eventFormat = 1

// JournalBody is what a seal covers of a row of the journal besides place and time.
func JournalBody(token onceward.WriteToken, entries []byte) []byte {
	return append(append(make([]byte, 0, len(token)+len(entries)), token[:]...), entries...)
}

// DecodeJournalBody is the inverse of JournalBody. It has CodeLedgerCorrupt if
// that cannot be read.
func DecodeJournalBody(body []byte) ([]Entry, error) {
	if len(body) < len(onceward.WriteToken{}) {
		return nil, corruptJournal()
	}
	return DecodeJournal(body[len(onceward.WriteToken{}):])
}

// JournalRow is a row of the journal as the trail reads it. One that cannot be
// read has no entries: its seal tells whether it was so from the beginning. One
// without the bytes that it should hold comes without body and entries.
func JournalRow(at onceward.AuditRow, token onceward.WriteToken, entries, holding []byte) onceward.AuditRow {
	if at.Source = onceward.SourceJournal; !bytes.Contains(entries, holding) {
		return at
	}
	at.Body = JournalBody(token, entries)
	if decoded, err := DecodeJournal(entries); err == nil {
		at.Entries = decoded
	}
	return at
}

// EventBody is what a seal covers of an audit event besides place and time.
func EventBody(v *onceward.AuditEvent) []byte {
	e := encoder{buf: make([]byte, 0, 128)}
	e.byte(eventFormat)
	e.raw(v.ID[:])
	for _, s := range [...]string{string(v.Tenant), v.Actor, string(v.Action), v.Subject, v.Reason, v.Detail} {
		e.string(s)
	}
	return e.buf
}

// DecodeEventBody is the inverse of EventBody.
func DecodeEventBody(body []byte) (*onceward.AuditEvent, error) {
	d := decoder{buf: body}
	v := &onceward.AuditEvent{}
	format := d.byte()
	d.fill(v.ID[:])
	v.Tenant, v.Actor, v.Action = onceward.Tenant(d.string()), d.string(), onceward.AuditAction(d.string())
	v.Subject, v.Reason, v.Detail = d.string(), d.string(), d.string()
	if format != eventFormat || !d.done() {
		return nil, &onceward.Error{Code: onceward.CodeLedgerCorrupt, Op: "read audit event", Message: "an audit event cannot be read"}
	}
	return v, nil
}

// EventRow is an event as the trail reads it.
func EventRow(v onceward.AuditEvent) onceward.AuditRow {
	return onceward.AuditRow{Source: onceward.SourceEvents, Place: v.Place, At: v.At, Body: EventBody(&v), Event: &v}
}

// Verifiable is an operation as verification sees it. Records are those of the
// operation, in order of version and place.
func Verifiable(row *Row, bodies []Body, records []RecordRow) onceward.AuditOperation {
	op := onceward.AuditOperation{ID: row.ID, Generation: onceward.Generation(row.Generation), Version: row.Version, UpdatedAt: row.UpdatedAt, Row: HashRow(row, bodies)}
	for len(records) > 0 {
		n := 1
		for n < len(records) && records[n].Version == records[0].Version {
			n++
		}
		if op.Records == nil {
			op.Records = map[int64]onceward.Digest{}
		}
		op.Records[records[0].Version] = HashRecords(records[:n])
		records = records[n:]
	}
	return op
}
