package contract

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/onceward/onceward"
)

const writeHead = "  effect: unsafe_write\n  key: [input.id]\n"

func TestTemplatesKeepTypesAndTokens(t *testing.T) {
	t.Parallel()
	tool := loadSpec(t, writeHead+`  request:
    method: POST
    url: ${env.BASE}/things
    json:
      token: '${input.n}'
      text: 'n=${input.n}, s=${input.s}'
      whole: '${input.o}'
      computed: '${input.n * 2}'
      flag: '${input.b}'
      null: '${input.z}'
      list: ['${input.s}', 1, 1.50, true, null, 'x']
      absent: '${input.absent}'
      optional: '${input.?absent}'
      nested: {absent: '${input.absent}'}
      region: '${env.REGION}'
      price: '$${input.n}'
      braces: '${ {"a": "}"}["a"] }'
      input: '${input.o.deep[1]}'
      id: '${operation.id}'
`)
	p := mustPrepare(t, tool, `{"id":"x","n": 1.50e1,"s":"a\"\u00e9\n","b":false,"z":null,"o": {"b" : 1, "a":"\u0041","deep":[1, 2.0]}}`)
	want := `{"token":1.50e1,"text":"n=15, s=a\"é\n","whole":{"b" : 1, "a":"\u0041","deep":[1, 2.0]},"computed":30,"flag":false,"null":null,` +
		`"list":["a\"\u00e9\n",1,1.5,true,null,"x"],"nested":{},"region":"eu","price":"${input.n}","braces":"}","input":2.0,"id":"` +
		operationOf(tool, p).ID.String() + `"}`
	if diff := cmp.Diff(want, string(p.Request.Body)); diff != "" {
		t.Error(diff)
	}
	if !json.Valid(p.Request.Body) {
		t.Error("the body is not JSON")
	}
	if p.Request.URL != "https://api.example.com/v1/things" {
		t.Errorf("the URL is %s", p.Request.URL)
	}
}

func TestLargeNumbersReachTheProviderUnrounded(t *testing.T) {
	t.Parallel()
	tool := loadSpec(t, writeHead+`  request: {method: POST, url: 'https://h.example.com/t/${input.id}?n=${input.n}', json: {n: '${input.n}', s: 'no ${input.n}'}}`+"\n")
	p := mustPrepare(t, tool, `{"id":9007199254740993,"n":123456789012345678901234567890.10}`)
	if want := "https://h.example.com/t/9007199254740993?n=123456789012345678901234567890.1"; p.Request.URL != want {
		t.Errorf("URL %s, want %s", p.Request.URL, want)
	}
	if want := `{"n":123456789012345678901234567890.10,"s":"no 123456789012345678901234567890.1"}`; string(p.Request.Body) != want {
		t.Errorf("body %s, want %s", p.Request.Body, want)
	}
	if string(p.Key) != `["9007199254740993"]` {
		t.Errorf("key %s", p.Key)
	}
}

func TestValuesStayInTheirPlaceInAURL(t *testing.T) {
	t.Parallel()
	tool := loadSpec(t, writeHead+"  request: {method: POST, url: 'https://h.example.com/a/${input.id}/b?x=${input.id}&y=1'}\n")
	for _, value := range []string{
		"plain", "a/b", "a?b=c", "a&b=c", "a#b", "a b+c", "ä", "%2e%2e", "..%2f", "a@evil.example.com", "//evil.example.com", ":8080", "\\evil", "a;b",
		"http://evil.example.com/", "...", ".a", "?", "&x=2", "\x00", "\r\nHost: evil", "{}", "\u202e",
	} {
		input, err := json.Marshal(map[string]string{"id": value})
		if err != nil {
			t.Fatal(err)
		}
		p := mustPrepare(t, tool, string(input))
		u, err := url.Parse(p.Request.URL)
		if err != nil {
			t.Fatalf("%q: %v", value, err)
		}
		if u.Host != "h.example.com" || u.Scheme != "https" || u.Fragment != "" || u.User != nil {
			t.Errorf("%q leaves its place: %s", value, p.Request.URL)
		}
		if segments := strings.Split(u.EscapedPath(), "/"); len(segments) != 4 || u.Path != "/a/"+value+"/b" {
			t.Errorf("%q changes the path: %s", value, u.EscapedPath())
		}
		if q := u.Query(); len(q) != 2 || q.Get("x") != value || q.Get("y") != "1" {
			t.Errorf("%q changes the query: %s", value, u.RawQuery)
		}
		if strings.ContainsAny(p.Request.URL, " \r\n\x00\\") {
			t.Errorf("%q leaves raw characters in %q", value, p.Request.URL)
		}
	}
}

