package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/onceward/onceward"
)

func TestEveryCodeHasItsStatus(t *testing.T) {
	t.Parallel()
	titles := map[string]onceward.Code{}
	for _, c := range onceward.AllCodes {
		info, ok := codes[c]
		if !ok || info.status < 400 || info.status > 599 || info.title == "" {
			t.Errorf("%s is answered by %+v", c, info)
		}
		if other, taken := titles[info.title]; taken {
			t.Errorf("%s and %s have one title", c, other)
		}
		titles[info.title] = c
		p := problemOf(&onceward.Error{Code: c, Message: "m"})
		if p.Code != string(c) || p.Status != Status(c) || p.Title != Title(c) || p.Type != "urn:onceward:problem:"+string(c) {
			t.Errorf("%s becomes %+v", c, p)
		}
	}
	if len(codes) != len(onceward.AllCodes) {
		t.Errorf("the table has %d codes, there are %d", len(codes), len(onceward.AllCodes))
	}
}

func TestStatusOfACodeThatNobodyKnowsIs500(t *testing.T) {
	t.Parallel()
	if got := Status("no such code"); got != 500 {
		t.Errorf("status %d", got)
	}
	if p := problemOf(&onceward.Error{Code: "no such code", Message: "secret"}); p.Code != "internal" || p.Detail != "" {
		t.Errorf("problem %+v", p)
	}
}

func TestServerFaultsAreServerStatusesAndRefusalsAreNot(t *testing.T) {
	t.Parallel()
	for _, c := range onceward.AllCodes {
		if ledger := strings.HasPrefix(string(c), "ledger_"); ledger && Status(c) < 500 {
			t.Errorf("%s is answered by %d", c, Status(c))
		}
		if Status(c) < 500 && c != onceward.CodeCanceled && !blocks(c) {
			t.Errorf("%s is answered by %d though its request may have done something", c, Status(c))
		}
	}
}

func TestCauseOfAnErrorIsNotShown(t *testing.T) {
	t.Parallel()
	secret := errors.New("dial postgres://user:hunter2@db")
	for _, err := range []error{
		&onceward.Error{Code: onceward.CodeLedgerUnavailable, Message: "the ledger cannot be reached", Err: secret},
		fmt.Errorf("load operation: %w", &onceward.Error{Code: onceward.CodeLedgerUnavailable, Message: "m", Err: secret}),
		&onceward.Error{Code: onceward.CodeInternal, Message: "hunter2"},
		secret,
	} {
		rec := httptest.NewRecorder()
		WriteProblem(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil), err)
		if strings.Contains(rec.Body.String(), "hunter2") {
			t.Errorf("%v is shown as %s", err, rec.Body)
		}
	}
}

func TestPanicIsAnInternalProblemThatTellsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	broken := &route{Method: "GET", Path: "/broken", Name: "broken", handle: func(*call) error { panic("hunter2") }}
	rec := httptest.NewRecorder()
	rec.Header().Set(RequestIDHeader, "req-7")
	w.api.serve(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/broken", nil), broken)
	if rec.Code != 500 || strings.Contains(rec.Body.String(), "hunter2") || !strings.Contains(rec.Body.String(), `"request_id":"req-7"`) {
		t.Errorf("answered %d %s", rec.Code, rec.Body)
	}
	if log := w.log.String(); !strings.Contains(log, "hunter2") || !strings.Contains(log, "request=req-7") || !strings.Contains(log, "problem_test.go") {
		t.Errorf("the log lacks the panic, the request or the stack: %s", log)
	}
}

func TestAbortedHandlerIsLeftToTheServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer func() {
		if err, ok := recover().(error); !ok || !errors.Is(err, http.ErrAbortHandler) {
			t.Error("the abort was swallowed")
		}
	}()
	aborts := &route{Method: "GET", Path: "/x", handle: func(*call) error { panic(http.ErrAbortHandler) }}
	w.api.serve(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/x", nil), aborts)
}

func TestLedgerThatCannotBeReachedRefusesAndIsLoggedOnceASecond(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.store.breakWith(&onceward.Error{Code: onceward.CodeLedgerUnavailable, Message: "the ledger cannot be reached", Err: errors.New("driver: broken pipe")})
	for range 5 {
		r := w.submit(probed, firstInput).want(503, "code", "ledger_unavailable", "retryable", true, "side_effect_possible", false, "decision", "blocked")
		if r.header.Get("Retry-After") != "1" {
			t.Errorf("Retry-After is %q", r.header.Get("Retry-After"))
		}
	}
	if n := strings.Count(w.log.String(), "driver: broken pipe"); n != 1 {
		t.Errorf("the cause was logged %d times in one second:\n%s", n, w.log)
	}
	if w.provider.Writes() != 0 {
		t.Error("the provider was called")
	}
	w.store.breakWith(nil)
	w.submit(probed, firstInput).want(200, "decision", "fresh")
}

func TestLedgerLostWhileRecordingIsNoRefusal(t *testing.T) {
	t.Parallel()
	w := openWorld(t, func(o *onceward.Options) { o.Writer = nil }) // each change is committed alone, and once
	w.store.breakWith(&onceward.Error{Code: onceward.CodeMayBeRecorded, Message: "the connection was lost during commit"})
	r := w.submit(probed, firstInput).want(503, "code", "may_be_recorded", "retryable", true, "side_effect_possible", true).lacks("decision")
	if !strings.Contains(r.text("advice"), "same") {
		t.Errorf("advice is %q", r.text("advice"))
	}
}

func TestUsualRequestIsNotLogged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.submit(probed, firstInput).want(200)
	w.submit(probed, otherInput).want(422)
	if w.log.Len() > 0 {
		t.Errorf("the log has %s", w.log)
	}
}

// What an operator has to mend is in the log; the caller is told what to do.
func TestWhoAsksIsNotToldHowToMendTheLedger(t *testing.T) {
	t.Parallel()
	for code, says := range map[onceward.Code]string{onceward.CodeLedgerUnavailable: "the provider was not called", onceward.CodeLedgerReadOnly: "the provider was not called",
		onceward.CodeLedgerForeign: "did nothing", onceward.CodeLedgerTooNew: "did nothing", onceward.CodeMayBeRecorded: "may have been recorded", onceward.CodeContractSuperseded: "did nothing"} {
		w := openWorld(t, func(o *onceward.Options) { o.Writer = nil })
		w.store.breakWith(&onceward.Error{Code: code, Message: "cannot reach PostgreSQL at db7:5432", Hint: "raise max_connections on db7"})
		r := w.submit(probed, firstInput).want(503, "code", code)
		if strings.Contains(r.raw, "db7") || !strings.Contains(r.text("advice"), says) || r.body["retryable"] == true && !strings.Contains(r.text("advice"), "the same") {
			t.Errorf("%s: the caller is told %s", code, r.raw)
		}
		if log := w.log.String(); !strings.Contains(log, "db7:5432") || !strings.Contains(log, "raise max_connections") {
			t.Errorf("%s: the log lacks what to do: %s", code, log)
		}
	}
}
