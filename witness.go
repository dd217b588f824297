package onceward

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Dispatched is an attempt that left, or was about to, as a witness remembers it.
type Dispatched struct {
	Operation  OperationID
	Generation Generation
	Attempt    int
	Tool       ToolName
	At         time.Time // ledger time
}

// Witness remembers the newest dispatches outside of the ledger, so that a ledger
// that is older than its own dispatches is found out: one that was restored from
// a backup, or that a failover put back.
//
// Why what it remembers is never ahead of the ledger: an attempt is committed
// before the witness sees it. What it names and the ledger lacks was forgotten.
type Witness interface {
	// See notes an attempt. Once it returns the note outlives the process, but it may
	// be lost with the machine's power: no sync of its own stands in the way of each
	// attempt. An error stops the attempt before its first byte.
	See(d Dispatched) error
	// Seen returns what is remembered, in no order.
	Seen() ([]Dispatched, error)
}

// behind is whether the ledger is older than its own dispatches, and what was
// forgotten by it before.
type behind struct {
	mu      sync.RWMutex
	refused *Error       // writes are answered with it; nil: they are taken
	lost    []Dispatched // what the witness names and the ledger lacks
	gaps    []Gap        // oldest first
	doubts  int          // how often the ledger was away: what is back may be older
	trusted int          // how many of the doubts a comparison has answered
	moved   bool         // another server answers, and no comparison began since: nothing is written
}

// ServerWatcher is a store that sees that another server answers than before: one
// that was started anew, or that took the place of the one before.
type ServerWatcher interface {
	// OnNewServer has told called whenever another server answers. The store commits
	// nothing there before it was called, nor while refusal says why: what was let
	// through before waits in queues, and is run again. Neither may block, nor use the
	// store.
	OnNewServer(told func(), refusal func() error)
}

func (b *behind) doubt() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.doubts++
}

// suspect is a doubt after which nothing is written until the ledger was compared.
//
// Why: a failover is over in less time than passes between two beats, and a claim
// that a forgetful standby takes is a second effect.
func (b *behind) suspect() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.doubts++
	b.moved = true
}

func (b *behind) doubted() (doubts int, again bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.doubts, b.doubts != b.trusted || b.refused != nil
}

// set takes what a comparison found that began after so many doubts.
func (b *behind) set(lost []Dispatched, refused *Error, gaps []Gap, doubts int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lost, b.refused, b.gaps, b.trusted = lost, refused, gaps, doubts
	b.moved = b.moved && b.doubts != doubts
}

// Refusal is why nothing is written: CodeLedgerBehind, CodeLedgerUnavailable for
// the moment in which another server's ledger is compared, or nil. Reads are
// answered all the same.
func (l *Ledger) Refusal() error {
	l.behind.mu.RLock()
	defer l.behind.mu.RUnlock()
	switch {
	case l.behind.refused != nil:
		return l.behind.refused
	case l.behind.moved:
		return &Error{Code: CodeLedgerUnavailable, Op: "write ledger", Message: "another database server answers than before: it is compared with the witness first", Hint: "this takes a second"}
	}
	return nil
}

// see shows the witness an attempt that is about to leave.
func (l *Ledger) see(op *Operation) error {
	if l.opts.Witness == nil || !op.Effect.Writes() {
		return nil
	}
	return l.opts.Witness.See(Dispatched{Operation: op.ID, Generation: op.Generation, Attempt: op.Attempt(), Tool: op.Tool, At: l.clock.now()})
}

