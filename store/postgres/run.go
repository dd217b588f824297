package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

const (
	insertRunSQL = `insert into runs (id, tenant, workflow, state, correlation_id, created_at, revision, token, body, input)
values ($1, $2, $3, $4, $5, $6::timestamptz, $7, $8, $9, $10) on conflict (id) do nothing`
	updateRunSQL = `update runs set state = $2, revision = $3, token = $4, body = $5 where id = $1 and revision = $3 - 1`
	loadRunSQL   = `select id, revision, token, body, input from runs where id = $1`
)

// PutRun stores a run by compare-and-set; see [onceward.RunStore].
func (s *Store) PutRun(ctx context.Context, r onceward.Run, notes ...onceward.AuditEvent) (stored *onceward.Run, applied bool, err error) {
	body, err := store.EncodeRun(&r)
	if err != nil {
		return nil, false, err
	}
	err = s.do(ctx, "store run", func(ctx context.Context, conn *pgx.Conn) error {
		sql, values := updateRunSQL, []any{uuidOf(r.ID), string(r.State), r.Revision, uuidOf(r.Token), body}
		if r.Revision == 1 {
			sql = insertRunSQL
			values = []any{uuidOf(r.ID), string(r.Tenant), r.Workflow, string(r.State), r.CorrelationID, optionalTime(r.CreatedAt), r.Revision, uuidOf(r.Token), body, r.Input}
		}
		wrote, err := durably(ctx, conn, notes, sql, values...)
		if err != nil {
			return err
		}
		if stored, err = loadRun(ctx, conn, r.ID); err != nil {
			return err
		}
		applied = wrote || stored != nil && stored.Revision == r.Revision && stored.Token == r.Token
		return nil
	})
	return stored, applied, err
}

func loadRun(ctx context.Context, conn *pgx.Conn, id onceward.RunID) (*onceward.Run, error) {
	runs, err := runsOf(conn.Query(ctx, loadRunSQL, uuidOf(id)))
	if err != nil || len(runs) == 0 {
		return nil, err
	}
	return runs[0], nil
}

func runsOf(rows pgx.Rows, err error) ([]*onceward.Run, error) {
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (*onceward.Run, error) {
		var id, token [16]byte
		var revision int64
		var body, input []byte
		if err := row.Scan(&id, &revision, &token, &body, &input); err != nil {
			return nil, err
		}
		return store.DecodeRun(id, revision, token, body, input)
	})
}

// LoadRun reads one run; see [onceward.RunStore].
func (s *Store) LoadRun(ctx context.Context, id onceward.RunID) (found *onceward.Run, err error) {
	err = s.do(ctx, "load run", func(ctx context.Context, conn *pgx.Conn) error {
		found, err = loadRun(ctx, conn, id)
		return err
	})
	return found, err
}

// ListRuns returns a page; see [onceward.RunStore].
func (s *Store) ListRuns(ctx context.Context, f onceward.RunFilter) (runs []*onceward.Run, err error) {
	first := f.After == onceward.RunCursor{}
	err = s.do(ctx, "list runs", func(ctx context.Context, conn *pgx.Conn) error {
		runs, err = runsOf(conn.Query(ctx, `select id, revision, token, body, null::bytea from runs
where tenant = $1 and ($2::boolean or (created_at, id) < ($3::timestamptz, $4::uuid)) and ($5::text = '' or workflow = $5)
    and ($6::text = '' or state = $6) and ($7::text = '' or correlation_id = $7)
order by created_at desc, id desc limit $8`,
			string(f.Tenant), first, optionalTime(f.After.CreatedAt), uuidOf(f.After.ID), f.Workflow, string(f.State), f.CorrelationID, f.Limit))
		return err
	})
	return runs, err
}

// uuidOf is an ID in the form in which every way of running a statement takes it.
func uuidOf[T ~[16]byte](id T) pgtype.UUID { return pgtype.UUID{Bytes: id, Valid: true} }

// durably runs one statement as a transaction that outlives a power cut, whatever
// the database does by default, and says whether it wrote a row. If it did, the
// events are noted along with it.
func durably(ctx context.Context, conn *pgx.Conn, notes []onceward.AuditEvent, sql string, values ...any) (wrote bool, err error) {
	err = inTx(ctx, conn, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, sql, values...)
		if wrote = tag.RowsAffected() == 1; err != nil || !wrote {
			return err
		}
		return note(ctx, tx, notes)
	})
	return wrote, err
}

// AgedRuns lists old runs; see [onceward.RunStore].
func (s *Store) AgedRuns(ctx context.Context, after onceward.RunCursor, before time.Time, limit int) (runs []*onceward.Run, err error) {
	first := after == onceward.RunCursor{}
	err = s.do(ctx, "list old runs", func(ctx context.Context, conn *pgx.Conn) error {
		runs, err = runsOf(conn.Query(ctx, `select id, revision, token, body, null::bytea from runs
where created_at < $1::timestamptz and ($2::boolean or (created_at, id) > ($3::timestamptz, $4::uuid)) order by created_at, id limit $5`,
			optionalTime(before), first, optionalTime(after.CreatedAt), uuidOf(after.ID), limit))
		return err
	})
	return runs, err
}

// DropRun removes a run; see [onceward.RunStore].
func (s *Store) DropRun(ctx context.Context, r *onceward.Run, notes ...onceward.AuditEvent) (dropped bool, err error) {
	err = s.do(ctx, "drop run", func(ctx context.Context, conn *pgx.Conn) error {
		return inTx(ctx, conn, func(tx pgx.Tx) error {
			tag, err := tx.Exec(ctx, "delete from runs where id = $1 and revision = $2", uuidOf(r.ID), r.Revision)
			if dropped = tag.RowsAffected() == 1; err != nil || !dropped {
				return err
			}
			if _, err := tx.Exec(ctx, "delete from decisions where run_id = $1", uuidOf(r.ID)); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, "delete from sagas where id = $1", uuidOf(r.ID)); err != nil {
				return err
			}
			return note(ctx, tx, notes)
		})
	})
	return dropped, err
}
