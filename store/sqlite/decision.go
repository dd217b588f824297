package sqlite

import (
	"context"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// PutDecision stores a decision by compare-and-set; see [onceward.DecisionStore].
func (s *Store) PutDecision(ctx context.Context, d onceward.StepDecision, notes ...onceward.AuditEvent) (stored *onceward.StepDecision, applied bool, err error) {
	body, err := store.EncodeDecision(&d)
	if err != nil {
		return nil, false, err
	}
	err = s.write(ctx, "store decision", func(c *conn) error {
		wrote, err := c.putDecision(&d, body)
		if err == nil && wrote == 1 {
			err = s.note(c, notes)
		}
		if err != nil {
			return err
		}
		if stored, err = c.loadDecision(d.ID); err != nil {
			return err
		}
		applied = wrote == 1 || stored != nil && stored.Revision == d.Revision && stored.Token == d.Token
		return nil
	})
	return stored, applied, err
}

func (c *conn) putDecision(d *onceward.StepDecision, body []byte) (wrote int, err error) {
	if d.Revision > 1 {
		return c.changed(`UPDATE decisions SET revision = ?, token = ?, body = ? WHERE id = ? AND revision = ?`, func(b *binder) {
			b.int(d.Revision)
			b.blob(d.Token[:])
			b.blob(body)
			b.blob(d.ID[:])
			b.int(d.Revision - 1)
		})
	}
	return c.changed(`INSERT INTO decisions (id, run_id, created_at, revision, token, body) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO NOTHING`, func(b *binder) {
		b.blob(d.ID[:])
		b.blob(d.Run[:])
		b.time(d.CreatedAt)
		b.int(d.Revision)
		b.blob(d.Token[:])
		b.blob(body)
	})
}

func (c *conn) loadDecision(id onceward.DecisionID) (found *onceward.StepDecision, err error) {
	err = c.query(`SELECT id, revision, token, body FROM decisions WHERE id = ?`, func(b *binder) { b.blob(id[:]) },
		func(r *rower) (err error) {
			found, err = r.decision()
			return err
		})
	return found, err
}

func (r *rower) decision() (*onceward.StepDecision, error) {
	id := onceward.DecisionID(r.id())
	revision := r.int()
	var token onceward.WriteToken
	r.fill(token[:])
	return store.DecodeDecision(id, revision, token, r.blob())
}

// LoadDecision reads one decision; see [onceward.DecisionStore].
func (s *Store) LoadDecision(ctx context.Context, id onceward.DecisionID) (found *onceward.StepDecision, err error) {
	err = s.readRaw(ctx, "load decision", func(c *conn) error {
		found, err = c.loadDecision(id)
		return err
	})
	return found, err
}

// ListDecisions returns a run's decisions; see [onceward.DecisionStore].
func (s *Store) ListDecisions(ctx context.Context, run onceward.RunID, limit int) ([]*onceward.StepDecision, error) {
	var found []*onceward.StepDecision
	err := s.readRaw(ctx, "list decisions", func(c *conn) error {
		return c.query(`SELECT id, revision, token, body FROM decisions WHERE run_id = ? ORDER BY created_at, id LIMIT ?`, func(b *binder) {
			b.blob(run[:])
			b.int(int64(limit))
		}, func(r *rower) error {
			d, err := r.decision()
			found = append(found, d)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}
