package httpapi

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/onceward/onceward"
)

// sink takes an answer and keeps its status.
type sink struct {
	header http.Header
	status int
	bytes  int
}

func (s *sink) Header() http.Header { return s.header }

func (s *sink) WriteHeader(status int) { s.status = status }

func (s *sink) Write(p []byte) (int, error) {
	s.bytes += len(p)
	return len(p), nil
}

func benchmarkPost(b *testing.B, w *world, status int, target func(i int) (path, body string, header http.Header)) {
	b.Helper()
	b.ReportAllocs()
	answered := 0
	for i := 0; b.Loop(); i++ {
		path, body, h := target(i)
		req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, path, strings.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		req.Header = h
		s := sink{header: http.Header{}}
		w.api.ServeHTTP(&s, req)
		if s.status != status {
			b.Fatalf("status %d, want %d", s.status, status)
		}
		answered += s.bytes
	}
	b.ReportMetric(float64(answered)/float64(b.N), "answer-B/op")
}

var jsonHeader = http.Header{"Content-Type": {"application/json"}}

// BenchmarkDuplicate is the answer to a repeated request, without the network.
func BenchmarkDuplicate(b *testing.B) {
	w := newWorld(b)
	w.submit(probed, firstInput).want(200)
	body := `{"tool":"tickets.create","input":` + firstInput + `}`
	b.Run("operation", func(b *testing.B) {
		benchmarkPost(b, w, 200, func(int) (string, string, http.Header) { return "/v1/operations", body, jsonHeader })
	})
	b.Run("call", func(b *testing.B) {
		h := http.Header{"Content-Type": {"application/json"}, "Idempotency-Key": {"k"}}
		benchmarkPost(b, w, 200, func(int) (string, string, http.Header) { return "/v1/tools/tickets.create/call", firstInput, h })
	})
}

// BenchmarkFresh is a first request, its write and its answer, without the
// network and on a ledger in memory.
func BenchmarkFresh(b *testing.B) {
	w := newWorld(b)
	benchmarkPost(b, w, 200, func(i int) (string, string, http.Header) {
		return "/v1/operations", fmt.Sprintf(`{"tool":"tickets.create","input":{"id":"k%d","amount":100}}`, i), jsonHeader
	})
}

// answerOf is a function that shows and writes the answer to a repeat.
func answerOf(tb testing.TB, w *world) func() {
	tb.Helper()
	id, err := onceward.ParseOperationID(w.settled(probed))
	if err != nil {
		tb.Fatal(err)
	}
	op, err := w.ledger.Get(tb.Context(), onceward.LocalPrincipal(), id, 0)
	if err != nil {
		tb.Fatal(err)
	}
	a := &onceward.Answer{Operation: op, Decision: onceward.DecisionReplayed}
	return func() {
		status, ok, _ := itemAnswer(a, operation(a.Operation, onceward.LocalPrincipal()))
		writeJSON(&sink{header: http.Header{}}, status, mediaJSON, ok)
	}
}

// BenchmarkAnswer is what showing an operation costs.
func BenchmarkAnswer(b *testing.B) {
	answer := answerOf(b, newWorld(b))
	b.ReportAllocs()
	for b.Loop() {
		answer()
	}
}
