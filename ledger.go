package onceward

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// Writer commits changes, alone or grouped. *committer.Committer is the one
// that is used; tests may pass DirectWriter.
type Writer interface {
	// Write commits one change and returns what became of it, with the database's
	// now. CodeOverloaded: the queue is full, nothing was written. CodeMayBeRecorded:
	// the ledger was lost after submission. The change is not altered by either
	// side from then on.
	Write(ctx context.Context, c *Change) (Committed, error)
	// Read loads one operation; nil if it does not exist.
	Read(ctx context.Context, id OperationID) (*Operation, error)
}

// Options make a Ledger. Store, Tools and Provider are needed.
type Options struct {
	Store    Store
	Writer   Writer      // nil: each change is committed alone
	Inbox    InboxWriter // nil: each delivery is committed alone
	Tools    *Registry
	Provider Provider
	Clock    Clock        // nil: SystemClock
	Log      *slog.Logger // nil: discards
	Owner    string       // this process in leases; empty: random
	// CrashPoint is called at named places (internal/crashpoint lists them); nil in production.
	CrashPoint func(name string)
	// CheckOutput holds the output of a decision to a JSON Schema that its request
	// brought (contract.CheckOutput); nil: such requests are refused.
	CheckOutput func(schema, output []byte) error
	// Emit says which events operations emit of themselves, by type (OperationEvents
	// lists them); nil: none. An event is stored by the commit of what it tells of.
	Emit func(eventType string) bool
	// Sealer encrypts what contracts say is kept encrypted, and Store is one that does
	// so with it (sealed.Open); nil: such contracts are refused.
	Sealer Sealer
	// Exporter is given whatever is about to be deleted; nil: nobody is.
	Exporter Exporter
	// Meter is told what is counted and measured; nil: nobody is.
	Meter Meter
	// Tracer is told of every exchange with a provider; nil: nobody is.
	Tracer Tracer
	// Witness remembers dispatches outside of the ledger; nil: an older ledger is not
	// found out.
	Witness Witness
	// Alarm is called when somebody has to know; nil: logged only.
	Alarm func(op *Operation, reason string)
}

// Ledger is the use cases of the one business rule: claim, dispatch, record,
// reconcile, resolve, replay. It is safe for concurrent use.
type Ledger struct {
	opts     Options
	store    Store
	writer   Writer
	inbox    InboxWriter
	tools    *Registry
	provider Provider
	log      *slog.Logger
	clock    *ledgerClock
	switches switches
	rates    rates
	waiters  waiters
	progress progress
	live     liveAttempts
	recent   recents
	replicas replicas
	tokens   tokens
	tallies  tallies
	meter    Meter
	backlog  backlog
	behind   behind
	sagas    movedSagas
	bypasses bypasses
	beating  chan struct{} // holds a token while a beat is under way
	wake     chan struct{}
	arrivals chan struct{}

	startedAt time.Time // local
	running   inflight  // detached dispatches
	crew      crew      // does them
	detached  context.Context
	stop      context.CancelFunc
	drain     sync.Once
	draining  chan struct{}
	said      sync.Map // what was said of a tool; see warnOnce
	letGo     sync.Once
	gone      chan struct{}
}

