package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/onceward/onceward/internal/proctest"
)

// agent is a model's part of the story, written down: it wants one ticket for
// one mail, and whenever it has no answer it thinks again. Each time it is a new
// session, with other words, another ID and a key that it made up.
type agent struct {
	testing.TB
	url      string
	thoughts int
}

// words are what the agent calls the trouble, each time it thinks of it.
var words = []string{"The printer is on fire", "Printer: smoke and flames", "URGENT burning printer", "Fire in the copy room"}

// think makes one try. It has an answer, or none.
func (a *agent) think(ctx context.Context) (*mcp.CallToolResult, error) {
	a.thoughts++
	version := []string{"2025-11-25", "2026-07-28"}[a.thoughts%2]
	key := fmt.Sprintf("attempt-%d", a.thoughts)
	c := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: key}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	s, err := c.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: a.url, HTTPClient: &http.Client{Transport: withKey(key)}, DisableStandaloneSSE: true, MaxRetries: -1},
		&mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }()
	input := fmt.Sprintf(`{"source":"mail","event_id":"4711","subject":%q,"body":"try %d"}`, words[a.thoughts%len(words)], a.thoughts)
	return s.CallTool(ctx, &mcp.CallToolParams{Name: "tickets.create", Arguments: json.RawMessage(input)})
}

type withKey string

func (k withKey) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Idempotency-Key", string(k))
	return http.DefaultTransport.RoundTrip(req)
}

// insist thinks until it has an answer that is no error.
func (a *agent) insist() *mcp.CallToolResult {
	for until := time.Now().Add(2 * time.Minute); time.Now().Before(until); {
		// Impatient: it does not wait for what the gateway would say in the end.
		ctx, hangUp := context.WithTimeout(a.Context(), 3*time.Second)
		res, err := a.think(ctx)
		hangUp()
		if err == nil && !res.IsError {
			return res
		}
	}
	a.Fatal("the agent never got an answer")
	return nil
}

// TestAnAgentThatThinksAgainMakesOneTicket kills the gateway (SIGKILL) while an
// agent's call is under way. The agent re-plans, in other words, under other IDs
// and keys, in both eras of the protocol, before and after the gateway is back.
func TestAnAgentThatThinksAgainMakesOneTicket(t *testing.T) {
	t.Parallel()
	proctest.Binary(t)
	for _, point := range []string{"claim.after_commit", "dispatch.after_send", "dispatch.after_response", "record.after_commit"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			provider := proctest.NewProvider(t)
			srv := simServer(t, sqliteLedger(t), provider)
			srv.Start(point)
			a := &agent{TB: t, url: srv.URL() + "/mcp"}
			if res, err := a.think(t.Context()); err == nil {
				t.Fatalf("the gateway lives: %v", res.Content)
			}
			srv.AwaitDeath(point)
			if _, err := a.think(t.Context()); err == nil { // nobody is there
				t.Fatal("somebody answered")
			}
			srv.Start("")
			first := a.insist()
			again := a.insist()
			effects := provider.Effects("mail/4711")
			if effects.Count != 1 {
				t.Errorf("%d tickets after %d tries", effects.Count, a.thoughts)
			}
			var one, two struct{ ID string }
			for res, into := range map[*mcp.CallToolResult]*struct{ ID string }{first: &one, again: &two} {
				raw, _ := json.Marshal(res.StructuredContent)
				if err := json.Unmarshal(raw, into); err != nil {
					t.Errorf("read %s: %v", raw, err)
				}
			}
			if one != two {
				t.Errorf("the answers are of %v and %v", one, two)
			}
		})
	}
}
