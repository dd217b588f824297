package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/httpapi"
)

// page is a report as text and tables, whatever it is written as.
type page struct {
	Title    string    `json:"title"`
	Intro    []string  `json:"intro"`
	Sections []section `json:"sections"`
}

type section struct {
	Title  string   `json:"title"`
	Serves string   `json:"serves,omitempty"` // which duties it serves
	Notes  []string `json:"notes,omitempty"`
	Tables []table  `json:"tables,omitempty"`
}

type table struct {
	Title string     `json:"title"`
	Head  []string   `json:"head"`
	Rows  [][]string `json:"rows"`
}

// reportPage is the whole report: the figures, then the evidence pack.
func reportPage(r *httpapi.Report, drill json.RawMessage) page {
	p := page{
		Title: "Report of tenant " + r.Tenant,
		Intro: []string{
			"From " + atText(r.From) + " until before " + atText(r.To) + ", made at " + atText(r.MadeAt) + ".",
			"Requests are counted in the server and written every five seconds: a process that was killed lost at most what it counted since.",
		},
		Sections: []section{answersSection(r), waitsSection(r)},
	}
	if r.Cut {
		p.Intro = append(p.Intro, "The audit trail of this time is too long: what is behind its first million rows is missing in ages, unknowns and events. Ask for a shorter time.")
	}
	p.Sections = append(p.Sections, evidencePack(r, drill)...)
	return p
}

func atText(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.UTC().Format(time.RFC3339)
}

var answeredHead = []string{"requests", "fresh", "replayed", "joined", "blocked", "escalated"}

func answeredCells(a httpapi.Answered) []string {
	var cells []string
	for _, n := range []int{requests(a), a.Fresh, a.Replayed, a.Joined, a.Blocked, a.Escalated} {
		cells = append(cells, strconv.Itoa(n))
	}
	return cells
}

