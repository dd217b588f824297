package httpapi

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/onceward/onceward"
)

// bad is a request that is refused before anything is looked up.
type bad struct {
	name    string
	method  string // POST if empty
	target  string // /v1/operations if empty
	body    string
	headers []header
	status  int
	code    onceward.Code
	says    string // part of the detail: what and where
}

const opsBody = `{"tool":"tickets.create","input":{"id":"k"}`

func key(lines ...string) []header {
	out := make([]header, len(lines))
	for i, l := range lines {
		out[i] = header{"Idempotency-Key", l}
	}
	return out
}

// TestBadInputLeavesNoRecord holds every refusal to its status, code and place,
// and to having looked nothing up.
func TestBadInputLeavesNoRecord(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 100) + strings.Repeat("]", 100)
	longKey := strings.Repeat("k", 256)
	call := "/v1/tools/tickets.create/call"
	for _, c := range []bad{
		{name: "no body", status: 400, code: onceward.CodeInvalidRequest, says: "the body is empty"},
		{name: "broken JSON", body: `{"tool":"tickets.create",` + "\n" + ` input:{}}`, status: 400, code: onceward.CodeInvalidRequest, says: "expected a member name in quotes at line 2, column 2"},
		{name: "cut JSON", body: `{"tool":"t`, status: 400, code: onceward.CodeInvalidRequest, says: "line 1, column 11"},
		{name: "two values", body: opsBody + `}{}`, status: 400, code: onceward.CodeInvalidRequest, says: "data after the end of the value at line 1, column 45"},
		{name: "no UTF-8", body: "{\"tool\":\"\xff\"}", status: 400, code: onceward.CodeInvalidRequest, says: "line 1"},
		{name: "byte order mark", body: "\xef\xbb\xbf" + opsBody + "}", status: 400, code: onceward.CodeInvalidRequest, says: "byte order mark"},
		{name: "NaN in the input", body: `{"tool":"tickets.create","input":{"id":NaN}}`, status: 400, code: onceward.CodeInvalidInput, says: "in input.id"},
		{name: "lone surrogate in the input", body: `{"tool":"tickets.create","input":{"id":"\ud800"}}`, status: 400, code: onceward.CodeInvalidInput, says: "in input.id"},
		{name: "member twice", body: `{"tool":"a","tool":"b","input":{}}`, status: 400, code: onceward.CodeInvalidRequest, says: "duplicate member name at line 1, column 13"},
		{name: "member twice, once escaped", body: `{"tool":"a","t\u006fol":"b","input":{}}`, status: 400, code: onceward.CodeInvalidRequest, says: "duplicate member name"},
		{name: "member of the input twice", body: `{"tool":"tickets.create","input":{"id":"a","id":"b"}}`, status: 400, code: onceward.CodeInvalidInput, says: "in input.id"},
		{name: "nested too deep", body: `{"tool":"tickets.create","input":` + deep + `}`, status: 413, code: onceward.CodeTooLarge, says: "nested deeper than 64 levels"},
		{name: "too many values", body: `{"tool":"tickets.create","input":[` + strings.Repeat("0,", onceward.JSONValuesMax) + `0]}`, status: 413, code: onceward.CodeTooLarge, says: "more than 262144 values"},
		{name: "a number of too many digits", body: `{"tool":"tickets.create","input":{"id":"k","n":` + strings.Repeat("1", 1001) + `}}`, status: 400, code: onceward.CodeInvalidInput, says: "in input.n"},
		{name: "body too long", body: `{"tool":"` + strings.Repeat("t", DefaultBodyBytesMax) + `"}`, status: 413, code: onceward.CodeTooLarge, says: "longer than 4194304 bytes"},
		{name: "an array", body: `[]`, status: 400, code: onceward.CodeInvalidRequest, says: "the body must be an object, not an array (line 1, column 1)"},
		{name: "unknown member", body: opsBody + `,"inputs":{}}`, status: 400, code: onceward.CodeInvalidRequest, says: "unknown member inputs (line 1, column 45)"},
		{name: "unknown member with a strange name", body: opsBody + `,"` + strings.Repeat("x", 5000) + `\u0007":1}`, status: 400, code: onceward.CodeInvalidRequest, says: "unknown member xxx"},
		{name: "no tool", body: `{"input":{}}`, status: 400, code: onceward.CodeInvalidRequest, says: "tool is missing (line 1, column 1)"},
		{name: "no input", body: `{"tool":"tickets.create"}`, status: 400, code: onceward.CodeInvalidRequest, says: "input is missing"},
		{name: "tool is a number", body: `{"tool":7,"input":{}}`, status: 400, code: onceward.CodeInvalidRequest, says: "tool must be a string, not a number (line 1, column 9)"},
		{name: "run is null", body: opsBody + `,"run":null}`, status: 400, code: onceward.CodeInvalidRequest, says: "run is null"},
		{name: "run is too long", body: opsBody + `,"run":"` + strings.Repeat("r", 256) + `"}`, status: 413, code: onceward.CodeTooLarge, says: "run is longer than 255 bytes"},
		{name: "run has a NUL", body: opsBody + `,"run":"a\u0000b"}`, status: 400, code: onceward.CodeInvalidRequest, says: "run has a character that is not seen"},
		{name: "wait is a number", body: opsBody + `,"wait":5}`, status: 400, code: onceward.CodeInvalidRequest, says: "wait must be a duration"},
		{name: "wait has no unit", body: opsBody + `,"wait":"5"}`, status: 400, code: onceward.CodeUnsupportedPolicy, says: "wait is not a duration"},
		{name: "wait is negative", body: opsBody + `,"wait":"-1s"}`, status: 400, code: onceward.CodeUnsupportedPolicy, says: "wait is negative"},
		{name: "wait is too long", body: opsBody + `,"wait":"61s"}`, status: 400, code: onceward.CodeUnsupportedPolicy, says: "wait 1m1s is longer than 1m0s"},
		{name: "another on_duplicate", body: opsBody + `,"on_duplicate":"ignore"}`, status: 400, code: onceward.CodeUnsupportedPolicy, says: "neither return, fail nor fail_if_running"},
		{name: "empty on_duplicate", body: opsBody + `,"on_duplicate":""}`, status: 400, code: onceward.CodeUnsupportedPolicy},
		{name: "a scope", body: opsBody + `,"scope":"global"}`, status: 400, code: onceward.CodeInvalidRequest, says: "unknown member scope"},
		{name: "no such tool", body: `{"tool":"tickets.close","input":{"id":"k"}}`, status: 404, code: onceward.CodeToolNotFound, says: "tickets.close"},
		{name: "no tool name", body: `{"tool":"../etc","input":{}}`, status: 400, code: onceward.CodeInvalidRequest, says: "a tool name is"},
		{name: "a tool that its caller performs", body: `{"tool":"reports.file","input":{"id":"k"}}`, status: 400, code: onceward.CodeInvalidRequest, says: "performed by its caller"},
		{name: "no key at all", body: `{"tool":"tickets.create","input":{}}`, status: 400, code: onceward.CodeKeyMissing},

		{name: "empty key", body: opsBody + `,"key":""}`, status: 400, code: onceward.CodeKeyInvalid, says: "the key is empty"},
		{name: "blank key", body: opsBody + `,"key":"  "}`, status: 400, code: onceward.CodeKeyInvalid, says: "the key is empty"},
		{name: "key of 256 characters", body: opsBody + `,"key":"` + longKey + `"}`, status: 400, code: onceward.CodeKeyInvalid, says: "longer than 255"},
		{name: "key with a control character", body: opsBody + `,"key":"a\tb"}`, status: 400, code: onceward.CodeKeyInvalid, says: "not visible ASCII"},
		{name: "key that is no ASCII", body: opsBody + `,"key":"schlüssel"}`, status: 400, code: onceward.CodeKeyInvalid, says: "not visible ASCII"},
		{name: "key is a number", body: opsBody + `,"key":7}`, status: 400, code: onceward.CodeInvalidRequest, says: "key must be a string"},
		{name: "key is null", body: opsBody + `,"key":null}`, status: 400, code: onceward.CodeInvalidRequest, says: "key is null"},
		{name: "empty key header", body: opsBody + `}`, headers: key(" "), status: 400, code: onceward.CodeKeyInvalid, says: "the key is empty"},
		{name: "empty quoted key header", body: opsBody + `}`, headers: key(`""`), status: 400, code: onceward.CodeKeyInvalid, says: "the key is empty"},
		{name: "key header of 256 characters", body: opsBody + `}`, headers: key(longKey), status: 400, code: onceward.CodeKeyInvalid, says: "longer than 255"},
		{name: "key header with a space", body: opsBody + `}`, headers: key("a b"), status: 400, code: onceward.CodeKeyInvalid, says: "not visible ASCII"},
		{name: "open quote in the key header", body: opsBody + `}`, headers: key(`"abc`), status: 400, code: onceward.CodeKeyInvalid, says: "no closing quote"},
		{name: "two key header lines", body: opsBody + `}`, headers: key("a", "a"), status: 400, code: onceward.CodeKeyInvalid, says: "more than one Idempotency-Key header line"},
		{name: "header and member differ", body: opsBody + `,"key":"b"}`, headers: key("a"), status: 400, code: onceward.CodeKeyAmbiguous, says: "differ"},
		{name: "header and member differ in case", body: opsBody + `,"key":"A"}`, headers: key("a"), status: 400, code: onceward.CodeKeyAmbiguous},
		{name: "bad key where the tool is unknown", body: `{"tool":"no.such","input":{}}`, headers: key("a b"), status: 400, code: onceward.CodeKeyInvalid},

		{name: "no media type", body: opsBody + `}`, headers: []header{{"Content-Type", ""}}, status: 415, code: onceward.CodeUnsupportedMedia},
		{name: "another media type", body: opsBody + `}`, headers: []header{{"Content-Type", ""}, {"Content-Type", "text/plain"}}, status: 415, code: onceward.CodeUnsupportedMedia},
		{name: "a form", body: "tool=tickets.create", headers: []header{{"Content-Type", ""}, {"Content-Type", "application/x-www-form-urlencoded"}}, status: 415, code: onceward.CodeUnsupportedMedia},
		{name: "two media types", body: opsBody + `}`, headers: []header{{"Content-Type", "application/json"}}, status: 415, code: onceward.CodeUnsupportedMedia},
		{name: "another character set", body: opsBody + `}`, headers: []header{{"Content-Type", ""}, {"Content-Type", "application/json; charset=latin1"}}, status: 415, code: onceward.CodeUnsupportedMedia},
		{name: "compressed", body: opsBody + `}`, headers: []header{{"Content-Encoding", "gzip"}}, status: 415, code: onceward.CodeUnsupportedMedia, says: "content coding"},

		{name: "call: empty body", target: call, status: 400, code: onceward.CodeInvalidRequest, says: "the body is empty"},
		{name: "call: broken JSON", target: call, body: `{"id":`, status: 400, code: onceward.CodeInvalidInput, says: "line 1, column 7"},
		{name: "call: nested too deep", target: call, body: deep, status: 413, code: onceward.CodeTooLarge},
		{name: "call: unknown parameter", target: call + "?dedupe=no", body: `{"id":"k"}`, status: 400, code: onceward.CodeInvalidRequest, says: `no parameter "dedupe"`},
		{name: "call: parameter twice", target: call + "?wait=1s&wait=2s", body: `{"id":"k"}`, status: 400, code: onceward.CodeInvalidRequest, says: "wait is given 2 times"},
		{name: "call: broken query", target: call + "?wait=%zz", body: `{"id":"k"}`, status: 400, code: onceward.CodeInvalidRequest, says: "query string"},
		{name: "call: query too long", target: call + "?run=" + strings.Repeat("r", QueryBytesMax), body: `{"id":"k"}`, status: 413, code: onceward.CodeTooLarge, says: "query string"},
		{name: "call: bad wait", target: call + "?wait=soon", body: `{"id":"k"}`, status: 400, code: onceward.CodeUnsupportedPolicy, says: "wait is not a duration"},
		{name: "call: empty on_duplicate", target: call + "?on_duplicate=", body: `{"id":"k"}`, status: 400, code: onceward.CodeUnsupportedPolicy},
		{name: "call: run with a NUL", target: call + "?run=a%00b", body: `{"id":"k"}`, status: 400, code: onceward.CodeInvalidRequest, says: "run has a character that is not seen"},
		{name: "call: run that is no UTF-8", target: call + "?run=%ff", body: `{"id":"k"}`, status: 400, code: onceward.CodeInvalidRequest, says: "run has a character that is not seen, or is not UTF-8"},
		{name: "run with a line break", body: opsBody + `,"run":"a\nb"}`, status: 400, code: onceward.CodeInvalidRequest, says: "run has a character that is not seen (line 1, column 51)"},
		{name: "correlation ID with a line break", body: opsBody + `,"correlation_id":"a\nb"}`, status: 400, code: onceward.CodeInvalidRequest, says: "correlation_id has a character that is not seen (line 1, column 62)"},
		{name: "correlation ID that turns the text round", body: opsBody + `,"correlation_id":"a\u202eb"}`, status: 400, code: onceward.CodeInvalidRequest, says: "correlation_id has a character that is not seen"},
		{name: "correlation ID with a C1 control", body: opsBody + `,"correlation_id":"a\u009bb"}`, status: 400, code: onceward.CodeInvalidRequest, says: "correlation_id has a character that is not seen"},
		{name: "call: run with a line break", target: call + "?run=a%0ab", body: `{"id":"k"}`, status: 400, code: onceward.CodeInvalidRequest, says: "run has a character that is not seen"},
		{name: "call: correlation ID that turns the text round", target: call + "?correlation_id=%E2%80%AEb", body: `{"id":"k"}`, status: 400, code: onceward.CodeInvalidRequest, says: "correlation_id has a character that is not seen"},
		{name: "call: correlation ID too long", target: call + "?correlation_id=" + strings.Repeat("c", 256), body: `{"id":"k"}`, status: 413, code: onceward.CodeTooLarge, says: "correlation_id is longer"},
		{name: "call: no tool name", target: "/v1/tools/Tickets%2FCreate/call", body: `{"id":"k"}`, status: 400, code: onceward.CodeInvalidRequest, says: "a tool name is"},

		{name: "batch: no operations", target: "/v1/operations:batch", body: `{"operations":[]}`, status: 400, code: onceward.CodeInvalidRequest, says: "operations is empty"},
		{name: "batch: too many operations", target: "/v1/operations:batch", body: `{"operations":[` + strings.Repeat(`{},`, BatchItemsMax) + `{}]}`, status: 413, code: onceward.CodeTooLarge, says: "operations has 101 items, more than 100"},
		{name: "batch: no array", target: "/v1/operations:batch", body: `{"operations":{}}`, status: 400, code: onceward.CodeInvalidRequest, says: "operations must be an array"},
		{name: "batch: broken input", target: "/v1/operations:batch", body: `{"operations":[{"tool":"tickets.create","input":{"id":NaN}}]}`, status: 400, code: onceward.CodeInvalidInput, says: "in operations[0].input.id"},
		{name: "batch: one key header", target: "/v1/operations:batch", body: `{"operations":[` + opsBody + `}]}`, headers: key("a"), status: 400, code: onceward.CodeKeyAmbiguous},

		{name: "claim: short token", target: "/v1/operations:claim", body: `{"tool":"reports.file","input":{"id":"k"},"claim_token":"short"}`, status: 400, code: onceward.CodeInvalidRequest, says: "claim_token is shorter than 16"},
		{name: "claim: token with a space", target: "/v1/operations:claim", body: `{"tool":"reports.file","input":{"id":"k"},"claim_token":"0123456789 abcdefgh"}`, status: 400, code: onceward.CodeInvalidRequest, says: "not visible ASCII"},
		{name: "claim: tool that we perform", target: "/v1/operations:claim", body: `{"tool":"tickets.create","input":{"id":"k"},"claim_token":"0123456789abcdef"}`, status: 400, code: onceward.CodeInvalidRequest, says: "performed by onceward"},
		{name: "heartbeat: no attempt ID", target: "/v1/attempts/op_x.1/heartbeat", status: 400, code: onceward.CodeInvalidRequest, says: "an attempt ID is"},
		{name: "heartbeat: no secret", target: "/v1/attempts/op_00000000000000000000000000.1/heartbeat", status: 404, code: onceward.CodeAttemptNotFound, says: "secret is missing"},
		{name: "outcome: another outcome", target: "/v1/attempts/op_00000000000000000000000000.1/outcome", body: `{"outcome":"maybe","secret":"s"}`, status: 400, code: onceward.CodeUnsupportedPolicy},
		{name: "outcome: unknown with a reference", target: "/v1/attempts/op_00000000000000000000000000.1/outcome", body: `{"outcome":"unknown","reference":"r","secret":"s"}`, status: 400, code: onceward.CodeInvalidRequest},
		{name: "outcome: another class", target: "/v1/attempts/op_00000000000000000000000000.1/outcome", body: `{"outcome":"not_done","error":{"class":"bad luck"},"secret":"s"}`, status: 400, code: onceward.CodeUnsupportedPolicy},
		{name: "outcome: two bodies", target: "/v1/attempts/op_00000000000000000000000000.1/outcome", body: `{"outcome":"done","result":{"body":1,"body_base64":"AA=="},"secret":"s"}`, status: 400, code: onceward.CodeInvalidRequest},
		{name: "outcome: no base64", target: "/v1/attempts/op_00000000000000000000000000.1/outcome", body: `{"outcome":"done","result":{"body_base64":"A"},"secret":"s"}`, status: 400, code: onceward.CodeInvalidRequest, says: "not base64"},
		{name: "outcome: two secrets", target: "/v1/attempts/op_00000000000000000000000000.1/outcome", body: `{"outcome":"unknown","secret":"s"}`, headers: []header{{secretHeader, "t"}}, status: 400, code: onceward.CodeInvalidRequest, says: "more than one attempt secret"},

		{name: "get: no operation ID", method: "GET", target: "/v1/operations/OP_1", status: 400, code: onceward.CodeInvalidRequest, says: "an operation ID is"},
		{name: "get: wait too long", method: "GET", target: "/v1/operations/op_00000000000000000000000000?wait=2m", status: 400, code: onceward.CodeUnsupportedPolicy, says: "longer than 1m0s"},
		{name: "list: bad cursor", method: "GET", target: "/v1/operations?after=abc", status: 400, code: onceward.CodeCursorInvalid},
		{name: "list: empty cursor", method: "GET", target: "/v1/operations?after=", status: 400, code: onceward.CodeCursorInvalid},
		{name: "list: unknown state", method: "GET", target: "/v1/operations?state=ready,done", status: 400, code: onceward.CodeInvalidRequest, says: `no state is called "done"`},
		{name: "list: misspelt filter", method: "GET", target: "/v1/operations?staet=failed", status: 400, code: onceward.CodeInvalidRequest, says: `no parameter "staet"`},
		{name: "list: limit of 0", method: "GET", target: "/v1/operations?limit=0", status: 400, code: onceward.CodeInvalidRequest, says: "from 1 to 500"},
		{name: "list: limit of 501", method: "GET", target: "/v1/operations?limit=501", status: 400, code: onceward.CodeInvalidRequest, says: "from 1 to 500"},
		{name: "list: key without tool", method: "GET", target: "/v1/operations?key=k", status: 400, code: onceward.CodeInvalidRequest, says: "within one tool"},
		{name: "list: no key", method: "GET", target: "/v1/operations?tool=tickets.create&key=", status: 400, code: onceward.CodeKeyInvalid},

		{name: "resolve: another outcome", target: "/v1/operations/op_00000000000000000000000000/resolve", body: `{"outcome":"done"}`, status: 400, code: onceward.CodeInvalidRequest, says: "neither succeeded, not_performed nor abandoned"},
		{name: "resolve: then is missing", target: "/v1/operations/op_00000000000000000000000000/resolve", body: `{"outcome":"not_performed","reason":"r"}`, status: 400, code: onceward.CodeInvalidRequest, says: "then is missing"},
		{name: "resolve: another then", target: "/v1/operations/op_00000000000000000000000000/resolve", body: `{"outcome":"not_performed","then":"hope","reason":"r"}`, status: 400, code: onceward.CodeUnsupportedPolicy},
		{name: "resolve: then beside succeeded", target: "/v1/operations/op_00000000000000000000000000/resolve", body: `{"outcome":"succeeded","then":"retry","reference":"r"}`, status: 400, code: onceward.CodeInvalidRequest},
		{name: "fork: no key", target: "/v1/operations/op_00000000000000000000000000/fork", body: `{"reason":"r"}`, status: 400, code: onceward.CodeKeyMissing},
		{name: "fork: no reason", target: "/v1/operations/op_00000000000000000000000000/fork", body: `{"key":"second"}`, status: 400, code: onceward.CodeInvalidRequest, says: "reason is missing"},
		{name: "fork: empty reason", target: "/v1/operations/op_00000000000000000000000000/fork", body: `{"key":"second","reason":""}`, status: 400, code: onceward.CodeEvidenceRequired},
		{name: "pause: no reason", target: "/v1/tools/tickets.create/pause", body: `{}`, status: 400, code: onceward.CodeInvalidRequest, says: "reason is missing"},
		{name: "pause: no such tool", target: "/v1/tools/no.such/pause", body: `{"reason":"r"}`, status: 404, code: onceward.CodeToolNotFound},
		{name: "resume: no such tool", target: "/v1/tools/no.such/resume", status: 404, code: onceward.CodeToolNotFound},
		{name: "reconcile: a member", target: "/v1/operations/op_00000000000000000000000000/reconcile", body: `{"force":true}`, status: 400, code: onceward.CodeInvalidRequest, says: "unknown member force"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			before := w.store.calls()
			method, target := "POST", "/v1/operations"
			if c.method != "" {
				method = c.method
			}
			if c.target != "" {
				target = c.target
			}
			r := w.do(method, target, c.body, c.headers...).want(c.status, "code", c.code)
			if detail := r.text("detail"); !strings.Contains(detail, c.says) {
				t.Errorf("the detail %q does not say %q", detail, c.says)
			}
			if len(r.raw) > 2000 {
				t.Errorf("the refusal has %d bytes", len(r.raw))
			}
			if r.text("advice") == "" || r.body["side_effect_possible"] != false || r.body["retryable"] != false {
				t.Errorf("the refusal's advice is missing, or its flags are wrong:\n%s", r.raw)
			}
			if decides := strings.HasPrefix(target, "/v1/operations") && method == "POST" && !strings.Contains(target, "/operations/") || strings.HasSuffix(target, "/fork"); decides {
				r.want(c.status, "decision", "blocked")
			}
			if after := w.store.calls(); after != before {
				t.Errorf("the ledger was asked: loads, commits and checks went from %v to %v", before, after)
			}
			if w.provider.Writes()+w.provider.Probes() > 0 {
				t.Error("the provider was called")
			}
			w.get("/v1/operations").want(200).lacks("operations.0", "next")
			w.get("/v1/tools/" + probed).want(200).lacks("tool.paused")
		})
	}
}

