package console

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/onceward/onceward"
)

// exportLinesMax is how many lines of the trail one export has.
const exportLinesMax = 20_000

// auditView is a page of the trail.
type auditView struct {
	State                            onceward.AuditState
	Lines                            []onceward.AuditLine
	From, To, Actor, Action, Subject string
	People                           bool
	Actions                          []actionChoice
	At, Export                       string // the addresses of what is asked: as a page, as a file
	First                            bool
	More                             string
	Partly                           bool      // it looked at as much as it does at once
	Until                            time.Time // Partly: how far it came
	Now                              time.Time
}

// auditQuery reads what is asked of the trail. Without a time it is the last day.
func (p *page) auditQuery(v *auditView) (f onceward.AuditFilter, back url.Values, err error) {
	q := p.req.URL.Query()
	one := func(name string) string { return strings.TrimSpace(q.Get(name)) }
	v.From, v.To, v.Actor, v.Action, v.Subject, v.People = one("from"), one("to"), one("actor"), one("action"), one("subject"), q.Get("people") != ""
	if v.From == "" {
		v.From = dayOf(p.now.Add(-24 * time.Hour))
	}
	f = onceward.AuditFilter{Actor: v.Actor, Action: actionCalled(v.Action), Subject: v.Subject, People: v.People, Limit: ListPage}
	if f.From, f.To, err = timesOf(v.From, v.To); err != nil {
		return f, nil, err
	}
	back = url.Values{}
	for name, value := range map[string]string{"from": v.From, "to": v.To, "actor": v.Actor, "action": v.Action, "subject": v.Subject} {
		if value != "" {
			back.Set(name, value)
		}
	}
	if v.People {
		back.Set("people", "1")
	}
	v.At, v.Export = link("/audit", back.Encode()), link("/audit/export", back.Encode())
	f.After, err = readTrailCursor(q.Get("after"))
	return f, back, err
}

// actionChoice is something that the trail notes: by its name, and as the page
// says it.
type actionChoice struct {
	Name  onceward.AuditAction
	Label string
}

// actionChoices are what the trail can be asked for, by their words.
func actionChoices() (all []actionChoice) {
	add := func(name string) { all = append(all, actionChoice{onceward.AuditAction(name), eventWord(name)}) }
	for key := range words {
		if name, is := strings.CutPrefix(key, "event."); is && name != "became" {
			add(name)
		}
	}
	for _, s := range onceward.AllStates {
		add("became_" + s.String())
	}
	slices.SortFunc(all, func(a, b actionChoice) int {
		return cmp.Or(cmp.Compare(a.Label, b.Label), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// actionCalled is the action that somebody wrote: its name, or the words that the
// page has for it.
func actionCalled(text string) onceward.AuditAction {
	for _, a := range actionChoices() {
		if strings.EqualFold(a.Label, text) {
			return a.Name
		}
	}
	return onceward.AuditAction(text)
}

// audit is GET /audit.
func audit(p *page) error {
	v := auditView{Now: p.now, Actions: actionChoices(), First: p.req.URL.Query().Get("after") == ""}
	f, back, err := p.auditQuery(&v)
	if err != nil {
		return err
	}
	ctx := p.req.Context()
	if v.State, err = p.ledger.AuditStanding(ctx, p.who); err != nil {
		return err
	}
	found, err := p.ledger.Audit(ctx, p.who, f)
	if err != nil {
		return err
	}
	v.Lines, v.Partly, v.Until = found.Lines, found.Partly, found.Until
	if found.Next != (onceward.AuditCursor{}) {
		back.Set("after", writeTrailCursor(found.Next))
		v.More = link("/audit", back.Encode())
	}
	return p.show("audit", word("audit.title"), v)
}

func writeTrailCursor(c onceward.AuditCursor) string {
	return fmt.Sprintf("%d.%d.%d.%d.%d", c.Journal.Xid, c.Journal.Position, c.Events.Xid, c.Events.Position, c.Taken)
}

func readTrailCursor(s string) (c onceward.AuditCursor, err error) {
	if s == "" {
		return c, nil
	}
	parts := strings.Split(s, ".")
	var n [5]int64
	for i := range n {
		if len(parts) != len(n) {
			return c, &onceward.Error{Code: onceward.CodeCursorInvalid, Message: word("error.cursor")}
		}
		if n[i], err = strconv.ParseInt(parts[i], 10, 64); err != nil || n[i] < 0 {
			return c, &onceward.Error{Code: onceward.CodeCursorInvalid, Message: word("error.cursor")}
		}
	}
	return onceward.AuditCursor{Journal: onceward.AuditPlace{Xid: uint64(n[0]), Position: n[1]}, Events: onceward.AuditPlace{Xid: uint64(n[2]), Position: n[3]}, Taken: int(n[4])}, nil // #nosec G115 -- not negative
}

// exportedLine is a line of the trail as a file for people and programs has it.
type exportedLine struct {
	At      time.Time `json:"at"`
	Actor   string    `json:"actor"`
	Action  string    `json:"action"`
	Subject string    `json:"subject"`
	Detail  string    `json:"detail,omitempty"`
	Reason  string    `json:"reason,omitempty"`
	Source  string    `json:"source"`
}

// exportAudit is GET /audit/export: what is asked, as lines of JSON. That it was
// read out is noted in the trail itself.
func exportAudit(p *page) error {
	var v auditView
	f, _, err := p.auditQuery(&v)
	if err != nil {
		return err
	}
	f.Limit = onceward.MaxPage
	var all []onceward.AuditLine
	for {
		page, err := p.ledger.Audit(p.req.Context(), p.who, f)
		if err != nil {
			return err
		}
		all = append(all, page.Lines...)
		if page.Next == (onceward.AuditCursor{}) || len(all) >= exportLinesMax {
			break
		}
		f.After = page.Next
	}
	p.ledger.Note(p.req.Context(), p.who, onceward.AuditTrailExported, "console", "", fmt.Sprintf("%d lines from %s", len(all), v.From))
	h := p.w.Header()
	secure(h)
	h.Set("Content-Type", "application/x-ndjson")
	h.Set("Content-Disposition", `attachment; filename="audit.jsonl"`)
	h.Set("Cache-Control", "no-store")
	out := json.NewEncoder(p.w)
	for i := range all {
		l := &all[i]
		if out.Encode(exportedLine{l.At.UTC(), l.Actor, string(l.Action), l.Subject, l.Detail, l.Reason, l.Source.String()}) != nil {
			return nil // the browser went away
		}
	}
	return nil
}
