package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

const (
	insertDecisionSQL = `insert into decisions (id, run_id, created_at, revision, token, body)
values ($1, $2, $3::timestamptz, $4, $5, $6) on conflict (id) do nothing`
	updateDecisionSQL = `update decisions set revision = $2, token = $3, body = $4 where id = $1 and revision = $2 - 1`
	loadDecisionSQL   = `select id, revision, token, body from decisions where id = $1`
)

// PutDecision stores a decision by compare-and-set; see [onceward.DecisionStore].
func (s *Store) PutDecision(ctx context.Context, d onceward.StepDecision, notes ...onceward.AuditEvent) (stored *onceward.StepDecision, applied bool, err error) {
	body, err := store.EncodeDecision(&d)
	if err != nil {
		return nil, false, err
	}
	err = s.do(ctx, "store decision", func(ctx context.Context, conn *pgx.Conn) error {
		sql, values := updateDecisionSQL, []any{uuidOf(d.ID), d.Revision, uuidOf(d.Token), body}
		if d.Revision == 1 {
			sql, values = insertDecisionSQL, []any{uuidOf(d.ID), uuidOf(d.Run), optionalTime(d.CreatedAt), d.Revision, uuidOf(d.Token), body}
		}
		wrote, err := durably(ctx, conn, notes, sql, values...)
		if err != nil {
			return err
		}
		if stored, err = loadDecision(ctx, conn, d.ID); err != nil {
			return err
		}
		applied = wrote || stored != nil && stored.Revision == d.Revision && stored.Token == d.Token
		return nil
	})
	return stored, applied, err
}

func loadDecision(ctx context.Context, conn *pgx.Conn, id onceward.DecisionID) (*onceward.StepDecision, error) {
	found, err := decisionsOf(conn.Query(ctx, loadDecisionSQL, uuidOf(id)))
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0], nil
}

func decisionsOf(rows pgx.Rows, err error) ([]*onceward.StepDecision, error) {
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (*onceward.StepDecision, error) {
		var id, token [16]byte
		var revision int64
		var body []byte
		if err := row.Scan(&id, &revision, &token, &body); err != nil {
			return nil, err
		}
		return store.DecodeDecision(id, revision, token, body)
	})
}

// LoadDecision reads one decision; see [onceward.DecisionStore].
func (s *Store) LoadDecision(ctx context.Context, id onceward.DecisionID) (found *onceward.StepDecision, err error) {
	err = s.do(ctx, "load decision", func(ctx context.Context, conn *pgx.Conn) error {
		found, err = loadDecision(ctx, conn, id)
		return err
	})
	return found, err
}

// ListDecisions returns a run's decisions; see [onceward.DecisionStore].
func (s *Store) ListDecisions(ctx context.Context, run onceward.RunID, limit int) (found []*onceward.StepDecision, err error) {
	err = s.do(ctx, "list decisions", func(ctx context.Context, conn *pgx.Conn) error {
		found, err = decisionsOf(conn.Query(ctx, `select id, revision, token, body from decisions where run_id = $1 order by created_at, id limit $2`, uuidOf(run), limit))
		return err
	})
	return found, err
}
