package onceward

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
)

// bypasses is what this process has seen at the providers, tool by tool.
type bypasses struct {
	mu   sync.Mutex
	next int // which tool is compared next
	seen map[ToolName]*listingSeen
}

// listingSeen is what the listings of one tool showed so far.
type listingSeen struct {
	known   map[string]bool // explained, told, or there when this process looked first
	doubted map[string]bool // that no operation explained, at the listing before
}

// CompareListing lists the provider's objects of one tool whose contract says how
// (audit:), another one each time, and looks for those that no operation explains:
// an effect that was made past the ledger. compared is false if no tool has a
// listing.
//
// Why only what came since this process looked first, and was not explained twice
// in a row: what is older may be from before the ledger, and an object can be
// listed before its operation's outcome is recorded.
func (l *Ledger) CompareListing(ctx context.Context) (compared bool, err error) {
	tools := l.tools.All()
	l.bypasses.mu.Lock()
	from := l.bypasses.next
	l.bypasses.mu.Unlock()
	for i := range tools {
		t := tools[(from+i)%len(tools)]
		if _, paused := l.switches.find(DefaultTenant, t.Info().Name); paused || !t.Info().Policy.Effect.Writes() {
			continue
		}
		objects, listed, err := l.list(t, DefaultTenant)
		if !listed && err == nil {
			continue
		}
		l.bypasses.mu.Lock()
		l.bypasses.next = (from + i + 1) % len(tools)
		l.bypasses.mu.Unlock()
		result := "listing_failed"
		if err == nil {
			result, err = l.compareListed(ctx, t.Info().Name, objects)
		}
		l.meter.Add(MetricMonitor, 1, Labels{string(t.Info().Name), result})
		return true, err
	}
	return false, nil
}

func (l *Ledger) compareListed(ctx context.Context, tool ToolName, objects []AuditedObject) (result string, err error) {
	l.bypasses.mu.Lock()
	defer l.bypasses.mu.Unlock()
	seen := l.bypasses.seen[tool]
	if seen == nil { // what is there already may be from before the ledger
		if l.bypasses.seen == nil {
			l.bypasses.seen = map[ToolName]*listingSeen{}
		}
		l.bypasses.seen[tool] = &listingSeen{known: referencesOf(objects)}
		return "listing_explained", nil
	}
	var fresh []AuditedObject
	for _, o := range objects {
		if !seen.known[o.Reference] {
			fresh = append(fresh, o)
		}
	}
	rest, e, err := l.unexplained(ctx, tool, fresh)
	if err != nil {
		return "listing_failed", err
	}
	result = "listing_explained"
	known, doubted := referencesOf(objects), map[string]bool{}
	for _, o := range rest {
		switch {
		case !e.rulesOut(o):
			result = "listing_inconclusive"
			delete(known, o.Reference)
		case !seen.doubted[o.Reference]:
			doubted[o.Reference] = true
			delete(known, o.Reference)
		default:
			result = "listing_unexplained"
			if err := l.noteBypass(ctx, tool, o); err != nil {
				return result, err
			}
		}
	}
	seen.known, seen.doubted = known, doubted
	return result, nil
}

func referencesOf(objects []AuditedObject) map[string]bool {
	all := make(map[string]bool, len(objects))
	for _, o := range objects {
		all[o.Reference] = true
	}
	return all
}

// noteBypass tells of an object that no operation explains: once in the audit
// trail, however many replicas see it.
func (l *Ledger) noteBypass(ctx context.Context, tool ToolName, o AuditedObject) error {
	e := NewAuditEvent(AuditEvent{Tenant: DefaultTenant, Actor: l.opts.Owner, Action: AuditBypassSuspected, Subject: string(tool), Detail: "object " + o.Reference})
	sum := sha256.Sum256(fmt.Appendf(nil, "bypass_suspected %q %q", tool, o.Reference))
	e.ID = WriteToken(sum[:16])
	if err := l.store.Note(ctx, e); err != nil {
		return fmt.Errorf("note a suspected bypass: %w", err)
	}
	l.log.Error("alarm", "tool", tool, "reason", "bypass_suspected", "object", Visible(o.Reference))
	l.meter.Add(MetricAlarms, 1, Labels{string(tool), "bypass_suspected"})
	return nil
}
