package mcpgateway

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
)

// modernMeta is what each request of the stateless era carries.
const modernMeta = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"}`

// postModern sends one message of the stateless era, with headers of its own.
func (w *world) postModern(path, who, method, name, params string, more map[string][]string, capabilities string) (int, string) {
	w.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":{"_meta":{%s,"io.modelcontextprotocol/clientCapabilities":{%s}},%s}}`, method, modernMeta, capabilities, params)
	req, err := http.NewRequestWithContext(w.Context(), http.MethodPost, w.server.URL+path, strings.NewReader(body))
	w.must(err)
	for h, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": name} {
		req.Header.Set(h, value)
	}
	if who != "" {
		req.Header.Set("Authorization", "Bearer "+who)
	}
	for h, lines := range more {
		req.Header[h] = lines
	}
	res, err := http.DefaultClient.Do(req)
	w.must(err)
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	w.must(err)
	return res.StatusCode, string(answer)
}

func TestHeadersOfParametersThatSayOtherThanTheBodyClaimNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const routed = "routed.write"
	w.activate(oncewardtest.NewTool(routed, onceward.EffectUnsafeWrite, func(i *onceward.ToolInfo) {
		i.KeyRule = `["input.id"]`
		i.InputSchema = []byte(`{"type":"object","properties":{"id":{"type":"string"},"region":{"type":"string","x-mcp-header":"Region"},"n":{"type":"integer","x-mcp-header":"N"},` +
			`"deep":{"type":"object","properties":{"sure":{"type":"boolean","x-mcp-header":"Sure"}}},"ratio":{"type":"number","x-mcp-header":"Ratio"}}}`)
	}))
	for _, c := range []struct {
		id, arguments string
		header        map[string][]string
		agree         bool
	}{
		{"a", `"region":"eu"`, map[string][]string{"Mcp-Param-Region": {"eu"}}, true},
		{"b", `"region":"Zürich"`, map[string][]string{"Mcp-Param-Region": {"=?base64?WsO8cmljaA==?="}}, true},
		{"c", `"n":42`, map[string][]string{"Mcp-Param-N": {"42.0"}}, true},
		{"d", `"deep":{"sure":true},"ratio":1.5`, map[string][]string{"Mcp-Param-Sure": {"true"}}, true},
		{"e", `"region":null`, nil, true},
		{"f", `"region":""`, map[string][]string{"Mcp-Param-Region": {""}}, true},
		{"g", `"region":"us"`, map[string][]string{"Mcp-Param-Region": {"eu"}}, false},
		{"h", `"region":"us"`, nil, false},
		{"i", `"n":1`, map[string][]string{"Mcp-Param-N": {"1"}, "Mcp-Param-Region": {"eu"}}, false},
		{"j", `"region":"eu"`, map[string][]string{"Mcp-Param-Region": {"eu", "us"}}, false},
		{"k", `"region":"eu"`, map[string][]string{"Mcp-Param-Region": {"=?base64?%%?="}}, false},
		{"l", `"deep":{"sure":true}`, map[string][]string{"Mcp-Param-Sure": {"false"}}, false},
		{"m", `"n":"1"`, map[string][]string{"Mcp-Param-N": {"2"}}, false},
	} {
		before := w.provider.Writes()
		status, answer := w.postModern(Path, "", "tools/call", routed, fmt.Sprintf(`"name":%q,"arguments":{"id":%q,%s}`, routed, c.id, c.arguments), c.header, "")
		refused := status == http.StatusBadRequest && strings.Contains(answer, "-32020") && strings.Contains(answer, `"id":7`)
		if c.agree == refused || w.provider.Writes()-before != map[bool]int{true: 1}[c.agree] {
			t.Errorf("%s with %v is answered %d %s, %d writes", c.arguments, c.header, status, answer, w.provider.Writes()-before)
		}
	}
}

func TestWhatABodyOrItsHeadersSayTwiceClaimsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const routed = "routed.write"
	w.activate(oncewardtest.NewTool(routed, onceward.EffectUnsafeWrite, func(i *onceward.ToolInfo) {
		i.KeyRule = `["input.id"]`
		i.InputSchema = []byte(`{"type":"object","properties":{"id":{"type":"string"},"region":{"type":"string","x-mcp-header":"Region"}}}`)
	}))
	for name, c := range map[string]struct {
		params string
		header map[string][]string
	}{
		"two names in the headers":    {`"name":"routed.write","arguments":{"id":"a"}`, map[string][]string{"Mcp-Name": {routed, tickets}}},
		"two methods in the headers":  {`"name":"routed.write","arguments":{"id":"a"}`, map[string][]string{"Mcp-Method": {"tools/call", "tools/list"}}},
		"two versions in the headers": {`"name":"routed.write","arguments":{"id":"a"}`, map[string][]string{"Mcp-Protocol-Version": {"2026-07-28", "2025-11-25"}}},
		"two names in the body":       {`"name":"tickets.create","name":"routed.write","arguments":{"id":"a"}`, nil},
		"a name in other letters":     {`"name":"routed.write","arguments":{"id":"a","region":"us"},"Name":"tickets.create"`, map[string][]string{"Mcp-Param-Region": {"eu"}}},
	} {
		if status, answer := w.postModern(Path, "", "tools/call", routed, c.params, c.header, ""); status != http.StatusBadRequest || w.provider.Writes() != 0 {
			t.Errorf("%s: answered %d %s, %d writes", name, status, answer, w.provider.Writes())
		}
	}
}

// In the era of sessions no header says what the body does, but a proxy that read
// the one member and we the other would still do two things.
func TestMessageOfASessionThatMeansTwoThingsClaimsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const params = `"params":{"name":"tickets.create","arguments":{"id":"a"}}`
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call",` + params + `}`,
		`{"jsonrpc":"2.0","id":1,"Method":"ping","method":"tools/call",` + params + `}`,
		`[{"jsonrpc":"2.0","id":1,"Method":"ping","method":"tools/call",` + params + `}]`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"contacts.search","name":"tickets.create","arguments":{"id":"a"}}}`,
	} {
		if status, answer := w.postWith(Path, map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2025-03-26"}, body); status != http.StatusBadRequest || !strings.Contains(answer, "-32600") || w.provider.Writes() != 0 {
			t.Errorf("%s is answered %d %s, %d writes", body, status, answer, w.provider.Writes())
		}
	}
	modern := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{` + modernMeta + `},"name":"tickets.create","arguments":{"id":"a"}}}`
	for _, version := range []string{"", "2025-11-25"} {
		if status, answer := w.postWith(Path, map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": version}, modern); status != http.StatusBadRequest || !strings.Contains(answer, "-32020") {
			t.Errorf("the version %q before the other era's body is answered %d %s", version, status, answer)
		}
	}
}

func TestHeaderThatIsMissingBeforeAServerBehindClaimsNothing(t *testing.T) {
	t.Parallel()
	w, d := newDesk(t, deskWrites)
	const params = `"name":"createTicket","arguments":{"id":"a"}`
	for _, missing := range []string{"Mcp-Method", "Mcp-Name"} {
		if status, answer := w.postModern("/mcp/desk", "", "tools/call", "createTicket", params, map[string][]string{missing: nil}, ""); status != http.StatusBadRequest || !strings.Contains(answer, "-32020") {
			t.Errorf("without %s: answered %d %s", missing, status, answer)
		}
	}
	if d.made() != 0 {
		t.Errorf("%d tickets", d.made())
	}
}
