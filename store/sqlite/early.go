package sqlite

import (
	"context"

	"github.com/onceward/onceward"
)

// PutEarlyApproval stores an early approval; see [onceward.EarlyApprovalStore].
func (s *Store) PutEarlyApproval(ctx context.Context, a onceward.EarlyApproval, notes ...onceward.AuditEvent) error {
	return s.write(ctx, "store early approval", func(c *conn) error {
		if err := c.exec(`DELETE FROM early_approvals WHERE until < ?`, func(b *binder) { b.time(a.At) }); err != nil {
			return err
		}
		err := c.exec(`INSERT INTO early_approvals (operation_id, actor, tenant, tool, digest, contract, reason, at, until) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (operation_id, actor) DO UPDATE SET tenant = excluded.tenant, tool = excluded.tool, digest = excluded.digest,
				contract = excluded.contract, reason = excluded.reason, at = excluded.at, until = excluded.until`, func(b *binder) {
			b.id(a.Operation)
			b.text(a.Actor)
			b.text(string(a.Tenant))
			b.text(string(a.Tool))
			b.blob(a.Digest[:])
			b.text(a.Contract)
			b.text(a.Reason)
			b.time(a.At)
			b.time(a.Until)
		})
		if err != nil {
			return err
		}
		return s.note(c, notes)
	})
}

// EarlyApprovals lists early approvals; see [onceward.EarlyApprovalStore].
func (s *Store) EarlyApprovals(ctx context.Context, id onceward.OperationID) ([]onceward.EarlyApproval, error) {
	var all []onceward.EarlyApproval
	err := s.readRaw(ctx, "load early approvals", func(c *conn) error {
		all = nil
		return c.query(`SELECT actor, tenant, tool, digest, contract, reason, at, until FROM early_approvals WHERE operation_id = ? ORDER BY at, actor`,
			func(b *binder) { b.id(id) },
			func(r *rower) error {
				a := onceward.EarlyApproval{Operation: id, Actor: r.text(), Tenant: onceward.Tenant(r.text()), Tool: onceward.ToolName(r.text())}
				r.fill(a.Digest[:])
				a.Contract, a.Reason, a.At, a.Until = r.text(), r.text(), r.time(), r.time()
				all = append(all, a)
				return nil
			})
	})
	return all, err
}

// DropEarlyApprovals removes early approvals; see [onceward.EarlyApprovalStore].
func (s *Store) DropEarlyApprovals(ctx context.Context, id onceward.OperationID) error {
	return s.write(ctx, "drop early approvals", func(c *conn) error {
		return c.exec(`DELETE FROM early_approvals WHERE operation_id = ?`, func(b *binder) { b.id(id) })
	})
}
