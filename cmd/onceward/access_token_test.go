package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/proctest"
	"github.com/onceward/onceward/internal/testoidc"
)

// tokenIssuer is an authorization server that signs tokens of one of Ada's clients.
type tokenIssuer struct {
	testing.TB
	*testoidc.Signer
}

func newTokenIssuer(t testing.TB) *tokenIssuer {
	t.Helper()
	return &tokenIssuer{t, testoidc.NewSigner(t, testoidc.OpenIDMetadata)}
}

func (s *tokenIssuer) token(audience, scope string) string {
	s.Helper()
	return s.Sign(testoidc.AccessToken, map[string]any{"iss": s.URL, "sub": "ada", "aud": audience, "exp": time.Now().Add(time.Hour).Unix(), "scope": scope})
}

// ask posts under a bearer and returns the status, the challenge and the body.
func (s *tokenIssuer) ask(address, bearer, body string) (status int, challenge, text string) {
	s.Helper()
	req, err := http.NewRequestWithContext(s.Context(), http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for name, value := range map[string]string{"Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "tickets.create"} {
		req.Header.Set(name, value)
	}
	if bearer != "" {
		req.Header.Set("Authorization", "Bearer "+bearer)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		s.Fatal(err)
	}
	return res.StatusCode, res.Header.Get("WWW-Authenticate"), string(raw)
}

// TestConfiguredAuthorizationServersTokensAreGoodForToolsAlone starts the
// program with mcp.oauth in its file. A token for this resource and with a scope
// that calls makes the one ticket, also refreshed; every other, and that one at
// another door, makes none.
func TestConfiguredAuthorizationServersTokensAreGoodForToolsAlone(t *testing.T) {
	t.Parallel()
	const resource = "https://onceward.example/mcp"
	idp, provider := newTokenIssuer(t), proctest.NewProvider(t)
	config := filepath.Join(t.TempDir(), "onceward.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, `
mcp:
  oauth:
    issuer: %s
    resource: %s
    tenant: default
    scopes:
      tickets.write: [caller]
      tickets.audit: [auditor]
`, idp.URL, resource), 0o600); err != nil {
		t.Fatal(err)
	}
	srv := simServer(t, sqliteLedger(t), provider)
	srv.Config = config
	srv.Start("")

	ticket := func(event string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tickets.create","arguments":{"source":"mail","event_id":%q,"subject":"Fire","body":"Now"},`+
			`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`, event)
	}
	good := idp.token(resource, "profile tickets.write")
	for name, c := range map[string]struct {
		path, bearer string
		status       int
		challenge    string
	}{
		"nobody":                         {"/mcp", "", 401, "resource_metadata="},
		"a token for another resource":   {"/mcp", idp.token("https://other.example/mcp", "tickets.write"), 401, `error="invalid_token"`},
		"a token of a stranger":          {"/mcp", newTokenIssuer(t).token(resource, "tickets.write"), 401, `error="invalid_token"`},
		"a token without a known scope":  {"/mcp", idp.token(resource, "profile"), 403, `error="insufficient_scope"`},
		"a token that may look only":     {"/mcp", idp.token(resource, "tickets.audit"), 403, `error="insufficient_scope"`},
		"the good token at the HTTP API": {"/v1/tools/tickets.create/call", good, 401, ""},
	} {
		body := ticket("refused")
		if c.path != "/mcp" {
			body = `{"source":"mail","event_id":"refused","subject":"Fire","body":"Now"}`
		}
		if status, challenge, text := idp.ask(srv.URL()+c.path, c.bearer, body); status != c.status || !strings.Contains(challenge, c.challenge) {
			t.Errorf("%s is answered %d %q, want %d with %q: %s", name, status, challenge, c.status, c.challenge, text)
		}
	}
	for _, token := range []string{good, idp.token(resource, "tickets.write")} {
		if status, _, text := idp.ask(srv.URL()+"/mcp", token, ticket("4711")); status != http.StatusOK || !strings.Contains(text, `"structuredContent"`) {
			t.Errorf("the call under a good token is answered %d: %s", status, text)
		}
	}
	if one, none := provider.Effects("mail/4711").Count, provider.Effects("mail/refused").Count; one != 1 || none != 0 {
		t.Errorf("%d tickets under good tokens and %d under bad ones", one, none)
	}
}
