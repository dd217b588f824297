package mcpcall_test

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/provider/mcpcall"
)

const patience = 20 * time.Second

func TestResultComesBackAsItsBytesAfterOneCall(t *testing.T) {
	t.Parallel()
	for name, stateless := range map[string]bool{"with sessions": false, "stateless": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, stateless, nil)
			c := newClient(t, mcpcall.Server{URL: s.URL, Headers: func() ([]onceward.HeaderField, error) {
				return []onceward.HeaderField{{Name: "Authorization", Value: "Bearer ours"}}, nil
			}})
			var reaches []onceward.Reach
			var mu sync.Mutex
			opts := write(patience)
			opts.OnReach = func(r onceward.Reach) { mu.Lock(); defer mu.Unlock(); reaches = append(reaches, r) }
			ev := c.Send(t.Context(), call("note", `{"text":"a"}`), opts)
			if ev.Status != 200 || ev.Reach != onceward.ReachFirstByte || ev.LastByteAt.IsZero() || ev.ErrorClass != onceward.ClassNone {
				t.Fatalf("%+v %s", ev, ev.Body)
			}
			if !strings.Contains(string(ev.Body), `"text":"noted \u003ca\u003e"`) || !strings.Contains(string(ev.Body), `{"n":1.50}`) {
				t.Errorf("the result became %s", ev.Body)
			}
			if calls, notes := s.seen(); calls != 1 || notes != 1 || s.authorized[0] != "Bearer ours" {
				t.Errorf("%d calls made %d notes, as %v", calls, notes, s.authorized)
			}
			if len(reaches) == 0 || reaches[len(reaches)-1] != onceward.ReachFirstByte {
				t.Errorf("it went as far as %v", reaches)
			}
		})
	}
}

func TestTroubleAfterTheEffectIsNeverASecondCall(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(w http.ResponseWriter){
		"401": func(w http.ResponseWriter) { w.WriteHeader(401) }, "404": func(w http.ResponseWriter) { w.WriteHeader(404) },
		"429": func(w http.ResponseWriter) { w.Header().Set("Retry-After", "7"); w.WriteHeader(429) }, "500": func(w http.ResponseWriter) { w.WriteHeader(500) },
		"503": func(w http.ResponseWriter) { w.WriteHeader(503) }, "a redirect": func(w http.ResponseWriter) { w.Header().Set("Location", "/elsewhere"); w.WriteHeader(307) },
		"a cut": func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, "202": func(w http.ResponseWriter) { w.WriteHeader(202) },
		"a stream that ends": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write([]byte("id: 1\ndata:\n\n"))
		},
		"more input wanted": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":99,"result":{}}`))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, false, func(w http.ResponseWriter, req *http.Request, next http.Handler) bool {
				next.ServeHTTP(httptest.NewRecorder(), req)
				answer(w)
				return true
			})
			c := newClient(t, mcpcall.Server{URL: s.URL})
			ev := c.Send(t.Context(), call("note", `{"text":"a"}`), write(patience))
			if calls, notes := s.seen(); calls != 1 || notes != 1 {
				t.Errorf("%d calls made %d notes", calls, notes)
			}
			if ev.Reach.NothingSent() || ev.Status >= 200 && ev.Status < 300 {
				t.Errorf("evidence: %+v", ev)
			}
			if name == "429" && (len(ev.Header) == 0 || ev.Status != 429) {
				t.Errorf("evidence: %+v", ev)
			}
		})
	}
}