func TestPathValuesThatWouldMoveAreRefused(t *testing.T) {
	t.Parallel()
	tool := loadSpec(t, "  effect: unsafe_write\n  request: {method: POST, url: 'https://h.example.com/a/${input.id}/b'}\n")
	for _, value := range []string{"", ".", "..", "../b", "a/../b", `..\\b`, "x/.."} {
		in := intent(`{"id":"` + value + `"}`)
		in.CallerKey = "k"
		_, err := tool.Prepare(in, 0)
		if !onceward.Is(err, onceward.CodeInvalidInput) || !strings.Contains(err.Error(), "spec.request.url") {
			t.Errorf("%q gives %v", value, err)
		}
	}
	inSegment := loadSpec(t, writeHead+"  request: {method: POST, url: 'https://h.example.com/a/v${input.v}.json?q=${input.v}'}\n")
	if p := mustPrepare(t, inSegment, `{"id":"x","v":""}`); p.Request.URL != "https://h.example.com/a/v.json?q=" {
		t.Errorf("an empty part of a segment gives %s", p.Request.URL)
	}
}

func TestHeaderValuesCannotBreakOut(t *testing.T) {
	t.Parallel()
	tool := loadSpec(t, writeHead+"  request: {method: POST, url: 'https://h.example.com/', headers: {X-Ref: 'ref ${input.v}', X-Lone: '${input.v}'}}\n")
	for _, value := range []string{`a\r\nX-Evil: 1`, `a\nb`, `\u0000`, `\u007f`, `\r`} {
		_, err := tool.Prepare(intent(`{"id":"x","v":"`+value+`"}`), 0)
		if !onceward.Is(err, onceward.CodeInvalidInput) || !strings.Contains(err.Error(), "spec.request.headers.X-Ref") {
			t.Errorf("%q gives %v", value, err)
		}
	}
	p := mustPrepare(t, tool, `{"id":"x","v":" grüße\t"}`)
	want := []onceward.HeaderField{{Name: "X-Ref", Value: "ref  grüße"}, {Name: "X-Lone", Value: "grüße"}}
	if diff := cmp.Diff(want, p.Request.Header); diff != "" {
		t.Error(diff)
	}
}

func TestAbsentFieldsInTemplates(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ request, problem string }{
		{`{method: POST, url: 'https://h.example.com/${input.a}'}`, "spec.request.url: the input has no a"},
		{`{method: POST, url: 'https://h.example.com/?a=${input.a.b}'}`, "spec.request.url: the input has no a.b"},
		{`{method: POST, url: 'https://h.example.com/', headers: {A: '${input.a}'}}`, "spec.request.headers.A: the input has no a"},
		{`{method: POST, url: 'https://h.example.com/', json: {x: {y: 'a ${input.a}'}}}`, "spec.request.json.x.y: the input has no a"},
		{`{method: POST, url: 'https://h.example.com/', json: {x: ['${input.a}']}}`, "spec.request.json.x[0]: the input has no such field"},
		{`{method: POST, url: 'https://h.example.com/', json: {x: [[1, '${input.a.b + 1}']]}}`, "spec.request.json.x[0][1]: the input has no a.b"},
		{`{method: POST, url: 'https://h.example.com/', json: '${input.a}'}`, "spec.request.json: it is absent"},
		{`{method: POST, url: 'https://h.example.com/', body: 'x ${input.a}'}`, "spec.request.body: the input has no a"},
		{`{method: POST, url: 'https://h.example.com/', form: {a: 'x ${input.a}'}}`, "spec.request.form.a: the input has no a"},
		{`{method: POST, url: 'https://h.example.com/', json: {x: 'v ${input.z}'}}`, "spec.request.json.x: null cannot stand inside a text"},
		{`{method: POST, url: 'https://h.example.com/${input.o}'}`, "spec.request.url: an object cannot stand inside a text"},
		{`{method: POST, url: 'https://h.example.com/', form: {a: '${input.l}'}}`, "spec.request.form.a: a list cannot stand inside a text"},
	} {
		tool := loadSpec(t, writeHead+"  request: "+c.request+"\n")
		_, err := tool.Prepare(intent(`{"id":"x","z":null,"o":{},"l":[]}`), 0)
		if !onceward.Is(err, onceward.CodeInvalidInput) || err.Error() != "render request: "+c.problem {
			t.Errorf("%s\n got %v\nwant %s", c.request, err, c.problem)
		}
	}
}

