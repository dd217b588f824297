package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

const (
	insertReplaySQL = `insert into replays (id, tenant, state, created_at, revision, token, body)
values ($1, $2, $3, $4::timestamptz, $5, $6, $7) on conflict (id) do nothing`
	updateReplaySQL = `update replays set state = $2, revision = $3, token = $4, body = $5 where id = $1 and revision = $3 - 1`
)

// PutBulkReplay stores a bulk replay by compare-and-set; see
// [onceward.BulkReplayStore].
func (s *Store) PutBulkReplay(ctx context.Context, b onceward.BulkReplay, notes ...onceward.AuditEvent) (stored *onceward.BulkReplay, applied bool, err error) {
	body, err := store.EncodeBulkReplay(&b)
	if err != nil {
		return nil, false, err
	}
	err = s.do(ctx, "store bulk replay", func(ctx context.Context, conn *pgx.Conn) error {
		sql, values := updateReplaySQL, []any{uuidOf(b.ID), string(b.State), b.Revision, uuidOf(b.Token), body}
		if b.Revision == 1 {
			sql, values = insertReplaySQL, []any{uuidOf(b.ID), string(b.Tenant), string(b.State), optionalTime(b.CreatedAt), b.Revision, uuidOf(b.Token), body}
		}
		wrote, err := durably(ctx, conn, notes, sql, values...)
		if err != nil {
			return err
		}
		if stored, err = loadBulkReplay(ctx, conn, b.ID); err != nil {
			return err
		}
		applied = wrote || stored != nil && stored.Revision == b.Revision && stored.Token == b.Token
		return nil
	})
	return stored, applied, err
}

func loadBulkReplay(ctx context.Context, conn *pgx.Conn, id onceward.BulkReplayID) (*onceward.BulkReplay, error) {
	all, err := bulkReplaysOf(conn.Query(ctx, `select id, revision, token, body from replays where id = $1`, uuidOf(id)))
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return all[0], nil
}

func bulkReplaysOf(rows pgx.Rows, err error) ([]*onceward.BulkReplay, error) {
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (*onceward.BulkReplay, error) {
		var id, token [16]byte
		var revision int64
		var body []byte
		if err := row.Scan(&id, &revision, &token, &body); err != nil {
			return nil, err
		}
		return store.DecodeBulkReplay(id, revision, token, body)
	})
}

// LoadBulkReplay reads one; see [onceward.BulkReplayStore].
func (s *Store) LoadBulkReplay(ctx context.Context, id onceward.BulkReplayID) (found *onceward.BulkReplay, err error) {
	err = s.do(ctx, "load bulk replay", func(ctx context.Context, conn *pgx.Conn) error {
		found, err = loadBulkReplay(ctx, conn, id)
		return err
	})
	return found, err
}

// ListBulkReplays lists a tenant's; see [onceward.BulkReplayStore].
func (s *Store) ListBulkReplays(ctx context.Context, t onceward.Tenant, after onceward.BulkCursor, limit int) (page []*onceward.BulkReplay, err error) {
	first := after == onceward.BulkCursor{}
	err = s.do(ctx, "list bulk replays", func(ctx context.Context, conn *pgx.Conn) error {
		page, err = bulkReplaysOf(conn.Query(ctx, `select id, revision, token, body from replays
where tenant = $1 and ($2::boolean or (created_at, id) < ($3::timestamptz, $4::uuid)) order by created_at desc, id desc limit $5`,
			string(t), first, optionalTime(after.CreatedAt), uuidOf(after.ID), limit))
		return err
	})
	return page, err
}

// RunningBulkReplays lists what runs; see [onceward.BulkReplayStore].
func (s *Store) RunningBulkReplays(ctx context.Context, limit int) (running []*onceward.BulkReplay, err error) {
	err = s.do(ctx, "list bulk replays", func(ctx context.Context, conn *pgx.Conn) error {
		running, err = bulkReplaysOf(conn.Query(ctx, `select id, revision, token, body from replays where state = 'running' order by created_at, id limit $1`, limit))
		return err
	})
	return running, err
}

// AgedBulkReplays lists old ones; see [onceward.BulkReplayStore].
func (s *Store) AgedBulkReplays(ctx context.Context, after onceward.BulkCursor, before time.Time, limit int) (page []*onceward.BulkReplay, err error) {
	first := after == onceward.BulkCursor{}
	err = s.do(ctx, "list old bulk replays", func(ctx context.Context, conn *pgx.Conn) error {
		page, err = bulkReplaysOf(conn.Query(ctx, `select id, revision, token, body from replays
where created_at < $1::timestamptz and ($2::boolean or (created_at, id) > ($3::timestamptz, $4::uuid)) order by created_at, id limit $5`,
			optionalTime(before), first, optionalTime(after.CreatedAt), uuidOf(after.ID), limit))
		return err
	})
	return page, err
}

// DropBulkReplay removes one; see [onceward.BulkReplayStore].
func (s *Store) DropBulkReplay(ctx context.Context, b *onceward.BulkReplay, notes ...onceward.AuditEvent) (dropped bool, err error) {
	err = s.do(ctx, "drop bulk replay", func(ctx context.Context, conn *pgx.Conn) error {
		dropped, err = durably(ctx, conn, notes, "delete from replays where id = $1 and revision = $2", uuidOf(b.ID), b.Revision)
		return err
	})
	return dropped, err
}
