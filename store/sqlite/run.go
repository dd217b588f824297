package sqlite

import (
	"context"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// PutRun stores a run by compare-and-set; see [onceward.RunStore].
func (s *Store) PutRun(ctx context.Context, r onceward.Run, notes ...onceward.AuditEvent) (stored *onceward.Run, applied bool, err error) {
	body, err := store.EncodeRun(&r)
	if err != nil {
		return nil, false, err
	}
	err = s.write(ctx, "store run", func(c *conn) error {
		wrote, err := c.putRun(&r, body)
		if err == nil && wrote == 1 {
			err = s.note(c, notes)
		}
		if err != nil {
			return err
		}
		if stored, err = c.loadRun(r.ID); err != nil {
			return err
		}
		applied = wrote == 1 || stored != nil && stored.Revision == r.Revision && stored.Token == r.Token
		return nil
	})
	return stored, applied, err
}

func (c *conn) putRun(r *onceward.Run, body []byte) (wrote int, err error) {
	if r.Revision > 1 {
		return c.changed(`UPDATE runs SET state = ?, revision = ?, token = ?, body = ? WHERE id = ? AND revision = ?`, func(b *binder) {
			b.text(string(r.State))
			b.int(r.Revision)
			b.blob(r.Token[:])
			b.blob(body)
			b.blob(r.ID[:])
			b.int(r.Revision - 1)
		})
	}
	return c.changed(`INSERT INTO runs (id, tenant, workflow, state, correlation_id, created_at, revision, token, body, input)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`, func(b *binder) {
		b.blob(r.ID[:])
		b.text(string(r.Tenant))
		b.text(r.Workflow)
		b.text(string(r.State))
		b.text(r.CorrelationID)
		b.time(r.CreatedAt)
		b.int(r.Revision)
		b.blob(r.Token[:])
		b.blob(body)
		b.blob(r.Input)
	})
}

func (c *conn) loadRun(id onceward.RunID) (found *onceward.Run, err error) {
	err = c.query(`SELECT id, revision, token, body, input FROM runs WHERE id = ?`, func(b *binder) { b.blob(id[:]) },
		func(r *rower) (err error) {
			found, err = r.run()
			return err
		})
	return found, err
}

func (r *rower) run() (*onceward.Run, error) {
	id := onceward.RunID(r.id())
	revision := r.int()
	var token onceward.WriteToken
	r.fill(token[:])
	return store.DecodeRun(id, revision, token, r.blob(), r.blob())
}

// LoadRun reads one run; see [onceward.RunStore].
func (s *Store) LoadRun(ctx context.Context, id onceward.RunID) (found *onceward.Run, err error) {
	err = s.readRaw(ctx, "load run", func(c *conn) error {
		found, err = c.loadRun(id)
		return err
	})
	return found, err
}

// ListRuns returns a page; see [onceward.RunStore].
func (s *Store) ListRuns(ctx context.Context, f onceward.RunFilter) ([]*onceward.Run, error) {
	var runs []*onceward.Run
	first := f.After == onceward.RunCursor{}
	err := s.readRaw(ctx, "list runs", func(c *conn) error {
		return c.query(`SELECT id, revision, token, body, NULL FROM runs
			WHERE tenant = ?1 AND (?2 OR (created_at, id) < (?3, ?4)) AND (?5 = '' OR workflow = ?5) AND (?6 = '' OR state = ?6)
				AND (?7 = '' OR correlation_id = ?7)
			ORDER BY created_at DESC, id DESC LIMIT ?8`, func(b *binder) {
			b.text(string(f.Tenant))
			b.bool(first)
			b.time(f.After.CreatedAt)
			b.blob(f.After.ID[:])
			b.text(f.Workflow)
			b.text(string(f.State))
			b.text(f.CorrelationID)
			b.int(int64(f.Limit))
		}, func(r *rower) error {
			run, err := r.run()
			runs = append(runs, run)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return runs, nil
}

// AgedRuns lists old runs; see [onceward.RunStore].
func (s *Store) AgedRuns(ctx context.Context, after onceward.RunCursor, before time.Time, limit int) (runs []*onceward.Run, err error) {
	err = s.readRaw(ctx, "list old runs", func(c *conn) error {
		runs = nil
		return c.query(`SELECT id, revision, token, body, NULL FROM runs
			WHERE created_at < ?1 AND (?2 OR (created_at, id) > (?3, ?4)) ORDER BY created_at, id LIMIT ?5`, func(b *binder) {
			b.time(before)
			b.bool(after == onceward.RunCursor{})
			b.time(after.CreatedAt)
			b.blob(after.ID[:])
			b.int(int64(limit))
		}, func(r *rower) error {
			run, err := r.run()
			runs = append(runs, run)
			return err
		})
	})
	return runs, err
}

// DropRun removes a run; see [onceward.RunStore].
func (s *Store) DropRun(ctx context.Context, r *onceward.Run, notes ...onceward.AuditEvent) (dropped bool, err error) {
	err = s.write(ctx, "drop run", func(c *conn) error {
		n, err := c.changed(`DELETE FROM runs WHERE id = ? AND revision = ?`, func(b *binder) {
			b.blob(r.ID[:])
			b.int(r.Revision)
		})
		if dropped = n == 1; err != nil || !dropped {
			return err
		}
		if err := c.exec(`DELETE FROM decisions WHERE run_id = ?`, func(b *binder) { b.blob(r.ID[:]) }); err != nil {
			return err
		}
		if err := c.exec(`DELETE FROM sagas WHERE id = ?`, func(b *binder) { b.blob(r.ID[:]) }); err != nil {
			return err
		}
		return s.note(c, notes)
	})
	return dropped, err
}