func TestFormBodies(t *testing.T) {
	t.Parallel()
	tool := loadSpec(t, writeHead+"  request: {method: POST, url: 'https://h.example.com/', form: {amount: '${input.n}', 'meta[a b]': 'x ${input.s}', gone: '${input.absent}', static: 1}}\n")
	p := mustPrepare(t, tool, `{"id":"x","n":1e3,"s":"a&b=c d\n"}`)
	if want := "amount=1000&meta%5Ba+b%5D=x+a%26b%3Dc+d%0A&static=1"; string(p.Request.Body) != want {
		t.Errorf("body %s, want %s", p.Request.Body, want)
	}
	if h := p.Request.Header; len(h) != 1 || h[0].Value != "application/x-www-form-urlencoded" {
		t.Errorf("headers %v", h)
	}
}

func TestNumbersInHeadersStayAsWritten(t *testing.T) {
	t.Parallel()
	tool := loadSpec(t, writeHead+"  request: {method: POST, url: 'https://h.example.com/', headers: {A: 1.10, B: 007, C: 0x1F, D: True, E: 2026-11-29, F: 1_000}, form: {v: 2.0}}\n")
	p := mustPrepare(t, tool, `{"id":"x"}`)
	got := string(p.Request.Body)
	for _, h := range p.Request.Header {
		got += " " + h.Value
	}
	if want := "v=2.0 1.10 007 0x1F True 2026-11-29 1_000 application/x-www-form-urlencoded"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestTextBodiesAndTheirContentType(t *testing.T) {
	t.Parallel()
	tool := loadSpec(t, writeHead+"  request: {method: PUT, url: 'https://h.example.com/', headers: {content-type: text/calendar}, body: \"BEGIN ${input.id}\\r\\nEND\"}\n")
	p := mustPrepare(t, tool, `{"id":"x"}`)
	if string(p.Request.Body) != "BEGIN x\r\nEND" {
		t.Errorf("body %q", p.Request.Body)
	}
	if diff := cmp.Diff([]onceward.HeaderField{{Name: "content-type", Value: "text/calendar"}}, p.Request.Header); diff != "" {
		t.Error(diff)
	}
	none := loadSpec(t, writeHead+"  request: {method: POST, url: 'https://h.example.com/'}\n")
	if p := mustPrepare(t, none, `{"id":"x"}`); p.Request.Body != nil || len(p.Request.Header) != 0 {
		t.Errorf("a request without a body has %q and %v", p.Request.Body, p.Request.Header)
	}
}

func TestSmallInputCannotMakeAHugeRequest(t *testing.T) {
	t.Parallel()
	tool := loadSpec(t, writeHead+"  request: {method: POST, url: 'https://h.example.com/', json: ["+strings.Repeat("'${input.s}', ", 100)+"1]}\n")
	_, err := tool.Prepare(intent(`{"id":"x","s":"`+strings.Repeat("a", 1<<20)+`"}`), 0)
	if !onceward.Is(err, onceward.CodeTooLarge) {
		t.Errorf("100 MiB give %v", err)
	}
	text := loadSpec(t, writeHead+"  request: {method: POST, url: 'https://h.example.com/', body: '"+strings.Repeat("${input.s}", 100)+"'}\n")
	if _, err := text.Prepare(intent(`{"id":"x","s":"`+strings.Repeat("a", 1<<20)+`"}`), 0); !onceward.Is(err, onceward.CodeTooLarge) {
		t.Errorf("100 MiB of text give %v", err)
	}
}

// TestRenderingStopsAtTheLimit holds that the limit is looked at while the body
// grows, not when all of it is in memory.
func TestRenderingStopsAtTheLimit(t *testing.T) {
	t.Parallel()
	n, err := onceward.ParseJSON([]byte(`{"id":"x","s":"` + strings.Repeat("a", 1<<20) + `"}`))
	if err != nil {
		t.Fatal(err)
	}
	v := &variables{input: n}
	var fields strings.Builder
	for i := range 20 {
		fmt.Fprintf(&fields, "f%d: '${input.s}', ", i)
	}
	for name, body := range map[string]string{"body": "body: '" + strings.Repeat("${input.s}", 20) + "'", "form": "form: {" + fields.String() + "}", "json": "json: {" + fields.String() + "}"} {
		tool := loadSpec(t, writeHead+"  request: {method: POST, url: 'https://h.example.com/', "+body+"}\n")
		out, err := tool.request.appendBody(nil, v)
		if !onceward.Is(err, onceward.CodeTooLarge) {
			t.Errorf("%s: %d bytes are rendered, %v", name, len(out), err)
		}
	}
}

func TestBaseURLsMayEndInASlash(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		"http://127.0.0.1:8080":        "http://127.0.0.1:8080/api/x",
		"http://127.0.0.1:8080/":       "http://127.0.0.1:8080/api/x",
		"HTTPS":                        "",
		"https://H.Example.COM/v2/":    "https://h.example.com/v2/api/x",
		"https://[::1]:9/":             "https://[::1]:9/api/x",
		"https://h.example.com?a=":     "",
		"https://u:p@h.example.com":    "",
		"https://h.example.com:port":   "",
		"https://h.example.com:":       "",
		"https://h.example.com\\@evil": "",
		"//h.example.com":              "",
		"file:///etc":                  "",
	} {
		opts := testOptions()
		opts.Env = func(string) (string, bool) { return base, true }
		tools, err := Load([]byte(testHead+writeHead+"  request: {method: POST, url: '${env.URL}/api/${input.id}'}\n"), "f", opts)
		if err != nil {
			if want != "" {
				t.Errorf("%s: %v", base, err)
			}
			continue
		}
		p, err := tools[0].Prepare(intent(`{"id":"x"}`), 0)
		if err == nil && p.Request.URL != want && !(want == "" && strings.HasPrefix(p.Request.URL, "https://h.example.com/?a=")) {
			t.Errorf("%s gives %s, want %s", base, p.Request.URL, want)
		}
	}
}

