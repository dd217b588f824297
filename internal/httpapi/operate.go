package httpapi

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/onceward/onceward"
)

// Attempt is one try of an operation: one write on the wire.
type Attempt struct {
	ID         string        `json:"id"`
	Number     int           `json:"number" doc:"Counted from 1; the fencing token."`
	Status     string        `json:"status" enum:"attempt_statuses" doc:"open: ended without a verdict, and may have had its effect."`
	SettledBy  string        `json:"settled_by,omitempty" enum:"settlers" doc:"What settled it."`
	Owner      string        `json:"owner" doc:"The process that made it; caller for a remote attempt."`
	Resend     bool          `json:"resend,omitempty" doc:"Started while an earlier attempt was open, as its effect class allows."`
	Reach      string        `json:"reach" enum:"reaches" doc:"How far the request went, as far as anybody saw."`
	Reference  string        `json:"reference,omitempty"`
	Handle     string        `json:"handle,omitempty" doc:"The provider works on: the name by which its end is asked for, such as an MCP task's ID."`
	Error      *AttemptError `json:"error,omitempty" doc:"Why it is not done, or open."`
	StartedAt  time.Time     `json:"started_at"`
	LeaseUntil time.Time     `json:"lease_until"`
	EndedAt    time.Time     `json:"ended_at,omitzero"`
	LastByteAt time.Time     `json:"last_byte_at,omitzero" doc:"The latest instant at which a byte of it could still travel; absent if none was sent."`
}

// AttemptError says why an attempt is not done, or open.
type AttemptError struct {
	Class     string `json:"class,omitempty" enum:"classes"`
	Code      string `json:"code,omitempty"`
	Message   string `json:"message,omitempty"`
	Retryable bool   `json:"retryable" doc:"The same write may succeed later without a change."`
}

// Event is one line of an operation's timeline.
type Event struct {
	At        time.Time `json:"at"`
	Event     string    `json:"event" doc:"A fact, such as attempt_unknown; docs/state-machine.md explains each. claimed: it was seen for the first time."`
	Version   int64     `json:"version,omitempty" doc:"The version of the operation that the event made; absent where the operation itself tells it."`
	From      string    `json:"from,omitempty" enum:"states"`
	To        string    `json:"to" enum:"states"`
	Attempt   int       `json:"attempt,omitempty"`
	Actor     string    `json:"actor,omitempty" doc:"A principal, or the process that did it."`
	Reason    string    `json:"reason,omitempty"`
	Reference string    `json:"reference,omitempty"`
	Shown     string    `json:"shown,omitempty" doc:"The document that an approver was shown, by its SHA-256."`
	Evidence  *Evidence `json:"evidence,omitempty" doc:"What was seen; only for whoever may see the result."`
}

// Evidence is what an attempt or a look-up saw.
type Evidence struct {
	Reach      string              `json:"reach" enum:"reaches"`
	Status     int                 `json:"status,omitempty" doc:"The HTTP status; absent if no answer came."`
	Headers    map[string][]string `json:"headers,omitempty"`
	Body       json.RawMessage     `json:"body,omitempty" doc:"The first bytes of the answer: a JSON value, else text."`
	BodyBase64 string              `json:"body_base64,omitempty"`
	BodyCut    bool                `json:"body_cut,omitempty" doc:"The answer ended before its promised end."`
	BodyTooBig bool                `json:"body_too_big,omitempty" doc:"The answer was longer than what is read to judge it."`
	ErrorClass string              `json:"error_class,omitempty" enum:"classes"`
	ErrorCode  string              `json:"error_code,omitempty"`
	ErrorText  string              `json:"error_text,omitempty"`
	RemoteAddr string              `json:"remote_addr,omitempty"`
	StartedAt  time.Time           `json:"started_at,omitzero"`
	EndedAt    time.Time           `json:"ended_at,omitzero"`
	LastByteAt time.Time           `json:"last_byte_at,omitzero"`
}

// OperationState answers whoever read an operation or acted on it.
type OperationState struct {
	Operation *Operation `json:"operation"`
	Advice    string     `json:"advice,omitempty" doc:"What to do now; absent once it has succeeded."`
}

