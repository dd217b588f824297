package store

import (
	"strings"

	"github.com/onceward/onceward"
)

// outboxFormat is the first byte of an encoded outbox event.
const outboxFormat = 1

// EncodeOutboxEvent is everything of an event but its columns (place, ID, tenant,
// type, key, time).
func EncodeOutboxEvent(v *onceward.OutboxEvent) []byte {
	e := encoder{buf: make([]byte, 0, len(v.Data)+len(v.Source)+len(v.Subject)+128)}
	e.byte(outboxFormat)
	for _, text := range []string{v.Source, v.Subject, v.ContentType, v.CorrelationID, v.TraceParent} {
		e.string(text)
	}
	e.bytes(v.Data)
	return e.buf
}

// DecodeOutboxEvent fills an event, whose columns are set, from what
// EncodeOutboxEvent wrote. It has CodeLedgerCorrupt if that cannot be read.
func DecodeOutboxEvent(v *onceward.OutboxEvent, body []byte) error {
	d := decoder{buf: body}
	if d.byte() != outboxFormat {
		return corruptRow("outbox event", v.ID)
	}
	v.Source, v.Subject, v.ContentType, v.CorrelationID, v.TraceParent = d.string(), d.string(), d.string(), d.string(), d.string()
	v.Data = d.bytes()
	if !d.done() {
		return corruptRow("outbox event", v.ID)
	}
	return nil
}

// AsideMessage is as much of a reason as is kept with an event that is set aside.
func AsideMessage(s string) string {
	const most = 500
	if len(s) > most {
		s = s[:most]
	}
	return storableText(s)
}

// storableText makes a text one that every dialect can keep.
func storableText(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
