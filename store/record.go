package store

import (
	"time"

	"github.com/onceward/onceward"
)

// RecordRow is a line of a timeline as columns. Its primary key is (operation,
// Version, Seq), so that a batch that is run again writes none twice.
type RecordRow struct {
	Version int64 // of the row that the change wrote
	Seq     int   // place among the records of that change
	At      time.Time
	Event   string
	Body    []byte // encoded: everything
}

// recordFormat is the first byte of an encoded record.
const recordFormat = 1

// encodeRecords turns the records of a change into rows.
func encodeRecords(c *onceward.Change) []RecordRow {
	if len(c.Records) == 0 {
		return nil
	}
	rows := make([]RecordRow, len(c.Records))
	for i := range c.Records {
		r := &c.Records[i]
		rows[i] = RecordRow{Version: c.After.Version, Seq: i, At: Stored(r.At), Event: r.Event, Body: encodeRecord(r)}
	}
	return rows
}

func encodeRecord(r *onceward.Record) []byte {
	e := encoder{buf: make([]byte, 0, 96)}
	e.byte(recordFormat)
	e.int(r.Version)
	e.time(r.At)
	e.string(r.Event)
	e.byte(byte(r.From))
	e.byte(byte(r.To))
	e.uint(uint64(r.Attempt))
	e.string(r.Actor)
	e.string(r.Reason)
	e.string(r.Reference)
	e.bool(r.Evidence != nil)
	if r.Evidence != nil {
		e.evidence(r.Evidence)
	}
	if r.Shown != "" || r.Sealed != nil { // records of earlier versions end here
		e.string(r.Shown)
	}
	if r.Sealed != nil {
		e.bytes(r.Sealed)
	}
	return e.buf
}

func (e *encoder) evidence(v *onceward.Evidence) {
	e.byte(byte(v.Reach))
	e.int(int64(v.Status))
	e.header(v.Header)
	e.bytes(v.Body[:min(len(v.Body), onceward.RecordBodyBytes)])
	e.bool(v.BodyCut)
	e.bool(v.BodyTooBig)
	e.time(v.StartedAt)
	e.time(v.EndedAt)
	e.time(v.LastByteAt)
	e.byte(byte(v.ErrorClass))
	e.string(v.ErrorCode)
	e.string(v.ErrorText)
	e.string(v.RemoteAddr)
}

// DecodeRecord reads the body of a record row of the operation; it has
// CodeLedgerTooNew if a newer release wrote it, and CodeLedgerCorrupt if it cannot
// be read else.
func DecodeRecord(id onceward.OperationID, body []byte) (onceward.Record, error) {
	d := decoder{buf: body}
	d.format(recordFormat)
	r := onceward.Record{Version: d.int(), At: d.time(), Event: d.string()}
	r.From, r.To = onceward.State(d.byte()), onceward.State(d.byte())
	r.Attempt = d.small()
	r.Actor, r.Reason, r.Reference = d.string(), d.string(), d.string()
	if d.bool() {
		r.Evidence = d.evidence()
	}
	if d.more() {
		r.Shown = d.string()
	}
	if d.more() {
		r.Sealed = d.bytes()
	}
	if err := d.problem(id, "a record of its timeline cannot be read"); err != nil {
		return onceward.Record{}, err
	}
	return r, nil
}

func (d *decoder) evidence() *onceward.Evidence {
	v := &onceward.Evidence{Reach: onceward.Reach(d.byte()), Status: int(d.int()), Header: d.header(), Body: d.bytes()}
	v.BodyCut, v.BodyTooBig = d.bool(), d.bool()
	v.StartedAt, v.EndedAt, v.LastByteAt = d.time(), d.time(), d.time()
	v.ErrorClass = onceward.ErrorClass(d.byte())
	v.ErrorCode, v.ErrorText, v.RemoteAddr = d.string(), d.string(), d.string()
	return v
}
