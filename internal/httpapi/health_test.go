package httpapi

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/onceward/onceward"
)

func TestReadinessIsTheLedgers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.get("/readyz").want(200, "status", "ready")
	w.store.breakWith(&onceward.Error{Code: onceward.CodeLedgerReadOnly, Message: "the database does not take writes"})
	w.clock.Advance(ReadyFor)
	w.get("/readyz").want(503, "code", "ledger_read_only").lacks("detail")
	if !strings.Contains(w.log.String(), "the database does not take writes") {
		t.Errorf("the log does not say why: %s", w.log)
	}
	w.get("/healthz").want(200, "status", "ok")
	w.store.breakWith(nil)
	w.clock.Advance(ReadyFor)
	w.get("/readyz").want(200)
}

func TestReadinessDoesNotLoadTheLedger(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 20 {
		w.get("/readyz").want(200)
	}
	if checks := w.store.calls()[2]; checks != 1 {
		t.Errorf("20 questions in a moment made %d checks", checks)
	}
}

func TestCallerThatHangsUpDoesNotMakeTheServerUnready(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w.send(httptest.NewRequestWithContext(ctx, http.MethodGet, "/readyz", nil)).want(200)
}

func TestServerThatGoesAwayIsNotReadyAndStillServes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.api.Drain()
	w.get("/readyz").want(503, "code", "overloaded")
	w.get("/healthz").want(200)
	w.submit(probed, firstInput).want(200)
}