func TestMalformedOperationOfABatchIsRefusedAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.post("/v1/operations:batch", `{"operations":[
		{"tool":"tickets.create","input":{"id":"a"}},
		{"tool":"tickets.create","input":{"id":"b"},"color":"red"},
		7,
		{"tool":"tickets.create","input":{"id":"c"},"key":"a b"},
		{"tool":"no.such","input":{}},
		{"tool":"tickets.create","input":{"id":"d"},"wait":"5m"}]}`)
	r.want(200, "results.0.status", 200, "results.0.decision", "fresh")
	for i, want := range []struct {
		status int
		code   string
		says   string
	}{{400, "invalid_request", "unknown member operations[1].color (line 3, column 47)"}, {400, "invalid_request", "operations[2] must be an object, not a number (line 4, column 3)"},
		{400, "key_invalid", ""}, {404, "tool_not_found", ""}, {400, "unsupported_policy", ""}} {
		at := fmt.Sprintf("results.%d.", i+1)
		r.want(200, at+"status", want.status, at+"problem.code", want.code, at+"decision", "blocked", at+"problem.status", want.status)
		if detail := r.text(at + "problem.detail"); !strings.Contains(detail, want.says) {
			t.Errorf("item %d: the detail %q does not say %q", i+1, detail, want.says)
		}
	}
	if w.provider.Effects() != 1 {
		t.Errorf("%d effects, want 1", w.provider.Effects())
	}
}

