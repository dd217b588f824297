package httpapi

import (
	"encoding/base64"
	"net/http"
	"strconv"
	"time"

	"github.com/onceward/onceward"
)

// AuditPage is a page of the audit trail.
type AuditPage struct {
	Events []AuditEvent `json:"events"`
	Next   string       `json:"next,omitempty" doc:"Give it as after to get the next page; absent where nothing is behind it now."`
}

// AuditEvent is one line of the audit trail.
type AuditEvent struct {
	At       time.Time `json:"at"`
	Actor    string    `json:"actor" doc:"The principal as issuer:subject, the replica that made a change by itself, or server for what its configuration says."`
	Action   string    `json:"action" doc:"The event of an operation, or became_STATE where it has no event; else what was done."`
	Subject  string    `json:"subject" doc:"Of what: an operation's ID, a tool, a token's ID, a run."`
	Reason   string    `json:"reason,omitempty" doc:"Why, as far as it was asked for. An operation's reasons go with its record."`
	Detail   string    `json:"detail,omitempty"`
	Source   string    `json:"source" enum:"audit_sources" doc:"The table that holds the row."`
	Position string    `json:"position" doc:"Of the row in its table."`
	Version  *int64    `json:"version,omitempty" doc:"Of the operation, as the change wrote it."`
	RowHash  string    `json:"row_hash,omitempty" doc:"SHA-256 of the operation's row as it was written."`
}

// CheckpointPage is a page of the trail's signatures.
type CheckpointPage struct {
	Checkpoints []Checkpoint `json:"checkpoints" doc:"In the order of their seals. Keep them somewhere else: who holds one can tell whether the trail before it was made anew."`
}

// Checkpoint is a signature over a seal, and so over everything before it.
type Checkpoint struct {
	Seal      int       `json:"seal" doc:"The seal's number."`
	At        time.Time `json:"at"`
	Hash      string    `json:"hash" doc:"The seal's."`
	Key       string    `json:"key" doc:"Ed25519 public key, base64."`
	Signature string    `json:"signature" doc:"Base64; docs/operating/audit.md says over what."`
}

var auditRoutes = []route{
	{
		Method: http.MethodGet, Path: "/v1/audit", Name: "listAudit", handle: listAudit, Action: onceward.ActionReadAudit,
		Summary: "List who did what, when and why, oldest first: changes of operations and everything else.",
		Query: []param{
			{Name: "from", Schema: timeSchema(), Doc: "Not before this time."},
			{Name: "to", Schema: timeSchema(), Doc: "Before this time."},
			{Name: "after", Schema: textSchema(), Doc: "The member next of the page before."},
			{Name: "limit", Schema: limitParam.Schema, Doc: "The longest page. It may be shorter, or empty, with a next: then there is more."},
		},
		Answers:  []answer{{http.StatusOK, AuditPage{}, "A page."}},
		Refusals: []onceward.Code{onceward.CodeCursorInvalid},
	},
	{
		Method: http.MethodGet, Path: "/v1/audit/checkpoints", Name: "listCheckpoints", handle: listCheckpoints, Action: onceward.ActionReadAudit,
		Summary: "List the signatures over the audit trail.",
		Query: []param{
			{Name: "after", Schema: map[string]any{"type": "integer", "minimum": 0}, Doc: "Of seals after this number."}, limitParam,
		},
		Answers: []answer{{http.StatusOK, CheckpointPage{}, "A page."}},
	},
}

func timeSchema() map[string]any { return map[string]any{"type": "string", "format": "date-time"} }

// time reads a query parameter that is a time; zero without it.
func (c *call) time(name string) (time.Time, error) {
	s, given := c.param(name)
	if !given {
		return time.Time{}, nil
	}
	return parseTime(name, s)
}

// parseTime reads the time that a member or a parameter of that name gives.
func parseTime(name, s string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}, onceward.Errorf(onceward.CodeInvalidRequest, "%s is not a time as 2026-01-02T15:04:05Z", name)
	}
	return t, nil
}

// listAudit is GET /v1/audit.
func listAudit(c *call) error {
	var f onceward.AuditFilter
	var err error
	if f.From, err = c.time("from"); err != nil {
		return err
	}
	if f.To, err = c.time("to"); err != nil {
		return err
	}
	if f.Limit, err = c.limit(onceward.MaxPage); err != nil {
		return err
	}
	if s, given := c.param("after"); given {
		if f.After, err = decodeAuditCursor(s); err != nil {
			return err
		}
	}
	found, err := c.ledger.Audit(c.req.Context(), c.who, f)
	if err != nil {
		return err
	}
	page := AuditPage{Events: make([]AuditEvent, len(found.Lines))}
	for i := range found.Lines {
		page.Events[i] = auditEvent(&found.Lines[i])
	}
	if found.Next != (onceward.AuditCursor{}) {
		page.Next = encodeAuditCursor(found.Next)
	}
	writeJSON(c.w, http.StatusOK, mediaJSON, &page)
	return nil
}

func auditEvent(l *onceward.AuditLine) AuditEvent {
	e := AuditEvent{At: l.At.UTC(), Actor: l.Actor, Action: string(l.Action), Subject: l.Subject, Reason: l.Reason, Detail: l.Detail,
		Source: l.Source.String(), Position: strconv.FormatInt(l.Place.Position, 10)}
	if l.Place.Xid != 0 {
		e.Position = strconv.FormatUint(l.Place.Xid, 10) + "/" + e.Position
	}
	if l.Change != nil {
		e.Version = &l.Change.Version
		if !l.Change.Row.IsZero() {
			e.RowHash = l.Change.Row.String()
		}
	}
	return e
}

// listCheckpoints is GET /v1/audit/checkpoints.
func listCheckpoints(c *call) error {
	limit, err := c.limit(onceward.MaxPage)
	if err != nil {
		return err
	}
	after := int64(0)
	if s, given := c.param("after"); given {
		if after, err = strconv.ParseInt(s, 10, 64); err != nil || after < 0 {
			return onceward.Errorf(onceward.CodeInvalidRequest, "after is not the number of a seal")
		}
	}
	all, err := c.ledger.AuditCheckpoints(c.req.Context(), c.who, after, limit)
	if err != nil {
		return err
	}
	page := CheckpointPage{Checkpoints: make([]Checkpoint, len(all))}
	for i := range all {
		page.Checkpoints[i] = checkpoint(&all[i])
	}
	writeJSON(c.w, http.StatusOK, mediaJSON, &page)
	return nil
}

func checkpoint(k *onceward.Checkpoint) Checkpoint {
	return Checkpoint{Seal: int(k.Number), At: k.At.UTC(), Hash: k.Hash.String(),
		Key: base64.StdEncoding.EncodeToString(k.Key), Signature: base64.StdEncoding.EncodeToString(k.Signature)}
}
