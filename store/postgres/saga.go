package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

const (
	insertSagaSQL = `insert into sagas (id, tenant, name, state, created_at, next_at, revision, token, body)
values ($1, $2, $3, $4, $5::timestamptz, $6::timestamptz, $7, $8, $9) on conflict (id) do nothing`
	updateSagaSQL = `update sagas set state = $2, next_at = $3::timestamptz, revision = $4, token = $5, body = $6 where id = $1 and revision = $4 - 1`
)

// PutSaga stores a saga by compare-and-set; see [onceward.SagaStore].
func (s *Store) PutSaga(ctx context.Context, saga onceward.Saga, notes ...onceward.AuditEvent) (stored *onceward.Saga, applied bool, err error) {
	body, err := store.EncodeSaga(&saga)
	if err != nil {
		return nil, false, err
	}
	err = s.do(ctx, "store saga", func(ctx context.Context, conn *pgx.Conn) error {
		sql, values := updateSagaSQL, []any{uuidOf(saga.ID), string(saga.State), optionalTime(saga.NextAt), saga.Revision, uuidOf(saga.Token), body}
		if saga.Revision == 1 {
			sql, values = insertSagaSQL, []any{uuidOf(saga.ID), string(saga.Tenant), saga.Name, string(saga.State), optionalTime(saga.CreatedAt), optionalTime(saga.NextAt), saga.Revision, uuidOf(saga.Token), body}
		}
		wrote, err := durably(ctx, conn, notes, sql, values...)
		if err != nil {
			return err
		}
		if stored, err = loadSaga(ctx, conn, saga.ID); err != nil {
			return err
		}
		applied = wrote || stored != nil && stored.Revision == saga.Revision && stored.Token == saga.Token
		return nil
	})
	return stored, applied, err
}

func loadSaga(ctx context.Context, conn *pgx.Conn, id onceward.SagaID) (*onceward.Saga, error) {
	all, err := sagasOf(conn.Query(ctx, `select id, revision, token, next_at, body from sagas where id = $1`, uuidOf(id)))
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return all[0], nil
}

func sagasOf(rows pgx.Rows, err error) ([]*onceward.Saga, error) {
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (*onceward.Saga, error) {
		var id, token [16]byte
		var revision int64
		var next *time.Time
		var body []byte
		if err := row.Scan(&id, &revision, &token, &next, &body); err != nil {
			return nil, err
		}
		return store.DecodeSaga(id, revision, token, timeOf(next), body)
	})
}

// LoadSaga reads one; see [onceward.SagaStore].
func (s *Store) LoadSaga(ctx context.Context, id onceward.SagaID) (found *onceward.Saga, err error) {
	err = s.do(ctx, "load saga", func(ctx context.Context, conn *pgx.Conn) error {
		found, err = loadSaga(ctx, conn, id)
		return err
	})
	return found, err
}

// ListSagas lists a tenant's; see [onceward.SagaStore].
func (s *Store) ListSagas(ctx context.Context, f onceward.SagaFilter) (page []*onceward.Saga, err error) {
	first := f.After == onceward.SagaCursor{}
	err = s.do(ctx, "list sagas", func(ctx context.Context, conn *pgx.Conn) error {
		page, err = sagasOf(conn.Query(ctx, `select id, revision, token, next_at, body from sagas
where tenant = $1 and ($2 = '' or name = $2) and ($3 = '' or state = $3) and ($4::boolean or (created_at, id) < ($5::timestamptz, $6::uuid))
order by created_at desc, id desc limit $7`,
			string(f.Tenant), f.Name, string(f.State), first, optionalTime(f.After.CreatedAt), uuidOf(f.After.ID), f.Limit))
		return err
	})
	return page, err
}

// TakeSagas hands out what is due; see [onceward.SagaStore]. If the connection is
// lost after it took some, these come up again after the hold.
func (s *Store) TakeSagas(ctx context.Context, limit int, hold time.Duration) (taken []*onceward.Saga, err error) {
	err = s.do(ctx, "take sagas", func(ctx context.Context, conn *pgx.Conn) error {
		taken, err = sagasOf(conn.Query(ctx, `with picked as materialized (
    select id from sagas where next_at <= now() order by next_at, id limit $1::bigint for update skip locked)
update sagas set next_at = now() + $2::bigint * interval '1 microsecond' where id = any(array(select id from picked))
returning id, revision, token, next_at, body`, int64(limit), hold.Microseconds()))
		return err
	})
	return taken, err
}

// RescheduleSaga sets when one is looked at; see [onceward.SagaStore].
func (s *Store) RescheduleSaga(ctx context.Context, id onceward.SagaID, revision int64, at time.Time) error {
	return s.do(ctx, "reschedule saga", func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "update sagas set next_at = $2::timestamptz where id = $1 and (revision = $3 or $3 = 0 and next_at is not null)", uuidOf(id), optionalTime(at), revision)
		return err
	})
}

// CountSagas counts those that have not ended; see [onceward.SagaStore].
func (s *Store) CountSagas(ctx context.Context) (counts []onceward.SagaCount, err error) {
	err = s.do(ctx, "count sagas", func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, "select state, count(*), min(created_at) from sagas where next_at is not null group by state")
		if err != nil {
			return err
		}
		counts, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (c onceward.SagaCount, err error) {
			err = row.Scan((*string)(&c.State), &c.Count, &c.Oldest)
			c.Oldest = c.Oldest.UTC()
			return c, err
		})
		counts = slices.DeleteFunc(counts, func(c onceward.SagaCount) bool { return c.State.Final() })
		return err
	})
	return counts, err
}

// NextSaga is when the earliest comes up; see [onceward.SagaStore].
func (s *Store) NextSaga(ctx context.Context) (next, now time.Time, err error) {
	err = s.do(ctx, "read next saga", func(ctx context.Context, conn *pgx.Conn) error {
		var at *time.Time
		if err := conn.QueryRow(ctx, "select min(next_at), now() from sagas where next_at is not null").Scan(&at, &now); err != nil {
			return err
		}
		next = timeOf(at)
		return nil
	})
	return next, now.UTC(), err
}
