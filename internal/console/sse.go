package console

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/onceward/onceward"
)

// Limits of live updates.
const (
	// StreamsMax is how many pages a process keeps up to date at once.
	StreamsMax = 1000
	// followEvery is how often the ledger is looked at while a page is open.
	followEvery = 500 * time.Millisecond
	// streamBeat is how often a stream says that it is there, and asks whether who
	// reads it still may.
	streamBeat = 15 * time.Second
	// streamWrite is how long one message may take to be written.
	streamWrite = 10 * time.Second
)

// hub tells open pages what was written, of their own tenant only. Why one reader
// for all of them: what a page costs the database must not grow with how many
// people look at it.
type hub struct {
	ledger *onceward.Ledger
	log    *slog.Logger
	wake   chan struct{} // somebody listens

	mu     sync.Mutex
	ears   map[*ear]struct{}
	closed chan struct{}
	once   sync.Once
}

// ear is one page that listens.
type ear struct {
	tenant onceward.Tenant
	op     onceward.OperationID // zero: whatever changes in the tenant
	tell   chan struct{}        // holds one
}

func newHub(l *onceward.Ledger, log *slog.Logger) *hub {
	return &hub{ledger: l, log: log, wake: make(chan struct{}, 1), ears: map[*ear]struct{}{}, closed: make(chan struct{})}
}

func (h *hub) close() { h.once.Do(func() { close(h.closed) }) }

// listen adds an ear; false: there are too many.
func (h *hub) listen(e *ear) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.ears) >= StreamsMax {
		return false
	}
	h.ears[e] = struct{}{}
	e.tell <- struct{}{} // what was written between the page and its stream
	select {
	case h.wake <- struct{}{}:
	default:
	}
	return true
}

func (h *hub) leave(e *ear) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.ears, e)
}

func (h *hub) idle() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.ears) == 0
}

// run follows the ledger while somebody listens.
func (h *hub) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.wake:
		}
		h.follow(ctx)
	}
}

// follow reads on from now until nobody listens.
func (h *hub) follow(ctx context.Context) {
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	var at onceward.AuditCursor
	for !h.idle() {
		changes, next, behind, err := h.ledger.Watch(ctx, at)
		if err != nil && ctx.Err() == nil {
			h.log.WarnContext(ctx, "changes not followed", "error", err)
		}
		at = next
		h.tell(changes, behind)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// tell wakes whom the changes concern.
func (h *hub) tell(changes []onceward.Changed, all bool) {
	tenants, ops := map[onceward.Tenant]bool{}, map[onceward.OperationID]onceward.Tenant{}
	for _, c := range changes {
		tenants[c.Tenant] = true
		if !c.Operation.IsZero() {
			ops[c.Operation] = c.Tenant
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for e := range h.ears {
		concerned := all
		if e.op.IsZero() {
			concerned = concerned || tenants[e.tenant] || tenants[""]
		} else if t, changed := ops[e.op]; changed {
			concerned = concerned || t == e.tenant
		}
		if concerned {
			select {
			case e.tell <- struct{}{}:
			default: // it has not read the last word yet
			}
		}
	}
}

// stream is GET /live: a page's one stream. It says that something changed, and
// nothing of what: the page is read again, with the rights of whoever reads it.
func stream(p *page) error {
	e := &ear{tenant: p.who.Tenant, tell: make(chan struct{}, 1)}
	kind, id, _ := strings.Cut(p.req.URL.Query().Get("topic"), ":")
	changed := func() bool { return false }
	switch kind {
	case "operation":
		op, err := onceward.ParseOperationID(id)
		if err != nil {
			return err
		}
		if _, err := p.ledger.Get(p.req.Context(), p.who, op, 0); err != nil {
			return err
		}
		e.op = op
	case "replay":
		bulk, err := onceward.ParseBulkReplayID(id)
		if err != nil {
			return err
		}
		if changed, err = p.bulkChanges(bulk); err != nil {
			return err
		}
	case "tenant":
	default:
		return &onceward.Error{Code: onceward.CodeInvalidRequest, Message: word("error.topic")}
	}
	if !p.live.listen(e) {
		return &onceward.Error{Code: onceward.CodeOverloaded, Message: word("error.streams")}
	}
	defer p.live.leave(e)
	return p.send(e, changed)
}

// bulkChanges tells whether a bulk replay went on since it was last asked.
func (p *page) bulkChanges(id onceward.BulkReplayID) (func() bool, error) {
	b, err := p.ledger.BulkReplay(p.req.Context(), p.who, id)
	if err != nil {
		return nil, err
	}
	seen := b.Revision
	return func() bool {
		b, err := p.ledger.BulkReplay(p.req.Context(), p.who, id)
		if err != nil || b.Revision == seen {
			return false
		}
		seen = b.Revision
		return true
	}, nil
}

// send writes messages until the browser goes away, the server does, or whoever
// reads may no longer.
func (p *page) send(e *ear, changed func() bool) error {
	h := p.w.Header()
	secure(h)
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	out := http.NewResponseController(p.w)
	say := func(message string) bool {
		_ = out.SetWriteDeadline(time.Now().Add(streamWrite)) // some writers have none
		if _, err := fmt.Fprint(p.w, message); err != nil {
			return false
		}
		return out.Flush() == nil
	}
	beat, look := time.NewTicker(streamBeat), time.NewTicker(time.Second)
	defer beat.Stop()
	defer look.Stop()
	ok := say("retry: 3000\nevent: open\ndata: \n\n")
	for ok {
		select {
		case <-p.req.Context().Done():
			return nil
		case <-p.live.closed:
			return nil
		case <-e.tell:
			ok = say("event: change\ndata: \n\n")
		case <-look.C:
			ok = !changed() || say("event: change\ndata: \n\n")
		case <-beat.C:
			if who, err := p.opts.Authenticate(p.req); err != nil || who.Tenant != p.who.Tenant || onceward.Authorize(who, p.route.Action) != nil {
				say("event: end\ndata: \n\n")
				return nil
			}
			ok = say(": still here\n\n")
		}
	}
	return nil
}
