package sqlite

import (
	"context"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// PutSaga stores a saga by compare-and-set; see [onceward.SagaStore].
func (s *Store) PutSaga(ctx context.Context, saga onceward.Saga, notes ...onceward.AuditEvent) (stored *onceward.Saga, applied bool, err error) {
	body, err := store.EncodeSaga(&saga)
	if err != nil {
		return nil, false, err
	}
	err = s.write(ctx, "store saga", func(c *conn) error {
		wrote, err := c.putSaga(&saga, body)
		if err == nil && wrote == 1 {
			err = s.note(c, notes)
		}
		if err != nil {
			return err
		}
		if stored, err = c.loadSaga(saga.ID); err != nil {
			return err
		}
		applied = wrote == 1 || stored != nil && stored.Revision == saga.Revision && stored.Token == saga.Token
		return nil
	})
	return stored, applied, err
}

func (c *conn) putSaga(s *onceward.Saga, body []byte) (wrote int, err error) {
	if s.Revision > 1 {
		return c.changed(`UPDATE sagas SET state = ?, next_at = ?, revision = ?, token = ?, body = ? WHERE id = ? AND revision = ?`, func(w *binder) {
			w.text(string(s.State))
			w.time(s.NextAt)
			w.int(s.Revision)
			w.blob(s.Token[:])
			w.blob(body)
			w.blob(s.ID[:])
			w.int(s.Revision - 1)
		})
	}
	return c.changed(`INSERT INTO sagas (id, tenant, name, state, created_at, next_at, revision, token, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`, func(w *binder) {
		w.blob(s.ID[:])
		w.text(string(s.Tenant))
		w.text(s.Name)
		w.text(string(s.State))
		w.time(s.CreatedAt)
		w.time(s.NextAt)
		w.int(s.Revision)
		w.blob(s.Token[:])
		w.blob(body)
	})
}

func (c *conn) loadSaga(id onceward.SagaID) (found *onceward.Saga, err error) {
	err = c.query(`SELECT id, revision, token, next_at, body FROM sagas WHERE id = ?`, func(b *binder) { b.blob(id[:]) },
		func(r *rower) (err error) {
			found, err = r.saga()
			return err
		})
	return found, err
}

func (r *rower) saga() (*onceward.Saga, error) {
	id := onceward.SagaID(r.id())
	revision := r.int()
	var token onceward.WriteToken
	r.fill(token[:])
	next := r.time()
	return store.DecodeSaga(id, revision, token, next, r.blob())
}

// LoadSaga reads one; see [onceward.SagaStore].
func (s *Store) LoadSaga(ctx context.Context, id onceward.SagaID) (found *onceward.Saga, err error) {
	err = s.readRaw(ctx, "load saga", func(c *conn) error {
		found, err = c.loadSaga(id)
		return err
	})
	return found, err
}

// ListSagas lists a tenant's; see [onceward.SagaStore].
func (s *Store) ListSagas(ctx context.Context, f onceward.SagaFilter) (page []*onceward.Saga, err error) {
	err = s.readRaw(ctx, "list sagas", func(c *conn) error {
		page = nil
		return c.query(`SELECT id, revision, token, next_at, body FROM sagas WHERE tenant = ?1 AND (?2 = '' OR name = ?2) AND (?3 = '' OR state = ?3)
			AND (?4 OR (created_at, id) < (?5, ?6)) ORDER BY created_at DESC, id DESC LIMIT ?7`,
			func(b *binder) {
				b.text(string(f.Tenant))
				b.text(f.Name)
				b.text(string(f.State))
				b.bool(f.After == onceward.SagaCursor{})
				b.time(f.After.CreatedAt)
				b.blob(f.After.ID[:])
				b.int(int64(f.Limit))
			}, func(r *rower) error {
				one, err := r.saga()
				page = append(page, one)
				return err
			})
	})
	return page, err
}

// TakeSagas hands out what is due; see [onceward.SagaStore].
func (s *Store) TakeSagas(ctx context.Context, limit int, hold time.Duration) (taken []*onceward.Saga, err error) {
	next, now, err := s.NextSaga(ctx) // first without the lock, as TakeDue
	if err != nil || next.IsZero() || next.After(now) {
		return nil, err
	}
	err = s.write(ctx, "take sagas", func(c *conn) error {
		taken = nil
		now := s.now()
		err := c.query(`SELECT id, revision, token, next_at, body FROM sagas WHERE next_at IS NOT NULL AND next_at <= ? ORDER BY next_at, id LIMIT ?`, func(b *binder) {
			b.time(now)
			b.int(int64(limit))
		}, func(r *rower) error {
			one, err := r.saga()
			taken = append(taken, one)
			return err
		})
		if err != nil {
			return err
		}
		for _, one := range taken {
			one.NextAt = store.Stored(now.Add(hold))
			if err := c.exec(`UPDATE sagas SET next_at = ? WHERE id = ?`, func(b *binder) {
				b.time(one.NextAt)
				b.blob(one.ID[:])
			}); err != nil {
				return err
			}
		}
		return nil
	})
	return taken, err
}

// RescheduleSaga sets when one is looked at; see [onceward.SagaStore].
func (s *Store) RescheduleSaga(ctx context.Context, id onceward.SagaID, revision int64, at time.Time) error {
	return s.write(ctx, "reschedule saga", func(c *conn) error {
		return c.exec(`UPDATE sagas SET next_at = ?1 WHERE id = ?2 AND (revision = ?3 OR ?3 = 0 AND next_at IS NOT NULL)`, func(b *binder) {
			b.time(at)
			b.blob(id[:])
			b.int(revision)
		})
	})
}

// wakeSaga lets a saga that has not ended come up now; see [onceward.Change].
func (c *conn) wakeSaga(id onceward.SagaID, now time.Time) error {
	return c.exec(`UPDATE sagas SET next_at = min(next_at, ?), revision = revision + 1 WHERE id = ? AND next_at IS NOT NULL`, func(b *binder) {
		b.time(now)
		b.blob(id[:])
	})
}

// CountSagas counts those that have not ended; see [onceward.SagaStore].
func (s *Store) CountSagas(ctx context.Context) (counts []onceward.SagaCount, err error) {
	err = s.readRaw(ctx, "count sagas", func(c *conn) error {
		counts = nil
		return c.query(`SELECT state, count(*), min(created_at) FROM sagas WHERE next_at IS NOT NULL GROUP BY state`, nil, func(r *rower) error {
			if one := (onceward.SagaCount{State: onceward.SagaState(r.text()), Count: r.int(), Oldest: r.time()}); !one.State.Final() {
				counts = append(counts, one)
			}
			return nil
		})
	})
	return counts, err
}

// NextSaga is when the earliest comes up; see [onceward.SagaStore].
func (s *Store) NextSaga(ctx context.Context) (next, now time.Time, err error) {
	err = s.readRaw(ctx, "read next saga", func(c *conn) error {
		now = s.now()
		return c.query(`SELECT min(next_at) FROM sagas WHERE next_at IS NOT NULL`, nil, func(r *rower) error {
			next = r.time()
			return nil
		})
	})
	return next, now, err
}
