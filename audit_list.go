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
	Limit   int // 1 to MaxPage
}

// selects reports whether the filter selects a line, its time excepted.
func (f *AuditFilter) selects(l *AuditLine) bool {
	return (f.Actor == "" || l.Actor == f.Actor) && (f.Action == "" || l.Action == f.Action) && (f.Subject == "" || l.Subject == f.Subject) &&
		(!f.People || strings.Contains(l.Actor, ":"))
}

// holding are bytes that a row of the journal has if the filter selects anything
// of it: the rarest of what was asked for. They stand in it as they are.
func (f *AuditFilter) holding(t Tenant) []byte {
	if id, err := ParseOperationID(f.Subject); err == nil {
		return id[:]
	}
	return []byte(cmp.Or(f.Actor, string(t)))
}

// AuditCursor is a place in both sources.
type AuditCursor struct {
	Journal AuditPlace
	Events  AuditPlace
	Taken   int // changes of the row behind Journal that were given already
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

// Limits of one page of the trail: what is asked for may be rare, or of other
// tenants.
const (
	// AuditScanRows is how many rows one page looks at.
	AuditScanRows = 1_000
	// auditScanChanges is how many changes of operations it looks at one by one.
	auditScanChanges = 10_000
	// auditFirst is how many rows are read at first, of each source: a row of the
	// journal may hold hundreds of changes, and one row fill the page.
	auditFirst = 8
	// auditMost is how many rows are read at once later on.
	auditMost = 128
	// auditSlack is by how much the order of the trail may differ from that of its
	// times: the order is that of transactions, each of which reads the clock.
	auditSlack = time.Minute
)

// AuditPage is a page of the trail.
type AuditPage struct {
	Lines  []AuditLine
	Next   AuditCursor // where to go on; zero: there is nothing behind it now
	Partly bool        // the page is not full: it looked at as much as one page does
	Until  time.Time   // Partly: how far it came
}

// Audit returns a page of the tenant's audit trail, oldest first. It looks at a
// bounded part of the trail: a page may be short, or empty, and have a place at
// which to go on. What concerns every tenant is in it.
func (l *Ledger) Audit(ctx context.Context, p Principal, f AuditFilter) (*AuditPage, error) {
	if err := Authorize(p, ActionReadAudit); err != nil {
		return nil, err
	}
	if f.Limit < 1 || f.Limit > MaxPage {
		return nil, Errorf(CodeInvalidRequest, "limit %d is not between 1 and %d", f.Limit, MaxPage)
	}
	at := f.After
	if at == (AuditCursor{}) && !f.From.IsZero() {
		seal, err := l.store.SealBefore(ctx, f.From)
		if err != nil {
			return nil, err
		}
		if seal != nil { // no row is younger than its seal
			at = AuditCursor{Journal: seal.Journal, Events: seal.Events}
		}
	}
	r := &trailReader{store: l.store, at: at, budget: AuditScanRows, page: [2]int{auditFirst, auditFirst}, most: auditMost, holding: f.holding(p.Tenant), ended: [2]bool{f.Events, false}}
	page := &AuditPage{}
	if err := f.fill(ctx, page, r, p.Tenant); err != nil {
		return nil, err
	}
	return page, l.giveReasons(ctx, page.Lines)
}

// fill reads until the page is full, the bound is met, or nothing is left.
func (f *AuditFilter) fill(ctx context.Context, page *AuditPage, r *trailReader, t Tenant) error {
	for changes := 0; ; {
		before := r.at
		row, err := r.next(ctx)
		switch {
		case err != nil:
			return err
		case row == nil && r.done(), row != nil && !f.To.IsZero() && row.At.After(f.To.Add(auditSlack)):
			page.Next = AuditCursor{}
			return nil
		case row == nil:
			page.Next, page.Partly = r.at, true
			return nil
		}
		page.Until = row.At
		if !row.At.Before(f.From) && (f.To.IsZero() || row.At.Before(f.To)) {
			if left, full := f.take(page, row, t, before.Taken); full {
				if page.Next = r.at; left > 0 {
					page.Next = before
					page.Next.Taken = left
				}
				if page.Next == r.at && r.done() {
					page.Next = AuditCursor{}
				}
				return nil
			}
		}
		if changes += len(row.Entries); changes >= auditScanChanges {
			page.Next, page.Partly = r.at, !r.done()
			if !page.Partly {
				page.Next = AuditCursor{}
			}
			return nil
		}
	}
}

// take adds what a row tells of a tenant and the filter selects, its first
// changes excepted, until the page is full. left is how many of its changes are
// given then, 0 if all of them.
func (f *AuditFilter) take(page *AuditPage, r *AuditRow, t Tenant, taken int) (left int, full bool) {
	if e := r.Event; e != nil && (e.Tenant == t || e.Tenant == "") {
		if line := (AuditLine{AuditEvent: *e, Source: SourceEvents}); f.selects(&line) {
			page.Lines = append(page.Lines, line)
		}
	}
	for i := taken; i < len(r.Entries); i++ {
		if len(page.Lines) == f.Limit {
			return i, true
		}
		if e := &r.Entries[i]; e.Tenant == t && (f.Actor == "" || e.Actor == f.Actor) {
			if line := lineOf(r, e); f.selects(&line) {
				page.Lines = append(page.Lines, line)
			}
		}
	}
	return 0, len(page.Lines) == f.Limit
}

// trailReader reads both sources in the order of time.
type trailReader struct {
	store   AuditStore
	at      AuditCursor
	rows    [2][]AuditRow
	ended   [2]bool
	budget  int    // rows; nothing is read once it is used up
	page    [2]int // rows that are read next of each source; 0: MaxPage
	most    int    // rows that are read at once, as page grows up to it
	holding []byte // see AuditQuery.Holding
}

// next is the next row; nil: there is none, or the budget is spent.
func (r *trailReader) next(ctx context.Context) (*AuditRow, error) {
	for i, source := range AllAuditSources {
		if len(r.rows[i]) > 0 || r.ended[i] {
			continue
		}
		if r.budget <= 0 {
			return nil, nil
		}
		limit := cmp.Or(r.page[i], MaxPage)
		r.budget -= limit
		var err error
		r.rows[i], err = r.store.AuditRows(ctx, AuditQuery{Source: source, After: *r.at.of(source), Limit: limit, Holding: r.holding})
		if err != nil {
			return nil, err
		}
		r.ended[i], r.page[i] = len(r.rows[i]) < limit, min(2*r.page[i], r.most)
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
	if *r.at.of(row.Source) = row.Place; row.Source == SourceJournal {
		r.at.Taken = 0
	}
	return row, nil
}

func (r *trailReader) done() bool {
	return len(r.rows[0])+len(r.rows[1]) == 0 && r.ended[0] && r.ended[1]
}

// lineOf is what an entry of a row tells.
func lineOf(r *AuditRow, e *JournalEntry) AuditLine {
	event := AuditEvent{Place: r.Place, At: r.At, Tenant: e.Tenant, Actor: e.Actor, Action: AuditAction(e.Event), Subject: e.ID.String()}
	switch {
	case e.Gone:
	case e.Event == "":
		event.Action = AuditAction("became_" + e.To.String())
	case e.From != 0 && e.From != e.To:
		event.Detail = e.From.String() + " to " + e.To.String()
	}
	return AuditLine{AuditEvent: event, Source: SourceJournal, Change: e}
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
		rows, err := s.AuditRows(ctx, AuditQuery{Source: source, After: *last.last(source), Limit: AuditRowsMax, Open: true, Bare: true})
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
