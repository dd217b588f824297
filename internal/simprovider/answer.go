package simprovider

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
)

// answer is an HTTP answer as data: it can be stored under an idempotency key,
// sent, cut short or thrown away.
type answer struct {
	status int
	header map[string]string
	body   []byte
}

// jsonAnswer renders v, which this package built itself and can be encoded.
func jsonAnswer(status int, v any) answer {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false) // message IDs have angle brackets, and people read this
	if err := encoder.Encode(v); err != nil {
		return refusal(http.StatusInternalServerError, "unencodable", err.Error())
	}
	return answer{status: status, body: body.Bytes()}
}

// refusal is an error answer; code is stable, message is for people.
func refusal(status int, code, message string) answer {
	return jsonAnswer(status, map[string]string{"code": code, "message": message})
}

// with returns a copy that also carries one header.
func (a answer) with(name, value string) answer {
	header := map[string]string{name: value}
	for k, v := range a.header {
		header[k] = v
	}
	a.header = header
	return a
}

// send writes the whole answer.
func (a answer) send(w http.ResponseWriter) {
	a.sendPart(w, a.body)
}

// sendPart promises the whole body by Content-Length and writes only part of it.
func (a answer) sendPart(w http.ResponseWriter, part []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	for name, value := range a.header {
		h.Set(name, value)
	}
	if a.status != http.StatusNoContent {
		h.Set("Content-Length", strconv.Itoa(len(a.body)))
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(part) // the client may be gone: nobody is left to be told
}
