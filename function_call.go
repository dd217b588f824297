package onceward

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Call is one attempt, or one look-up, as a function sees it.
type Call struct {
	Attempt     AttemptID // the newest one, for a look-up
	Tenant      Tenant
	Tool        ToolName
	Key         Key
	ProviderKey string // equal on every attempt, restart and replay: give it to whoever takes a key
	Input       []byte // canonical JSON, as the first request brought it; not to be changed
	Reference   string // of the effect, as far as it is known
	TraceParent string

	check func() error // nil: nothing is in its way
}

func callOf(op *Operation) *Call {
	return &Call{Attempt: AttemptID{op.ID, op.Attempt()}, Tenant: op.Tenant, Tool: op.Tool, Key: op.Key, ProviderKey: op.ProviderKey, Input: op.Input, Reference: op.Reference,
		TraceParent: op.TraceParent}
}

// Check says, directly before the effect, whether it may still be made: nil, or
// why not (the lease has passed, the tool is paused, the ledger is closed). It was
// asked before the function was called; one that takes long before its effect asks
// again, and returns NotDone for what it did not do. A Call that no ledger made, as
// a test of the function's own, may always.
func (c *Call) Check() error {
	if c.check == nil {
		return nil
	}
	return c.check()
}

// Outcome is what a function knows after an attempt. The zero value, without an
// error beside it, is done.
type Outcome struct {
	Verdict    Verdict       // zero: done
	Reference  string        // the other system's name of the effect; empty: it has none
	Result     []byte        // for every later request; nil: none
	Failure    Failure       // why it is not done, or unknown; zero: from the error
	RetryAfter time.Duration // how long to wait before the next attempt; 0: no wish
}

// NotDone is the outcome of an attempt that surely had no effect. retryable says
// that the same may succeed later.
func NotDone(class ErrorClass, code, message string, retryable bool) Outcome {
	return Outcome{Verdict: VerdictNotDone, Failure: Failure{Class: class, Code: code, Message: message, Retryable: retryable}}
}

// FunctionErrorMax is how much of an error's text the ledger keeps, in bytes.
const FunctionErrorMax = 300

// functionGrace is how long a function may still run once its process goes away.
const functionGrace = 5 * time.Second

// stillRunning is the problem of a function that had not returned by then.
const stillRunning = "still_running"

// Fields of the evidence in which a function's word stands. They are on no wire.
const (
	functionFields     = "onceward-function-"
	functionVerdict    = functionFields + "verdict"
	functionReference  = functionFields + "reference"
	functionRetryable  = functionFields + "retryable"
	functionRetryAfter = functionFields + "retry-after"
)

func fieldOf(ev *Evidence, name string) string {
	for _, h := range ev.Header {
		if h.Name == name {
			return h.Value
		}
	}
	return ""
}

// functionProvider calls the functions of one operation.
type functionProvider struct {
	t     *FunctionTool
	op    *Operation
	clock Clock
}

// Send implements Provider. It returns once the function has, for nobody can stop
// one that goes on; but for functionGrace after the process began to go away.
func (p *functionProvider) Send(ctx context.Context, req *Request, opts SendOptions) Evidence {
	ev := Evidence{Reach: ReachConnected, StartedAt: p.clock.Now()}
	call := callOf(p.op)
	within, cancel := context.WithTimeout(ctx, p.timeOf(&opts))
	defer cancel()
	if req.Method == functionProbe {
		ev.take(called(ctx, func() (Outcome, error) { return p.look(within, call) }))
		ev.EndedAt = p.clock.Now()
		return ev
	}
	perform := p.t.perform(p.op)
	if perform == nil { // whoever brought it is gone since the attempt began
		ev.ErrorClass, ev.ErrorCode, ev.ErrorText = ClassUnavailable, "caller_gone", "no function is held here"
		return ev
	}
	if opts.BeforeWrite != nil {
		call.check = opts.BeforeWrite
		if err := opts.BeforeWrite(); err != nil {
			ev.ErrorClass, ev.ErrorCode, ev.EndedAt = ClassUnavailable, "stopped", p.clock.Now()
			return ev
		}
	}
	reached := func(r Reach) {
		if ev.Reach = r; opts.OnReach != nil {
			opts.OnReach(r)
		}
	}
	reached(ReachHeadersWritten)
	end := called(ctx, func() (Outcome, error) { return perform(within, call) })
	reached(ReachBodyWritten)
	reached(ReachFirstByte)
	ev.take(end)
	ev.EndedAt = p.clock.Now()
	ev.LastByteAt = ev.EndedAt
	if end.problem == stillRunning && !opts.NotAfter.IsZero() { // it may yet act until the lease ends
		ev.LastByteAt = p.t.info.Policy.lastByteAfter(opts.NotAfter)
	}
	return ev
}

