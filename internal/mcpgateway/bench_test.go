package mcpgateway

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// p50 posts a message as often as the benchmark wants and returns the median.
func p50(b *testing.B, url string, body func(i int) string) time.Duration {
	b.Helper()
	took := make([]time.Duration, 0, b.N)
	for i := range b.N {
		req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, url, strings.NewReader(body(i)))
		if err != nil {
			b.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		began := time.Now()
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			b.Fatal(err)
		}
		answer, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		took = append(took, time.Since(began))
		if !strings.Contains(string(answer), `"result"`) || strings.Contains(string(answer), `"isError":true`) {
			b.Fatalf("answered %s", answer)
		}
	}
	slices.Sort(took)
	return took[len(took)/2]
}

// BenchmarkCall compares calls of another server's tool through the gateway with
// the same calls made directly, one after the other. The ledger is in memory, so
// that commits cost nothing: a write on a real one costs two more.
func BenchmarkCall(b *testing.B) {
	for name, of := range map[string]func(i int) string{
		"read":  func(i int) string { return toolCall(i, "listTickets", `{}`) },
		"write": func(i int) string { return toolCall(i, "createTicket", fmt.Sprintf(`{"id":"%d"}`, i)) },
	} {
		b.Run(name, func(b *testing.B) {
			w, _ := newDesk(b, "  unlisted: pass_reads\n"+deskWrites)
			direct := p50(b, w.gateway.servers()[0].URL, of)
			b.ResetTimer()
			through := p50(b, w.server.URL+"/mcp/desk", of)
			b.ReportMetric(float64(direct.Microseconds()), "µs-direct")
			b.ReportMetric(float64(through.Microseconds()), "µs-through")
			b.ReportMetric(float64((through - direct).Microseconds()), "µs-more")
		})
	}
}

// BenchmarkSessions tells what 500 sessions of the older era keep in memory, each
// after one call. The clients are in the same process and counted too.
func BenchmarkSessions(b *testing.B) {
	for b.Loop() {
		w := newWorld(b)
		inUse := func() float64 {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return float64(m.HeapInuse+m.StackInuse) / (1 << 20)
		}
		before := inUse()
		var sessions []*mcp.ClientSession
		for i := range 500 {
			s := w.client("2025-11-25", nil)
			w.call(s, tickets, fmt.Sprintf(`{"id":"%d"}`, i), nil)
			sessions = append(sessions, s)
		}
		b.ReportMetric(inUse()-before, "MiB-both-ends")
		runtime.KeepAlive(sessions)
	}
}
