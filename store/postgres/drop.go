package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// Drop removes tombstones; see [onceward.Store]. Why skip locked: it takes rows
// in no order that a batch would take, and waits for nobody while it holds some.
func (s *Store) Drop(ctx context.Context, rows []onceward.Tombstone) (int, error) {
	if len(rows) == 0 {
		return 0, nil
	}
	ids, entries := make([]pgtype.UUID, len(rows)), make([][]byte, len(rows))
	versions, generations := make([]int64, len(rows)), make([]int64, len(rows))
	for i, r := range rows {
		ids[i], versions[i], generations[i] = pgtype.UUID{Bytes: r.ID, Valid: true}, r.Version, int64(r.Generation)
		entry := store.Dropped(r)
		entries[i] = store.AppendEntry(nil, &entry)
	}
	var dropped int
	err := s.do(ctx, "drop tombstones", func(ctx context.Context, conn *pgx.Conn) error {
		return conn.QueryRow(ctx, `with picked as materialized (
    select o.id, r.entry from (select unnest($1::uuid[]) as id, unnest($2::bigint[]) as version, unnest($6::bigint[]) as generation, unnest($3::bytea[]) as entry) as r
    join operations o on o.id = r.id where o.version = r.version and o.generation = r.generation and o.alias_of is null for update of o skip locked),
bodied as (delete from bodies where operation_id = any(array(select id from picked))),
recorded as (delete from records where operation_id = any(array(select id from picked))),
dued as (delete from due where operation_id = any(array(select id from picked))),
early as (delete from early_approvals where operation_id = any(array(select id from picked))),
aliased as (delete from operations where alias_of = any(array(select id from picked))),
journaled as (insert into journal (xid, at, token, entries)
    select pg_current_xact_id(), clock_timestamp(), $4::uuid, $5::bytea || string_agg(entry, ''::bytea order by id) from picked having count(*) > 0),
dropped as (delete from operations where id = any(array(select id from picked)) returning id)
select count(*) from dropped`, ids, versions, entries, ids[0], []byte(store.JournalHead), generations).Scan(&dropped)
	})
	return dropped, err
}
