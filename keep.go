package onceward

import "encoding/json"

// apply returns what stays of a canonical input.
func (k Keep) apply(input []byte) []byte {
	switch k {
	case KeepFull:
		return input
	case KeepDigest:
		return nil
	case KeepRedacted:
		var v any
		if json.Unmarshal(input, &v) != nil {
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
	case float64:
		return "[number]"
	case bool:
		return "[true or false]"
	case nil:
		return "[null]"
	}
	return "[value]"
}
