package httpapi

import (
	"net/http"
	"time"

	"github.com/onceward/onceward"
)

// Report is what happened in a tenant within a time, and what of it waits.
type Report struct {
	Tenant    string         `json:"tenant"`
	From      time.Time      `json:"from"`
	To        time.Time      `json:"to"`
	MadeAt    time.Time      `json:"made_at"`
	Cut       bool           `json:"cut,omitempty" doc:"The trail of the time is too long: what is behind its first million rows is missing in what is read from it."`
	Total     Answered       `json:"total" doc:"How requests were answered. Counted in the server and written every five seconds: a process that was killed lost at most what it counted since."`
	Tools     []ToolReport   `json:"tools"`
	Sources   []SourceReport `json:"sources" doc:"Events that senders delivered; no part of the total. Blocked counts deliveries, the others events."`
	Teams     []TeamReport   `json:"teams" doc:"A tool counts for each owner that its contract names."`
	Times     []TimeReport   `json:"times" doc:"By the hour, or by the day where it is more than two days."`
	Approvals Waits          `json:"approvals"`
	Reviews   Waits          `json:"reviews"`
	Unknowns  Waits          `json:"unknowns"`
	Events    map[string]int `json:"events" doc:"How often each event of operations stands in the journal."`
	Lines     []AuditEvent   `json:"lines" doc:"What people and the server did that is no change of an operation, oldest first."`
	LinesCut  bool           `json:"lines_cut,omitempty" doc:"There are more lines: read the audit trail."`
	Stopped   []Switch       `json:"stopped" doc:"Stop switches in force now, the widest first."`
	Chain     Chain          `json:"chain"`
}

// Answered counts requests by how they were answered.
type Answered struct {
	Fresh     int `json:"fresh"`
	Replayed  int `json:"replayed"`
	Joined    int `json:"joined"`
	Blocked   int `json:"blocked"`
	Escalated int `json:"escalated"`
}

// ToolReport is a tool's part.
type ToolReport struct {
	Tool           string   `json:"tool" doc:"Empty: requests for tools that have no contract."`
	Effect         string   `json:"effect,omitempty"`
	Version        string   `json:"version,omitempty" doc:"Of the contract in force."`
	BusinessOwner  string   `json:"business_owner,omitempty"`
	TechnicalOwner string   `json:"technical_owner,omitempty"`
	Answered       Answered `json:"answered"`
	Unknown        int      `json:"unknown" doc:"Operations whose outcome became unknown."`
	HasProbe       bool     `json:"has_probe,omitempty"`
	Approval       bool     `json:"approval,omitempty" doc:"The contract may ask for an approval."`
}

// SourceReport is how deliveries of one source were answered.
type SourceReport struct {
	Source   string   `json:"source"`
	Answered Answered `json:"answered"`
}

// TeamReport is the part of one owner's tools.
type TeamReport struct {
	Team     string   `json:"team" doc:"Empty: the contract names no owner."`
	Tools    []string `json:"tools"`
	Answered Answered `json:"answered"`
	Unknown  int      `json:"unknown"`
}

// TimeReport is the part of one hour or day.
type TimeReport struct {
	From     time.Time `json:"from"`
	Answered Answered  `json:"answered"`
}

// Waits says how operations waited in one state.
type Waits struct {
	Began   int      `json:"began"`
	Ended   int      `json:"ended"`
	Median  duration `json:"median,omitempty" doc:"Of those that began and ended within the time."`
	Longest duration `json:"longest,omitempty"`
	Waiting int      `json:"waiting" doc:"Now; 500 means 500 or more."`
	Oldest  duration `json:"oldest,omitempty" doc:"Of those that wait, since the last change."`
}

// Chain says how far the audit trail is sealed and signed.
type Chain struct {
	Seal     int       `json:"seal" doc:"Number of the newest seal; 0: none."`
	SealedAt time.Time `json:"sealed_at,omitzero"`
	Signed   int       `json:"signed" doc:"Number of the newest seal that is signed; 0: none."`
	SignedAt time.Time `json:"signed_at,omitzero"`
	Unsealed int       `json:"unsealed" doc:"Rows that are not sealed yet."`
}

// ReportAnswer is a report.
type ReportAnswer struct {
	Report *Report `json:"report"`
}

