package onceward

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Recovery is what can be found out about a ledger that is older than its own
// dispatches, and what it takes to open it again.
type Recovery struct {
	Refused  error        // CodeLedgerBehind; nil: writes are taken
	Lost     []Dispatched // that the witness names; more may be missing that were sent before those
	Since    time.Time    // the last change that the ledger knows; zero: none
	Gaps     []Gap        // of before
	Tools    []ToolRecovery
	Sentence string // to be confirmed word for word
}

// ToolRecovery is what becomes of a tool's lost operations when they are asked
// for again.
type ToolRecovery struct {
	Tool        ToolName
	Effect      EffectClass
	Way         string          // in words
	Listed      bool            // the provider's objects were listed
	ListError   string          // why they could not be
	Unexplained []AuditedObject // that no operation explains: lost ones, or made past the ledger
	Sure        bool            // nothing else could explain them
}

// seemsLostMax is how many objects of a listing are told.
const seemsLostMax = 50

// PlanRecovery walks what may be missing and changes nothing. Call LookBehind
// before.
func (l *Ledger) PlanRecovery(ctx context.Context, tenant Tenant) (*Recovery, error) {
	since, err := lastChange(ctx, l.store)
	if err != nil {
		return nil, err
	}
	l.behind.mu.RLock()
	r := &Recovery{Lost: slices.Clone(l.behind.lost), Gaps: slices.Clone(l.behind.gaps), Since: since}
	l.behind.mu.RUnlock()
	r.Refused = l.Refusal()
	slices.SortFunc(r.Lost, func(a, b Dispatched) int { return a.At.Compare(b.At) })
	tools, err := l.tools.allInForce(ctx)
	if err != nil {
		return nil, err
	}
	for _, t := range tools {
		if info := t.Info(); info.Policy.Effect.Writes() {
			r.Tools = append(r.Tools, l.planTool(ctx, t, tenant))
		}
	}
	when := "the beginning"
	if !since.IsZero() {
		when = since.UTC().Format(time.RFC3339)
	}
	r.Sentence = "I accept that the ledger has forgotten what it did since " + when
	return r, nil
}

func (l *Ledger) planTool(ctx context.Context, t Tool, tenant Tenant) ToolRecovery {
	info := t.Info()
	out := ToolRecovery{Tool: info.Name, Effect: info.Policy.Effect, Way: wayBack(info)}
	objects, listed, sure, err := l.Unexplained(ctx, t, tenant)
	if err != nil {
		out.ListError = err.Error()
	}
	out.Listed, out.Sure, out.Unexplained = listed && err == nil, sure, objects[:min(len(objects), seemsLostMax)]
	return out
}

// wayBack says what an operation does first that may have been attempted in the gap.
func wayBack(info *ToolInfo) string {
	p := info.Policy
	switch {
	case info.tombstonesEnd():
		return "refused, because its provider keys depend on the time: find out at the provider what is missing, then clear the tool"
	case p.Effect == EffectConditionalWrite:
		return "sent again: what exists already is proof of done"
	case p.Effect == EffectKeyedWrite && p.KeyWindow == KeyWindowForever:
		return "sent again under the same key, which the provider keeps"
	case p.Effect == EffectKeyedWrite && p.KeyWindow > 0 && p.HasProbe:
		return fmt.Sprintf("sent again under the same key until %s after the gap began, then looked up", p.KeyWindow)
	case p.Effect == EffectKeyedWrite && p.KeyWindow > 0:
		return fmt.Sprintf("sent again under the same key until %s after the gap began, then shown to a person", p.KeyWindow)
	case p.HasProbe:
		return "looked up: what is found is done, what is absent is attempted"
	default:
		return "shown to a person: nothing can be looked up"
	}
}

// Recover opens a ledger again that is older than its own dispatches: it records
// the gap, and every process takes writes from then on. reason and sentence are a
// person's; cleared names tools whose lost operations that person has accounted
// for at the provider, so that they start as ever. On a ledger that is not behind
// it only clears tools of the newest gap, and needs no sentence for that.
// CodeEvidenceRequired, CodeConfirmationNeeded, CodeStateForbids, CodeToolNotFound.
func (l *Ledger) Recover(ctx context.Context, p Principal, plan *Recovery, reason, sentence string, cleared []ToolName) (*Gap, error) {
	const op = "recover ledger"
	if strings.TrimSpace(reason) == "" {
		return nil, &Error{Code: CodeEvidenceRequired, Op: op, Message: "opening the ledger needs a reason", Hint: "say what was restored, and why"}
	}
	for _, tool := range cleared {
		if _, err := l.tools.inForce(ctx, tool); err != nil {
			return nil, err
		}
	}
	now, err := l.store.Now(ctx)
	if err != nil {
		return nil, err
	}
	g := Gap{Since: plan.Since, Until: now, Lost: len(plan.Lost), Cleared: cleared, By: p.String(), Reason: reason}
	detail := fmt.Sprintf("%d dispatches forgotten, since %s", g.Lost, g.Since.UTC().Format(time.RFC3339))
	switch {
	case plan.Refused != nil && sentence != plan.Sentence:
		return nil, &Error{Code: CodeConfirmationNeeded, Op: op, Message: "the ledger opens with a gap", Hint: fmt.Sprintf("confirm with exactly this sentence: %q", plan.Sentence)}
	case plan.Refused == nil && (len(plan.Gaps) == 0 || len(cleared) == 0):
		return nil, &Error{Code: CodeStateForbids, Op: op, Message: "the ledger knows every dispatch that its witness saw", Hint: "there is nothing to recover"}
	case plan.Refused == nil:
		g = plan.Gaps[len(plan.Gaps)-1]
		g.Cleared = append(slices.Clone(g.Cleared), cleared...)
		detail = "gap until " + g.Until.UTC().Format(time.RFC3339)
	}
	if len(cleared) > 0 {
		detail += ", cleared " + inWords(cleared)
	}
	note := NewAuditEvent(AuditEvent{Actor: p.String(), Action: AuditLedgerRecovered, Subject: "ledger", Reason: reason, Detail: detail})
	if err := l.store.PutGap(context.WithoutCancel(ctx), g, note); err != nil {
		return nil, err
	}
	return &g, l.LookBehind(ctx)
}

// sealsBack is how many seals are read to find the last change.
const sealsBack = 100

// lastChange is when the ledger last changed an operation, by its journal; zero:
// not known. Events are none: whoever starts a server on a restored ledger notes some.
func lastChange(ctx context.Context, s AuditStore) (at time.Time, err error) {
	last, err := s.LastSeal(ctx)
	if err != nil {
		return at, fmt.Errorf("read the end of the journal: %w", err)
	}
	var from AuditPlace
	if last != nil {
		seals, err := s.Seals(ctx, max(0, last.Number-sealsBack), sealsBack)
		if err != nil {
			return at, fmt.Errorf("read the end of the journal: %w", err)
		}
		for i := range seals {
			if seals[i].Journal.Compare(last.Journal) < 0 {
				from = seals[i].Journal
			}
		}
	}
	for {
		rows, err := s.AuditRows(ctx, AuditQuery{Source: SourceJournal, After: from, Limit: AuditRowsMax, Open: true})
		if err != nil {
			return at, fmt.Errorf("read the end of the journal: %w", err)
		}
		for i := range rows {
			at, from = rows[i].At, rows[i].Place
		}
		if len(rows) < AuditRowsMax {
			return at, nil
		}
	}
}