// OperationPage is a page of a list, newest first, without results.
type OperationPage struct {
	Operations []*Operation `json:"operations"`
	Next       string       `json:"next,omitempty" doc:"The cursor of the next page, to be given as after; absent on the last page."`
}

// CancelRequest says why an operation shall not happen.
type CancelRequest struct {
	Reason *string `json:"reason,omitempty" max:"reason"`
}

func (c *call) operationID() (onceward.OperationID, error) {
	return onceward.ParseOperationID(c.req.PathValue("id"))
}

// adviceUnlessDone is what the advice members of answers hold.
func adviceUnlessDone(op *onceward.Operation) string {
	if op.State == onceward.StateSucceeded {
		return ""
	}
	return op.Advice().Sentence
}

// getOperation is GET /v1/operations/{id}.
func getOperation(c *call) error {
	id, err := c.operationID()
	if err != nil {
		return err
	}
	var wait time.Duration
	if s, given := c.param("wait"); given {
		if wait, err = parseDuration("wait", s); err != nil {
			return err
		}
	}
	op, err := c.ledger.Get(c.req.Context(), c.who, id, wait)
	if err != nil {
		return err
	}
	records, err := c.ledger.Timeline(c.req.Context(), c.who, id)
	if err != nil {
		return err
	}
	c.operationHeaders(op, c.ledger.RetryAfter(op))
	o := c.operation(op)
	c.chain(op, o)
	o.AttemptList, o.Events = attempts(op), events(op.Story(records), c.who.SeesResult(op))
	writeJSON(c.w, http.StatusOK, mediaJSON, &OperationState{Operation: o, Advice: adviceUnlessDone(op)})
	return nil
}

func attempts(op *onceward.Operation) []Attempt {
	out := make([]Attempt, len(op.Attempts))
	for i := range op.Attempts {
		a := &op.Attempts[i]
		out[i] = Attempt{ID: onceward.AttemptID{Operation: op.ID, Number: a.Number}.String(), Number: a.Number, Status: a.Status.String(),
			SettledBy: a.Settler.String(), Owner: a.Owner, Resend: a.Resend, Reach: a.Reach.String(), Reference: a.Reference, Handle: a.Handle,
			StartedAt: a.StartedAt.UTC(), LeaseUntil: a.LeaseUntil.UTC(), EndedAt: a.EndedAt.UTC(), LastByteAt: a.LastByteAt.UTC()}
		if f := a.Failure; !f.IsZero() {
			out[i].Error = &AttemptError{Class: f.Class.String(), Code: f.Code, Message: f.Message, Retryable: f.Retryable}
		}
	}
	return out
}

func events(story []onceward.Record, withEvidence bool) []Event {
	out := make([]Event, len(story))
	for i := range story {
		r := &story[i]
		out[i] = Event{At: r.At.UTC(), Event: r.Event, Version: r.Version, To: r.To.String(), Attempt: r.Attempt, Actor: r.Actor, Reason: r.Reason, Reference: r.Reference, Shown: r.Shown}
		if r.From != 0 {
			out[i].From = r.From.String()
		}
		if r.Evidence != nil && withEvidence {
			out[i].Evidence = evidence(r.Evidence)
		}
	}
	return out
}

func evidence(ev *onceward.Evidence) *Evidence {
	out := &Evidence{Reach: ev.Reach.String(), Status: ev.Status, Headers: headers(ev.Header), BodyCut: ev.BodyCut, BodyTooBig: ev.BodyTooBig,
		ErrorClass: ev.ErrorClass.String(), ErrorCode: ev.ErrorCode, ErrorText: ev.ErrorText, RemoteAddr: ev.RemoteAddr,
		StartedAt: ev.StartedAt.UTC(), EndedAt: ev.EndedAt.UTC(), LastByteAt: ev.LastByteAt.UTC()}
	if len(ev.Body) > 0 {
		out.Body, out.BodyBase64 = body(ev.Body)
	}
	return out
}

