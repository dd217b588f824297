package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/onceward/onceward"
)

// PutEarlyApproval stores an early approval; see [onceward.EarlyApprovalStore].
func (s *Store) PutEarlyApproval(ctx context.Context, a onceward.EarlyApproval, notes ...onceward.AuditEvent) error {
	return s.do(ctx, "store early approval", func(ctx context.Context, conn *pgx.Conn) error {
		_, err := durably(ctx, conn, notes, `with void as (delete from early_approvals where until < $8::timestamptz and (operation_id, actor) <> ($1::uuid, $2::text))
insert into early_approvals (operation_id, actor, tenant, tool, digest, contract, reason, at, until)
values ($1::uuid, $2::text, $3, $4, $5, $6, $7, $8::timestamptz, $9::timestamptz)
on conflict (operation_id, actor) do update set tenant = excluded.tenant, tool = excluded.tool, digest = excluded.digest,
    contract = excluded.contract, reason = excluded.reason, at = excluded.at, until = excluded.until`,
			pgtype.UUID{Bytes: a.Operation, Valid: true}, a.Actor, string(a.Tenant), string(a.Tool), a.Digest[:], a.Contract, a.Reason,
			optionalTime(a.At), optionalTime(a.Until))
		return err
	})
}

// EarlyApprovals lists early approvals; see [onceward.EarlyApprovalStore].
func (s *Store) EarlyApprovals(ctx context.Context, id onceward.OperationID) ([]onceward.EarlyApproval, error) {
	var all []onceward.EarlyApproval
	err := s.do(ctx, "load early approvals", func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, `select actor, tenant, tool, digest, contract, reason, at, until from early_approvals
where operation_id = $1 order by at, actor`, pgtype.UUID{Bytes: id, Valid: true})
		if err != nil {
			return err
		}
		all, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (onceward.EarlyApproval, error) {
			a := onceward.EarlyApproval{Operation: id}
			var digest []byte
			var at, until *time.Time
			err := row.Scan(&a.Actor, (*string)(&a.Tenant), (*string)(&a.Tool), &digest, &a.Contract, &a.Reason, &at, &until)
			copy(a.Digest[:], digest)
			a.At, a.Until = timeOf(at), timeOf(until)
			return a, err
		})
		return err
	})
	return all, err
}

// DropEarlyApprovals removes early approvals; see [onceward.EarlyApprovalStore].
func (s *Store) DropEarlyApprovals(ctx context.Context, id onceward.OperationID) error {
	return s.do(ctx, "drop early approvals", func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "delete from early_approvals where operation_id = $1", pgtype.UUID{Bytes: id, Valid: true})
		return err
	})
}
