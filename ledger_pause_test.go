package onceward_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
)

// together hands no answer on before so many writes have one.
type together struct {
	onceward.Provider
	n    int
	mu   sync.Mutex
	all  chan struct{}
	seen int
}

func (p *together) Send(ctx context.Context, req *onceward.Request, opts onceward.SendOptions) onceward.Evidence {
	ev := p.Provider.Send(ctx, req, opts)
	p.mu.Lock()
	if p.seen++; p.seen == p.n {
		close(p.all)
	}
	p.mu.Unlock()
	select {
	case <-p.all:
	case <-ctx.Done():
	}
	return ev
}

// lines is a log that is read while it is written.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.buf.String(), text)
}

// Many writes are on the wire when the provider refuses the credential. The tool
// is paused with one alarm, not with one for each; none of them burns its budget,
// and after the tool is resumed each goes on under its own key.
func TestACredentialRefusedForManyAtOnceRaisesOneAlarm(t *testing.T) {
	t.Parallel()
	const n = 8
	tool := oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite, func(i *onceward.ToolInfo) { i.Policy.MaxAttempts = 1 })
	onEachStore(t, tool, func(t *testing.T, w *world) {
		log := &lines{}
		r := w.another(func(o *onceward.Options) {
			o.Provider = &together{Provider: o.Provider, n: n, all: make(chan struct{})}
			o.Log = slog.New(slog.NewTextHandler(log, nil))
		})
		for range n {
			w.provider.Script(oncewardtest.FaultUnauthorized)
		}
		all := make([]*onceward.Operation, n)
		for i := range all {
			a, err := r.submit(fmt.Sprintf(`{"id":"k%d"}`, i))
			if err != nil {
				t.Fatal(err)
			}
			all[i] = a.Operation
		}
		r.quiet()
		w.wantWrites(n)
		if alarms := log.count("tool paused"); alarms != 1 {
			t.Errorf("%d alarms, want 1", alarms)
		}
		r.pass(time.Hour)
		w.wantWrites(n)
		if released, err := r.ledger.ResumeTool(t.Context(), onceward.LocalPrincipal(), "t.write"); err != nil || released != n {
			t.Fatalf("resume released %d, %v", released, err)
		}
		r.pass(time.Second)
		for _, op := range all {
			r.want(op, onceward.StateSucceeded, n)
		}
		sent := map[string]int{}
		for _, req := range w.provider.Requests() {
			sent[req.Header[0].Value]++
		}
		for key, times := range sent {
			if times != 2 {
				t.Errorf("under %s %d writes were sent, want 2", key, times)
			}
		}
		if len(sent) != n {
			t.Errorf("%d keys, want %d", len(sent), n)
		}
		w.provider.Script(oncewardtest.FaultUnauthorized)
		r.ask(`{"id":"later"}`)
		if alarms := log.count("tool paused"); alarms != 2 {
			t.Errorf("%d alarms after it was refused anew, want 2", alarms)
		}
	})
}

// A process parked an operation by a commit that came through after the resume
// had released what was parked by then, and died. Those that are there see to it.
func TestWhatIsParkedByALateCommitAfterTheResumeGoesOn(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite), func(t *testing.T, w *world) {
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		must(w.ledger.RefreshSwitches(t.Context()))
		gone := w.another()
		must(gone.ledger.PauseTool(t.Context(), onceward.LocalPrincipal(), "t.write", "a try"))
		must(w.ledger.RefreshSwitches(t.Context()))
		a, err := gone.submit(`{"id":"a"}`)
		must(err)
		gone.kill()
		// The resume as a process throws it that releases nothing any more.
		must(w.store.SetSwitch(t.Context(), onceward.ToolSwitch{Tenant: onceward.DefaultTenant, Tool: "t.write", By: "local:operator"}))
		must(w.ledger.RefreshSwitches(t.Context()))
		w.pass(time.Second)
		w.want(a.Operation, onceward.StateReady, 0)
		w.clock.Advance(time.Minute)
		must(w.ledger.RefreshSwitches(t.Context()))
		w.pass(time.Second)
		w.want(a.Operation, onceward.StateSucceeded, 1)
		w.wantWrites(1)
	})
}
