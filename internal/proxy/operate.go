package proxy

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/contract"
)

// operate makes an operation of a request that a route names.
func (x *exchange) operate(route *contract.Route) error {
	body, err := x.body(OperationBytesMax)
	if err != nil {
		return err
	}
	if v := x.req.Header.Values("Content-Encoding"); len(v) > 0 && !strings.EqualFold(v[0], "identity") {
		return &onceward.Error{Code: onceward.CodeUnsupportedMedia, Message: "the body has a content coding: what it means cannot be read", Hint: "send it without Content-Encoding"}
	}
	in := onceward.Intent{Principal: x.who, Tool: route.Tool, Input: x.up.ForwardInput(x.target, x.req.Header, body), Wait: x.up.Wait()}
	if in.CallerKey, err = callerKey(x.req.Header); err != nil {
		return err
	}
	if in.Run, err = label(x.req.Header, "Onceward-Run"); err != nil {
		return err
	}
	if in.CorrelationID, err = label(x.req.Header, "Onceward-Correlation-Id"); err != nil {
		return err
	}
	tool, err := x.opts.Ledger.Tool(route.Tool)
	if err != nil {
		return err
	}
	if in.CallerKey == "" && !route.KeyRule {
		if route.Keyless {
			return x.passWrite(body)
		}
		if !tool.Info().Policy.Effect.Writes() {
			in.CallerKey = onceward.Key("once-" + rand.Text()) // as the contract would: a request of its own
		}
	}
	ids, err := idsOf(tool, &in)
	if err != nil {
		return err
	}
	return x.ask(in, ids)
}

// idsOf are the IDs that an intent's operation can have: its own, and those
// under earlier key rules.
func idsOf(tool onceward.Tool, in *onceward.Intent) ([]onceward.OperationID, error) {
	p, err := tool.Prepare(in, 0)
	if err != nil {
		return nil, err
	}
	ids := []onceward.OperationID{onceward.NewOperationID(in.Principal.Tenant, in.Tool, p.Key)}
	for _, k := range p.Aliases {
		ids = append(ids, onceward.NewOperationID(in.Principal.Tenant, in.Tool, k))
	}
	return ids, nil
}

// told is what the ledger answered.
type told struct {
	answer *onceward.Answer
	err    error
}

// ask submits the intent and hands its answer on: a stream while it comes,
// anything else once it is recorded.
func (x *exchange) ask(in onceward.Intent, ids []onceward.OperationID) error {
	s := newSink()
	leave := x.opts.Held.put(ids, without(x.forwardable(), "idempotency-key", "x-idempotency-key", "content-type", "accept-encoding"), s)
	defer leave()
	x.until(in.Wait + answerGrace)
	if x.up.CallerCredentials() {
		// An operation that waits for its caller goes on with what this one brought.
		if err := x.opts.Ledger.Advance(x.req.Context(), ids[0]); err != nil {
			x.log.Warn("operation not looked at", "operation", ids[0].String(), "error", err)
		}
	}
	// Why its own end: a stream goes on after the ledger stopped waiting, and the
	// ledger must not wait for a caller that is gone.
	ctx, cancel := context.WithCancel(x.req.Context())
	defer cancel()
	done := make(chan told, 1)
	go func() {
		a, err := x.opts.Ledger.Submit(ctx, in)
		done <- told{a, err}
	}()
	for {
		select {
		case <-s.moved:
			if status, header, live := s.streaming(); live {
				if op := x.mayHear(ids[0]); op != nil {
					x.stream(s, op, status, header)
					return nil
				}
			}
		case t := <-done:
			if status, header, live := s.streaming(); live {
				if op := x.mayHear(ids[0]); op != nil {
					x.stream(s, op, status, header)
					return nil
				}
			}
			if t.err != nil {
				return t.err
			}
			leave()
			if t.answer.Operation.State.Terminal() {
				x.opts.Held.forget(ids)
			}
			return x.answer(t.answer, s)
		}
	}
}

// mayHear returns the operation whose answer may be handed on while it comes;
// nil: it may not, for another attempt may be heard by whoever waits then, and it
// is not his operation. What cannot be looked up is answered from the record.
func (x *exchange) mayHear(id onceward.OperationID) *onceward.Operation {
	op, err := x.opts.Ledger.Get(x.req.Context(), x.who, id, 0)
	if err != nil || !x.who.SeesResult(op) {
		return nil
	}
	return op
}

// body reads the request's body; nil if it is empty.
func (x *exchange) body(limit int64) ([]byte, error) {
	if x.req.Body == nil || x.req.Body == http.NoBody {
		return nil, nil
	}
	body, err := io.ReadAll(http.MaxBytesReader(x.w, x.req.Body, limit))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, onceward.Errorf(onceward.CodeTooLarge, "the body is longer than %d bytes", limit)
	case err != nil:
		return nil, &onceward.Error{Code: onceward.CodeInvalidRequest, Message: "the body did not arrive whole: nothing was done", Hint: "send the request again"}
	case len(body) == 0:
		return nil, nil
	}
	return body, nil
}

// callerKey reads the Idempotency-Key of a request, raw or quoted.
func callerKey(h http.Header) (onceward.Key, error) {
	lines := h.Values("Idempotency-Key")
	if len(lines) == 0 {
		return "", nil
	}
	return onceward.ParseCallerKey(lines)
}

func label(h http.Header, name string) (string, error) {
	v := h.Get(name)
	return v, onceward.CheckLabel(name, v)
}
