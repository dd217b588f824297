package onceward

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"
)

// Limits of handling.
const (
	// inboxBatch is how many events one step takes.
	inboxBatch = 128
	// inboxParallel is how many of them are handled at once.
	inboxParallel = 32
	// inboxHold is how long a replica has for what it took: then another one
	// handles it, which changes nothing if the first one did.
	inboxHold = 15 * time.Second
	// inboxTriesMax is how often an event is tried while the ledger cannot record
	// what it asks for, before a person has to look: half an hour.
	inboxTriesMax = 12
	// evidenceTriesMax is how often an operation is looked for of which an event
	// speaks: the event may be faster than our own record.
	evidenceTriesMax = 6
	// inboxDropBatch is how many events one step forgets.
	inboxDropBatch = 500
	// inboxMessageMax is how much of a reason is kept, in bytes.
	inboxMessageMax = 400
)

// StepInbox handles events that were recorded and not handled yet. worked is
// false if there were none.
func (l *Ledger) StepInbox(ctx context.Context) (worked bool, err error) {
	events, err := l.store.TakeEvents(ctx, inboxBatch, inboxHold)
	if err != nil || len(events) == 0 {
		return false, err
	}
	next := make([]InboxEvent, len(events))
	var all sync.WaitGroup
	turn := make(chan struct{}, inboxParallel)
	for i, e := range events {
		turn <- struct{}{}
		all.Go(func() {
			defer func() { <-turn }()
			next[i] = l.handleEvent(ctx, e)
		})
	}
	all.Wait()
	l.crash("inbox.before_settle")
	return true, l.setEvents(ctx, next)
}

// setEvents is SetEvents that is run again while nobody knows whether it is
// recorded. What lost to another replica is left to that one.
func (l *Ledger) setEvents(ctx context.Context, events []InboxEvent) (err error) {
	for range putTries {
		if _, err = l.store.SetEvents(context.WithoutCancel(ctx), events); !Is(err, CodeMayBeRecorded) {
			return err
		}
	}
	return err
}

// handleEvent does what an event's mappings name, and returns the event as it
// stands then. Everything that it asks for is idempotent under keys that are
// taken from the event: an event that is handled twice, or was cut off half way,
// has each effect once.
//
// Crash point: inbox.before_handle, inbox.between_effects.
func (l *Ledger) handleEvent(ctx context.Context, e *InboxEvent) (after InboxEvent) {
	h := &handling{ledger: l, event: *e}
	h.event.Tries++
	defer func() {
		// Why: an event that meets a defect would meet it again after each restart.
		if v := recover(); v != nil {
			l.log.Error("handling an event panicked", "event", e.ID.String(), "panic", v, "stack", string(debug.Stack()))
			h.code, h.again, h.faults = CodeInternal, false, []string{"a defect of ours: the log has it"}
			after = h.ended(InboxFailed, 0)
		}
	}()
	h.event.Code, h.event.Message = "", ""
	src, err := l.tools.EventSourceVersion(ctx, e.Source, e.Version)
	if err != nil {
		h.refused("", err)
		return h.ended(InboxFailed, 0) // or tried again
	}
	l.crash("inbox.before_handle")
	h.who = src.Info().Principal()
	parts := src.Plan(e)
	if len(parts) == 0 {
		if src.Info().IgnoreUnmapped {
			return h.ended(InboxIgnored, src.Info().Window)
		}
		h.event.Message = "no mapping is for it"
		return h.ended(InboxUnmapped, 0)
	}
	for i := range parts {
		h.part(ctx, &parts[i])
	}
	return h.ended(InboxHandled, src.Info().Window)
}

// handling is one event while it is handled.
type handling struct {
	ledger  *Ledger
	event   InboxEvent
	who     Principal
	effects int // done so far, for the crash point
	again   bool
	missing []string // operations of which the event speaks, and that are not there
	faults  []string
	code    Code // of the first fault
}