func requests(a httpapi.Answered) int {
	return a.Fresh + a.Replayed + a.Joined + a.Blocked + a.Escalated
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

func answersSection(r *httpapi.Report) section {
	s := section{Title: "How requests were answered", Notes: []string{
		"Fresh made the effect. Replayed and joined are duplicates that made none. Blocked was refused. Escalated waits for knowledge or for a person.",
	}}
	total := table{Title: "All", Head: answeredHead, Rows: [][]string{answeredCells(r.Total)}}
	tools := table{Title: "By tool", Head: append(append([]string{"tool"}, answeredHead...), "became unknown")}
	for _, t := range r.Tools {
		tools.Rows = append(tools.Rows, append(append([]string{orElse(t.Tool, "(no contract)")}, answeredCells(t.Answered)...), strconv.Itoa(t.Unknown)))
	}
	teams := table{Title: "By team", Head: append(append([]string{"owner", "tools"}, answeredHead...), "became unknown")}
	for _, t := range r.Teams {
		teams.Rows = append(teams.Rows, append(append([]string{orElse(t.Team, "(no owner)"), strings.Join(t.Tools, ", ")}, answeredCells(t.Answered)...), strconv.Itoa(t.Unknown)))
	}
	sources := table{Title: "Events that senders delivered (no part of all)", Head: append([]string{"source"}, answeredHead...)}
	for _, src := range r.Sources {
		sources.Rows = append(sources.Rows, append([]string{src.Source}, answeredCells(src.Answered)...))
	}
	times := table{Title: "By time", Head: append([]string{"from"}, answeredHead...)}
	for _, t := range r.Times {
		times.Rows = append(times.Rows, append([]string{atText(t.From)}, answeredCells(t.Answered)...))
	}
	s.Tables = []table{total, tools, teams, times}
	if len(sources.Rows) > 0 {
		s.Tables = append(s.Tables, sources)
	}
	return s
}

func waitsSection(r *httpapi.Report) section {
	t := table{Title: "Ages", Head: []string{"", "began", "ended", "median", "longest", "waiting now", "oldest of those"}}
	for _, w := range []struct {
		name string
		of   httpapi.Waits
	}{{"approvals", r.Approvals}, {"reviews", r.Reviews}, {"unknown outcomes", r.Unknowns}} {
		t.Rows = append(t.Rows, []string{w.name, strconv.Itoa(w.of.Began), strconv.Itoa(w.of.Ended), w.of.Median.String(), w.of.Longest.String(), strconv.Itoa(w.of.Waiting), w.of.Oldest.String()})
	}
	return section{Title: "Approvals, reviews and unknown outcomes", Tables: []table{t},
		Notes: []string{"Median and longest are of those that began and ended within the time. Waiting is counted up to 500."}}
}

// evidencePack orders what the ledger knows by the functions of the NIST AI RMF.
func evidencePack(r *httpapi.Report, drill json.RawMessage) []section {
	return []section{govern(r), mapping(r), measure(r, drill), manage(r)}
}

// lines are those of the trail with one of the actions.
func lines(r *httpapi.Report, title string, actions ...onceward.AuditAction) table {
	t := table{Title: title, Head: []string{"at", "who", "did", "to", "detail", "why"}}
	for _, e := range r.Lines {
		if slices.Contains(actions, onceward.AuditAction(e.Action)) {
			t.Rows = append(t.Rows, []string{atText(e.At), e.Actor, e.Action, e.Subject, e.Detail, e.Reason})
		}
	}
	return t
}

func events(r *httpapi.Report, title string, kinds ...onceward.EventKind) table {
	t := table{Title: title, Head: []string{"event", "times"}}
	for _, k := range kinds {
		t.Rows = append(t.Rows, []string{k.String(), strconv.Itoa(r.Events[k.String()])})
	}
	return t
}

func govern(r *httpapi.Report) section {
	owners := table{Title: "Policies in force and who answers for them", Head: []string{"tool", "contract version", "effect class", "approval", "business owner", "technical owner"}}
	unowned := 0
	for _, t := range r.Tools {
		if t.Version == "" {
			continue
		}
		if t.BusinessOwner == "" || t.TechnicalOwner == "" {
			unowned++
		}
		owners.Rows = append(owners.Rows, []string{t.Tool, t.Version, t.Effect, map[bool]string{true: "may be asked for", false: "none"}[t.Approval], orElse(t.BusinessOwner, "(none)"), orElse(t.TechnicalOwner, "(none)")})
	}
	s := section{Title: "Govern", Serves: "EU AI Act Art. 14 (human oversight): who may stop, approve and overrule. Art. 12 (record-keeping): which rules were in force when.",
		Tables: []table{owners, lines(r, "Contracts and workflows that came into force, were proposed or signed", onceward.AuditContractInForce, onceward.AuditWorkflowInForce, onceward.AuditSourceInForce, onceward.AuditContractProposed, onceward.AuditContractSigned),
			lines(r, "Who got access, and who lost it", onceward.AuditTokenIssued, onceward.AuditTokenRevoked, onceward.AuditSignedIn),
			events(r, "Approvals", onceward.KindApprovalGranted, onceward.KindApprovalRejected, onceward.KindApprovalExpired,
				onceward.KindApprovalVoided, onceward.KindApprovalEdited)}}
	if unowned > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("%d contracts name no business or no technical owner.", unowned))
	}
	if r.LinesCut {
		s.Notes = append(s.Notes, "There are more lines than are shown: onceward audit list has all of them.")
	}
	return s
}

// offers says what the provider of each effect class offers; docs/guarantees.md
// has the whole of it.
var offers = map[onceward.EffectClass]string{
	onceward.EffectRead:             "nothing is written",
	onceward.EffectCompute:          "nothing is written",
	onceward.EffectKeyedWrite:       "honours an idempotency key for a stated time",
	onceward.EffectConditionalWrite: "creates under a name of our choice, or only if absent",
	onceward.EffectProbedWrite:      "can be looked up by a stable reference",
	onceward.EffectUnsafeWrite:      "none of these",
}

func mapping(r *httpapi.Report) section {
	t := table{Title: "Effects by class", Head: []string{"class", "what the provider offers", "what is promised", "tools"}}
	for _, c := range onceward.AllEffectClasses {
		var tools []string
		for _, tool := range r.Tools {
			if tool.Effect == c.String() {
				tools = append(tools, tool.Tool)
			}
		}
		t.Rows = append(t.Rows, []string{c.String(), offers[c], c.Promise(), orElse(strings.Join(tools, ", "), "(none)")})
	}
	return section{Title: "Map", Serves: "EU AI Act Art. 12(2)(a): which situations may be a risk, by what cannot be undone or looked up.", Tables: []table{t}}
}

