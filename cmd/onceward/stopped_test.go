package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/onceward/onceward/internal/proctest"
)

// hastyTicket is a probed write at the bundled provider with times so short that
// a test can wait for a lease's end.
const hastyTicket = `apiVersion: onceward/v1
kind: Tool
metadata: {name: tickets.hasty, owner: x, description: a ticket in a hurry}
spec:
  effect: probed_write
  key: [input.id]
  request:
    method: POST
    url: '${env.SIM_URL}/tickets'
    headers: {Authorization: 'Bearer ${secret.TICKETS_TOKEN}'}
    json: {title: t, text: '${input.text}', external_id: '${operation.provider_key}', audit_reference: '${input.id}'}
    deadline: 500ms
  lease: 1500ms
  outcomes: [{when: 'response.status == 201', is: done, reference: '${response.json.id}'}]
  probe:
    request: {url: '${env.SIM_URL}/tickets?external_id=${operation.provider_key}'}
    found: '${response.json.items}'
    reference: '${item.id}'
    settle: 500ms
  retry: {max_attempts: 5, backoff: {initial: 100ms, max: 1s}}
`

// contractFile writes a contract of the test's own.
func contractFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "contract.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// gate is a secret that a process has to wait for: a pipe in the place of a file.
type gate struct{ file string }

func newGate(t *testing.T) gate {
	t.Helper()
	g := gate{filepath.Join(t.TempDir(), "token")}
	g.write(t, g.file) // as it is read at the start
	return g
}

func (g gate) write(t *testing.T, file string) {
	t.Helper()
	if err := os.WriteFile(file, []byte("token"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (g gate) shut(t *testing.T) {
	t.Helper()
	if err := errors.Join(syscall.Mkfifo(g.file+".pipe", 0o600), os.Rename(g.file+".pipe", g.file)); err != nil {
		t.Fatal(err)
	}
}

// waited returns once a process stands before the gate, with what opens it.
func (g gate) waited(t *testing.T) (open func()) {
	t.Helper()
	for until := time.Now().Add(20 * time.Second); time.Now().Before(until); pause(t, 10*time.Millisecond) {
		// Without a reader a pipe cannot be opened for writing.
		pipe, err := os.OpenFile(g.file, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		if err == nil {
			return func() {
				g.write(t, g.file+".new") // whatever is read later needs no gate
				if err := os.Rename(g.file+".new", g.file); err != nil {
					t.Error(err)
				}
				_, _ = pipe.WriteString("token")
				_ = pipe.Close()
			}
		}
	}
	t.Fatal("no process came to the gate")
	return nil
}

// stopBetweenWrites stops a process (SIGSTOP) that is not writing just now: while one
// that is stands still, nobody else writes to a file of SQLite.
func stopBetweenWrites(t *testing.T, srv *proctest.Server, db string) {
	t.Helper()
	if file, ok := strings.CutPrefix(db, "sqlite:"); ok {
		c, err := sqlite3.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(c.BusyTimeout(20*time.Second), c.Exec("BEGIN IMMEDIATE")); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := errors.Join(c.Exec("ROLLBACK"), c.Close()); err != nil {
				t.Fatal(err)
			}
		}()
	}
	srv.Signal(syscall.SIGSTOP)
}

// A process is stopped (SIGSTOP) between its claim and its first byte, its lease
// ends, and another process settles the operation. Let go on, the first has
// everything that it needs to write, and writes nothing.
func TestAProcessStoppedBetweenClaimAndSendWritesNothingAfterwards(t *testing.T) {
	t.Parallel()
	proctest.Binary(t)
	onBothStores(t, func(t *testing.T, db string) {
		provider, file, token := proctest.NewProvider(t), contractFile(t, hastyTicket), newGate(t)
		frozen := proctest.NewServer(t, db, []string{file}, "SIM_URL="+provider.URL, "TICKETS_TOKEN_FILE="+token.file)
		frozen.Start("")
		other := started(t, 1, db, file, "SIM_URL="+provider.URL, "TICKETS_TOKEN=token")[0]
		token.shut(t)
		answered := make(chan proctest.Answer, 1)
		go func() {
			a, err := frozen.Call(t.Context(), "tickets.hasty", `{"id":"a","text":"x"}`, time.Minute)
			if err != nil {
				t.Error(err)
			}
			answered <- a
		}()
		open := token.waited(t)
		stopBetweenWrites(t, frozen, db)
		if a, err := other.Call(t.Context(), "tickets.hasty", `{"id":"a","text":"x"}`, 0); err != nil || a.Decision != "joined" || a.Operation.State != "effect_pending" || provider.Effects("a").Requests != 0 {
			t.Fatalf("while it stands, another request gets %+v, %v", a, err)
		}
		end := final(t, other, "tickets.hasty", `{"id":"a","text":"x"}`)
		if end.State != "succeeded" || end.Attempts != 2 {
			t.Fatalf("without the stopped one it ends as %+v", end)
		}
		frozen.Signal(syscall.SIGCONT)
		open()
		if a := <-answered; a.Operation != end {
			t.Errorf("whoever asked the stopped one is told %+v, want %+v", a.Operation, end)
		}
		frozen.Signal(syscall.SIGTERM) // it ends what it works on first
		frozen.Wait()
		if effects := provider.Effects("a"); effects.Requests != 1 || effects.Count != 1 {
			t.Errorf("%d writes made %d effects, want 1", effects.Requests, effects.Count)
		}
	})
}

// final asks a server until the operation needs nothing but, at most, a person.
func final(t *testing.T, srv *proctest.Server, tool, input string) proctest.Operation {
	t.Helper()
	for until := time.Now().Add(time.Minute); time.Now().Before(until); {
		a, err := srv.Call(t.Context(), tool, input, 20*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if a.Operation.Final() {
			return a.Operation
		}
	}
	t.Fatal("it never ends")
	return proctest.Operation{}
}
