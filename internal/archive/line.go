package archive

import (
	"encoding/json"
	"time"
	"unicode/utf8"

	"github.com/onceward/onceward"
)

// line is a record, or a tombstone, as it is exported.
type line struct {
	Kind          string    `json:"kind"` // record or tombstone
	ExportedAt    time.Time `json:"exported_at"`
	Operation     string    `json:"operation"`
	Generation    int64     `json:"generation"`
	Version       int64     `json:"version"`
	Tenant        string    `json:"tenant"`
	Tool          string    `json:"tool"`
	Key           string    `json:"key"`
	Contract      string    `json:"contract_version"`
	Effect        string    `json:"effect"`
	State         string    `json:"state"`
	Digest        string    `json:"digest,omitempty"` // not of what is kept encrypted: inputs could be tried against it
	Actor         string    `json:"actor"`
	Run           string    `json:"run,omitempty"`
	CorrelationID string    `json:"correlation_id,omitempty"`
	ProviderKey   string    `json:"provider_key,omitempty"`
	Reference     string    `json:"reference,omitempty"`
	CreatedAt     time.Time `json:"created_at"`
	CompletedAt   time.Time `json:"completed_at,omitzero"`
	bodies
	Attempts        []attempt  `json:"attempts,omitempty"`
	Documents       []document `json:"documents,omitempty"`
	Events          []event    `json:"events,omitempty"`
	SubjectID       string     `json:"subject_id,omitempty"`
	Sealed          []byte     `json:"sealed,omitempty"` // input, request, result and messages, encrypted
	Shredded        bool       `json:"shredded,omitempty"`
	ApprovedBy      []string   `json:"approved_by,omitempty"`
	RejectedBy      string     `json:"rejected_by,omitempty"`
	CancelRequested bool       `json:"cancel_requested,omitempty"`
}

// bodies are what a contract may keep encrypted.
type bodies struct {
	Input   *text    `json:"input,omitempty"`
	Request *request `json:"request,omitempty"`
	Result  *result  `json:"result,omitempty"`
	Error   *failure `json:"error,omitempty"`
}

// text is bytes as JSON: as text where they are UTF-8, else in base64.
type text struct {
	Text   *string `json:"text,omitempty"`
	Base64 []byte  `json:"base64,omitempty"`
}

type header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type request struct {
	Method string   `json:"method"`
	URL    string   `json:"url"`
	Header []header `json:"header,omitempty"`
	Body   *text    `json:"body,omitempty"`
}

type result struct {
	Status   int      `json:"status,omitempty"`
	Header   []header `json:"header,omitempty"`
	Body     *text    `json:"body,omitempty"`
	BodyKept bool     `json:"body_kept"`
}

type failure struct {
	Class   string `json:"class,omitempty"`
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
}

type attempt struct {
	Number    int       `json:"number"`
	Status    string    `json:"status"`
	SettledBy string    `json:"settled_by,omitempty"`
	StartedAt time.Time `json:"started_at"`
	EndedAt   time.Time `json:"ended_at,omitzero"`
	Reference string    `json:"reference,omitempty"`
	Error     *failure  `json:"error,omitempty"`
}

type document struct {
	SHA256 string `json:"sha256"`
	Name   string `json:"name"`
	URL    string `json:"url,omitempty"`
}

type event struct {
	At        time.Time `json:"at"`
	Event     string    `json:"event"`
	Version   int64     `json:"version"`
	From      string    `json:"from"`
	To        string    `json:"to"`
	Attempt   int       `json:"attempt,omitempty"`
	Actor     string    `json:"actor,omitempty"`
	Reason    string    `json:"reason,omitempty"`
	Reference string    `json:"reference,omitempty"`
	Shown     string    `json:"shown,omitempty"`
	Status    int       `json:"status,omitempty"` // of the answer that it saw
	Body      *text     `json:"body,omitempty"`
	Sealed    []byte    `json:"sealed,omitempty"` // reason and evidence, encrypted
}

func textOf(b []byte) *text {
	if b == nil {
		return nil
	}
	if s := string(b); utf8.ValidString(s) {
		return &text{Text: &s}
	}
	return &text{Base64: b}
}

func headersOf(fields []onceward.HeaderField) []header {
	var out []header
	for _, f := range fields {
		out = append(out, header(f))
	}
	return out
}

func failureOf(f onceward.Failure) *failure {
	if f.IsZero() {
		return nil
	}
	return &failure{Class: f.Class.String(), Code: f.Code, Message: f.Message}
}

// lineOf is one line, with its end.
func lineOf(x *onceward.Exported, now time.Time) ([]byte, error) {
	op := x.Operation
	l := line{
		Kind: "record", ExportedAt: now.UTC(), Operation: op.ID.String(), Generation: int64(op.Generation), Version: op.Version, Tenant: string(op.Tenant), Tool: string(op.Tool), Key: string(op.Key),
		Contract: op.Contract, Effect: op.Effect.String(), State: op.State.String(), Actor: op.Actor, Run: op.Run, CorrelationID: op.CorrelationID, ProviderKey: op.ProviderKey,
		Reference: op.Reference, CreatedAt: op.CreatedAt.UTC(), CompletedAt: op.CompletedAt.UTC(), SubjectID: string(op.Subject), Sealed: op.Sealed, Shredded: op.Shredded,
		RejectedBy: op.Approval.RejectedBy, CancelRequested: op.CancelRequested,
	}
	if x.Tombstone {
		l.Kind = "tombstone"
	}
	open := op.Subject == ""
	if open {
		l.Digest, l.bodies = op.Digest.String(), bodiesOf(op)
	}
	for i := range op.Attempts {
		l.attempt(&op.Attempts[i], open)
	}
	for _, y := range op.Approval.Yeses {
		l.ApprovedBy = append(l.ApprovedBy, y.Actor)
	}
	for _, d := range op.Documents {
		l.Documents = append(l.Documents, document{SHA256: d.Digest.String(), Name: d.Name, URL: d.URL})
	}
	for i := range x.Records {
		l.event(&x.Records[i], open)
	}
	b, err := json.Marshal(&l)
	return append(b, '\n'), err
}

func bodiesOf(op *onceward.Operation) (b bodies) {
	b.Input, b.Error = textOf(op.Input), failureOf(op.Failure)
	if r := op.Request; r != nil {
		b.Request = &request{Method: r.Method, URL: r.URL, Header: headersOf(r.Header), Body: textOf(r.Body)}
	}
	if r := op.Result; r != nil {
		b.Result = &result{Status: r.Status, Header: headersOf(r.Header), Body: textOf(r.Body), BodyKept: r.BodyKept}
	}
	return b
}

func (l *line) attempt(a *onceward.Attempt, open bool) {
	out := attempt{Number: a.Number, Status: a.Status.String(), SettledBy: a.Settler.String(), StartedAt: a.StartedAt.UTC(), EndedAt: a.EndedAt.UTC(), Reference: a.Reference}
	if open {
		out.Error = failureOf(a.Failure)
	}
	l.Attempts = append(l.Attempts, out)
}

func (l *line) event(r *onceward.Record, open bool) {
	e := event{At: r.At.UTC(), Event: r.Event, Version: r.Version, From: r.From.String(), To: r.To.String(), Attempt: r.Attempt, Actor: r.Actor, Reference: r.Reference, Shown: r.Shown, Sealed: r.Sealed}
	if open {
		e.Reason = r.Reason
		if r.Evidence != nil {
			e.Status, e.Body = r.Evidence.Status, textOf(r.Evidence.Body)
		}
	}
	l.Events = append(l.Events, e)
}
