package mcpgateway

import (
	"context"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
	"github.com/onceward/onceward/worker"
)

// announcing runs the gateway's loop until the test ends.
func (w *world) announcing() {
	ctx, stop := context.WithCancel(context.Background())
	wait := worker.Start(ctx, onceward.SystemClock{}, slog.New(slog.DiscardHandler), w.gateway.Lists())
	w.Cleanup(func() { stop(); wait() })
}

// listener is a session that hears of lists that change, and has listed once.
func (w *world) listener(version, path string) (*mcp.ClientSession, <-chan struct{}) {
	w.Helper()
	heard := make(chan struct{}, 10)
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { heard <- struct{}{} }})
	s, err := c.Connect(w.Context(), &mcp.StreamableClientTransport{Endpoint: w.server.URL + path, HTTPClient: &http.Client{Transport: headers{"Authorization": "Bearer ada"}}, MaxRetries: -1},
		&mcp.ClientSessionOptions{ProtocolVersion: version})
	w.must(err)
	w.Cleanup(func() { _ = s.Close() })
	_, err = s.ListTools(w.Context(), nil)
	w.must(err)
	return s, heard
}

func hears(t testing.TB, heard <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-heard:
	case <-time.After(10 * time.Second):
		t.Fatal("nobody was told of " + what)
	}
}

func TestListThatChangesIsAnnouncedToEachSession(t *testing.T) {
	t.Parallel()
	for era, version := range eras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.announcing()
			s, heard := w.listener(version, Path)
			w.gateway.Lists().Look() // nothing changed: nobody is told
			w.activate(oncewardtest.NewTool("late.write", onceward.EffectUnsafeWrite, func(i *onceward.ToolInfo) { i.KeyRule = `["input.id"]` }))
			w.gateway.Lists().Look()
			hears(t, heard, "a contract that came in force")
			list, err := s.ListTools(t.Context(), nil)
			w.must(err)
			names := map[string]bool{}
			for _, tool := range list.Tools {
				names[tool.Name] = true
			}
			if !names["late.write"] || names["onceward_list"] {
				t.Errorf("the list is %v", names)
			}
			w.gateway.Lists().Look()
			select {
			case <-heard:
				t.Error("an announcement came without a change")
			case <-time.After(100 * time.Millisecond):
			}
		})
	}
}

func TestListThatChangesAtAServerBehindIsAnnounced(t *testing.T) {
	t.Parallel()
	for era, version := range eras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			w, d := newDesk(t, deskWrites)
			w.announcing()
			_, heard := w.listener(version, Path)
			d.mu.Lock()
			d.description = ", and now another text"
			d.mu.Unlock()
			time.AfterFunc(1100*time.Millisecond, w.gateway.Lists().Look) // the server's list is taken for fresh for a second
			hears(t, heard, "a server's list")
		})
	}
}
