package console

import (
	"cmp"
	"time"

	"github.com/onceward/onceward"
)

// reportsView is a report, or the form that asks for one. Why nothing is read
// before somebody asks: a report walks the trail of its time, which no page that
// merely opens may do.
type reportsView struct {
	From, To string
	Report   *onceward.Report
	Waits    []waitsView
	Chart    *chart
}

type waitsView struct {
	Name string
	onceward.Waits
}

// reports is GET /reports.
func reports(p *page) error {
	q := p.req.URL.Query()
	v := reportsView{From: cmp.Or(q.Get("from"), dayOf(p.now.Add(-24*time.Hour))), To: cmp.Or(q.Get("to"), dayOf(p.now.Add(time.Minute)))}
	if q.Get("from") == "" {
		return p.show("reports", word("reports.title"), v)
	}
	from, err := timeField("search.from", v.From)
	if err != nil {
		return err
	}
	to, err := timeField("search.to", v.To)
	if err != nil {
		return err
	}
	if v.Report, err = p.ledger.Report(p.req.Context(), p.who, from, to); err != nil {
		return err
	}
	r := v.Report
	v.Waits = []waitsView{{word("reports.approvals"), r.Approvals}, {word("reports.reviews"), r.Reviews}, {word("reports.unknowns"), r.Unknowns}}
	step := onceward.TallyStep
	if r.To.Sub(r.From) > 48*time.Hour {
		step = 24 * time.Hour
	}
	v.Chart = answersChart(r.Times, r.From, r.To, step)
	return p.show("reports", word("reports.title"), v)
}
