package onceward

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Times of the replicas' heartbeat.
const (
	BeatEvery = time.Second     // how often a replica beats
	DeadAfter = 5 * time.Second // a replica whose beat was not seen to move for so long is dead
	beatStale = 4 * time.Second // a replica that could not beat for so long claims nothing
)

// replicas is what this process saw of the others, by its own monotonic clock.
type replicas struct {
	mu     sync.Mutex
	ownAt  time.Time // local instant of our own last beat
	warmAt time.Time // local instant from which on leases alone are believed
	seen   map[string]sighting
}

// sighting is what was seen of a replica's beats.
type sighting struct {
	beat, at time.Time     // the newest, and when it was first seen here
	high     time.Time     // the latest: the database's clock may have gone back since
	moved    bool          // it was seen to beat
	wide     time.Duration // after at: when to look for its claims whatever their time
}

// strandWide is when a process first looks, past every bound, for what a replica
// left that it never saw beat; it does so again after twice the time, and so on.
const strandWide = 15 * time.Second

// endOfTime is later than whatever is stored.
var endOfTime = time.Date(9000, 1, 1, 0, 0, 0, 0, time.UTC)

// note takes the replicas as a beat returned them.
func (r *replicas) note(all []Replica, local time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ownAt = local
	next := make(map[string]sighting, len(all))
	for _, other := range all {
		s, known := r.seen[other.ID]
		if !known || !s.beat.Equal(other.BeatAt) {
			s = sighting{beat: other.BeatAt, at: local, high: s.high, moved: known, wide: strandWide}
			if other.BeatAt.After(s.high) {
				s.high = other.BeatAt
			}
		}
		next[other.ID] = s
	}
	r.seen = next
}

// silent reports whether a replica is gone, or did not beat for DeadAfter while
// this process watched.
func (r *replicas) silent(id string, local time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ownAt.IsZero() {
		return false // we did not look yet
	}
	s, known := r.seen[id]
	return !known || local.Sub(s.at) >= DeadAfter
}

// claimedBefore is a ledger time before which everything was created that a
// replica has claimed: its last beat and a little, for it claims nothing when its
// beat is stale.
//
// Why the latest beat that was seen, and now and then no bound: if the database's
// clock went back, claims from before that are later than the last beat.
func (r *replicas) claimedBefore(other *Replica, local time.Time) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, known := r.seen[other.ID]
	if !known {
		return other.BeatAt.Add(beatStale + DeadAfter)
	}
	if !s.moved && local.Sub(s.at) >= s.wide {
		s.wide *= 2
		r.seen[other.ID] = s
		return endOfTime
	}
	return s.high.Add(beatStale + DeadAfter)
}

func (r *replicas) stale(local time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return local.Sub(r.ownAt) > beatStale
}

func (r *replicas) warm(local time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !local.Before(r.warmAt)
}

// setCold makes leases alone not be believed before this local instant.
func (r *replicas) setCold(until time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if until.After(r.warmAt) {
		r.warmAt = until
	}
}

// Beat tells the other replicas that this one lives and how far back its work
// reaches, and returns all replicas with the database's now.
func (l *Ledger) Beat(ctx context.Context) ([]Replica, time.Time, error) {
	select {
	case l.beating <- struct{}{}: // one at a time: an older low-water mark must not replace a newer one
		defer func() { <-l.beating }()
	case <-ctx.Done():
		return nil, time.Time{}, &Error{Code: CodeCanceled, Op: "beat as replica", Message: "another beat was under way", Err: ctx.Err()}
	}
	began := l.opts.Clock.Now()
	all, now, err := l.store.Beat(ctx, Replica{ID: l.opts.Owner, LowWater: l.live.lowWater(l.clock.now())})
	if err != nil {
		return nil, now, fmt.Errorf("beat as replica %s: %w", l.opts.Owner, err)
	}
	ended := l.opts.Clock.Now()
	l.clock.observe(now, began, ended)
	l.replicas.note(all, ended)
	return all, now, nil
}

