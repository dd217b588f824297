package contract

import (
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/onceward/onceward"
)

// FuzzLoad holds that no file makes the loader panic, hang or lie: what loads
// loads again from its stored source, to the same version.
func FuzzLoad(f *testing.F) {
	for _, data := range validDocuments(f) {
		f.Add(data)
	}
	for _, seed := range []string{"", "---\n---\n", "a: &a [*a]", "? x\n: y", "a: |\n  x", "{a: [}", "!!binary x", "\t", "%YAML 1.1\n---\na", "a: .inf", "- - - -", "\xff", "a: 1e999999999"} {
		f.Add([]byte(seed))
	}
	opts := simOptions()
	f.Fuzz(func(t *testing.T, data []byte) {
		tools, err := Load(data, "f.yaml", opts)
		if err != nil {
			var problems Problems
			if !errors.As(err, &problems) || len(problems) == 0 || tools != nil {
				t.Fatalf("an error without problems, or with tools: %v", err)
			}
			for _, p := range problems {
				if p.Message == "" || !utf8.ValidString(p.String()) {
					t.Fatalf("a problem says nothing, or not in UTF-8: %+v", p)
				}
			}
			return
		}
		for _, tool := range tools {
			Lint(tool)
			again, err := Load(tool.Info().Source, "f.yaml", opts)
			if err != nil || len(again) != 1 || again[0].Info().Version != tool.Info().Version {
				t.Fatalf("the stored source does not load to the same version: %v", err)
			}
		}
	})
}

// FuzzTemplate holds that no expression between ${ and } makes the compiler
// panic, and that what it renders stays where it stands.
func FuzzTemplate(f *testing.F) {
	for _, seed := range []string{"input.a", "input.?a", "input.a + 1", "{'a': [1, 2.5]}", "input.l.map(x, x * 2)", "json(input)", "input.a.matches('a+')", "'}'", "1/3", "-9223372036854775808", "input[input.a]", "b'x'", "timestamp('2026-01-01T00:00:00Z')", "input.l[0]", "double('NaN')", "has(input.a)", "string(input.n)", "type(input)"} {
		f.Add(seed, "value")
	}
	b := templateBuilder{admit: func(*program) error { return nil }}
	f.Fuzz(func(t *testing.T, expr, value string) {
		u, err := b.compileURL("https://h.example.com/a/${"+expr+"}?q=${"+expr+"}", scopeRequest)
		if err != nil {
			return
		}
		body := b.compileJSON(&node{kind: nodeMap, members: []member{{name: "x", value: &node{kind: nodeText, text: "${" + expr + "}"}}}}, scopeRequest, func(err error) { t.Fatalf("compiles in a URL, not in a body: %v", err) })
		input, err := json.Marshal(map[string]any{"a": value, "n": json.Number("12.10"), "l": []any{1, value, nil}})
		if err != nil {
			t.Fatal(err)
		}
		n, err := onceward.ParseJSON(input)
		if err != nil {
			t.Fatal(err)
		}
		v := &variables{input: n}
		if s, err := u.render(v); err == nil {
			parsed, err := url.Parse(s)
			if err != nil || parsed.Host != "h.example.com" || !strings.HasPrefix(parsed.EscapedPath(), "/a/") || strings.Count(parsed.EscapedPath(), "/") != 2 {
				t.Fatalf("%s leaves its place: %s, %v", expr, s, err)
			}
		}
		if out, err := body.append(nil, v); err == nil && !json.Valid(out) {
			t.Fatalf("%s renders no JSON: %s", expr, out)
		}
	})
}

// FuzzRender holds that no value of the input leaves its place in a request.
func FuzzRender(f *testing.F) {
	for _, seed := range []string{"", "a", "../..", "a\r\nb: c", "%2f", "\u2028", "//x", "?&#", "\"\\", "ünï", "${input.v}", "\x00"} {
		f.Add(seed)
	}
	tool := loadSpec(f, writeHead+`  request:
    method: POST
    url: https://h.example.com/p/${input.v}/x?q=${input.v}
    headers: {A: 'x ${input.v}'}
    json: {lone: '${input.v}', text: 'v=${input.v}', list: ['${input.v}']}
`)
	form := loadSpec(f, writeHead+"  request: {method: POST, url: 'https://h.example.com/', form: {v: '${input.v}', w: 'x'}}\n")
	f.Fuzz(func(t *testing.T, value string) {
		input, err := json.Marshal(map[string]string{"id": "1", "v": value})
		if err != nil {
			t.Fatal(err)
		}
		var clean struct{ V string }
		if err := json.Unmarshal(input, &clean); err != nil {
			t.Fatal(err)
		}
		if p, err := tool.Prepare(intent(string(input)), 0); err == nil {
			checkRendered(t, p.Request, clean.V)
		} else if code := onceward.CodeOf(err); code != onceward.CodeInvalidInput && code != onceward.CodeTooLarge {
			t.Fatalf("%q is refused with %s: %v", value, code, err)
		}
		p, err := form.Prepare(intent(string(input)), 0)
		if err != nil {
			t.Fatal(err)
		}
		fields, err := url.ParseQuery(string(p.Request.Body))
		if err != nil || len(fields) != 2 || fields.Get("v") != clean.V {
			t.Fatalf("%q leaves its form field: %s", value, p.Request.Body)
		}
	})
}

func checkRendered(t *testing.T, req *onceward.Request, value string) {
	t.Helper()
	u, err := url.Parse(req.URL)
	if err != nil || u.Scheme != "https" || u.Host != "h.example.com" || u.Path != "/p/"+value+"/x" || u.Query().Get("q") != value || len(u.Query()) != 1 || u.Fragment != "" {
		t.Fatalf("%q leaves its place in %s", value, req.URL)
	}
	for _, h := range req.Header {
		if strings.ContainsAny(h.Value, "\r\n\x00") {
			t.Fatalf("%q breaks a header", value)
		}
	}
	var body struct {
		Lone, Text string
		List       []string
	}
	d := json.NewDecoder(strings.NewReader(string(req.Body)))
	d.DisallowUnknownFields()
	if err := d.Decode(&body); err != nil || body.Lone != value || body.Text != "v="+value || len(body.List) != 1 || body.List[0] != value {
		t.Fatalf("%q leaves its place in %s", value, req.Body)
	}
}