func TestWhatNeverReachedTheServerIsKnownToBe(t *testing.T) {
	t.Parallel()
	s := serve(t, true, nil)
	c := newClient(t, mcpcall.Server{URL: s.URL})
	opts := write(patience)
	opts.BeforeWrite = func() error { return errors.New("the tool is paused") }
	if ev := c.Send(t.Context(), call("note", `{"text":"a"}`), opts); !ev.Reach.NothingSent() {
		t.Errorf("stopped by the fence: %+v", ev)
	}
	gone := newClient(t, mcpcall.Server{URL: "http://127.0.0.1:1/mcp"})
	if ev := gone.Send(t.Context(), call("note", `{"text":"a"}`), write(patience)); ev.Reach != onceward.ReachNotDialled || ev.ErrorCode != "list_failed" {
		t.Errorf("nobody listens: %+v", ev)
	}
	missing := newClient(t, mcpcall.Server{Command: []string{"/nowhere/server"}})
	if ev := missing.Send(t.Context(), call("note", `{"text":"a"}`), write(patience)); ev.Reach != onceward.ReachNotDialled {
		t.Errorf("no such command: %+v", ev)
	}
	if ev := c.Send(t.Context(), &onceward.Request{URL: "mcp://other/note"}, write(patience)); ev.ErrorCode != "server_missing" {
		t.Errorf("no such server: %+v", ev)
	}
	if calls, notes := s.seen(); calls != 0 || notes != 0 {
		t.Errorf("%d calls made %d notes", calls, notes)
	}
}

func TestOneSlowCallKeepsNoOtherWaiting(t *testing.T) {
	t.Parallel()
	s := serve(t, false, nil)
	s.hold = make(chan struct{})
	c := newClient(t, mcpcall.Server{URL: s.URL})
	slow := make(chan onceward.Evidence, 1)
	go func() { slow <- c.Send(t.Context(), call("note", `{"text":"a"}`), write(patience)) }()
	ev := c.Send(t.Context(), call("notes", `{}`), onceward.SendOptions{Deadline: patience})
	if ev.Status != 200 {
		t.Errorf("the other call: %+v", ev)
	}
	close(s.hold)
	if ev := <-slow; ev.Status != 200 {
		t.Errorf("the slow call: %+v", ev)
	}
}

func TestCommandThatDiesAfterTheEffectIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	books := t.TempDir()
	c := newClient(t, command(t, books, "after"))
	ev := c.Send(t.Context(), call("note", `{"text":"a"}`), write(patience))
	if ev.Status != 0 || ev.Reach.NothingSent() || ev.ErrorClass != onceward.ClassConnection {
		t.Fatalf("evidence: %+v", ev)
	}
	// The look-up starts the server anew, and that server got no call of a note.
	look := c.Send(t.Context(), call("notes", `{}`), onceward.SendOptions{Deadline: patience})
	if look.Status != 200 || !strings.Contains(string(look.Body), `"notes":["a"]`) {
		t.Errorf("the look-up: %+v %s", look, look.Body)
	}
	if entries, err := os.ReadDir(books); err != nil || len(entries) != 1 {
		t.Errorf("the books hold %v (%v)", entries, err)
	}
}

func TestCommandAnswersInBytesAndHonoursTheFence(t *testing.T) {
	t.Parallel()
	c := newClient(t, command(t, t.TempDir(), ""))
	opts := write(patience)
	opts.BeforeWrite = func() error { return errors.New("the lease has passed") }
	if ev := c.Send(t.Context(), call("note", `{"text":"a"}`), opts); !ev.Reach.NothingSent() {
		t.Errorf("stopped by the fence: %+v", ev)
	}
	ev := c.Send(t.Context(), call("note", `{"text":"b"}`), write(patience))
	if ev.Status != 200 || !strings.Contains(string(ev.Body), `{"n":1.50}`) || ev.LastByteAt.IsZero() {
		t.Errorf("%+v %s", ev, ev.Body)
	}
	if ev := c.Send(t.Context(), call("nothing", `{}`), onceward.SendOptions{Deadline: patience}); !strings.Contains(string(ev.Body), `"code":-32602`) {
		t.Errorf("an unknown tool: %+v %s", ev, ev.Body)
	}
}

