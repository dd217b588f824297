package onceward

import (
	"cmp"
	"context"
	"strings"
	"time"
)

// AuditFilter selects lines of the trail. Zero fields select everything.
type AuditFilter struct {
	From    time.Time // inclusive
	To      time.Time // exclusive
	Actor   string    // who did it, as AuditEvent.Actor
	Action  AuditAction
	Subject string
	People  bool // only what was done by a principal, and no change that a replica made by itself
	Events  bool // only what is no change of an operation
	After   AuditCursor
	Limit   int // 1 to MaxPage; a page ends with the commit that fills it
}

// selects reports whether the filter selects a line, its time excepted.
func (f *AuditFilter) selects(l *AuditLine) bool {
	return (f.Actor == "" || l.Actor == f.Actor) && (f.Action == "" || l.Action == f.Action) && (f.Subject == "" || l.Subject == f.Subject) &&
		(!f.People || strings.Contains(l.Actor, ":"))
}

// AuditCursor is a place in both sources.
type AuditCursor struct {
	Journal AuditPlace
	Events  AuditPlace
}

func (c *AuditCursor) of(s AuditSource) *AuditPlace {
	if s == SourceJournal {
		return &c.Journal
	}
	return &c.Events
}

// AuditLine is one line of the trail, of whatever source.
type AuditLine struct {
	AuditEvent
	Source AuditSource
	Change *JournalEntry // of an operation; nil: Source is the events
}

// auditScan bounds how many pages of rows one page of lines reads: most may be of
// other tenants.
const auditScan = 20

// auditPage is how many rows a page of lines reads at once at least.
const auditPage = 50

// Audit returns a page of the tenant's audit trail, oldest first, and where to go
// on; a zero cursor: there is nothing behind it now. A page may be short, or empty,
// and have a place at which to go on: it looks at a bounded number of rows. What
// concerns every tenant is in it.
func (l *Ledger) Audit(ctx context.Context, p Principal, f AuditFilter) ([]AuditLine, AuditCursor, error) {
	if err := Authorize(p, ActionReadAudit); err != nil {
		return nil, AuditCursor{}, err
	}
	if f.Limit < 1 || f.Limit > MaxPage {
		return nil, AuditCursor{}, Errorf(CodeInvalidRequest, "limit %d is not between 1 and %d", f.Limit, MaxPage)
	}
	at := f.After
	if at == (AuditCursor{}) && !f.From.IsZero() {
		seal, err := l.store.SealBefore(ctx, f.From)
		if err != nil {
			return nil, AuditCursor{}, err
		}
		if seal != nil { // no row is younger than its seal
			at = AuditCursor{seal.Journal, seal.Events}
		}
	}
	r := &trailReader{store: l.store, at: at, budget: auditScan, page: max(f.Limit, auditPage), ended: [2]bool{f.Events, false}}
	var lines []AuditLine
	for len(lines) < f.Limit {
		row, err := r.next(ctx)
		if err != nil {
			return nil, AuditCursor{}, err
		}
		if row == nil {
			break
		}
		if row.At.Before(f.From) || !f.To.IsZero() && !row.At.Before(f.To) {
			continue
		}
		for _, line := range appendLines(nil, row, p.Tenant) {
			if f.selects(&line) {
				lines = append(lines, line)
			}
		}
	}
	if err := l.giveReasons(ctx, lines); err != nil {
		return nil, AuditCursor{}, err
	}
	if r.done() {
		return lines, AuditCursor{}, nil
	}
	return lines, r.at, nil
}

// trailReader reads both sources in the order of time.
type trailReader struct {
	store  AuditStore
	at     AuditCursor
	rows   [2][]AuditRow
	ended  [2]bool
	budget int // pages; below 0: without bound
	page   int // rows; 0: MaxPage
}