// timeOf is how long the function may take: its deadline, and no longer than what
// is left of the lease.
func (p *functionProvider) timeOf(opts *SendOptions) time.Duration {
	if opts.NotAfter.IsZero() {
		return opts.Deadline
	}
	return min(opts.Deadline, opts.NotAfter.Sub(p.clock.Now()))
}

// look asks the probe; its list is the result.
func (p *functionProvider) look(ctx context.Context, c *Call) (Outcome, error) {
	found, err := p.t.fn.Probe(ctx, c)
	if err != nil {
		return Outcome{}, err
	}
	list, err := json.Marshal(found)
	return Outcome{Result: list}, err
}

// functionEnd is how a call of a function ended.
type functionEnd struct {
	out     Outcome
	err     error
	problem string // no return at all: "panic", "exited", stillRunning
	text    string
}

// called calls a function on a goroutine of its own, so that a panic, or an exit
// of the goroutine, ends the call alone. ctx ends when the process goes away; it is not
// the function's own, past whose deadline it is waited for all the same.
func called(ctx context.Context, f func() (Outcome, error)) functionEnd {
	ended := make(chan functionEnd, 1)
	go func() {
		end := functionEnd{problem: "exited", text: "the function ended its goroutine"}
		defer func() {
			if r := recover(); r != nil {
				end = functionEnd{problem: "panic", text: fmt.Sprint("the function panicked: ", r)}
			}
			ended <- end
		}()
		out, err := f()
		end = functionEnd{out: out, err: err}
	}()
	select {
	case end := <-ended:
		return end
	case <-ctx.Done():
	}
	select {
	case end := <-ended:
		return end
	case <-time.After(functionGrace):
		return functionEnd{problem: stillRunning, text: "the function went on after its process was told to go away"}
	}
}

// take puts a function's word into the evidence. An error is unknown, unless the
// outcome beside it says that nothing was done.
func (ev *Evidence) take(end functionEnd) {
	out := end.out
	switch {
	case end.problem != "":
		out = Outcome{Verdict: VerdictUnknown, Failure: Failure{Class: ClassProtocol, Code: end.problem, Message: end.text, Retryable: true}}
	case end.err != nil && out.Verdict != VerdictNotDone && out.Verdict != VerdictInProgress:
		out.Verdict, out.Result, out.Reference = VerdictUnknown, nil, ""
	case out.Verdict == 0:
		out.Verdict = VerdictDone
	}
	if out.Verdict == VerdictDone {
		out.Failure = Failure{}
	} else if out.Failure.IsZero() {
		out.Failure = failureOf(end.err, out.Verdict)
	}
	ev.Body = out.Result
	ev.ErrorClass, ev.ErrorCode, ev.ErrorText = out.Failure.Class, out.Failure.Code, shortened(out.Failure.Message)
	ev.Header = []HeaderField{{functionVerdict, out.Verdict.String()}, {functionReference, out.Reference}}
	if out.Failure.Retryable {
		ev.Header = append(ev.Header, HeaderField{functionRetryable, "true"})
	}
	if out.RetryAfter > 0 {
		ev.Header = append(ev.Header, HeaderField{functionRetryAfter, out.RetryAfter.String()})
	}
}

// failureOf describes what a function did not describe itself. What is unknown
// may be tried again as far as its effect class allows; what was not done is not.
func failureOf(err error, v Verdict) Failure {
	f := Failure{Class: ClassUnavailable, Code: "function_error", Message: "the function returned an error", Retryable: v != VerdictNotDone}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		f.Class, f.Code = ClassTimeout, "deadline"
	case errors.Is(err, context.Canceled):
		f.Class, f.Code = ClassTimeout, "canceled"
	case v == VerdictNotDone:
		f.Class = ClassValidation
	}
	if err != nil {
		f.Message = err.Error()
	}
	return f
}

func shortened(text string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(text[:min(len(text), FunctionErrorMax)], "\x00", ""), "")
}
