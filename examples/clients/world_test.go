//go:build clients || n8n

// Package clients_test runs clients that this project did not write, and its own,
// against the built program: a connection is cut after the request, the program
// is killed on the way, an agent plans anew; there is one effect.
package clients_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/faultproxy"
	"github.com/onceward/onceward/internal/proctest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	proctest.Remove()
	os.Exit(code)
}

// scriptTime bounds one run of a client.
const scriptTime = 90 * time.Second

// run runs a client to its end and decodes the line that it prints.
func run(t *testing.T, into any, env []string, command ...string) {
	t.Helper()
	if err := tryRun(t, into, env, command...); err != nil {
		t.Fatal(err)
	}
}

func tryRun(t *testing.T, into any, env []string, command ...string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), scriptTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = append(os.Environ(), env...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w\n%s\n%s", strings.Join(command, " "), err, out.String(), said.String())
	}
	if err := json.Unmarshal(bytes.TrimSpace(out.Bytes()), into); err != nil {
		return fmt.Errorf("%s said %q: %w", strings.Join(command, " "), out.String(), err)
	}
	return nil
}

// books is a provider of Stripe's and GitHub's forms that counts its effects.
type books struct {
	*httptest.Server
	faults *faultproxy.Proxy

	mu      sync.Mutex
	charges map[string]map[string]any // by idempotency key
	issues  []map[string]any
	posts   int
	auth    map[string]bool // Authorization headers of writes
}

func newBooks(t *testing.T) *books {
	t.Helper()
	b := &books{charges: map[string]map[string]any{}, auth: map[string]bool{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/charges", b.charge)
	mux.HandleFunc("POST /repos/{owner}/{repo}/issues", b.open)
	mux.HandleFunc("GET /repos/{owner}/{repo}/issues", b.list)
	mux.HandleFunc("GET /repos/{owner}/{repo}/issues/{number}", b.issue)
	b.Server = httptest.NewServer(mux)
	t.Cleanup(b.Close)
	var err error
	if b.faults, err = faultproxy.Start(b.Listener.Addr().String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.faults.Close() })
	return b
}

// charge makes one charge for each key, as Stripe does.
func (b *books) charge(w http.ResponseWriter, req *http.Request) {
	if err := req.ParseForm(); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.posts++
	b.auth[req.Header.Get("Authorization")] = true
	key := req.Header.Get("Idempotency-Key")
	c, known := b.charges[key]
	if !known {
		c = map[string]any{"id": fmt.Sprintf("ch_%d", len(b.charges)+1), "object": "charge", "metadata": map[string]string{"order": req.PostForm.Get("metadata[order]")}}
		b.charges[key] = c
	}
	answer(w, http.StatusOK, c)
}

// open opens an issue at each call, as GitHub does.
func (b *books) open(w http.ResponseWriter, req *http.Request) {
	var in struct {
		Title  string
		Labels []string
	}
	body, err := io.ReadAll(req.Body)
	if err != nil || json.Unmarshal(body, &in) != nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.posts++
	b.auth[req.Header.Get("Authorization")] = true
	labels := []map[string]string{}
	for _, l := range in.Labels {
		labels = append(labels, map[string]string{"name": l})
	}
	issue := map[string]any{"number": len(b.issues) + 1, "title": in.Title, "labels": labels}
	b.issues = append(b.issues, issue)
	answer(w, http.StatusCreated, issue)
}

func (b *books) list(w http.ResponseWriter, req *http.Request) {
	want := req.URL.Query().Get("labels")
	b.mu.Lock()
	defer b.mu.Unlock()
	found := []map[string]any{}
	for _, issue := range b.issues {
		for _, l := range issue["labels"].([]map[string]string) {
			if want == "" || l["name"] == want {
				found = append(found, issue)
				break
			}
		}
	}
	answer(w, http.StatusOK, found)
}

func (b *books) issue(w http.ResponseWriter, req *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n, err := strconv.Atoi(req.PathValue("number"))
	if err != nil || n < 1 || n > len(b.issues) {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	answer(w, http.StatusOK, b.issues[n-1])
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // who went away gets none
}

// upstreams copies the example documents with changes, old and new in pairs.
func upstreams(t *testing.T, changes ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"stripe.yaml", "github.yaml"} {
		data, err := os.ReadFile(filepath.Join("..", "upstreams", name))
		if err != nil {
			t.Fatal(err)
		}
		text := strings.NewReplacer(changes...).Replace(string(data))
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
