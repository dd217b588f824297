package httpapi

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/onceward/onceward"
)

// Health says that the process serves, or that its ledger can record.
type Health struct {
	Status string `json:"status" enum:"healths"`
}

// healthz is GET /healthz: the process serves.
func healthz(c *call) error {
	writeJSON(c.w, http.StatusOK, mediaJSON, &Health{Status: "ok"})
	return nil
}

// readiness keeps the last answer for a moment, and lets one check run at a time.
type readiness struct {
	mu    sync.Mutex
	until time.Time
	err   error
}

// readyz is GET /readyz: the ledger can be read and written, and the server
// does not go away.
func readyz(c *call) error {
	if c.draining.Load() {
		return &onceward.Error{Code: onceward.CodeOverloaded, Message: "the server is going away", Hint: "ask another replica"}
	}
	if err := c.ready.check(c.req.Context(), c.opts.Now, c.ledger); err != nil {
		return err
	}
	writeJSON(c.w, http.StatusOK, mediaJSON, &Health{Status: "ready"})
	return nil
}

func (r *readiness) check(ctx context.Context, now func() time.Time, l *onceward.Ledger) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now().Before(r.until) {
		return r.err
	}
	// Why detached: a caller that hangs up must not be the next one's answer.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ReadyTimeout)
	defer cancel()
	if r.err = l.Check(ctx); ctx.Err() != nil && onceward.Is(r.err, onceward.CodeCanceled) {
		r.err = &onceward.Error{Code: onceward.CodeLedgerUnavailable, Op: "check ledger", Message: "the ledger did not answer within " + ReadyTimeout.String(), Err: r.err}
	}
	r.until = now().Add(ReadyFor)
	return r.err
}

// openAPI is GET /openapi.json.
func openAPI(c *call) error {
	h := c.w.Header()
	h.Set("Content-Type", mediaJSON)
	h.Set("Cache-Control", "no-cache")
	_, _ = c.w.Write(c.openapi)
	return nil
}
