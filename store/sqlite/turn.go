package sqlite

import (
	"context"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// Taking turns among processes. SQLite has no queue for its lock: who waits
// asks again and again, and a process that begins the next transaction directly
// after the last is always there first. So whoever has written for turnMax
// without a gap leaves one that is long enough for everybody who waits to ask
// once. It costs a busy process about one part in a hundred, and a lone caller
// nothing.
const (
	lockPoll  = time.Millisecond       // how often the lock is asked for
	turnMax   = 100 * time.Millisecond // how long a process writes without a gap
	turnPause = lockPoll + 200*time.Microsecond
)

// turn is a row of transactions without a gap between them. It belongs to
// whoever holds the connection that writes.
type turn struct {
	since time.Time // when the row began
	until time.Time // when its last transaction ended
}

// next begins a transaction at this time and says how long to wait before it.
func (t *turn) next(now time.Time) time.Duration {
	switch {
	case now.Sub(t.until) >= turnPause:
		t.since = now
	case now.Sub(t.since) >= turnMax:
		t.since = now.Add(turnPause)
		return turnPause
	}
	return 0
}

// ended notes when a transaction ended.
func (t *turn) ended(now time.Time) { t.until = now }

// wait waits, or until the context ends; then the statement that follows says so.
func wait(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// pollLock makes a connection ask for a lock that another one has, for at most
// limit or until its context ends.
func pollLock(db *sqlite3.Conn, limit time.Duration) error {
	var since time.Time
	return db.BusyHandler(func(ctx context.Context, count int) bool {
		if count == 0 {
			since = time.Now()
		}
		if time.Since(since) >= limit {
			return false
		}
		wait(ctx, lockPoll)
		return true
	})
}