// reportSpan is how much a report covers if nobody says.
const reportSpan = 30 * 24 * time.Hour

var reportRoutes = []route{{
	Method: http.MethodGet, Path: "/v1/report", Name: "getReport", handle: getReport, Action: onceward.ActionReadReports,
	Summary: "Report what was asked for, how it was answered, and what waits.",
	Query: []param{
		{Name: "from", Schema: timeSchema(), Doc: "From this time on; 30 days before to if absent."},
		{Name: "to", Schema: timeSchema(), Doc: "Until before this time; now if absent."},
	},
	Answers: []answer{{http.StatusOK, ReportAnswer{}, "The report."}},
}}

// getReport is GET /v1/report.
func getReport(c *call) error {
	from, err := c.time("from")
	if err != nil {
		return err
	}
	to, err := c.time("to")
	if err != nil {
		return err
	}
	if to.IsZero() {
		to = c.ledger.Now().Add(time.Second)
	}
	if from.IsZero() {
		from = to.Add(-reportSpan)
	}
	r, err := c.ledger.Report(c.req.Context(), c.who, from, to)
	if err != nil {
		return err
	}
	writeJSON(c.w, http.StatusOK, mediaJSON, &ReportAnswer{Report: report(r)})
	return nil
}

func answeredOf(a onceward.Answered) Answered {
	return Answered{Fresh: int(a.Fresh), Replayed: int(a.Replayed), Joined: int(a.Joined), Blocked: int(a.Blocked), Escalated: int(a.Escalated)}
}

func waits(w onceward.Waits) Waits {
	return Waits{Began: w.Began, Ended: w.Ended, Median: duration(w.Median), Longest: duration(w.Longest), Waiting: w.Waiting, Oldest: duration(w.Oldest.Round(time.Second))}
}

func report(r *onceward.Report) *Report {
	out := &Report{Tenant: string(r.Tenant), From: r.From, To: r.To, MadeAt: r.MadeAt.UTC(), Cut: r.Cut, Total: answeredOf(r.Total),
		Tools: []ToolReport{}, Teams: []TeamReport{}, Sources: []SourceReport{}, Times: []TimeReport{}, Lines: []AuditEvent{}, Stopped: switches(r.Stopped),
		Approvals: waits(r.Approvals), Reviews: waits(r.Reviews), Unknowns: waits(r.Unknowns), Events: r.Events, LinesCut: r.LinesCut, Chain: chain(r.Chain)}
	for i := range r.Tools {
		t := &r.Tools[i]
		line := ToolReport{Tool: string(t.Tool), Answered: answeredOf(t.Answered), Unknown: t.Unknown}
		if n := t.Info; n != nil {
			line.Effect, line.Version, line.BusinessOwner, line.TechnicalOwner = n.Policy.Effect.String(), n.Version, n.BusinessOwner, n.TechnicalOwner
			line.HasProbe, line.Approval = n.Policy.HasProbe, n.Policy.ApprovalExpiry > 0
		}
		out.Tools = append(out.Tools, line)
	}
	for _, s := range r.Sources {
		out.Sources = append(out.Sources, SourceReport{Source: s.Source, Answered: answeredOf(s.Answered)})
	}
	for i := range r.Teams {
		t := &r.Teams[i]
		team := TeamReport{Team: t.Team, Tools: []string{}, Answered: answeredOf(t.Answered), Unknown: t.Unknown}
		for _, name := range t.Tools {
			team.Tools = append(team.Tools, string(name))
		}
		out.Teams = append(out.Teams, team)
	}
	for _, t := range r.Times {
		out.Times = append(out.Times, TimeReport{From: t.From, Answered: answeredOf(t.Answered)})
	}
	for i := range r.Lines {
		out.Lines = append(out.Lines, auditEvent(&r.Lines[i]))
	}
	return out
}

func chain(s onceward.AuditState) Chain {
	c := Chain{Unsealed: s.Unsealed}
	if s.Seal != nil {
		c.Seal, c.SealedAt = int(s.Seal.Number), s.Seal.At.UTC()
	}
	if s.Checkpoint != nil {
		c.Signed, c.SignedAt = int(s.Checkpoint.Number), s.Checkpoint.At.UTC()
	}
	return c
}
