package onceward_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
)

// listedTool is a tool whose provider lists its objects.
type listedTool struct{ *oncewardtest.Tool }

const listURL = "http://provider.test/list"

func (listedTool) AuditRequest(onceward.Tenant) (*onceward.Request, error) {
	return &onceward.Request{Method: "GET", URL: listURL}, nil
}

// A line is a reference, and the key if the object bears one.
func (listedTool) AuditedObjects(_ onceward.Tenant, ev *onceward.Evidence) (all []onceward.AuditedObject, err error) {
	if ev.Status != 200 {
		return nil, onceward.Errorf(onceward.CodeProviderUnreachable, "no list")
	}
	for line := range strings.Lines(string(ev.Body)) {
		reference, key, _ := strings.Cut(strings.TrimSpace(line), " ")
		all = append(all, onceward.AuditedObject{Reference: reference, ProviderKey: key})
	}
	return all, nil
}

// shelf is a provider that can list what it has.
type shelf struct {
	onceward.Provider
	mu     sync.Mutex
	lines  []string
	broken bool
}

func (s *shelf) put(lines ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, lines...)
}

func (s *shelf) Send(ctx context.Context, req *onceward.Request, opts onceward.SendOptions) onceward.Evidence {
	if req.URL != listURL {
		return s.Provider.Send(ctx, req, opts)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken {
		return onceward.Evidence{Status: 503}
	}
	return onceward.Evidence{Status: 200, Body: []byte(strings.Join(s.lines, "\n"))}
}

// listed is a world with a tool t.listed.
func listed(t *testing.T) (*world, *shelf, *oncewardtest.Meter) {
	t.Helper()
	m, s := new(oncewardtest.Meter), new(shelf)
	w := newWorld(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite))
	s.Provider = w.provider
	w.beside = append(w.beside, listedTool{oncewardtest.NewTool("t.listed", onceward.EffectProbedWrite)})
	w.restart(func(o *onceward.Options) { o.Meter, o.Provider = m, s })
	return w, s, m
}

func (w *world) compareListing() {
	w.t.Helper()
	compared, err := w.ledger.CompareListing(w.t.Context())
	if err != nil || !compared {
		w.t.Fatalf("the listing was compared: %v, %v", compared, err)
	}
}

func ofListed(in *onceward.Intent) { in.Tool = "t.listed" }

func TestProviderObjectWithoutAnOperationIsSuspectedOnceAndTold(t *testing.T) {
	t.Parallel()
	w, s, m := listed(t)
	s.put("older-than-the-ledger")
	w.compareListing()
	ours := w.ask(`{"id":"a"}`, ofListed).Operation
	s.put(ours.Reference, "past-the-ledger")
	w.compareListing()
	if n := w.noted(onceward.AuditBypassSuspected); n != 0 {
		t.Fatalf("an object was suspected %d times when it was seen first: its outcome may be on the way", n)
	}
	for range 3 {
		w.compareListing()
	}
	if n := w.noted(onceward.AuditBypassSuspected); n != 1 {
		t.Errorf("the object was told %d times, want once", n)
	}
	wantMetric(t, m, 1, onceward.MetricAlarms, "t.listed", "bypass_suspected")
	wantMetric(t, m, 1, onceward.MetricMonitor, "t.listed", "listing_unexplained")
}

func TestObjectThatAnOperationOfLongAgoExplainsIsNotSuspected(t *testing.T) {
	t.Parallel()
	w, s, _ := listed(t)
	w.compareListing()
	ours := w.ask(`{"id":"a"}`, ofListed).Operation
	w.clock.Advance(100 * time.Hour)
	s.put(ours.Reference, "renamed "+ours.ProviderKey)
	for range 3 {
		w.compareListing()
	}
	if n := w.noted(onceward.AuditBypassSuspected); n != 0 {
		t.Errorf("%d objects are suspected", n)
	}
}

func TestObjectThatMayBeAnUnknownOperationsIsNotSuspected(t *testing.T) {
	t.Parallel()
	w, s, m := listed(t)
	w.compareListing()
	w.provider.Script(oncewardtest.FaultAnswerLost)
	if _, err := w.submit(`{"id":"a"}`, ofListed); err != nil {
		t.Fatal(err)
	}
	w.ledger.WaitIdle()
	s.put("without-a-key", "another with-a-key-of-nobody")
	for range 3 {
		w.compareListing()
	}
	if n := w.noted(onceward.AuditBypassSuspected); n != 1 {
		t.Errorf("%d objects are suspected, want the one whose key is nobody's", n)
	}
	wantMetric(t, m, 1, onceward.MetricAlarms, "t.listed", "bypass_suspected")
}

func TestListingThatFailsSuspectsNobody(t *testing.T) {
	t.Parallel()
	w, s, m := listed(t)
	w.compareListing()
	s.broken = true
	if _, err := w.ledger.CompareListing(t.Context()); !onceward.Is(err, onceward.CodeProviderUnreachable) {
		t.Errorf("a listing that fails is told as %v", err)
	}
	wantMetric(t, m, 1, onceward.MetricMonitor, "t.listed", "listing_failed")
}
