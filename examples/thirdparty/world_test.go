//go:build thirdparty

// Package thirdparty_test runs contracts against servers that this project did
// not write, with a proxy in between that loses requests and answers.
package thirdparty_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/committer"
	"github.com/onceward/onceward/contract"
	"github.com/onceward/onceward/internal/faultproxy"
	"github.com/onceward/onceward/internal/freeport"
	"github.com/onceward/onceward/provider/httpcall"
	"github.com/onceward/onceward/store/sqlite"
	"github.com/onceward/onceward/worker"
)

// world is one contract on a ledger of its own, a proxy, and the server behind it.
type world struct {
	proxy  *faultproxy.Proxy
	server string // address of the server itself, past the proxy
	ledger *onceward.Ledger
	tool   onceward.ToolName
}

// newWorld starts a server by its command, which is told its port.
func newWorld(t *testing.T, file string, env map[string]string, urlName string, cmd func(port string) *exec.Cmd) *world {
	t.Helper()
	w := &world{server: start(t, cmd)}
	var err error
	if w.proxy, err = faultproxy.Start(strings.TrimPrefix(w.server, "http://")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.proxy.Close() })
	env[urlName] = "http://" + w.proxy.Addr()
	w.open(t, file, env)
	return w
}

func (w *world) open(t *testing.T, file string, env map[string]string) {
	t.Helper()
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	look := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	opts := contract.Options{Env: look, ByteTail: contract.NoByteTail}
	tools, err := contract.Load(source, file, opts)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range contract.Lint(tools[0]) {
		if f.Severity == contract.SeverityError {
			t.Fatalf("%s:%d: %s", file, f.Line, f.Message)
		}
	}
	tools = w.hither(t, tools[0], opts)
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	registry := onceward.NewRegistry(store, nil)
	if err := registry.Activate(t.Context(), []onceward.Tool{tools[0]}, false); err != nil {
		t.Fatal(err)
	}
	group, client := committer.New(store, committer.Options{}), httpcall.New(httpcall.Options{})
	if w.ledger, err = onceward.New(onceward.Options{Store: store, Writer: group, Tools: registry, Provider: client}); err != nil {
		t.Fatal(err)
	}
	if err := w.ledger.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.tool = tools[0].Info().Name
	log := slog.New(slog.DiscardHandler)
	ctx, stop := context.WithCancel(context.Background())
	due := worker.NewDue(w.ledger, store, log)
	wait := worker.Start(ctx, onceward.SystemClock{}, log, due, worker.NewStranded(w.ledger))
	t.Cleanup(func() {
		stop()
		wait()
		due.Wait()
		_ = w.ledger.Close(context.Background())
		group.Close()
		client.Close()
		_ = store.Close()
	})
}

// hither makes a contract for the provider itself one for the server behind the
// proxy, which answers sooner.
func (w *world) hither(t *testing.T, tool *contract.Tool, opts contract.Options) []*contract.Tool {
	t.Helper()
	here := contract.Derivation{Origins: map[string]string{}, Durations: map[string]time.Duration{
		"spec.request.deadline": 3 * time.Second, "spec.retry.backoff.initial": 200 * time.Millisecond, "spec.retry.backoff.max": 2 * time.Second,
	}}
	for _, origin := range tool.Origins() {
		here.Origins[origin] = "http://" + w.proxy.Addr()
	}
	source, err := tool.Derive(here)
	if err != nil {
		t.Fatal(err)
	}
	tools, err := contract.Load(source, tool.File(), opts)
	if err != nil {
		t.Fatal(err)
	}
	return tools
}

// start starts a server and waits until it takes connections.
func start(t *testing.T, command func(port string) *exec.Cmd) string {
	t.Helper()
	address, err := freeport.Address(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(address)
	cmd := command(port)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for until := time.Now().Add(30 * time.Second); time.Now().Before(until); {
		if c, err := net.Dial("tcp", address); err == nil {
			_ = c.Close()
			return "http://" + address
		}
		<-time.After(50 * time.Millisecond) // it is starting
	}
	t.Fatalf("%s does not listen on %s", cmd.Path, address)
	return ""
}

// ask submits and waits for the end.
func (w *world) ask(t *testing.T, input string) *onceward.Answer {
	t.Helper()
	a, err := w.ledger.Submit(t.Context(), onceward.Intent{Principal: onceward.LocalPrincipal(), Tool: w.tool, Input: []byte(input), Wait: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// scenes plays what goes wrong, and compares with the server's own listing.
func (w *world) scenes(t *testing.T, input func(id string) string, effects func(id string) int) {
	t.Helper()
	w.ask(t, input("warm-up"))
	faults := map[string]faultproxy.Fault{
		"request-lost":     {Kind: faultproxy.Reset, On: faultproxy.ToServer},
		"request-half":     {Kind: faultproxy.Reset, On: faultproxy.ToServer, After: 60},
		"answer-lost":      {Kind: faultproxy.Reset, On: faultproxy.ToClient},
		"answer-half":      {Kind: faultproxy.Cut, On: faultproxy.ToClient, After: 20},
		"answer-swallowed": {Kind: faultproxy.Swallow, On: faultproxy.ToClient},
	}
	for id, fault := range faults {
		w.proxy.ResetAll() // the next exchange opens a connection, which gets the fault
		w.proxy.Next(fault)
		struck := w.proxy.Struck()
		a := w.ask(t, input(id))
		if a.Operation.State != onceward.StateSucceeded || effects(id) != 1 || w.proxy.Struck() == struck {
			t.Errorf("%s: %s after %d attempts, %d effects, struck %v", id, a.Operation.State, len(a.Operation.Attempts), effects(id), w.proxy.Struck() != struck)
		}
		if again := w.ask(t, input(id)); again.Decision != onceward.DecisionReplayed || effects(id) != 1 {
			t.Errorf("%s again: %s, %d effects", id, again.Decision, effects(id))
		}
	}
	var wg sync.WaitGroup
	for range 12 {
		wg.Go(func() { w.ask(t, input("twelve-at-once")) })
	}
	wg.Wait()
	if n := effects("twelve-at-once"); n != 1 {
		t.Errorf("twelve at once: %d effects", n)
	}
}

// get reads from the server itself, past the proxy.
func (w *world) get(t *testing.T, method, path, authorization string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, w.server+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", authorization)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}
