package proxy

import (
	"bytes"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/onceward/onceward"
)

// Header fields of answers that say what they stand for. ReplayedHeader is what
// Stripe and the Agentic Commerce Protocol call it.
const (
	operationHeader = "Onceward-Operation"
	attemptHeader   = "Onceward-Attempt"
	decisionHeader  = "Onceward-Decision"
	recoveredHeader = "Onceward-Recovered" // the write's answer is gone: this is the object as it is now
	replayedHeader  = "Idempotent-Replayed"
)

// answer sends the provider's answer as it was, where there is one.
func (x *exchange) answer(a *onceward.Answer, s *sink) error {
	op := a.Operation
	x.mark(op.ID, op.Attempt(), a.Decision)
	switch op.State {
	case onceward.StateSucceeded, onceward.StateCompensated:
		if !x.who.SeesResult(op) {
			return &onceward.Error{Code: onceward.CodeForbidden, OperationID: op.ID, Message: "it is done, and somebody else asked for it first: its answer is theirs"}
		}
		if op.Result != nil && op.Result.BodyKept {
			x.write(op.Result)
			return nil
		}
		if r, ok := s.answer(); ok { // too long to be kept
			x.write(&r)
			return nil
		}
		if x.recovered(op) {
			return nil
		}
		if op.Shredded {
			return &onceward.Error{Code: onceward.CodeShredded, OperationID: op.ID, Message: referenced("it is done", op)}
		}
		return &onceward.Error{Code: onceward.CodeResultNotKept, OperationID: op.ID, Message: referenced("it is done", op)}
	case onceward.StateFailed:
		if !x.who.SeesResult(op) {
			break
		}
		if r, ok := s.answer(); ok {
			x.write(&r)
			return nil
		}
		if r := x.refusal(op); r != nil {
			x.write(r)
			return nil
		}
	case onceward.StateCancelled, onceward.StateAbandoned, onceward.StateAwaitingApproval, onceward.StateReady, onceward.StateEffectPending,
		onceward.StateOutcomeUnknown, onceward.StateNeedsReview:
	}
	x.opts.Unfinished(x.w, x.req, a)
	return nil
}

func referenced(message string, op *onceward.Operation) string {
	if op.Reference != "" {
		message += ", reference " + op.Reference
	}
	return message
}

// refusal is the answer with which the provider refused the last attempt, as the
// record has it; nil if there was none, or if not all of it is kept.
func (x *exchange) refusal(op *onceward.Operation) *onceward.Result {
	records, err := x.opts.Ledger.Timeline(x.req.Context(), x.who, op.ID)
	if err != nil {
		return nil
	}
	for i := len(records) - 1; i >= 0; i-- {
		r := &records[i]
		if r.Attempt != op.Attempt() || r.Evidence == nil {
			continue
		}
		ev := r.Evidence
		if ev.Status == 0 || ev.BodyCut || ev.BodyTooBig || len(ev.Body) >= onceward.RecordBodyBytes {
			return nil
		}
		return &onceward.Result{Status: ev.Status, Header: onceward.ReplayableHeader(ev.Header), Body: ev.Body, BodyKept: true}
	}
	return nil
}

// mark says which operation the answer stands for, and how it was come by.
func (x *exchange) mark(id onceward.OperationID, attempt int, d onceward.Decision) {
	h := x.w.Header()
	h.Set(operationHeader, id.String())
	h.Set(decisionHeader, string(d))
	if attempt > 0 {
		h.Set(attemptHeader, id.String()+"."+strconv.Itoa(attempt))
	}
	if d == onceward.DecisionReplayed {
		h.Set(replayedHeader, "true")
	}
}

// ours reports whether a header field is one that only this server sends.
func ours(name string) bool { return strings.HasPrefix(strings.ToLower(name), "onceward-") }

// copyHeader sets the fields of an upstream's answer; repeated ones stay a list.
func (x *exchange) copyHeader(fields []onceward.HeaderField) {
	h := x.w.Header()
	fields = slices.DeleteFunc(slices.Clone(fields), func(f onceward.HeaderField) bool { return ours(f.Name) })
	for _, f := range fields {
		h.Del(f.Name)
	}
	for _, f := range fields {
		h.Add(f.Name, f.Value)
	}
}

// write sends a whole answer. A stream of events is sent as one.
func (x *exchange) write(r *onceward.Result) {
	x.copyHeader(r.Header)
	h := x.w.Header()
	h.Set("Cache-Control", "no-store") // it answers this request alone
	if !streams(r.Header) {
		h.Set("Content-Length", strconv.Itoa(len(r.Body)))
		x.w.WriteHeader(r.Status)
		_, _ = x.w.Write(r.Body) // a caller that went away asks again
		return
	}
	x.w.WriteHeader(r.Status)
	flush := http.NewResponseController(x.w)
	for rest := r.Body; len(rest) > 0; {
		event, after, found := bytes.Cut(rest, []byte("\n\n"))
		if found {
			event = rest[:len(event)+len("\n\n")]
		}
		if _, err := x.w.Write(event); err != nil {
			return
		}
		_ = flush.Flush() // what cannot be flushed is sent at the end
		rest = after
	}
}

// stream hands an answer on while it comes. One that ends early is cut here too:
// a cut stream must never look like a whole one. op is nil where it is none's.
func (x *exchange) stream(s *sink, op *onceward.Operation, status int, header []onceward.HeaderField) {
	if op != nil {
		x.mark(op.ID, op.Attempt(), onceward.DecisionFresh)
	}
	x.copyHeader(header)
	x.w.Header().Set("Cache-Control", "no-store")
	x.w.WriteHeader(status)
	flush := http.NewResponseController(x.w)
	for sent := 0; ; {
		p, ended, whole := s.from(sent)
		if len(p) > 0 {
			x.until(answerGrace)
			if _, err := x.w.Write(p); err != nil {
				return // the attempt goes on, and is recorded
			}
			_ = flush.Flush() // what cannot be flushed is sent at the end
			sent += len(p)
			continue
		}
		if ended {
			if !whole {
				panic(http.ErrAbortHandler)
			}
			return
		}
		select {
		case <-s.moved:
		case <-x.req.Context().Done():
			return
		}
	}
}
