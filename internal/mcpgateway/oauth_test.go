package mcpgateway

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/onceward/onceward"
)

// withOAuth takes the fixture's principals for an issuer's.
func withOAuth(o *Options) {
	o.OAuth = &OAuth{Issuer: "https://idp.example", Resource: "https://onceward.example/mcp", Scopes: []string{"audit", "write"}, CallerScopes: []string{"write"}}
	next := o.Authenticate
	o.Authenticate = func(req *http.Request) (onceward.Principal, error) {
		switch req.Header.Get("Authorization") {
		case "":
			return onceward.Principal{}, onceward.Errorf(onceward.CodeUnauthenticated, "nobody")
		case "Bearer audit":
			return onceward.Principal{Tenant: "default", Issuer: "https://idp.example", Subject: "aud", Roles: []onceward.Role{onceward.RoleAuditor}}, nil
		case "Bearer none":
			return onceward.Principal{}, onceward.Errorf(onceward.CodeForbidden, "no scope")
		}
		return next(req)
	}
}

func TestChallengeSaysWhereATokenIsHadAndWhatWasWrong(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withOAuth)
	metadata := `resource_metadata="` + w.server.URL + MetadataPath + Path + `"`
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	for name, c := range map[string]struct{ bearer, body, want string }{
		"no token":           {"", list, "Bearer " + metadata + `, scope="write"`},
		"a wrong token":      {"wrong", list, "Bearer " + metadata + `, error="invalid_token", scope="write"`},
		"no scope at all":    {"none", list, "Bearer " + metadata + `, error="insufficient_scope", scope="write"`},
		"no scope to call":   {"audit", toolCall(1, tickets, `{"id":"a"}`), "Bearer " + metadata + `, error="insufficient_scope", scope="write"`},
		"scope to look":      {"audit", list, ""},
		"scope to call":      {"ada", toolCall(1, tickets, `{"id":"a"}`), ""},
		"scope to ask after": {"audit", toolCall(1, StatusTool, `{}`), ""},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.server.URL+Path, strings.NewReader(c.body))
		w.must(err)
		if c.bearer != "" {
			req.Header.Set("Authorization", "Bearer "+c.bearer)
		}
		res, err := http.DefaultClient.Do(req)
		w.must(err)
		res.Body.Close()
		if got := res.Header.Get("WWW-Authenticate"); got != c.want {
			t.Errorf("%s is answered %d with %q, want %q", name, res.StatusCode, got, c.want)
		}
	}
	res, err := http.Get(w.server.URL + MetadataPath + Path)
	w.must(err)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	w.must(err)
	var doc struct {
		Resource string   `json:"resource"`
		Servers  []string `json:"authorization_servers"`
		Scopes   []string `json:"scopes_supported"`
		Methods  []string `json:"bearer_methods_supported"`
	}
	w.must(json.Unmarshal(raw, &doc))
	if doc.Resource != "https://onceward.example/mcp" || !slices.Equal(doc.Servers, []string{"https://idp.example"}) || !slices.Equal(doc.Scopes, []string{"audit", "write"}) || !slices.Equal(doc.Methods, []string{"header"}) {
		t.Errorf("the metadata is %s", raw)
	}
	if w.provider.Writes() != 0 {
		t.Errorf("%d writes without a session's beginning", w.provider.Writes())
	}
}

func TestServerBehindNeverSeesTheCallersCredentials(t *testing.T) {
	t.Parallel()
	w, d := newDesk(t, deskWrites+"  unlisted: pass_reads\n")
	secrets := map[string][]string{"Cookie": {"onceward_session=s3cret"}, "X-Api-Key": {"s3cret"}, "Proxy-Authorization": {"Bearer s3cret"}}
	for _, path := range []string{Path, Path + "/desk"} {
		prefix := map[string]string{Path: "desk.", Path + "/desk": ""}[path]
		for _, tool := range []string{map[string]string{Path: "create", Path + "/desk": "createTicket"}[path], "listTickets"} {
			status, answer := w.postModern(path, "ada", "tools/call", prefix+tool, `"name":"`+prefix+tool+`","arguments":{"id":"`+prefix+tool+`"}`, secrets, "")
			if status != http.StatusOK || !strings.Contains(answer, "content") {
				t.Errorf("%s%s is answered %d %s", prefix, tool, status, answer)
			}
		}
		w.post(path, "ada", "", `{"jsonrpc":"2.0","id":1,"method":"resources/list"}`)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, h := range d.headers {
		if got := h.Values("Authorization"); !slices.Equal(got, []string{"Bearer ours"}) || h.Get("Cookie")+h.Get("X-Api-Key")+h.Get("Proxy-Authorization") != "" {
			t.Errorf("the server was sent %v", h)
		}
	}
	if len(d.headers) < 6 || len(d.tickets) != 2 {
		t.Errorf("%d requests, %d tickets", len(d.headers), len(d.tickets))
	}
}
