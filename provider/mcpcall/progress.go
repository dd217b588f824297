package mcpcall

import (
	"bytes"
	"encoding/json"

	"github.com/onceward/onceward"
)

const methodProgress = "notifications/progress"

// progressParams are what a server says on its way.
type progressParams struct {
	Token    string  `json:"progressToken"`
	Progress float64 `json:"progress"`
	Total    float64 `json:"total"`
	Message  string  `json:"message"`
}

// heard hands on what the server says on the way of this call.
func (f *flight) heard(params json.RawMessage) {
	var p progressParams
	if f.token == "" || f.opts.OnProgress == nil || json.Unmarshal(params, &p) != nil || p.Token != f.token {
		return
	}
	f.opts.OnProgress(onceward.Progress{Done: p.Progress, Total: p.Total, Message: p.Message})
}

// eventTap reads the events of a stream while they come.
type eventTap struct {
	flight *flight
	rest   []byte // of an event that is not whole yet
}

// eventRestMax is how much of an event is kept that is not whole: progress is
// short, and the answer is read elsewhere.
const eventRestMax = 64 << 10

// Head implements onceward.AnswerTap.
func (t *eventTap) Head(int, []onceward.HeaderField) {}

// End implements onceward.AnswerTap.
func (t *eventTap) End(bool) {}

// Body implements onceward.AnswerTap.
func (t *eventTap) Body(p []byte) {
	t.rest = begun(append(t.rest, p...))
	end := lastEvent(t.rest)
	if end < 0 {
		if len(t.rest) > eventRestMax {
			t.rest = t.rest[:0]
		}
		return
	}
	for _, data := range events(t.rest[:end]) {
		var m struct {
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		if bytes.Contains(data, []byte(methodProgress)) && json.Unmarshal(data, &m) == nil && m.Method == methodProgress {
			t.flight.heard(m.Params)
		}
	}
	t.rest = append(t.rest[:0], begun(t.rest[end:])...)
}

// begun is an event without the empty lines before it, which belong to none:
// what is kept does not depend on where the stream was cut.
func begun(event []byte) []byte { return bytes.TrimLeft(event, "\r\n") }

// lastEvent is where the last whole event ends; -1: there is none.
func lastEvent(stream []byte) int {
	at := -1
	for _, blank := range []string{"\n\n", "\n\r\n"} {
		if i := bytes.LastIndex(stream, []byte(blank)); i >= 0 {
			at = max(at, i+len(blank))
		}
	}
	return at
}
