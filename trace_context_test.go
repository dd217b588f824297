package onceward_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
)

// spans remembers what a tracer was told.
type spans struct {
	mu  sync.Mutex
	all []onceward.Span
}

func (s *spans) Exchanged(one onceward.Span) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, one)
}

func traceparents(w *world) (out []string) {
	for _, r := range w.provider.Requests() {
		value := ""
		for _, f := range r.Header {
			if strings.EqualFold(f.Name, "traceparent") {
				value += f.Value
			}
		}
		out = append(out, value)
	}
	return out
}

const givenTrace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

func TestTheCallersTraceGoesOnToTheProviderWithASpanOfEachAttempt(t *testing.T) {
	t.Parallel()
	var told spans
	w := newWorld(t, oncewardtest.NewTool("t.write", onceward.EffectKeyedWrite), func(o *onceward.Options) { o.Tracer = &told })
	w.provider.Script(oncewardtest.FaultErrorAfter)
	a := w.ask(`{"id":"a"}`, func(in *onceward.Intent) { in.TraceParent = givenTrace })
	w.pass(patience)
	w.want(a.Operation, onceward.StateSucceeded, 1)
	sent := traceparents(w)
	if len(sent) != 2 || len(told.all) != 2 || sent[0] == sent[1] {
		t.Fatalf("sent %q, with %d spans", sent, len(told.all))
	}
	for i, s := range told.all {
		if !strings.HasPrefix(sent[i], givenTrace[:36]) || strings.HasPrefix(sent[i], givenTrace[:52]) || !strings.HasSuffix(sent[i], "-01") {
			t.Errorf("attempt %d was sent with %s", i+1, sent[i])
		}
		if s.What != onceward.SpanAttempt || s.Attempt != i+1 || s.Operation != a.Operation.ID || s.ParentID[0] != 0 || s.ParentID[1] != 0xf0 || s.Resend != (i == 1) {
			t.Errorf("the span of attempt %d is %+v", i+1, s)
		}
	}
	if told.all[0].Outcome != "unknown" || told.all[1].Outcome != "done" {
		t.Errorf("the outcomes are %s and %s", told.all[0].Outcome, told.all[1].Outcome)
	}
}

func TestWhereNobodyTracesNothingIsAddedToTheRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oncewardtest.NewTool("t.write", onceward.EffectKeyedWrite))
	w.ask(`{"id":"a"}`)
	w.ask(`{"id":"b"}`, func(in *onceward.Intent) { in.TraceParent = "no trace at all" })
	if sent := traceparents(w); sent[0] != "" || sent[1] != "" {
		t.Errorf("sent %q", sent)
	}
}
