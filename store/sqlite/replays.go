package sqlite

import (
	"context"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// PutBulkReplay stores a bulk replay by compare-and-set; see
// [onceward.BulkReplayStore].
func (s *Store) PutBulkReplay(ctx context.Context, b onceward.BulkReplay, notes ...onceward.AuditEvent) (stored *onceward.BulkReplay, applied bool, err error) {
	body, err := store.EncodeBulkReplay(&b)
	if err != nil {
		return nil, false, err
	}
	err = s.write(ctx, "store bulk replay", func(c *conn) error {
		wrote, err := c.putBulkReplay(&b, body)
		if err == nil && wrote == 1 {
			err = s.note(c, notes)
		}
		if err != nil {
			return err
		}
		if stored, err = c.loadBulkReplay(b.ID); err != nil {
			return err
		}
		applied = wrote == 1 || stored != nil && stored.Revision == b.Revision && stored.Token == b.Token
		return nil
	})
	return stored, applied, err
}

func (c *conn) putBulkReplay(b *onceward.BulkReplay, body []byte) (wrote int, err error) {
	if b.Revision > 1 {
		return c.changed(`UPDATE replays SET state = ?, revision = ?, token = ?, body = ? WHERE id = ? AND revision = ?`, func(w *binder) {
			w.text(string(b.State))
			w.int(b.Revision)
			w.blob(b.Token[:])
			w.blob(body)
			w.blob(b.ID[:])
			w.int(b.Revision - 1)
		})
	}
	return c.changed(`INSERT INTO replays (id, tenant, state, created_at, revision, token, body) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`, func(w *binder) {
		w.blob(b.ID[:])
		w.text(string(b.Tenant))
		w.text(string(b.State))
		w.time(b.CreatedAt)
		w.int(b.Revision)
		w.blob(b.Token[:])
		w.blob(body)
	})
}

func (c *conn) loadBulkReplay(id onceward.BulkReplayID) (found *onceward.BulkReplay, err error) {
	err = c.query(`SELECT id, revision, token, body FROM replays WHERE id = ?`, func(b *binder) { b.blob(id[:]) },
		func(r *rower) (err error) {
			found, err = r.bulkReplay()
			return err
		})
	return found, err
}

func (r *rower) bulkReplay() (*onceward.BulkReplay, error) {
	id := onceward.BulkReplayID(r.id())
	revision := r.int()
	var token onceward.WriteToken
	r.fill(token[:])
	return store.DecodeBulkReplay(id, revision, token, r.blob())
}

// LoadBulkReplay reads one; see [onceward.BulkReplayStore].
func (s *Store) LoadBulkReplay(ctx context.Context, id onceward.BulkReplayID) (found *onceward.BulkReplay, err error) {
	err = s.readRaw(ctx, "load bulk replay", func(c *conn) error {
		found, err = c.loadBulkReplay(id)
		return err
	})
	return found, err
}

// ListBulkReplays lists a tenant's; see [onceward.BulkReplayStore].
func (s *Store) ListBulkReplays(ctx context.Context, t onceward.Tenant, after onceward.BulkCursor, limit int) ([]*onceward.BulkReplay, error) {
	return s.bulkReplays(ctx, "list bulk replays",
		`SELECT id, revision, token, body FROM replays WHERE tenant = ?1 AND (?2 OR (created_at, id) < (?3, ?4)) ORDER BY created_at DESC, id DESC LIMIT ?5`, func(b *binder) {
			b.text(string(t))
			b.bool(after == onceward.BulkCursor{})
			b.time(after.CreatedAt)
			b.blob(after.ID[:])
			b.int(int64(limit))
		})
}

// RunningBulkReplays lists what runs; see [onceward.BulkReplayStore].
func (s *Store) RunningBulkReplays(ctx context.Context, limit int) ([]*onceward.BulkReplay, error) {
	return s.bulkReplays(ctx, "list bulk replays",
		`SELECT id, revision, token, body FROM replays WHERE state = 'running' ORDER BY created_at, id LIMIT ?`, func(b *binder) { b.int(int64(limit)) })
}

// AgedBulkReplays lists old ones; see [onceward.BulkReplayStore].
func (s *Store) AgedBulkReplays(ctx context.Context, after onceward.BulkCursor, before time.Time, limit int) ([]*onceward.BulkReplay, error) {
	return s.bulkReplays(ctx, "list old bulk replays",
		`SELECT id, revision, token, body FROM replays WHERE created_at < ?1 AND (?2 OR (created_at, id) > (?3, ?4)) ORDER BY created_at, id LIMIT ?5`, func(b *binder) {
			b.time(before)
			b.bool(after == onceward.BulkCursor{})
			b.time(after.CreatedAt)
			b.blob(after.ID[:])
			b.int(int64(limit))
		})
}

func (s *Store) bulkReplays(ctx context.Context, op, sql string, bind func(*binder)) (page []*onceward.BulkReplay, err error) {
	err = s.readRaw(ctx, op, func(c *conn) error {
		page = nil
		return c.query(sql, bind, func(r *rower) error {
			one, err := r.bulkReplay()
			page = append(page, one)
			return err
		})
	})
	return page, err
}

// DropBulkReplay removes one; see [onceward.BulkReplayStore].
func (s *Store) DropBulkReplay(ctx context.Context, b *onceward.BulkReplay, notes ...onceward.AuditEvent) (dropped bool, err error) {
	err = s.write(ctx, "drop bulk replay", func(c *conn) error {
		n, err := c.changed(`DELETE FROM replays WHERE id = ? AND revision = ?`, func(w *binder) {
			w.blob(b.ID[:])
			w.int(b.Revision)
		})
		if dropped = n == 1; err != nil || !dropped {
			return err
		}
		return s.note(c, notes)
	})
	return dropped, err
}
