package console

import (
	"time"

	"github.com/onceward/onceward"
)

// overviewView is the first page.
type overviewView struct {
	*onceward.Overview
	Tiles   []tile
	Answers *chart
	Ends    *chart
	Bars    []toolBar
	Span    string // day, week
	Reports bool
	Empty   bool // nothing was ever asked for
	Reads   bool // the reader may read operations
	Address string
	Tool    string // one that can be called, for the empty page
}

// tile is one number that matters, with the oldest of what it counts.
type tile struct {
	Label, Link, Note string
	N                 int
	Most              bool // that many or more
	Oldest            string
	Since             time.Time
	Tone              string
}

// toolBar is how one tool's requests were answered.
type toolBar struct {
	Name  onceward.ToolName
	Known bool
	Sum   int64
	Parts []part
	onceward.Answered
}

type part struct {
	Series int
	X, W   float64
}

// overview is GET /.
func overview(p *page) error {
	span, step, name := 24*time.Hour, time.Hour, "day"
	if p.req.URL.Query().Get("span") == "week" {
		span, step, name = 7*24*time.Hour, 6*time.Hour, "week"
	}
	o, err := p.ledger.Overview(p.req.Context(), p.who, span)
	if err != nil {
		return err
	}
	v := overviewView{Overview: o, Span: name, Reports: p.may(onceward.ActionReadReports), Reads: p.may(onceward.ActionRead), Address: p.address()}
	v.Empty = v.Reads && !o.Any
	for _, w := range o.Waiting {
		v.Tiles = append(v.Tiles, tileOf(w))
	}
	if v.Reports {
		v.Answers, v.Ends = answersChart(o.Hours, o.From, o.Now, step), endsChart(o.Ends, o.From, o.Now, step)
		v.Bars = toolBars(o.Tools)
	}
	if all := p.ledger.Tools(); len(all) > 0 {
		v.Tool = string(all[0].Info().Name)
	}
	return p.show("overview", word("overview.title"), v)
}

// address is how this server was reached, for what a reader may paste.
func (p *page) address() string {
	if p.req.TLS != nil || p.opts.Secure {
		return "https://" + p.req.Host
	}
	return "http://" + p.req.Host
}

// kinds are the states that are counted: their words, their list, and the page of
// one of them.
var kinds = map[onceward.State]struct{ name, link, one string }{
	onceward.StateOutcomeUnknown:   {"unknown", "/operations?state=outcome_unknown", "/operations/"},
	onceward.StateNeedsReview:      {"review", "/reviews", "/reviews/"},
	onceward.StateAwaitingApproval: {"approval", "/approvals", "/approvals/"},
	onceward.StateReady:            {"ready", "/operations?state=ready", "/operations/"},
}

func tileOf(w onceward.Waiting) tile {
	t := tile{N: w.Count, Most: w.Count >= onceward.OverviewCountMax, Since: w.Since, Tone: "calm"}
	kind := kinds[w.State]
	t.Label, t.Note, t.Link = word("tile."+kind.name), word("tile."+kind.name+".note"), kind.link
	if !w.Oldest.IsZero() {
		t.Oldest = kind.one + w.Oldest.String()
	}
	if t.N > 0 {
		t.Tone = tone(w.State)
	}
	return t
}

// toolBarsMax is how many tools the overview shows, the busiest first.
const toolBarsMax = 12

func toolBars(tools []onceward.ToolReport) []toolBar {
	var most int64
	for i := range tools {
		most = max(most, tools[i].Sum())
	}
	var out []toolBar
	for i := range tools[:min(len(tools), toolBarsMax)] {
		t := &tools[i]
		b := toolBar{Name: t.Tool, Known: t.Info != nil, Sum: t.Sum(), Answered: t.Answered}
		x := 0.0
		for n, v := range []int64{t.Fresh, t.Replayed, t.Joined, t.Escalated, t.Blocked} {
			w := 200 * float64(v) / float64(max(most, 1))
			if v > 0 {
				b.Parts = append(b.Parts, part{n, x, max(w, 1)})
				x += max(w, 1)
			}
		}
		out = append(out, b)
	}
	return out
}
