package onceward

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// Whole reports whether what is kept is what came.
func (k Keep) Whole() bool { return k == KeepFull || k == KeepEncrypted }

// apply returns what stays of a canonical input, or of an answer's body. Of what
// is not JSON nothing is left where values are not kept.
func (k Keep) apply(input []byte) []byte {
	switch k {
	case KeepFull, KeepEncrypted:
		return input
	case KeepDigest:
		return nil
	case KeepRedacted:
		d := json.NewDecoder(bytes.NewReader(input))
		d.UseNumber()
		var v any
		if d.Decode(&v) != nil {
			return nil
		}
		if _, err := d.Token(); !errors.Is(err, io.EOF) {
			return nil
		}
		out, err := json.Marshal(redact(v))
		if err != nil {
			return nil
		}
		return out
	}
	return nil
}

// redact keeps names and types, no values. It is stable: redacting twice
// changes nothing.
func redact(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			v[name] = redact(member)
		}
		return v
	case []any:
		for i := range v {
			v[i] = redact(v[i])
		}
		return v
	case string:
		switch v {
		case "[number]", "[true or false]", "[null]":
			return v
		}
		return "[string]"
	case json.Number:
		return "[number]"
	case bool:
		return "[true or false]"
	case nil:
		return "[null]"
	}
	return "[value]"
}
