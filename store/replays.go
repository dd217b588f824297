package store

import (
	"encoding/json"

	"github.com/onceward/onceward"
)

// bulkReplay is a bulk replay as every dialect keeps it, but for ID, revision
// and token.
type bulkReplay struct {
	Tenant, Issuer, Subject string
	Scope                   json.RawMessage
	Request                 []byte
	Tool, Run, Correlation  string
	States                  []int
	From, To                int64
	Plan                    []byte `json:",omitempty"`
	Confirm, DryRun, Cut    bool   `json:",omitempty"`
	Rate                    int
	Reason, State           string
	AfterAt                 int64
	AfterID                 []byte
	Pending                 *bulkResult `json:",omitempty"`
	Results                 []bulkResult
	NextAt, CreatedAt, End  int64
	Credential              string `json:",omitempty"`
	CredentialEnds          int64  `json:",omitempty"`
	Why                     string `json:",omitempty"`
}

type bulkResult struct {
	ID      []byte
	Attempt int
	Outcome string
	Message string `json:",omitempty"`
}

func wireResult(r *onceward.BulkResult) bulkResult {
	return bulkResult{r.Operation[:], r.Attempt, string(r.Outcome), r.Message}
}

func (r *bulkResult) result() onceward.BulkResult {
	out := onceward.BulkResult{Attempt: r.Attempt, Outcome: onceward.BulkOutcome(r.Outcome), Message: r.Message}
	copy(out.Operation[:], r.ID)
	return out
}

// EncodeBulkReplay is everything of a bulk replay but its ID, revision and token.
// It refuses, with CodeInvalidInput or CodeInternal, what no store could keep.
func EncodeBulkReplay(b *onceward.BulkReplay) ([]byte, error) {
	if b.ID.IsZero() || b.Tenant == "" || b.State == "" || b.Revision < 1 || b.Token == (onceward.WriteToken{}) || b.CreatedAt.IsZero() {
		return nil, &onceward.Error{Code: onceward.CodeInternal, Op: "store bulk replay", Message: "the row is not complete"}
	}
	for _, text := range []string{string(b.Tenant), b.Filter.Run, b.Filter.CorrelationID, b.Reason, b.By.Subject} {
		if !storable(text) {
			return nil, &onceward.Error{Code: onceward.CodeInvalidInput, Op: "store bulk replay", Message: "a text of it is too long, not UTF-8, or holds a NUL character"}
		}
	}
	w := bulkReplay{Tenant: string(b.Tenant), Issuer: b.By.Issuer, Subject: b.By.Subject,
		Scope:   EncodeScope(onceward.Scope{Roles: b.By.Roles, Groups: b.By.Groups, Tools: b.By.Tools, Effects: b.By.Effects}),
		Request: b.Request[:], Tool: string(b.Filter.Tool), Run: b.Filter.Run, Correlation: b.Filter.CorrelationID, From: Micros(b.Filter.From), To: Micros(b.Filter.To),
		Confirm: b.Confirm, DryRun: b.DryRun, Cut: b.Cut, Rate: b.Rate, Reason: b.Reason, State: string(b.State), AfterAt: Micros(b.After.CreatedAt), AfterID: b.After.ID[:],
		NextAt: Micros(b.NextAt), CreatedAt: Micros(b.CreatedAt), End: Micros(b.FinishedAt),
		Credential: string(b.By.Credential.Token), CredentialEnds: Micros(b.By.Credential.EndsAt), Why: b.Why}
	if !b.Plan.IsZero() {
		w.Plan = b.Plan[:]
	}
	for _, s := range b.Filter.States {
		w.States = append(w.States, int(s))
	}
	if b.Pending != nil {
		r := wireResult(b.Pending)
		w.Pending = &r
	}
	for i := range b.Results {
		w.Results = append(w.Results, wireResult(&b.Results[i]))
	}
	return json.Marshal(w)
}

// DecodeBulkReplay reads what EncodeBulkReplay wrote; it has CodeLedgerCorrupt if
// that cannot be read.
func DecodeBulkReplay(id onceward.BulkReplayID, revision int64, token onceward.WriteToken, body []byte) (*onceward.BulkReplay, error) {
	var w bulkReplay
	if json.Unmarshal(body, &w) != nil {
		return nil, corruptRow("bulk replay", id.String())
	}
	scope, err := DecodeScope(w.Scope)
	if err != nil {
		return nil, corruptRow("bulk replay", id.String())
	}
	b := &onceward.BulkReplay{ID: id, Revision: revision, Token: token, Tenant: onceward.Tenant(w.Tenant), Confirm: w.Confirm, DryRun: w.DryRun, Cut: w.Cut, Rate: w.Rate,
		By: onceward.Principal{Tenant: onceward.Tenant(w.Tenant), Issuer: w.Issuer, Subject: w.Subject, Roles: scope.Roles, Groups: scope.Groups, Tools: scope.Tools, Effects: scope.Effects,
			Credential: onceward.Credential{Token: onceward.TokenID(w.Credential), EndsAt: Time(w.CredentialEnds)}},
		Filter: onceward.BulkFilter{Tool: onceward.ToolName(w.Tool), Run: w.Run, CorrelationID: w.Correlation, From: Time(w.From), To: Time(w.To)},
		Reason: w.Reason, State: onceward.BulkState(w.State), NextAt: Time(w.NextAt), CreatedAt: Time(w.CreatedAt), FinishedAt: Time(w.End), Why: w.Why}
	copy(b.Request[:], w.Request)
	copy(b.Plan[:], w.Plan)
	b.After.CreatedAt = Time(w.AfterAt)
	copy(b.After.ID[:], w.AfterID)
	for _, s := range w.States {
		b.Filter.States = append(b.Filter.States, onceward.State(s))
	}
	if w.Pending != nil {
		r := w.Pending.result()
		b.Pending = &r
	}
	for i := range w.Results {
		b.Results = append(b.Results, w.Results[i].result())
	}
	return b, nil
}