func TestCutExpressionFindsItsEnd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, expr, rest string }{
		{`a} b`, `a`, ` b`},
		{`{"a": {"b": 1}}.a} c`, `{"a": {"b": 1}}.a`, ` c`},
		{`"}"} d`, `"}"`, ` d`},
		{`'\'}'} e`, `'\'}'`, ` e`},
		{`r"\"} f`, `r"\"`, ` f`},
		{`"""a"}"b"""} g`, `"""a"}"b"""`, ` g`},
	} {
		expr, rest, ok := cutExpression(c.in)
		if !ok || expr != c.expr || rest != c.rest {
			t.Errorf("%s is cut into %q, %q, %v", c.in, expr, rest, ok)
		}
	}
	for _, in := range []string{`a`, `{a}`, `"}`, `'''}`, ``} {
		if _, _, ok := cutExpression(in); ok {
			t.Errorf("%s has an end", in)
		}
	}
}

// An input is data: what it holds is never read as a template, also where it is
// the text of one.
func TestTextThatLooksLikeATemplateIsSentAsItStands(t *testing.T) {
	t.Parallel()
	tool := loadSpec(t, writeHead+"  request: {method: POST, url: 'https://h.example.com/?q=${input.v}', headers: {X-Ref: 'r ${input.v}'}, json: {text: 'v ${input.v}', lone: '${input.v}'}}\n")
	for _, value := range []string{"${secret.TOKEN}", "${env.HOME}", "${input.id}", "${operation.provider_key}", "$${input.id}", "}${1+1}", "{{.}}", "%(id)s"} {
		input, err := json.Marshal(map[string]string{"id": "7", "v": value})
		if err != nil {
			t.Fatal(err)
		}
		p := mustPrepare(t, tool, string(input))
		var sent struct{ Text, Lone string }
		if err := json.Unmarshal(p.Request.Body, &sent); err != nil {
			t.Fatal(err)
		}
		u, err := url.Parse(p.Request.URL)
		if err != nil || u.Query().Get("q") != value || sent.Text != "v "+value || sent.Lone != value || p.Request.Header[0].Value != "r "+value {
			t.Errorf("%q is sent as %s, %+v, %q, %v", value, p.Request.URL, sent, p.Request.Header, err)
		}
	}
}

// An expression comes from the contract, its values from strangers: neither loops
// nor patterns may take longer the more hostile the values are.
func TestExpressionThatAStrangerCouldMakeEndlessIsStopped(t *testing.T) {
	t.Parallel()
	loops := loadSpec(t, "  effect: unsafe_write\n  key: ['string(input.l.all(a, input.l.all(b, input.l.all(c, a + b + c >= 0))))']\n  request: {method: POST, url: 'https://h.example.com/'}\n")
	_, err := loops.Prepare(intent(`{"id":"x","l":[`+strings.Repeat("1,", 2000)+`1]}`), 0)
	if err == nil || !strings.Contains(err.Error(), "too many steps") {
		t.Errorf("eight billion steps end with %v", err)
	}
	pattern := loadSpec(t, "  effect: unsafe_write\n  key: ['string(input.v.matches(\"^(a+)+$\"))']\n  request: {method: POST, url: 'https://h.example.com/'}\n")
	if p := mustPrepare(t, pattern, `{"id":"x","v":"`+strings.Repeat("a", 1<<16)+`!"}`); string(p.Key) != `["false"]` {
		t.Errorf("a pattern that others backtrack in gives %s", p.Key)
	}
	if problems := problemsOf(t, testHead+"  effect: unsafe_write\n  key: ['string(input.v.matches(input.p))']\n  request: {method: POST, url: 'https://h.example.com/'}\n"); !strings.Contains(strings.Join(problems, "\n"), "is a literal text") {
		t.Errorf("a pattern of a stranger gives %v", problems)
	}
}