// next is the next row; nil: there is none, or the budget is spent.
func (r *trailReader) next(ctx context.Context) (*AuditRow, error) {
	for i, source := range AllAuditSources {
		if len(r.rows[i]) > 0 || r.ended[i] {
			continue
		}
		if r.budget == 0 {
			return nil, nil
		}
		r.budget--
		var err error
		r.rows[i], err = r.store.AuditRows(ctx, AuditQuery{Source: source, After: *r.at.of(source), Limit: cmp.Or(r.page, MaxPage)})
		if err != nil {
			return nil, err
		}
		r.ended[i] = len(r.rows[i]) < cmp.Or(r.page, MaxPage)
	}
	pick := 0
	switch {
	case len(r.rows[0]) == 0 && len(r.rows[1]) == 0:
		return nil, nil
	case len(r.rows[0]) == 0, len(r.rows[1]) > 0 && r.rows[1][0].At.Before(r.rows[0][0].At):
		pick = 1
	}
	row := &r.rows[pick][0]
	r.rows[pick] = r.rows[pick][1:]
	*r.at.of(row.Source) = row.Place
	return row, nil
}

func (r *trailReader) done() bool {
	return len(r.rows[0])+len(r.rows[1]) == 0 && r.ended[0] && r.ended[1]
}

// appendLines appends what a row tells of a tenant.
func appendLines(lines []AuditLine, r *AuditRow, t Tenant) []AuditLine {
	if e := r.Event; e != nil && (e.Tenant == t || e.Tenant == "") {
		return append(lines, AuditLine{AuditEvent: *e, Source: SourceEvents})
	}
	for i := range r.Entries {
		e := &r.Entries[i]
		if e.Tenant != t {
			continue
		}
		event := AuditEvent{Place: r.Place, At: r.At, Tenant: e.Tenant, Actor: e.Actor, Action: AuditAction(e.Event), Subject: e.ID.String()}
		switch {
		case e.Gone:
		case e.Event == "":
			event.Action = AuditAction("became_" + e.To.String())
		case e.From != 0 && e.From != e.To:
			event.Detail = e.From.String() + " to " + e.To.String()
		}
		lines = append(lines, AuditLine{AuditEvent: event, Source: SourceJournal, Change: e})
	}
	return lines
}

// giveReasons reads from the timelines why changes were made. They go with the
// record when it is retired; who and when stay.
func (l *Ledger) giveReasons(ctx context.Context, lines []AuditLine) error {
	timelines := map[OperationID][]Record{}
	for i := range lines {
		c := lines[i].Change
		if c == nil || c.Records.IsZero() {
			continue
		}
		records, known := timelines[c.ID]
		if !known {
			d, err := l.store.LoadDetail(ctx, c.ID)
			if err != nil {
				return err
			}
			records = d.Records
			timelines[c.ID] = records
		}
		for _, r := range records {
			if r.Version == c.Version && r.Reason != "" && r.Event == c.Event {
				lines[i].Reason = auditText(r.Reason)
			}
		}
	}
	return nil
}

// AuditCheckpoints returns at most limit checkpoints of seals after a number.
func (l *Ledger) AuditCheckpoints(ctx context.Context, p Principal, after int64, limit int) ([]Checkpoint, error) {
	if err := Authorize(p, ActionReadAudit); err != nil {
		return nil, err
	}
	if limit < 1 || limit > MaxPage {
		return nil, Errorf(CodeInvalidRequest, "limit %d is not between 1 and %d", limit, MaxPage)
	}
	return l.store.Checkpoints(ctx, after, limit)
}

// AuditState says how far the chain is.
type AuditState struct {
	Seal       *Seal       // the newest; nil: none
	Checkpoint *Checkpoint // the newest; nil: nothing is signed
	Unsealed   int         // rows that are not sealed yet, counted up to AuditRowsMax of each source
	Oldest     time.Time   // of those; zero: none
}

// LoadAuditState reads how far the chain of a store is.
func LoadAuditState(ctx context.Context, s AuditStore) (st AuditState, err error) {
	if st.Seal, err = s.LastSeal(ctx); err != nil {
		return st, err
	}
	if st.Checkpoint, err = s.LastCheckpoint(ctx); err != nil {
		return st, err
	}
	var last Seal
	if st.Seal != nil {
		last = *st.Seal
	}
	for _, source := range AllAuditSources {
		rows, err := s.AuditRows(ctx, AuditQuery{Source: source, After: *last.last(source), Limit: AuditRowsMax, Open: true})
		if err != nil {
			return st, err
		}
		st.Unsealed += len(rows)
		if len(rows) > 0 && (st.Oldest.IsZero() || rows[0].At.Before(st.Oldest)) {
			st.Oldest = rows[0].At
		}
	}
	return st, nil
}
