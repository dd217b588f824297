package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// PutHold stores a hold; see [onceward.HoldStore].
func (s *Store) PutHold(ctx context.Context, h onceward.Hold, notes ...onceward.AuditEvent) error {
	if err := store.CheckHold(&h); err != nil {
		return err
	}
	return s.do(ctx, "store hold", func(ctx context.Context, conn *pgx.Conn) error {
		_, err := durably(ctx, conn, notes, `insert into holds (id, tenant, operation, subject, tool, from_at, until_at, reason, by, at)
values ($1, $2, $3, $4, $5, $6::timestamptz, $7::timestamptz, $8, $9, $10::timestamptz) on conflict (id) do nothing`,
			string(h.ID), string(h.Tenant), pgtype.UUID{Bytes: h.Operation, Valid: !h.Operation.IsZero()}, string(h.Subject), string(h.Tool),
			optionalTime(h.From), optionalTime(h.Until), h.Reason, h.By, optionalTime(h.At))
		return err
	})
}

// Holds returns all holds; see [onceward.HoldStore].
func (s *Store) Holds(ctx context.Context) (all []onceward.Hold, err error) {
	err = s.do(ctx, "list holds", func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, "select id, tenant, operation, subject, tool, from_at, until_at, reason, by, at from holds order by at, id")
		if err != nil {
			return err
		}
		all, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (h onceward.Hold, err error) {
			var op pgtype.UUID
			var from, until *time.Time
			err = row.Scan((*string)(&h.ID), (*string)(&h.Tenant), &op, (*string)(&h.Subject), (*string)(&h.Tool), &from, &until, &h.Reason, &h.By, &h.At)
			h.Operation, h.From, h.Until, h.At = op.Bytes, timeOf(from), timeOf(until), h.At.UTC()
			return h, err
		})
		return err
	})
	return all, err
}

// LiftHold removes a hold; see [onceward.HoldStore].
func (s *Store) LiftHold(ctx context.Context, t onceward.Tenant, id onceward.HoldID, notes ...onceward.AuditEvent) (lifted bool, err error) {
	err = s.do(ctx, "lift hold", func(ctx context.Context, conn *pgx.Conn) error {
		lifted, err = durably(ctx, conn, notes, "delete from holds where id = $1 and tenant = $2", string(id), string(t))
		return err
	})
	return lifted, err
}