// refused notes what could not be done.
func (h *handling) refused(mapping string, err error) {
	code := CodeOf(err)
	if h.code == "" {
		h.code = code
	}
	h.again = h.again || code.Advice().Retryable || errors.Is(err, ErrFunctionNotHere)
	message := err.Error()
	if mapping != "" {
		message = mapping + ": " + message
	}
	h.faults = append(h.faults, message)
}

// part does what one mapping names. What it cannot do keeps no other mapping
// from being done.
func (h *handling) part(ctx context.Context, p *EventPart) {
	if p.Err != nil {
		h.refused(p.Mapping, p.Err)
		return
	}
	run := ""
	if p.Run != nil {
		h.between()
		a, err := h.ledger.StartRun(ctx, RunRequest{Principal: h.who, Workflow: p.Run.Workflow, Version: p.Run.Version, TriggerKey: p.Run.TriggerKey, Input: p.Run.Input, CorrelationID: h.event.ID.String()})
		if err != nil {
			h.refused(p.Mapping, err)
			return
		}
		h.event.Run, run = a.Run.ID, a.Run.ID.String()
	}
	for i := range p.Operations {
		h.between()
		o := &p.Operations[i]
		a, err := h.ledger.Submit(ctx, Intent{Principal: h.who, Tool: o.Tool, Input: o.Input, CallerKey: o.Key, Run: run, CorrelationID: h.event.ID.String()})
		if err != nil {
			h.refused(p.Mapping, fmt.Errorf("%s: %w", o.Tool, err))
			continue
		}
		h.concerns(a.Operation.ID)
	}
	for i := range p.Evidence {
		h.between()
		switch id, err := h.ledger.settleByEvent(ctx, h.who, &h.event, &p.Evidence[i]); {
		case err != nil:
			h.refused(p.Mapping, err)
		case id.IsZero():
			h.missing = append(h.missing, string(p.Evidence[i].Tool))
		default:
			h.concerns(id)
		}
	}
}

// between marks the place between two effects of one event.
func (h *handling) between() {
	if h.effects++; h.effects > 1 {
		h.ledger.crash("inbox.between_effects")
	}
}

func (h *handling) concerns(id OperationID) {
	if !slices.Contains(h.event.Operations, id) {
		h.event.Operations = append(h.event.Operations, id)
	}
}

// ended is the event after it was handled: in the state, or tried again, or
// waiting for a person.
func (h *handling) ended(state InboxState, window time.Duration) InboxEvent {
	e, now := h.event, h.ledger.clock.now()
	e.Revision, e.Token = e.Revision+1, newToken()
	switch {
	case h.again && e.Tries < inboxTriesMax, len(h.missing) > 0 && len(h.faults) == 0 && e.Tries < evidenceTriesMax:
		e.State, e.NextAt = InboxReceived, now.Add(inboxPause(e.Tries))
	case len(h.faults) > 0:
		e.State = InboxFailed
	default:
		e.State = state
	}
	if len(h.missing) > 0 && len(h.faults) == 0 {
		e.Message = "nothing was there that it could settle: " + strings.Join(h.missing, ", ")
	}
	if len(h.faults) > 0 {
		message := strings.Join(h.faults, "; ")
		e.Code, e.Message = h.code, strings.ToValidUTF8(message[:min(len(message), inboxMessageMax)], "")
	}
	if e.State == InboxReceived {
		return e
	}
	e.NextAt, e.HandledAt = time.Time{}, now
	if !e.State.Waits() {
		e.DropAt = now.Add(window)
	}
	return e
}

// inboxPause is how long an event rests after its n-th try: 2 s, 4 s, up to 5 minutes.
func inboxPause(n int) time.Duration { return min(time.Second<<min(n, 10), 5*time.Minute) }

// StepInboxDrop forgets events whose time is over. worked is false if there were none.
func (l *Ledger) StepInboxDrop(ctx context.Context) (worked bool, err error) {
	n, err := l.store.DropEvents(ctx, inboxDropBatch)
	return n > 0, err
}
