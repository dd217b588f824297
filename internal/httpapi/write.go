package httpapi

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// encoder is a buffer with the JSON encoder that writes into it.
type encoder struct {
	buf bytes.Buffer
	enc *json.Encoder
}

var encoders = sync.Pool{New: func() any {
	e := new(encoder)
	e.enc = json.NewEncoder(&e.buf)
	e.enc.SetEscapeHTML(false)
	return e
}}

// pooledBytesMax bounds the buffers that go back to the pool, so that one huge
// answer does not stay in memory for ever.
const pooledBytesMax = 64 << 10

func (e *encoder) release() {
	if e.buf.Cap() <= pooledBytesMax {
		e.buf.Reset()
		encoders.Put(e)
	}
}

// writeJSON writes a whole answer at once: an answer that cannot be encoded
// becomes a 500 and never a cut one. The wire types here always can.
func writeJSON(w http.ResponseWriter, status int, mediaType string, v any) {
	e := encoders.Get().(*encoder)
	defer e.release()
	if err := e.enc.Encode(v); err != nil {
		panic(err) // a defect: the recovery of the call logs and answers it
	}
	h := w.Header()
	h["Content-Type"] = typeJSON
	if mediaType != mediaJSON {
		h["Content-Type"] = []string{mediaType}
	}
	h["Cache-Control"] = noStore
	h["X-Content-Type-Options"] = noSniff // a provider's text in it is never a page
	if e.buf.Len() > countedBytesMax {
		h["Content-Length"] = []string{strconv.Itoa(e.buf.Len())}
	}
	w.WriteHeader(status)
	_, _ = w.Write(e.buf.Bytes()) // a caller that went away gets no answer; its operation goes on
}

// quoted is a text as a JSON string.
func quoted(s string) json.RawMessage {
	e := encoders.Get().(*encoder)
	defer e.release()
	if err := e.enc.Encode(s); err != nil {
		panic(err) // every string can be encoded
	}
	return bytes.Clone(bytes.TrimSuffix(e.buf.Bytes(), []byte{'\n'}))
}

// countedBytesMax is the longest answer whose length net/http tells by itself.
// Why it is left to that: a ninth header field makes the map of them grow, and
// its copy, which is a tenth of what an answer allocates.
const countedBytesMax = 2 << 10

// Header values that every answer shares.
var (
	typeJSON = []string{mediaJSON}
	noStore  = []string{"no-store"}
	noSniff  = []string{"nosniff"}
)

// seconds rounds a wait up to whole seconds, as Retry-After has it.
func seconds(d time.Duration) string {
	return strconv.FormatInt(int64((max(d, time.Second)+time.Second-1)/time.Second), 10)
}
