package mcpgateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// versionBatches is the one version whose servers have to take batches. Its
// clients send no version header yet; in 2025-06-18 batches are gone.
const versionBatches = "2025-03-26"

// batchMax is the most messages of one batch.
const batchMax = 100

// batch takes the messages of a batch one after the other, each decided about as
// if it had come alone, so that none hides in it. The answers are one stream.
func (r *relayed) batch(body []byte) {
	var all []json.RawMessage
	refuse := func(why string) {
		r.refuse(http.StatusBadRequest, nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: why})
	}
	if v := r.req.Header.Get(versionHeader); v != "" && v != versionBatches {
		refuse("the body is no single message, and version " + versionBatches + " alone has batches")
		return
	}
	if err := json.Unmarshal(body, &all); err != nil || len(all) == 0 || len(all) > batchMax {
		refuse(fmt.Sprintf("a batch has 1 to %d messages", batchMax))
		return
	}
	messages := make([]message, len(all))
	asks := false
	for i, raw := range all {
		if err := json.Unmarshal(raw, &messages[i]); err != nil || messages[i].Method == "initialize" {
			refuse("a message of the batch cannot be read, or opens a session")
			return
		}
		asks = asks || len(messages[i].ID) > 0 && messages[i].Method != ""
	}
	if !asks { // notifications and answers have none
		for i, raw := range all {
			r.part(&messages[i], raw, &batchPart{header: http.Header{}})
		}
		r.w.WriteHeader(http.StatusAccepted)
		return
	}
	r.w.Header().Set("Content-Type", eventStream)
	r.w.Header().Set("Cache-Control", "no-store")
	r.w.WriteHeader(http.StatusOK)
	for i, raw := range all {
		p := &batchPart{header: http.Header{}, to: r.w}
		r.part(&messages[i], raw, p)
		p.end(&messages[i])
	}
}

// part decides about one message.
func (r *relayed) part(m *message, raw []byte, w *batchPart) {
	one := *r
	one.w = w
	one.post(m, raw)
}

// batchPart is the answer to one message of a batch: a stream passes through,
// what is in one piece becomes an event.
type batchPart struct {
	header http.Header
	to     http.ResponseWriter // nil: nobody reads the answer
	whole  bytes.Buffer
}

// Header implements http.ResponseWriter.
func (p *batchPart) Header() http.Header { return p.header }

// WriteHeader implements http.ResponseWriter.
func (p *batchPart) WriteHeader(int) {}

// Flush implements http.Flusher.
func (p *batchPart) Flush() {
	if p.to != nil {
		_ = http.NewResponseController(p.to).Flush() // the connection may be gone
	}
}

// Write implements http.ResponseWriter.
func (p *batchPart) Write(data []byte) (int, error) {
	if p.to != nil && strings.HasPrefix(p.header.Get("Content-Type"), eventStream) {
		return p.to.Write(data)
	}
	return p.whole.Write(data)
}

// end writes what came in one piece. A request whose answer is none of the
// protocol is told so.
func (p *batchPart) end(m *message) {
	if strings.HasPrefix(p.header.Get("Content-Type"), eventStream) || m.Method == "" || len(m.ID) == 0 {
		return
	}
	var one bytes.Buffer
	if json.Compact(&one, p.whole.Bytes()) != nil || !bytes.Contains(one.Bytes(), []byte(`"jsonrpc"`)) {
		one.Reset()
		one.Write(mustMarshal(refusalOf(m.ID, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the server did not answer"})))
	}
	_ = (&reported{w: p.to}).event(one.Bytes()) // whoever hung up hears nothing
}