// New returns a ledger over an open store. Close it before the store.
func New(opts Options) (*Ledger, error) {
	if opts.Store == nil || opts.Tools == nil || opts.Provider == nil {
		return nil, Errorf(CodeConfigInvalid, "a ledger needs a store, a tool registry and a provider")
	}
	if opts.Clock == nil {
		opts.Clock = SystemClock{}
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.Owner == "" {
		opts.Owner = "r_" + hex.EncodeToString(randomBytes(8))
	}
	if opts.Meter == nil {
		opts.Meter = NoMeter{}
	}
	l := &Ledger{
		opts: opts, store: opts.Store, writer: opts.Writer, inbox: opts.Inbox, tools: opts.Tools, provider: opts.Provider, log: opts.Log,
		clock: &ledgerClock{local: opts.Clock}, wake: make(chan struct{}, 1), arrivals: make(chan struct{}, 1), beating: make(chan struct{}, 1), draining: make(chan struct{}), gone: make(chan struct{}),
		crew: crew{work: make(chan func())}, meter: opts.Meter,
		sagas: newMovedSagas(),
	}
	if l.writer == nil {
		l.writer = DirectWriter{opts.Store}
	}
	if l.inbox == nil {
		l.inbox = directInbox{opts.Store}
	}
	l.detached, l.stop = context.WithCancel(context.Background())
	if w, ok := opts.Store.(ServerWatcher); ok {
		switch {
		case opts.Witness != nil:
			w.OnNewServer(l.behind.suspect, l.Refusal)
		case opts.Sealer != nil: // what was shredded may be back there
			w.OnNewServer(l.behind.doubt, func() error { return nil })
		}
	}
	return l, nil
}

// Start makes this process known to the other replicas and reads the shared
// switches. Call it once before use, after the contracts are activated.
func (l *Ledger) Start(ctx context.Context) error {
	l.startedAt = l.opts.Clock.Now()
	versions, err := l.tools.versionsInForce(ctx)
	if err != nil {
		return err
	}
	if _, err := l.tools.lookBeside(ctx, versions); err != nil {
		return err
	}
	l.ContractsChanged()
	if _, _, err := l.Beat(ctx); err != nil {
		return err
	}
	if err := l.LookBehind(ctx); err != nil {
		return err
	}
	if _, err = l.readSwitches(ctx); err != nil {
		return err
	}
	return l.comeForLeft(ctx)
}

// Owner names this process in leases.
func (l *Ledger) Owner() string { return l.opts.Owner }

// Now is ledger time: the database's clock as this process knows it.
func (l *Ledger) Now() time.Time { return l.clock.now() }

// Check reports whether the ledger can record: CodeLedgerUnavailable and its
// kin, or CodeLedgerBehind, otherwise.
func (l *Ledger) Check(ctx context.Context) error {
	if err := l.Refusal(); err != nil {
		return err
	}
	return l.store.Check(ctx)
}

// Wake tells the workers that something may be due.
func (l *Ledger) Wake() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Wakened is signalled by Wake. Workers wait on it besides their poll.
func (l *Ledger) Wakened() <-chan struct{} { return l.wake }

// Drain lets every waiting request go with what is known now. What runs goes on;
// it is the first step of going away.
func (l *Ledger) Drain() { l.drain.Do(func() { close(l.draining) }) }

// LetGo lets the requests go, too, whose own attempt is under way: with what is
// known now. It is the second step of going away, for when Drain's time is short.
func (l *Ledger) LetGo() {
	l.Drain()
	l.letGo.Do(func() { close(l.gone) })
}

// Close lets running attempts end and record, up to the context's end, and
// then cuts them off: what was cut is unknown and settled by whoever comes next. A
// function that does not heed its context is waited for five seconds more. After
// that no attempt and no look-up begins: CodeLedgerUnavailable. Stop the loops first.
func (l *Ledger) Close(ctx context.Context) error {
	l.Drain()
	select {
	case <-l.running.wait():
		l.stop()
		return nil
	case <-ctx.Done():
		l.stop()
		<-l.running.wait()
		return ctx.Err()
	}
}

// closed is the refusal of whatever would need an attempt, or a look-up, after [Ledger.Close].
func (l *Ledger) closed(op string, id OperationID) error {
	if l.detached.Err() == nil {
		return nil
	}
	return &Error{Code: CodeLedgerUnavailable, Op: op, OperationID: id, Message: "the ledger is closed", Hint: "ask another process, or again once this one has started anew"}
}

// WaitIdle blocks until no attempt of this process is running. New ones may
// start meanwhile; it is for tests and for draining.
func (l *Ledger) WaitIdle() { <-l.running.wait() }

func (l *Ledger) crash(point string) {
	if l.opts.CrashPoint != nil {
		l.opts.CrashPoint(point)
	}
}

// hydrate gives an operation the policy of its contract version.
func (l *Ledger) hydrate(ctx context.Context, op *Operation) (Tool, error) {
	t, err := l.tools.Version(ctx, op.Tool, op.Contract)
	if err != nil {
		return nil, err
	}
	op.Policy = t.Info().Policy
	return t, nil
}

// load reads an operation with its policy. CodeOperationNotFound also when it
// belongs to another tenant.
func (l *Ledger) load(ctx context.Context, tenant Tenant, id OperationID) (*Operation, Tool, error) {
	op, err := l.writer.Read(ctx, id)
	if err != nil {
		return nil, nil, fmt.Errorf("load operation %s: %w", id, err)
	}
	if op == nil || op.Tenant != tenant {
		return nil, nil, &Error{Code: CodeOperationNotFound, Op: "load operation", OperationID: id, Message: "no such operation",
			Hint: "check the ID and the tenant of your credentials"}
	}
	t, err := l.hydrate(ctx, op)
	return op, t, err
}

// loadToAct is load for whoever wants to act on the operation: CodeForbidden if
// the principal is narrowed to others. Reading is not narrowed, results are.
func (l *Ledger) loadToAct(ctx context.Context, p Principal, id OperationID, a Action) (*Operation, Tool, error) {
	if err := Authorize(p, a); err != nil {
		return nil, nil, err
	}
	op, t, err := l.load(ctx, p.Tenant, id)
	if err != nil {
		return nil, nil, err
	}
	return op, t, p.Permits(op.Tool, op.Effect)
}

// permitted is the contract in force, if the principal may act under it.
func (l *Ledger) permitted(ctx context.Context, p Principal, tool ToolName, a Action) (Tool, error) {
	if err := Authorize(p, a); err != nil {
		return nil, err
	}
	t, err := l.tools.find(ctx, tool)
	if err != nil {
		return nil, err
	}
	return t, p.Permits(tool, t.Info().Policy.Effect)
}

func randomBytes(n int) []byte {
	b := make([]byte, n)
	rand.Read(b) // never fails (crypto/rand)
	return b
}

func newToken() WriteToken { return WriteToken(randomBytes(16)) }

// DirectWriter commits each change alone.
type DirectWriter struct{ Store Store }

// Write implements Writer.
func (w DirectWriter) Write(ctx context.Context, c *Change) (Committed, error) {
	r, err := w.Store.Commit(ctx, []Change{*c})
	if err != nil {
		return Committed{}, err
	}
	out := r.Results[0]
	out.Now = r.Now
	return out, out.Err
}

// Read implements Writer.
func (w DirectWriter) Read(ctx context.Context, id OperationID) (*Operation, error) {
	ops, err := w.Store.Load(ctx, []OperationID{id})
	if err != nil {
		return nil, err
	}
	return ops[0], nil
}
