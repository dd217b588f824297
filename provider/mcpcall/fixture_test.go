package mcpcall_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/provider/httpcall"
	"github.com/onceward/onceward/provider/mcpcall"
)

// asCommand makes this test program a server on standard input and output that
// keeps its books in the folder it names.
const asCommand = "MCPCALL_TEST_BOOKS"

// asSecret holds a credential of such a server, which it tells whoever asks.
const asSecret = "MCPCALL_TEST_SECRET"

func TestMain(m *testing.M) {
	if books := os.Getenv(asCommand); books != "" {
		s := newServer(&desk{books: books, die: os.Getenv("MCPCALL_TEST_DIE")})
		_ = s.Run(context.Background(), &mcp.StdioTransport{})
		return
	}
	os.Exit(m.Run())
}

// desk makes notes and knows which it has.
type desk struct {
	books string // folder; empty: in memory
	die   string // "after": the process ends once the note is made

	mu          sync.Mutex
	notes       []string
	description string
	annotate    bool          // a header repeats the argument text
	calls       int           // tools/call that arrived
	hold        chan struct{} // a call waits for it
	authorized  []string      // Authorization headers
}

func (d *desk) write(text string) {
	if d.books == "" {
		d.notes = append(d.notes, text)
		return
	}
	_ = os.WriteFile(filepath.Join(d.books, text), nil, 0o600)
}

func (d *desk) read() []string {
	if d.books == "" {
		return d.notes
	}
	entries, _ := os.ReadDir(d.books)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// newServer is the desk as a server of the SDK, whose results it writes itself.
func newServer(d *desk) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "desk", Version: "1"}, &mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}}})
	schema := json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`)
	annotated := json.RawMessage(`{"type":"object","properties":{"text":{"type":"string","x-mcp-header":"Text"}}}`)
	s.AddTool(&mcp.Tool{Name: "note", Description: "Make a note", InputSchema: schema}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if token := req.Params.GetProgressToken(); token != nil {
			for n := range 3 {
				_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: float64(n + 1), Total: 3, Message: "step"})
			}
		}
		var in struct{ Text string }
		if err := json.Unmarshal(req.Params.Arguments, &in); err != nil {
			return nil, err
		}
		d.mu.Lock()
		hold := d.hold
		d.mu.Unlock()
		if hold != nil {
			<-hold
		}
		d.mu.Lock()
		d.write(in.Text)
		d.mu.Unlock()
		if in.Text == "grow" {
			s.AddTool(&mcp.Tool{Name: "grown", InputSchema: schema}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{}, nil
			})
		}
		if d.die == "after" {
			os.Exit(7)
		}
		if in.Text == "env" || in.Text == "refuse" {
			_, _ = fmt.Fprintln(os.Stderr, "my key is", os.Getenv(asSecret))
			in.Text += " " + os.Getenv(asSecret)
		}
		if strings.HasPrefix(in.Text, "refuse") {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: in.Text}
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "noted <" + in.Text + ">"}}, StructuredContent: json.RawMessage(`{"n":1.50}`)}, nil
	})
	s.AddTool(&mcp.Tool{Name: "notes", InputSchema: schema, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		return &mcp.CallToolResult{StructuredContent: map[string]any{"notes": d.read()}}, nil
	})
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, req)
			if list, ok := res.(*mcp.ListToolsResult); ok {
				d.mu.Lock()
				defer d.mu.Unlock()
				if d.description != "" || d.annotate {
					changed := *list.Tools[0]
					if d.description != "" {
						changed.Description = d.description
					}
					if d.annotate {
						changed.InputSchema = annotated
					}
					list.Tools = append([]*mcp.Tool{&changed}, list.Tools[1:]...)
				}
			}
			return res, err
		}
	})
	return s
}

// served is a desk on streamable HTTP, behind what a test does to requests.
type served struct {
	*desk
	URL string
}

// serve serves a desk. before may answer a tools/call in the desk's place, or
// after it, by reporting true.
func serve(t testing.TB, stateless bool, before func(w http.ResponseWriter, req *http.Request, next http.Handler) bool) *served {
	t.Helper()
	d := &desk{}
	server := newServer(d)
	inner := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: stateless, JSONResponse: stateless})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		req.Body = io.NopCloser(strings.NewReader(string(body)))
		if strings.Contains(string(body), `"tools/call"`) {
			d.mu.Lock()
			d.calls++
			d.authorized = append(d.authorized, req.Header.Get("Authorization"))
			d.mu.Unlock()
			if before != nil && before(w, req, inner) {
				return
			}
		}
		inner.ServeHTTP(w, req)
	}))
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	return &served{desk: d, URL: srv.URL}
}

func (d *desk) seen() (calls, notes int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.calls, len(d.read())
}

// newClient is a client of one server of the name desk.
func newClient(t testing.TB, s mcpcall.Server, edit ...func(*mcpcall.Options)) *mcpcall.Client {
	t.Helper()
	wire := httpcall.New(httpcall.Options{})
	opts := mcpcall.Options{Wire: wire}
	for _, e := range edit {
		e(&opts)
	}
	c := mcpcall.New(opts)
	s.Name = "desk"
	c.Serve([]mcpcall.Server{s})
	t.Cleanup(func() { c.Close(); wire.Close() })
	return c
}

// command is this program as a server that keeps its books in a folder.
func command(t testing.TB, books string, die string) mcpcall.Server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return mcpcall.Server{Command: []string{self}, Env: func() ([]string, error) {
		return []string{asCommand + "=" + books, "MCPCALL_TEST_DIE=" + die}, nil
	}}
}

// call is a request to a tool of the desk.
func call(tool, arguments string) *onceward.Request {
	return &onceward.Request{Method: "POST", URL: "mcp://desk/" + tool, Body: []byte(arguments)}
}

func write(deadline time.Duration) onceward.SendOptions {
	return onceward.SendOptions{Write: true, Deadline: deadline, NotAfter: time.Now().Add(deadline), Hosts: []string{"desk"}}
}
