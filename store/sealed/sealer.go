package sealed

import (
	"context"
	"time"

	"github.com/onceward/onceward"
)

// Masters implements onceward.Sealer.
func (s *Store) Masters() []string { return s.opts.Keys.Names() }

// Name implements onceward.Sealer.
func (s *Store) Name(ctx context.Context, t onceward.Tenant, subject string) (onceward.SubjectID, error) {
	return s.keys.name(ctx, t, subject)
}

// Assign implements onceward.Sealer.
func (s *Store) Assign(ctx context.Context, op *onceward.Operation, subject string) error {
	id, err := s.keys.name(ctx, op.Tenant, subject)
	if err != nil {
		return err
	}
	key, secret, err := s.keys.newest(ctx, owner{op.Tenant, id})
	if err != nil {
		return err
	}
	op.Subject, op.DataKey, op.Blind = id, key, blind(secret, op)
	return nil
}

// CloseSubject implements onceward.Sealer.
func (s *Store) CloseSubject(ctx context.Context, t onceward.Tenant, subject onceward.SubjectID) ([]onceward.DataKeyID, error) {
	if err := s.CloseDataKeys(ctx, t, subject, s.keys.now()); err != nil {
		return nil, err
	}
	s.keys.forget(nil, owner{t, subject})
	var ids []onceward.DataKeyID
	for after := (onceward.DataKeyID{}); ; {
		page, err := s.ListDataKeys(ctx, t, subject, after, onceward.DataKeyPageMax)
		if err != nil {
			return nil, err
		}
		for i := range page {
			after = page[i].ID
			if page[i].Wrapped != nil && !page[i].ClosedAt.IsZero() {
				ids = append(ids, page[i].ID)
			}
		}
		if len(page) < onceward.DataKeyPageMax {
			break
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	// Why: another process may take a key for one in use that long, and a claim
	// that it began with it may be committed a moment later.
	return ids, s.opts.Wait(ctx, freshFor+time.Second)
}

// Shred implements onceward.Sealer. The list outside comes first: a crash in
// between is made good by the next start.
func (s *Store) Shred(ctx context.Context, ids []onceward.DataKeyID, notes ...onceward.AuditEvent) (int, error) {
	if err := s.list.add(ids); err != nil {
		return 0, err
	}
	n, err := s.ShredDataKeys(ctx, ids, s.keys.now(), notes...)
	s.keys.forget(ids, owner{})
	return n, err
}

// ShredAgain implements onceward.Sealer.
func (s *Store) ShredAgain(ctx context.Context) error {
	s.keys.forgetAll()
	ids, err := s.list.read()
	if err != nil {
		return err
	}
	const atOnce = 500
	for len(ids) > 0 {
		some := ids[:min(len(ids), atOnce)]
		ids = ids[len(some):]
		rows, err := s.DataKeys(ctx, some)
		if err != nil {
			return err
		}
		back := map[onceward.Tenant][]onceward.DataKeyID{}
		for i := range rows {
			if rows[i].Wrapped != nil {
				back[rows[i].Tenant] = append(back[rows[i].Tenant], rows[i].ID)
			}
		}
		for t, again := range back {
			note := onceward.NewAuditEvent(onceward.AuditEvent{Tenant: t, Actor: "ledger", Action: onceward.AuditSubjectShredded, Subject: again[0].String(),
				Detail: "again: a backup had brought back " + plural(len(again))})
			if _, err := s.ShredDataKeys(ctx, again, s.keys.now(), note); err != nil {
				return err
			}
			s.keys.forget(again, owner{})
		}
	}
	return nil
}

// Rotate implements onceward.Sealer.
func (s *Store) Rotate(ctx context.Context, limit int) (done int, more bool, err error) {
	ring := s.opts.Keys
	if len(ring.Names()) == 0 {
		return 0, false, missing("there is no master key")
	}
	rows, err := s.KeysNotWrappedBy(ctx, ring.keys[0].name, limit)
	if err != nil {
		return 0, false, err
	}
	for i := range rows {
		key, err := ring.unwrap(&rows[i])
		if err != nil {
			return done, false, err
		}
		next := rows[i]
		if err := ring.wrap(&next, key); err != nil {
			return done, false, err
		}
		applied, err := s.RewrapDataKey(ctx, next.ID, rows[i].Wrapped, next.Master, next.Wrapped)
		if err != nil {
			return done, false, err
		}
		if applied {
			done++
		}
	}
	return done, len(rows) == limit, nil
}
