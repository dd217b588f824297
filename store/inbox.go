package store

import "github.com/onceward/onceward"

// inboxFormat is the first byte of an encoded event and of its payload.
const inboxFormat = 1

// EncodeInboxEvent is everything of an event but its columns (ID, tenant,
// source, state, times of arrival, handling and end, revision, token), and its
// payload. It refuses, with CodeTooLarge or CodeInternal, what no store could keep.
func EncodeInboxEvent(v *onceward.InboxEvent) (body, payload []byte, err error) {
	switch {
	case v.ID.IsZero() || v.Tenant == "" || v.Source == "" || v.State == "" || v.Revision < 1 || v.Token == (onceward.WriteToken{}) || v.ReceivedAt.IsZero():
		return nil, nil, &onceward.Error{Code: onceward.CodeInternal, Op: "store event", Message: "the row is not complete"}
	case len(v.Body) > PartBytesMax:
		return nil, nil, &onceward.Error{Code: onceward.CodeTooLarge, Op: "store event", Message: "the event is longer than 64 MiB"}
	}
	e := encoder{buf: make([]byte, 0, 256)}
	e.byte(inboxFormat)
	for _, text := range []string{v.Version, string(v.Key), string(v.Code), v.Message, v.By, v.Why} {
		e.string(text)
	}
	e.time(Stored(v.SentAt))
	e.time(Stored(v.HandledAt))
	e.uint(uint64(v.Tries))
	e.raw(v.Run[:])
	e.uint(uint64(len(v.Operations)))
	for i := range v.Operations {
		e.raw(v.Operations[i][:])
	}
	p := encoder{buf: make([]byte, 0, len(v.Body)+128)}
	p.sealable(inboxFormat, v.Sealed)
	if v.Sealed != nil {
		p.sealed(v.Sealed)
		return e.buf, p.buf, nil
	}
	p.payload(v)
	return e.buf, p.buf, nil
}

func (e *encoder) payload(v *onceward.InboxEvent) {
	e.string(v.ContentType)
	e.header(v.Header)
	e.bytes(v.Body)
}

func (d *decoder) payload(v *onceward.InboxEvent) {
	v.ContentType, v.Header, v.Body = d.string(), d.header(), d.bytes()
}

// TakeInboxSecrets takes the payload out of an event, and returns it encoded.
func TakeInboxSecrets(v *onceward.InboxEvent) []byte {
	e := encoder{buf: make([]byte, 0, len(v.Body)+128)}
	e.byte(secretFormat)
	e.payload(v)
	v.ContentType, v.Header, v.Body = "", nil, nil
	return e.buf
}

// PutInboxSecrets puts back what TakeInboxSecrets took. It has CodeLedgerCorrupt
// if that cannot be read.
func PutInboxSecrets(v *onceward.InboxEvent, b []byte) error {
	d := decoder{buf: b}
	d.format(secretFormat)
	d.payload(v)
	return d.secret("event", v.ID.String())
}

// DecodeInboxEvent fills an event, whose columns are set, from what
// EncodeInboxEvent wrote; a nil payload is left out. It has CodeLedgerCorrupt if
// something cannot be read.
func DecodeInboxEvent(v *onceward.InboxEvent, body, payload []byte) error {
	d := decoder{buf: body}
	if d.byte() != inboxFormat {
		return corruptRow("event", v.ID.String())
	}
	v.Version, v.Key, v.Code, v.Message, v.By, v.Why = d.string(), onceward.Key(d.string()), onceward.Code(d.string()), d.string(), d.string(), d.string()
	v.SentAt, v.HandledAt, v.Tries = d.time(), d.time(), d.small()
	d.fill(v.Run[:])
	for range d.count() {
		var id onceward.OperationID
		d.fill(id[:])
		v.Operations = append(v.Operations, id)
	}
	if !d.done() {
		return corruptRow("event", v.ID.String())
	}
	if payload == nil {
		return nil
	}
	p := decoder{buf: payload}
	if sealed := p.sealable(inboxFormat); sealed {
		v.Sealed = p.sealed(sealed)
	} else {
		p.payload(v)
	}
	if !p.done() {
		return corruptRow("event", v.ID.String())
	}
	return nil
}

// SelectsInboxEvent reports whether a filter selects an event, place in the page
// included.
func SelectsInboxEvent(f *onceward.InboxFilter, e *onceward.InboxEvent) bool {
	switch {
	case e.Tenant != f.Tenant, f.Source != "" && e.Source != f.Source, f.State != "" && e.State != f.State, f.Waiting && !e.State.Waits():
		return false
	case f.After == (onceward.InboxCursor{}):
		return true
	}
	if at := Stored(f.After.ReceivedAt); !e.ReceivedAt.Equal(at) {
		return e.ReceivedAt.Before(at)
	}
	return string(e.ID[:]) < string(f.After.ID[:])
}