func TestJSONInUTF8IsTaken(t *testing.T) {
	t.Parallel()
	for _, mediaType := range []string{"application/json; charset=utf-8", "application/json;charset=UTF-8", "Application/JSON"} {
		w := newWorld(t)
		w.post("/v1/operations", opsBody+`}`, header{"Content-Type", ""}, header{"Content-Type", mediaType}, header{"Content-Encoding", "identity"}).want(200)
	}
}

// brokenBody ends before its promised end, with an error.
type brokenBody struct {
	io.Reader
	err error
}

func (b brokenBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF {
		err = b.err
	}
	return n, err
}

func TestBodyThatDoesNotArriveLeavesNoRecord(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{"the body did not arrive in time": os.ErrDeadlineExceeded, "the body ends before its promised end": io.ErrUnexpectedEOF,
		"the body cannot be read": io.ErrClosedPipe} {
		w := newWorld(t)
		before := w.store.calls()
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/operations", brokenBody{strings.NewReader(opsBody + "}"), err})
		req.Header.Set("Content-Type", "application/json")
		req.ContentLength = 1000
		w.send(req).want(400, "code", "invalid_request", "detail", want, "decision", "blocked", "side_effect_possible", false)
		if w.store.calls() != before {
			t.Errorf("%v: the ledger was asked", err)
		}
	}
}