func measure(r *httpapi.Report, drill json.RawMessage) section {
	rate := func(part, whole int) string {
		if whole == 0 {
			return "no requests"
		}
		return fmt.Sprintf("%.2f %%", 100*float64(part)/float64(whole))
	}
	unknown := 0
	for _, t := range r.Tools {
		unknown += t.Unknown
	}
	figures := table{Title: "Rates", Head: []string{"figure", "value"}, Rows: [][]string{
		{"duplicates that made no second effect (replayed and joined, of all requests)", rate(r.Total.Replayed+r.Total.Joined, requests(r.Total))},
		{"operations whose outcome became unknown, of fresh requests", rate(unknown, r.Total.Fresh)},
		{"median time until an unknown outcome was settled, or a person was asked", r.Unknowns.Median.String()},
		{"longest such time", r.Unknowns.Longest.String()},
	}}
	s := section{Title: "Measure", Serves: "EU AI Act Art. 12(2)(b) and (c): facts for monitoring after placing on the market, and of operation. Art. 15 (robustness): what faults did.",
		Tables: []table{figures, breaches(r), chainTable(r)}}
	if drill == nil {
		s.Notes = append(s.Notes, "No drill result was given: onceward drill --json makes one, --drill puts it here.")
		return s
	}
	s.Tables = append(s.Tables, drillTable(drill))
	return s
}

// breaches is the history of the invariant: one operation, one effect.
func breaches(r *httpapi.Report) table {
	t := table{Title: "Invariant: one operation, one effect. Times at which it was broken", Head: []string{"at", "tool", "detail"}}
	for _, e := range r.Lines {
		if e.Action == string(onceward.AuditToolPaused) && e.Reason == "effect_multiplied" {
			t.Rows = append(t.Rows, []string{atText(e.At), e.Subject, e.Detail})
		}
	}
	return t
}

func chainTable(r *httpapi.Report) table {
	return table{Title: "Audit trail", Head: []string{"newest seal", "sealed at", "signed up to seal", "signed at", "rows not sealed"},
		Rows: [][]string{{strconv.Itoa(r.Chain.Seal), atText(r.Chain.SealedAt), strconv.Itoa(r.Chain.Signed), atText(r.Chain.SignedAt), strconv.Itoa(r.Chain.Unsealed)}}}
}

// drillTable shows the plain members of a drill's result, and each of its lists
// as a count: the file itself goes with the pack.
func drillTable(drill json.RawMessage) table {
	t := table{Title: "Drill", Head: []string{"member", "value"}}
	var members map[string]any
	decoder := json.NewDecoder(bytes.NewReader(drill))
	decoder.UseNumber()
	if decoder.Decode(&members) != nil {
		return t
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		value := fmt.Sprint(members[name])
		switch plain := members[name].(type) {
		case []any:
			value = fmt.Sprintf("%d entries", len(plain))
		case map[string]any:
			value = "an object"
		case nil:
			value = "null"
		}
		t.Rows = append(t.Rows, []string{name, value})
	}
	return t
}

func manage(r *httpapi.Report) section {
	stopped := table{Title: "Stop switches in force now", Head: []string{"what", "why", "by", "since"}}
	for _, sw := range r.Stopped {
		stopped.Rows = append(stopped.Rows, []string{stoppedText(sw.Scope, sw.Tool), sw.Reason, sw.By, atText(sw.At)})
	}
	return section{Title: "Manage", Serves: "EU AI Act Art. 14(4)(d) and (e): decisions not to use, to override, and to stop. Art. 12: what was done about what went wrong.",
		Tables: []table{stopped, lines(r, "Stop switches thrown, and incidents that threw them", onceward.AuditToolPaused, onceward.AuditToolResumed),
			lines(r, "Replays of many operations", onceward.AuditBulkReplay, onceward.AuditBulkReplayCancelled),
			events(r, "Reconciliations", onceward.KindProbeFound, onceward.KindProbeAbsent, onceward.KindProbeInconclusive,
				onceward.KindEffectProven, onceward.KindSettleOverdue, onceward.KindLeaseExpired),
			events(r, "By people", onceward.KindResolved, onceward.KindReplayRequested, onceward.KindCancelRequested, onceward.KindAssigned, onceward.KindCompensated)}}
}
