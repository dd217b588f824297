package mcpgateway

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/onceward/onceward"
)

func TestRelayedSessionIsOfNoUseToAnotherPrincipal(t *testing.T) {
	t.Parallel()
	w, _ := newDesk(t, deskWrites)
	_, session, _ := w.post("/mcp/desk", "ada", "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`)
	if session == "" || session == "s1" {
		t.Fatalf("the session is %q", session)
	}
	if status, _, _ := w.post("/mcp/desk", "ben", session, `{"jsonrpc":"2.0","id":1,"method":"prompts/list"}`); status != http.StatusNotFound {
		t.Errorf("ben is answered %d", status)
	}
	if status, _, _ := w.post("/mcp/desk", "ada", session, `{"jsonrpc":"2.0","id":1,"method":"prompts/list"}`); status != 200 {
		t.Errorf("ada is answered %d", status)
	}
}

func TestNarrowedCredentialsReachNothingElseOfAServer(t *testing.T) {
	t.Parallel()
	w, d := newDesk(t, "  unlisted: pass_reads\n"+deskWrites)
	for who, may := range map[string]bool{"ada": true, "slim": false} {
		if _, _, answer := w.post("/mcp/desk", who, "", toolCall(1, "listTickets", `{}`)); strings.Contains(answer, `"result"`) != may {
			t.Errorf("%s calls a read: %s", who, answer)
		}
		_, _, answer := w.post("/mcp/desk", who, "", `{"jsonrpc":"2.0","id":1,"method":"resources/list"}`)
		if strings.Contains(answer, "no such method") != may { // the desk's own answer
			t.Errorf("%s lists resources: %s", who, answer)
		}
		if _, _, answer := w.post("/mcp/desk", who, "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`); !strings.Contains(answer, `"result"`) {
			t.Errorf("%s opens a session: %s", who, answer)
		}
	}
	if _, _, answer := w.post("/mcp/desk", "slim", "", toolCall(1, "createTicket", `{"id":"a"}`)); strings.Contains(answer, `"result"`) || d.made() != 0 {
		t.Errorf("slim writes: %s", answer)
	}
}

func TestMessageThatMeansTwoThingsDoesNotPass(t *testing.T) {
	t.Parallel()
	w, d := newDesk(t, deskWrites)
	for _, body := range []string{
		`[]`, `[` + toolCall(1, "dropAll", `{}`) + `,7]`, `[{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}]`,
		`[{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call","params":{"name":"dropAll"}}]`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call","params":{"name":"dropAll"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"listTickets","name":"dropAll"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"dropAll"},"params":{}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":7}`, ``, `nonsense`,
	} {
		if status, _, answer := w.post("/mcp/desk", "", "", body); status != http.StatusBadRequest {
			t.Errorf("%s is answered %d %s", body, status, answer)
		}
	}
	if d.made() != 0 {
		t.Errorf("%d calls passed", d.made())
	}
	if status, _, _ := w.post("/mcp/nobody", "", "", `{}`); status != http.StatusForbidden {
		t.Errorf("a server that is not there is answered %d", status)
	}
}

func TestMemberInOtherLettersIsNotTakenForTheProtocols(t *testing.T) {
	t.Parallel()
	w, d := newDesk(t, deskWrites)
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","Method":"ping","params":{"name":"dropAll","arguments":{}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"dropAll","arguments":{}},"PARAMS":{"name":"listTickets"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"dropAll","arguments":{},"Name":"listTickets"}}`,
	} {
		status, _, answer := w.post("/mcp/desk", "", "", body)
		if d.made() != 0 || status != http.StatusBadRequest {
			t.Fatalf("%s is answered %d, and passes for something else: %s", body, status, answer)
		}
	}
	before := d.requests()
	for _, body := range []string{ // a server made with encoding/json takes the later member
		`{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call","params":{"name":"dropAll"}}`,
		`{"jsonrpc":"2.0","id":1,"METHOD":"tools/call","params":{"name":"dropAll"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"listTickets","Name":"dropAll"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"listTickets"},"param\u017f":{"name":"dropAll"}}`,
	} {
		if status, _, answer := w.post("/mcp/desk", "", "", body); status != http.StatusBadRequest || d.requests() != before {
			t.Errorf("%s is answered %d %s, and reaches the server", body, status, answer)
		}
	}
}

func TestServerReadsTheWordsThatWereLetPass(t *testing.T) {
	t.Parallel()
	w, d := newDesk(t, "  unlisted: pass_reads\n"+deskWrites)
	if status, _ := w.postWith("/mcp/desk", map[string]string{"Content-Type": "application/json; charset=utf-7"}, toolCall(1, "listTickets", `{}`)); status != http.StatusOK {
		t.Fatalf("the read is answered %d", status)
	}
	if got := d.last().Get("Content-Type"); got != "application/json" {
		t.Errorf("the server is told to read %q", got)
	}
}