// mayExpire reports whether a lease that is over by the database's clock may be
// believed. A process that has not watched for as long as a lease lasts cannot
// know that this clock did not jump; it believes only owners that it saw silent.
func (l *Ledger) mayExpire(owner string) bool {
	local := l.opts.Clock.Now()
	silent := owner != ownerCaller && l.replicas.silent(owner, local) // a remote performer does not beat
	return l.clock.trusted() && (l.replicas.warm(local) || silent)
}

// Strand settles first attempts that dead or stuck processes left behind, at
// most limit of each replica, and forgets replicas of which nothing is left. It
// returns whether there may be more.
func (l *Ledger) Strand(ctx context.Context, limit int) (more bool, err error) {
	all, now, err := l.Beat(ctx)
	if err != nil {
		l.behind.doubt()
		return false, err
	}
	if err := l.lookBehindAgain(ctx); err != nil || l.Refusal() != nil {
		return false, err
	}
	if err := l.dropFoundLosses(ctx, now); err != nil {
		return false, err
	}
	var unread error
	for _, r := range all {
		n, err := l.expireStranded(ctx, r.ID, r.LowWater, l.replicas.claimedBefore(&r, l.opts.Clock.Now()), limit)
		switch {
		case Is(err, CodeLedgerTooNew) || unreadable(err): // nobody waits for what cannot be read here
			unread = errors.Join(unread, err)
			continue
		case err != nil:
			return more, err
		}
		more = more || n >= limit
		if n == 0 && r.ID != l.opts.Owner && now.Sub(r.BeatAt) > forgetAfter+2*l.tools.longest(func(p *Policy) time.Duration { return p.Lease }) {
			if err := l.store.Forget(ctx, r.ID); err != nil {
				return more, err
			}
		}
	}
	return more && unread == nil, unread
}

// dropFoundLosses lets go of outcomes that this process could not record and
// that are settled by now, or were never claimed.
func (l *Ledger) dropFoundLosses(ctx context.Context, now time.Time) error {
	for id, lost := range l.live.losses() {
		op, err := l.writer.Read(ctx, id)
		if err != nil {
			return err
		}
		if op == nil && now.Sub(lost.created) < forgetAfter {
			continue // its commit may still be on the way
		}
		if op == nil || op.State != StateEffectPending {
			l.live.found(id)
		}
	}
	return nil
}

// forgetAfter is how long a silent replica is remembered beyond two leases.
const forgetAfter = time.Hour

func (l *Ledger) expireStranded(ctx context.Context, replica string, from, to time.Time, limit int) (int, error) {
	if !l.mayExpire(replica) {
		return 0, nil
	}
	ops, err := l.store.Stranded(ctx, replica, from, to, limit)
	if err != nil {
		return 0, err
	}
	settled := 0
	var unread error // the first of them
	for _, found := range ops {
		op, err := l.writer.Read(ctx, found.ID) // whole, with bodies
		if err == nil && op != nil && op.State == StateEffectPending {
			_, err = l.hydrate(ctx, op)
		}
		switch {
		case Is(err, CodeLedgerTooNew) || unreadable(err):
			unread = cmp.Or(unread, err)
			continue
		case err != nil:
			return settled, err
		case op == nil || op.State != StateEffectPending:
			continue
		}
		if err := l.expire(ctx, op); err != nil {
			return settled, err
		}
		settled++
	}
	return settled, unread
}

// ContractsChanged tells the ledger that other contracts are in force: a jump
// of the database's clock, or a start, suspends for as long as an attempt of any
// of them may take to show.
func (l *Ledger) ContractsChanged() {
	longest := l.tools.longest((*Policy).showsWithin)
	l.clock.setSuspend(longest)
	l.replicas.setCold(l.startedAt.Add(longest))
}
