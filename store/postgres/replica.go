package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward"
)

// Beat records a heartbeat and reads all of them; see [onceward.Store].
func (s *Store) Beat(ctx context.Context, r onceward.Replica) ([]onceward.Replica, time.Time, error) {
	var all []onceward.Replica
	var now time.Time
	err := s.do(ctx, "record heartbeat", func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, `with mine as (
    insert into replicas as r (id, started_at, beat_at, low_water) values ($1, now(), now(), $2::timestamptz)
    on conflict (id) do update set beat_at = excluded.beat_at, low_water = excluded.low_water
    returning r.id, r.started_at, r.beat_at, r.low_water)
select now(), m.* from mine m
union all select now(), r.id, r.started_at, r.beat_at, r.low_water from replicas r where r.id <> $1`, r.ID, optionalTime(r.LowWater))
		if err != nil {
			return err
		}
		all, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (r onceward.Replica, err error) {
			var low *time.Time
			err = row.Scan(&now, &r.ID, &r.StartedAt, &r.BeatAt, &low)
			r.StartedAt, r.BeatAt, r.LowWater = r.StartedAt.UTC(), r.BeatAt.UTC(), timeOf(low)
			return r, err
		})
		return err
	})
	return all, now.UTC(), err
}

// Forget removes a replica; see [onceward.Store].
func (s *Store) Forget(ctx context.Context, replica string) error {
	return s.do(ctx, "forget replica", func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "delete from replicas where id = $1", replica)
		return err
	})
}