// listOperations is GET /v1/operations.
func listOperations(c *call) error {
	f, err := c.filter()
	if err != nil {
		return err
	}
	ops, err := c.ledger.List(c.req.Context(), c.who, f)
	if err != nil {
		return err
	}
	page := OperationPage{Operations: make([]*Operation, len(ops))}
	for i, op := range ops {
		op.Result = nil // where it is small it came along; a list has none
		page.Operations[i] = operation(op, c.who)
	}
	if f.Key == "" {
		page.Next = next(ops, f.Limit, func(op *onceward.Operation) onceward.Cursor {
			return onceward.Cursor{CreatedAt: op.CreatedAt, ID: op.ID}
		})
	}
	writeJSON(c.w, http.StatusOK, mediaJSON, &page)
	return nil
}

// limit reads the longest page of a list whose pages have so many at most.
func (c *call) limit(most int) (int, error) {
	s, given := c.param("limit")
	if !given {
		return DefaultPage, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > most {
		return 0, onceward.Errorf(onceward.CodeInvalidRequest, "limit is not a number from 1 to %d", most)
	}
	return n, nil
}

// page reads how long a page may be, and where it begins: behind that place.
func (c *call) page(most int) (limit int, after onceward.Cursor, err error) {
	if limit, err = c.limit(most); err != nil {
		return 0, after, err
	}
	if s, given := c.param("after"); given {
		after, err = decodeCursor(s)
	}
	return limit, after, err
}

// next is the place behind a full page; empty: it is the last.
func next[T any](page []T, limit int, place func(T) onceward.Cursor) string {
	if len(page) < limit {
		return ""
	}
	return encodeCursor(place(page[len(page)-1]))
}

func (c *call) filter() (f onceward.Filter, err error) {
	if f.Limit, f.After, err = c.page(onceward.MaxPage); err != nil {
		return f, err
	}
	if s, given := c.param("tool"); given {
		if f.Tool, err = onceward.ParseToolName(s); err != nil {
			return f, err
		}
	}
	if s, given := c.param("key"); given {
		if s == "" || len(s) > onceward.KeyBytesMax || strings.ToValidUTF8(s, "") != s || strings.IndexByte(s, 0) >= 0 {
			return f, onceward.Errorf(onceward.CodeKeyInvalid, "key is not a key")
		}
		f.Key = onceward.Key(s)
	}
	dead, err := c.flag("dead")
	if err != nil {
		return f, err
	}
	if dead {
		if len(c.query["state"]) > 0 {
			return f, &onceward.Error{Code: onceward.CodeInvalidRequest, Message: "dead has its own states", Hint: "leave state out"}
		}
		f.States = slices.Clone(onceward.DeadStates)
	}
	for _, list := range c.query["state"] {
		for name := range strings.SplitSeq(list, ",") {
			s, err := onceward.ParseState(name)
			if err != nil {
				return f, err
			}
			f.States = append(f.States, s)
		}
	}
	return f, c.labels(&f.Run, &f.CorrelationID)
}

// labels reads the parameters run and correlation_id.
func (c *call) labels(run, correlationID *string) error {
	for _, label := range []struct {
		name string
		into *string
	}{{"run", run}, {"correlation_id", correlationID}} {
		v := c.optional(label.name)
		if err := checkLabel(label.name, v); err != nil {
			return err
		}
		*label.into = text(v)
	}
	return nil
}

// cancel is POST /v1/operations/{id}/cancel.
func cancel(c *call) error {
	id, err := c.operationID()
	if err != nil {
		return err
	}
	var in CancelRequest
	if err := c.read(&in, false); err != nil {
		return err
	}
	op, err := c.ledger.Cancel(c.req.Context(), c.who, id, text(in.Reason))
	if err != nil {
		return err
	}
	c.changed(op)
	return nil
}

// changed answers whoever acted on an operation: 200 if it has ended, 202 if
// something will still happen by itself or by a person.
func (c *call) changed(op *onceward.Operation) {
	status := http.StatusOK
	if !op.State.Terminal() {
		status = http.StatusAccepted
	}
	c.operationHeaders(op, c.ledger.RetryAfter(op))
	writeJSON(c.w, status, mediaJSON, &OperationState{Operation: c.operation(op), Advice: adviceUnlessDone(op)})
}
