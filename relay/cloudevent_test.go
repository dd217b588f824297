package relay_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/relay"
)

// FuzzDecode holds that no message makes the reader of CloudEvents panic, and
// that an event that was read is written as a message that reads as the same.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"specversion":"1.0","id":"1","source":"s","type":"t","time":"2026-05-01T10:00:00.123Z","datacontenttype":"application/json","tenant":"acme","partitionkey":"k","data":{"a":[1.50]}}`,
		`{"specversion":"1.0","id":"1","source":"s","type":"t","data_base64":"AAE="}`, `{"specversion":"1.0","id":"1","source":"s","type":"t","data":null,"data_base64":""}`,
		`{"specversion":"0.3"}`, `{"specversion":"1.0","id":"1","source":"s","type":"t","time":"-292277022399-01-01T00:00:00Z"}`, `{"specversion":"1.0","id":"\ud800","source":"s","type":"t","datacontenttype":"a/b; c=\"","data":"x"}`, `[`, ``} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		e, err := relay.Decode(message)
		if err != nil {
			if !onceward.Is(err, onceward.CodeInvalidInput) {
				t.Fatalf("%q is refused with %v", message, err)
			}
			return
		}
		written, err := relay.Encode(&e)
		if err != nil {
			t.Fatalf("%q was read as %+v, which is not written: %v", message, e, err)
		}
		again, err := relay.Decode(written)
		if err != nil {
			t.Fatalf("%q is written %q, which is not read: %v", message, written, err)
		}
		same := bytes.Equal(e.Data, again.Data)
		if !same && json.Valid(e.Data) { // spaces are not kept
			var a, b any
			same = json.Unmarshal(e.Data, &a) == nil && json.Unmarshal(again.Data, &b) == nil && reflect.DeepEqual(a, b)
		}
		if e.ID != again.ID || e.Type != again.Type || e.Tenant != again.Tenant || e.Key != again.Key || !same {
			t.Fatalf("%+v is written %q and read as %+v", e, written, again)
		}
	})
}