// LookBehind compares the ledger with its witness, shreds again what came back with
// a backup, and reads what was forgotten before. It is called at start, and by Strand once the ledger is back that was
// away, and while nothing is written: once somebody has recovered the ledger,
// writes are taken again.
func (l *Ledger) LookBehind(ctx context.Context) error {
	doubts, _ := l.behind.doubted()
	if l.opts.Sealer != nil {
		if err := l.opts.Sealer.ShredAgain(ctx); err != nil {
			return fmt.Errorf("shred again what came back: %w", err)
		}
	}
	gaps, err := l.store.Gaps(ctx)
	if err != nil {
		return fmt.Errorf("read gaps: %w", err)
	}
	if l.opts.Witness == nil {
		l.behind.set(nil, nil, gaps, doubts)
		return nil
	}
	seen, err := l.opts.Witness.Seen()
	if err != nil {
		return err
	}
	lost, err := l.forgotten(ctx, seen, gaps)
	if err != nil {
		return err
	}
	was := l.Refusal()
	l.behind.set(lost, refusedFor(lost, len(seen)), gaps, doubts)
	switch now := l.Refusal(); {
	case Is(now, CodeLedgerBehind) && !Is(was, CodeLedgerBehind):
		l.log.Error("the ledger is older than its own dispatches: nothing is written", "forgotten", len(lost), "newest", newestOf(lost).At.Format(time.RFC3339), "run", "onceward recover")
	case now == nil && was != nil:
		l.log.Info("the ledger knows what its witness saw: writes are taken again")
		l.Wake()
	}
	return nil
}

// lookBehindAgain compares anew where there is doubt; else it only reads what
// another process recovered.
func (l *Ledger) lookBehindAgain(ctx context.Context) error {
	if _, again := l.behind.doubted(); again {
		return l.LookBehind(ctx)
	}
	gaps, err := l.store.Gaps(ctx)
	if err != nil {
		return fmt.Errorf("read gaps: %w", err)
	}
	l.behind.mu.Lock()
	defer l.behind.mu.Unlock()
	l.behind.gaps = gaps
	return nil
}

func refusedFor(lost []Dispatched, seen int) *Error {
	if len(lost) == 0 {
		return nil
	}
	return &Error{Code: CodeLedgerBehind, Op: "write ledger",
		Message: fmt.Sprintf("the ledger is older than its own dispatches: of the newest %d it lacks %d, the latest of %s", seen, len(lost), newestOf(lost).At.UTC().Format(time.RFC3339)),
		Hint:    "was it restored from a backup, or is it another one? onceward recover says what is missing and opens it again"}
}

func newestOf(all []Dispatched) Dispatched {
	return slices.MaxFunc(all, func(a, b Dispatched) int { return a.At.Compare(b.At) })
}

// witnessBatch is how many operations are loaded at once.
const witnessBatch = 256

// forgotten is what the witness saw since the newest gap and the ledger does not
// know: no such operation, an earlier use of its key, or fewer attempts.
func (l *Ledger) forgotten(ctx context.Context, seen []Dispatched, gaps []Gap) (lost []Dispatched, err error) {
	var from time.Time
	if len(gaps) > 0 {
		from = gaps[len(gaps)-1].Until
	}
	seen = slices.DeleteFunc(slices.Clone(seen), func(d Dispatched) bool { return !d.At.After(from) })
	for batch := range slices.Chunk(seen, witnessBatch) {
		ids := make([]OperationID, len(batch))
		for i := range batch {
			ids[i] = batch[i].Operation
		}
		known, err := l.store.Load(ctx, ids)
		if err != nil {
			return nil, fmt.Errorf("compare ledger with its witness: %w", err)
		}
		for i, op := range known {
			if !l.remembers(ctx, op, &batch[i]) {
				lost = append(lost, batch[i])
			}
		}
	}
	return lost, nil
}

// remembers reports whether the ledger knows a dispatch, or has dropped it by its
// own rules.
func (l *Ledger) remembers(ctx context.Context, op *Operation, d *Dispatched) bool {
	if op == nil {
		t, err := l.tools.inForce(ctx, d.Tool)
		return err == nil && t.Info().tombstonesEnd() && d.At.Add(t.Info().KeepRecord+t.Info().KeepTombstone).Before(l.clock.now())
	}
	return op.Generation > d.Generation || op.Generation == d.Generation && (op.Retired || op.Attempt() >= d.Attempt)
}
