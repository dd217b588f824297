package mcpgateway

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/onceward/onceward"
)

// FuzzMessage holds that no message makes its readers panic, that what we read of
// one is what a server behind reads that goes by exact names, and that an object
// goes on as it came.
func FuzzMessage(f *testing.F) {
	for _, seed := range []string{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"a":1.50},"_meta":{"progressToken":"p"}}}`,
		`{"id":null,"method":"tools/list","Method":"tools/call"}`, `{"method":"tasks/get","params":{"taskId":"op_1"}}`, `{"params":null}`, `{"params":[]}`, `[{}]`, `{"_meta":{},"content":[{"type":"text"}]}`, `{"content":[`, `{"a":1}}`, "\xff", `{"method":"\ud800"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var m message
		if json.Unmarshal(body, &m) == nil {
			var exact map[string]json.RawMessage
			if err := json.Unmarshal(body, &exact); err != nil {
				t.Fatalf("%q is read as a message and is no object: %v", body, err)
			}
			var method string
			if _, err := onceward.ParseJSON(body); err == nil && exact["method"] != nil && (json.Unmarshal(exact["method"], &method) != nil || method != m.Method) {
				t.Fatalf("%q has the method %q, and is read as %q", body, exact["method"], m.Method)
			}
		}
		o, err := readObject(body)
		if err != nil {
			return
		}
		out := o.append(nil)
		if !json.Valid(out) {
			t.Fatalf("%q is written %q", body, out)
		}
		if again, err := readObject(out); err != nil || !bytes.Equal(again.append(nil), out) {
			t.Fatalf("%q is written %q, which is read as something else: %v", body, out, err)
		}
		if o.addContent("said") == nil && o.setMeta("a", json.RawMessage(`1`)) == nil && !json.Valid(o.append(nil)) {
			t.Fatalf("%q with a text more is %q", body, o.append(nil))
		}
	})
}

// FuzzParam holds that no header of a parameter makes the comparison panic, and
// that one that agrees says what the body says.
func FuzzParam(f *testing.F) {
	for _, seed := range [][2]string{{"eu", `"eu"`}, {"=?base64?WsO8cmljaA==?=", `"Zürich"`}, {"42.0", `42`}, {"true", `true`}, {"=?base64?%%?=", `""`}, {"1e400", `1e400`}, {"NaN", `0`}, {"=?base64??=", `null`}, {"0x2A", `42`}} {
		f.Add(seed[0], []byte(seed[1]), []byte(`{"type":"string","x-mcp-header":"A"}`))
	}
	f.Add("a", []byte(`{"b":{"c":1}}`), []byte(`{"type":"object","properties":{"b":{"properties":{"c":{"type":"integer","x-mcp-header":"C"}}}}}`))
	f.Fuzz(func(t *testing.T, line string, argument, schema []byte) {
		_ = paramsAgree(http.Header{"Mcp-Param-A": {line}}, schema, argument)
		var text string
		if paramAgrees([]string{line}, argument) != nil || json.Unmarshal(argument, &text) != nil || string(argument) == "null" {
			return
		}
		if line != text && line != "=?base64?"+base64.StdEncoding.EncodeToString([]byte(text))+"?=" && !sameBytes(line, text) {
			t.Fatalf("%q passes for %q", line, text)
		}
	})
}

// sameBytes reports whether a wrapped line, with line ends in its Base64 or not,
// holds the text.
func sameBytes(line, text string) bool {
	got, err := paramText(line)
	return err == nil && got == text
}
