package postgres

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward"
)

// AddTallies counts on; see [onceward.TallyStore]. Replicas that count at once
// lock the rows in one order.
func (s *Store) AddTallies(ctx context.Context, add []onceward.Tally) error {
	add = slices.Clone(add)
	slices.SortFunc(add, func(a, b onceward.Tally) int {
		return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), a.Hour.Compare(b.Hour), cmp.Compare(a.Tool, b.Tool), cmp.Compare(a.Decision, b.Decision))
	})
	return s.do(ctx, "store tallies", func(ctx context.Context, conn *pgx.Conn) error {
		return pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
			for i := range add {
				t := &add[i]
				_, err := tx.Exec(ctx, `insert into tallies as t (tenant, hour, tool, decision, count) values ($1, $2::timestamptz, $3, $4, $5)
on conflict (tenant, hour, tool, decision) do update set count = t.count + excluded.count`, string(t.Tenant), t.Hour, string(t.Tool), string(t.Decision), t.Count)
				if err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// Tallies reads tallies; see [onceward.TallyStore].
func (s *Store) Tallies(ctx context.Context, tenant onceward.Tenant, from, to time.Time) (all []onceward.Tally, err error) {
	err = s.do(ctx, "load tallies", func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, `select hour, tool, decision, count from tallies where tenant = $1 and hour >= $2::timestamptz and hour < $3::timestamptz
order by hour, tool, decision`, string(tenant), from, to)
		if err != nil {
			return err
		}
		all, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (onceward.Tally, error) {
			t := onceward.Tally{Tenant: tenant}
			err := row.Scan(&t.Hour, (*string)(&t.Tool), (*string)(&t.Decision), &t.Count)
			t.Hour = t.Hour.UTC()
			return t, err
		})
		return err
	})
	return all, err
}