func TestWriteIsStoppedUnderAnotherDefinition(t *testing.T) {
	t.Parallel()
	s := serve(t, false, nil)
	c := newClient(t, mcpcall.Server{URL: s.URL})
	list, err := c.Definitions(t.Context(), "desk")
	if err != nil || len(list) != 2 || list[0].Name != "note" || !list[1].ReadOnly || list[0].ReadOnly {
		t.Fatalf("%v %v", list, err)
	}
	pinned := call("note", `{"text":"a"}`)
	pinned.Header = []onceward.HeaderField{{Name: onceward.DefinitionHeader, Value: list[0].Digest}}
	if ev := c.Send(t.Context(), pinned, write(patience)); ev.Status != 200 {
		t.Fatalf("under its definition: %+v", ev)
	}
	s.mu.Lock()
	s.description = "Make a note\U000E0041" // a tag character, which no screen shows
	s.mu.Unlock()
	fresh := newClient(t, mcpcall.Server{URL: s.URL}) // has no list yet
	ev := fresh.Send(t.Context(), pinned, write(patience))
	if !ev.Reach.NothingSent() || ev.ErrorClass != onceward.ClassAuth || ev.ErrorCode != "definition_changed" || !strings.Contains(ev.ErrorText, "do not show") {
		t.Errorf("under another definition: %+v", ev)
	}
	for until := time.Now().Add(patience); time.Now().Before(until); {
		if ev = c.Send(t.Context(), call("note", `{"text":"b"}`), write(patience)); ev.Status != 200 {
			break
		}
	}
	if ev.ErrorCode != "definition_changed" || !strings.Contains(ev.ErrorText, "description") {
		t.Errorf("not pinned, and changed since: %+v", ev)
	}
}

func TestCommandThatHasOtherToolsIsListedAnew(t *testing.T) {
	t.Parallel()
	changed := make(chan struct{}, 10)
	c := newClient(t, command(t, t.TempDir(), ""), func(o *mcpcall.Options) { o.Changed = func() { changed <- struct{}{} } })
	before, err := c.Definitions(t.Context(), "desk")
	if err != nil || len(before) != 2 {
		t.Fatalf("the command lists %d tools: %v", len(before), err)
	}
	if ev := c.Send(t.Context(), call("note", `{"text":"grow"}`), write(5*time.Second)); ev.Status != 200 {
		t.Fatalf("%d %s", ev.Status, ev.Body)
	}
	select {
	case <-changed:
	case <-time.After(10 * time.Second):
		t.Fatal("nobody was told")
	}
	after, err := c.Definitions(t.Context(), "desk")
	if err != nil || len(after) != 3 {
		t.Errorf("the command lists %d tools: %v", len(after), err)
	}
}

func TestCommandHandsNoCredentialOfOursBack(t *testing.T) {
	t.Parallel()
	const credential = `s3cr3t-"quoted"<key>`
	var said bytes.Buffer
	s := command(t, t.TempDir(), "")
	env := s.Env
	s.Env = func() ([]string, error) {
		all, err := env()
		return append(all, asSecret+"=Bearer "+credential), err
	}
	s.SecretEnv = []string{asSecret}
	c := newClient(t, s, func(o *mcpcall.Options) {
		o.Log = slog.New(slog.NewJSONHandler(&said, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	for _, text := range []string{"env", "refuse"} {
		ev := c.Send(t.Context(), call("note", `{"text":"`+text+`"}`), write(5*time.Second))
		if ev.Status != 200 || bytes.Contains(ev.Body, []byte("s3cr3t")) || !bytes.Contains(ev.Body, []byte("[redacted]")) {
			t.Errorf("%s: answered %d %s", text, ev.Status, ev.Body)
		}
	}
	c.Close() // the command has said everything
	if log := said.String(); strings.Contains(log, "s3cr3t") || !strings.Contains(log, "my key is [redacted]") {
		t.Errorf("the log says %s", log)
	}
}

func TestProgressOfACallIsHeard(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]mcpcall.Server{
		"with sessions": {URL: serve(t, false, nil).URL},
		"a command":     command(t, t.TempDir(), ""),
	} {
		c := newClient(t, s)
		var mu sync.Mutex
		var heard []onceward.Progress
		opts := write(5 * time.Second)
		opts.OnProgress = func(p onceward.Progress) {
			mu.Lock()
			defer mu.Unlock()
			heard = append(heard, p)
		}
		if ev := c.Send(t.Context(), call("note", `{"text":"a"}`), opts); ev.Status != 200 {
			t.Errorf("%s: %d %s", name, ev.Status, ev.Body)
		}
		mu.Lock()
		if len(heard) != 3 || heard[2] != (onceward.Progress{Done: 3, Total: 3, Message: "step"}) {
			t.Errorf("%s: heard %v", name, heard)
		}
		mu.Unlock()
	}
}
