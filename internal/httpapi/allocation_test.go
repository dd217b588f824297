//go:build !race

package httpapi

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Budgets of allocations, a little over what is used: a tenth of a server's
// processor goes into them. Not parallel: what others allocate would be counted. Not
// under the race detector, which allocates itself and empties pools.
func TestRepeatAllocatesLittle(t *testing.T) {
	w := newWorld(t)
	answer := answerOf(t, w)
	repeat := func() {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/tools/tickets.create/call?wait=30s", strings.NewReader(firstInput))
		req.Header["Content-Type"] = typeJSON
		s := sink{header: http.Header{}}
		if w.api.ServeHTTP(&s, req); s.status != http.StatusOK {
			t.Fatalf("status %d", s.status)
		}
	}
	for name, c := range map[string]struct {
		do     func()
		budget float64
	}{"showing and writing an operation": {answer, 24}, "a request from its head to its answer, on a ledger in memory": {repeat, 115}} {
		if n := testing.AllocsPerRun(200, c.do); n > c.budget {
			t.Errorf("%s takes %.0f allocations, the budget is %.0f", name, n, c.budget)
		} else {
			t.Logf("%s takes %.0f allocations of %.0f", name, n, c.budget)
		}
	}
}