func TestChunkedBodyIsBoundedToo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *Options) { o.BodyBytesMax = 100 })
	for size, want := range map[int]int{100: 200, 101: 413} {
		body := opsBody + "}"
		body += strings.Repeat(" ", size-len(body))
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/operations", io.NopCloser(strings.NewReader(body)))
		req.Header.Set("Content-Type", "application/json")
		req.ContentLength = -1
		w.send(req).want(want)
	}
}

func TestBodyLimitThatTheParserCannotKeepIsRefused(t *testing.T) {
	t.Parallel()
	for _, limit := range []int64{-1, onceward.JSONBytesMax + 1} {
		if _, err := New(Options{Ledger: new(onceward.Ledger), BodyBytesMax: limit}); !onceward.Is(err, onceward.CodeConfigInvalid) {
			t.Errorf("limit %d: %v", limit, err)
		}
	}
	if _, err := New(Options{}); !onceward.Is(err, onceward.CodeConfigInvalid) {
		t.Errorf("no ledger: %v", err)
	}
}

func TestDigitsOfAnInputAreKeptAsTheyCame(t *testing.T) {
	t.Parallel()
	const input = `{ "id" : "k", "n": 12345678901234567890.10, "e":1E+2, "s":"\u00e9" }`
	var got OperationRequest
	if err := decodeBody([]byte(`{"tool":"t","input":`+input+`}`), &got); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Input, []byte(input)) {
		t.Errorf("the input became %s", got.Input)
	}
}