func TestVersionOfTheHeaderIsTheBodysBeforeAServerBehind(t *testing.T) {
	t.Parallel()
	w, d := newDesk(t, deskWrites)
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"createTicket","arguments":{"id":"a"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`
	for _, version := range []string{"", "2025-11-25"} {
		if status, answer := w.postWith("/mcp/desk", map[string]string{"Mcp-Protocol-Version": version}, body); status != http.StatusBadRequest || !strings.Contains(answer, "-32020") || d.made() != 0 {
			t.Errorf("the version %q is answered %d %s, %d tickets", version, status, answer, d.made())
		}
	}
}

func TestCallThatCouldNotBeAnsweredClaimsNothing(t *testing.T) {
	t.Parallel()
	w, d := newDesk(t, deskWrites)
	for _, id := range []string{``, `"id":null,`, `"id":{"a":1},`, `"id":true,`} {
		body := `{"jsonrpc":"2.0",` + id + `"method":"tools/call","params":{"name":"createTicket","arguments":{"id":"a"}}}`
		if status, _, answer := w.post("/mcp/desk", "ada", "", body); status != http.StatusBadRequest {
			t.Errorf("%s is answered %d %s", body, status, answer)
		}
		w.post("/mcp/desk", "ada", "", "["+body+"]")
	}
	if d.made() != 0 {
		t.Errorf("%d tickets", d.made())
	}
}

func TestOnlyMethodsOfTheProtocolReachAServerBehind(t *testing.T) {
	t.Parallel()
	w, d := newDesk(t, deskWrites, func(o *Options) { o.Refuse = httpRefusal })
	for method, want := range map[string]int{http.MethodPut: 405, http.MethodPatch: 405, http.MethodOptions: 405, http.MethodGet: 202, http.MethodDelete: 202} {
		before := d.requests()
		req, err := http.NewRequestWithContext(t.Context(), method, w.server.URL+"/mcp/desk", http.NoBody)
		w.must(err)
		res, err := http.DefaultClient.Do(req)
		w.must(err)
		w.must(res.Body.Close())
		if passed := d.requests() > before; res.StatusCode != want || passed != (want == 202) {
			t.Errorf("%s is answered %d, passed %t", method, res.StatusCode, passed)
		}
	}
}

// httpRefusal answers a refusal as the HTTP surface does, as far as the test asks.
func httpRefusal(w http.ResponseWriter, _ *http.Request, err error) {
	status := http.StatusForbidden
	if onceward.Is(err, onceward.CodeMethodNotAllowed) {
		status = http.StatusMethodNotAllowed
	}
	w.WriteHeader(status)
}

func TestServerBehindDoesNotTellHowOurOperationsStand(t *testing.T) {
	t.Parallel()
	w, d := newDesk(t, "  unlisted: pass_reads\n"+deskWrites)
	d.more = `{"name":"` + StatusTool + `","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},`
	if _, _, answer := w.post("/mcp/desk", "ada", "", toolCall(1, StatusTool, `{"operation_id":"op_none"}`)); !strings.Contains(answer, "no operation's ID") || d.made() != 0 {
		t.Errorf("the server answers for us: %s", answer)
	}
	if _, _, list := w.post("/mcp/desk", "ada", "", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); strings.Count(list, `"`+StatusTool+`"`) != 1 {
		t.Errorf("the list is %s", list)
	}
}

func TestBatchIsItsMessagesOneAfterTheOther(t *testing.T) {
	t.Parallel()
	w, d := newDesk(t, deskWrites)
	batch := "[" + strings.Join([]string{toolCall(1, "createTicket", `{"id":"a"}`), `{"jsonrpc":"2.0","method":"notifications/initialized"}`, toolCall(2, "createTicket", `{"id":"a"}`),
		toolCall(3, "dropAll", `{}`), `{"jsonrpc":"2.0","id":4,"method":"tools/list"}`}, ",") + "]"
	status, _, answer := w.post("/mcp/desk", "ada", "", batch)
	if events := strings.Count(answer, "data: "); status != http.StatusOK || events != 4 {
		t.Fatalf("the batch is answered %d with %d events: %s", status, events, answer)
	}
	for _, want := range []string{`"id":1`, `"id":2`, `"replayed":true`, `"id":3`, "unknown tool", `"id":4`, `"name":"createTicket"`} {
		if !strings.Contains(answer, want) {
			t.Errorf("the answer lacks %s: %s", want, answer)
		}
	}
	if d.made() != 1 {
		t.Errorf("%d tickets", d.made())
	}
	if status, _, answer := w.post("/mcp/desk", "ada", "", `[{"jsonrpc":"2.0","method":"notifications/initialized"}]`); status != http.StatusAccepted || answer != "" {
		t.Errorf("notifications alone are answered %d %s", status, answer)
	}
	if status, answer := w.postAs("/mcp/desk", "2025-06-18", batch); status != http.StatusBadRequest || d.made() != 1 {
		t.Errorf("where there are no batches, it is answered %d %s", status, answer)
	}
}

// postAs sends a body under a version of the protocol.
func (w *world) postAs(path, version, body string) (int, string) {
	w.Helper()
	return w.postWith(path, map[string]string{"Mcp-Protocol-Version": version}, body)
}

// postWith sends a body with header fields, but for those that are empty.
func (w *world) postWith(path string, header map[string]string, body string) (int, string) {
	w.Helper()
	req, err := http.NewRequestWithContext(w.Context(), http.MethodPost, w.server.URL+path, strings.NewReader(body))
	w.must(err)
	req.Header.Set("Authorization", "Bearer ada")
	for name, value := range header {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	res, err := http.DefaultClient.Do(req)
	w.must(err)
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	w.must(err)
	return res.StatusCode, string(answer)
}
