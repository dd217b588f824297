package onceward

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Tracer is told of every exchange with a provider once it is over. It must
// neither block nor fail.
type Tracer interface{ Exchanged(s Span) }

// What a span is of.
const (
	SpanAttempt = "attempt"
	SpanProbe   = "probe"
)

// Span is one exchange with a provider, as a tracer tells it. It holds no key,
// input, request, answer or reference.
type Span struct {
	What     string // SpanAttempt or SpanProbe
	TraceID  [16]byte
	SpanID   [8]byte
	ParentID [8]byte // of whoever asked for the operation first; zero: nobody named one
	Sampled  bool    // as that one said; true where nobody did

	Operation     OperationID
	Attempt       int // 0 for a probe before the first
	Tool          ToolName
	Effect        EffectClass
	Contract      string
	CorrelationID string
	Resend        bool // an earlier attempt was open

	Method, Host string // of the request; the path may hold data
	StartedAt    time.Time
	EndedAt      time.Time
	Reach        Reach
	Status       int
	AnswerBytes  int    // that were read
	Outcome      string // the verdict, or found, absent, inconclusive
	Class        ErrorClass
	Code         string // why not done or unknown; stable short name
}

// traceContext is the trace that an operation belongs to: that of the request
// which made it, or one of its own, named by its ID.
func (o *Operation) traceContext() (trace [16]byte, parent [8]byte, flags byte, given bool) {
	s := o.TraceParent
	if len(s) < 55 {
		return [16]byte(o.ID), parent, 1, false
	}
	var f [1]byte
	_, terr := hex.Decode(trace[:], []byte(s[3:35]))
	_, perr := hex.Decode(parent[:], []byte(s[36:52]))
	_, ferr := hex.Decode(f[:], []byte(s[53:55]))
	if terr != nil || perr != nil || ferr != nil || trace == [16]byte{} || parent == [8]byte{} {
		return [16]byte(o.ID), [8]byte{}, 1, false
	}
	return trace, parent, f[0], true
}

// traced begins the span of an exchange and adds its traceparent to the request,
// where the operation has a trace or somebody traces. A contract that sets the
// field itself keeps its own.
func (l *Ledger) traced(op *Operation, what string, req *Request) Span {
	trace, parent, flags, given := op.traceContext()
	if !given && l.opts.Tracer == nil {
		return Span{}
	}
	s := Span{What: what, TraceID: trace, ParentID: parent, Sampled: flags&1 == 1, Operation: op.ID, Attempt: op.Attempt(), Tool: op.Tool, Effect: op.Effect,
		Contract: op.Contract, CorrelationID: op.CorrelationID, Method: req.Method}
	rand.Read(s.SpanID[:]) // never fails (crypto/rand)
	if a := op.Running(); a != nil {
		s.Resend = a.Resend
	}
	if u, err := url.Parse(req.URL); err == nil {
		s.Host = u.Host
	}
	if !hasField(req.Header, traceField) {
		req.Header = append(req.Header[:len(req.Header):len(req.Header)], HeaderField{traceField, fmt.Sprintf("00-%x-%x-%02x", trace, s.SpanID, flags&1)})
	}
	return s
}

const traceField = "Traceparent"

func hasField(fields []HeaderField, name string) bool {
	return slices.ContainsFunc(fields, func(f HeaderField) bool { return strings.EqualFold(f.Name, name) })
}

// exchanged ends a span with what was seen and what it means.
func (l *Ledger) exchanged(s Span, ev *Evidence, outcome string, f Failure) {
	if l.opts.Tracer == nil {
		return
	}
	s.StartedAt, s.EndedAt, s.Reach, s.Status, s.AnswerBytes = ev.StartedAt, ev.EndedAt, ev.Reach, ev.Status, len(ev.Body)
	s.Outcome, s.Class, s.Code = outcome, f.Class, f.Code
	if f.Class == ClassNone {
		s.Class, s.Code = ev.ErrorClass, ev.ErrorCode
	}
	l.opts.Tracer.Exchanged(s)
}
