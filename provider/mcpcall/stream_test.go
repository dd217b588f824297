package mcpcall

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/onceward/onceward"
)

// FuzzStream holds that no stream of a server makes its readers panic, that the
// answer in it is the one to our request, and that progress is heard the same in
// whatever pieces it comes.
func FuzzStream(f *testing.F) {
	for _, seed := range []string{"event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"content\":[]}}\n\n", "data: {\"id\":8,\"result\":{}}\r\n\r\ndata: {\"id\":7,\ndata: \"error\":{\"code\":-32000}}\n\n",
		"data: {\"method\":\"notifications/progress\",\"params\":{\"progressToken\":\"p\",\"progress\":1e400}}\n\n", "data:", "\n\n", ": keep\n\n", "data: {\"id\":7,\"result\":{}}", "\xff\n\ndata: [\n\n"} {
		f.Add([]byte(seed), 3)
	}
	f.Fuzz(func(t *testing.T, stream []byte, piece int) {
		ev := onceward.Evidence{Status: 200, Body: stream, Header: []onceward.HeaderField{{Name: "content-type", Value: "text/event-stream; charset=utf-8"}}}
		result, refusal, ok := responseIn(&ev, json.RawMessage("7"))
		if ok == (result == nil && refusal == nil) {
			t.Fatalf("%q answers %q, %v, %v", stream, result, refusal, ok)
		}
		if message := callEvidence(&ev, json.RawMessage("7")); (message != nil) != ok || ok && (!json.Valid(message) || !json.Valid(ev.Body)) {
			t.Fatalf("%q makes %q, and the evidence %q", stream, message, ev.Body)
		}
		whole, parts := &eventTap{flight: &flight{token: "p"}}, &eventTap{flight: &flight{token: "p"}}
		whole.Body(stream)
		piece = 1 + (piece&0x7fffffff)%64
		for rest := stream; len(rest) > 0; rest = rest[min(piece, len(rest)):] {
			parts.Body(bytes.Clone(rest[:min(piece, len(rest))]))
			if len(parts.rest) > eventRestMax+piece {
				t.Fatalf("%d bytes of an event are kept", len(parts.rest))
			}
		}
		if len(stream) < eventRestMax && !bytes.Equal(whole.rest, parts.rest) {
			t.Fatalf("in one piece %q is left of %q, and in pieces of %d %q", whole.rest, stream, piece, parts.rest)
		}
	})
}
