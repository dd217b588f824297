package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// Gaps returns all gaps; see [onceward.GapStore].
func (s *Store) Gaps(ctx context.Context) ([]onceward.Gap, error) {
	return store.Gaps(func(values *[]string) error {
		return s.do(ctx, "load gaps", func(ctx context.Context, conn *pgx.Conn) error {
			rows, err := conn.Query(ctx, `select value from meta where starts_with(name, $1) order by name collate "C"`, store.GapPrefix)
			if err != nil {
				return err
			}
			*values, err = pgx.CollectRows(rows, pgx.RowTo[string])
			return err
		})
	})
}

// PutGap stores a gap; see [onceward.GapStore].
func (s *Store) PutGap(ctx context.Context, g onceward.Gap, notes ...onceward.AuditEvent) error {
	return store.PutGap(g, func(name, value string) error {
		return s.do(ctx, "store gap", func(ctx context.Context, conn *pgx.Conn) error {
			_, err := durably(ctx, conn, notes, "insert into meta (name, value) values ($1, $2) on conflict (name) do update set value = excluded.value", name, value)
			return err
		})
	})
}
