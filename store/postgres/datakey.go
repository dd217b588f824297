package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

const dataKeyColumns = `id, tenant, subject, master, wrapped, created_at, closed_at, shredded_at`

func scanDataKey(row pgx.CollectableRow) (k onceward.DataKey, err error) {
	var id pgtype.UUID
	var closed, shredded *time.Time
	err = row.Scan(&id, (*string)(&k.Tenant), (*string)(&k.Subject), &k.Master, &k.Wrapped, &k.CreatedAt, &closed, &shredded)
	k.ID, k.CreatedAt, k.ClosedAt, k.ShreddedAt = id.Bytes, k.CreatedAt.UTC(), timeOf(closed), timeOf(shredded)
	return k, err
}

func (s *Store) listDataKeys(ctx context.Context, where string, args ...any) (page []onceward.DataKey, err error) {
	err = s.do(ctx, "list data keys", func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, "select "+dataKeyColumns+" from data_keys "+where, args...)
		if err != nil {
			return err
		}
		page, err = pgx.CollectRows(rows, scanDataKey)
		return err
	})
	return page, err
}

// PutDataKey stores a key unless one is in use; see [onceward.DataKeyStore].
func (s *Store) PutDataKey(ctx context.Context, k onceward.DataKey) (stands onceward.DataKey, err error) {
	if err := store.CheckDataKey(&k); err != nil {
		return stands, err
	}
	err = s.do(ctx, "store data key", func(ctx context.Context, conn *pgx.Conn) error {
		_, err := durably(ctx, conn, nil, "insert into data_keys (id, tenant, subject, master, wrapped, created_at) values ($1, $2, $3, $4, $5, $6::timestamptz) on conflict do nothing",
			uuidOf(k.ID), string(k.Tenant), string(k.Subject), k.Master, k.Wrapped, optionalTime(k.CreatedAt))
		return err
	})
	if err != nil {
		return stands, err
	}
	found, err := s.DataKeyInUse(ctx, k.Tenant, k.Subject)
	if err == nil && found == nil {
		err = onceward.Errorf(onceward.CodeWriteConflict, "the data key was taken out of use at once")
	}
	if err != nil {
		return stands, err
	}
	return *found, nil
}

// DataKeyInUse reads the key that is in use; see [onceward.DataKeyStore].
func (s *Store) DataKeyInUse(ctx context.Context, t onceward.Tenant, subject onceward.SubjectID) (*onceward.DataKey, error) {
	found, err := s.listDataKeys(ctx, "where tenant = $1 and subject = $2 and closed_at is null", string(t), string(subject))
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

func dataKeyIDs(ids []onceward.DataKeyID) []pgtype.UUID {
	out := make([]pgtype.UUID, len(ids))
	for i := range ids {
		out[i] = pgtype.UUID{Bytes: ids[i], Valid: true}
	}
	return out
}

// DataKeys reads keys by ID; see [onceward.DataKeyStore].
func (s *Store) DataKeys(ctx context.Context, ids []onceward.DataKeyID) ([]onceward.DataKey, error) {
	return s.listDataKeys(ctx, "where id = any($1::uuid[]) order by id", dataKeyIDs(ids))
}

// ListDataKeys returns a page; see [onceward.DataKeyStore].
func (s *Store) ListDataKeys(ctx context.Context, t onceward.Tenant, subject onceward.SubjectID, after onceward.DataKeyID, limit int) ([]onceward.DataKey, error) {
	where, args := "where id > $1", []any{uuidOf(after), limit}
	also := func(column, value string) {
		args = append(args, value)
		where += fmt.Sprintf(" and %s = $%d", column, len(args))
	}
	if t != onceward.EveryTenant {
		also("tenant", string(t))
	}
	if subject != "" {
		also("subject", string(subject))
	}
	return s.listDataKeys(ctx, where+" order by id limit $2", args...)
}

// KeysNotWrappedBy returns keys of other master keys; see [onceward.DataKeyStore].
func (s *Store) KeysNotWrappedBy(ctx context.Context, master string, limit int) ([]onceward.DataKey, error) {
	return s.listDataKeys(ctx, "where wrapped is not null and (master < $1 or master > $1) order by id limit $2", master, limit)
}

// MasterUses counts keys by master key; see [onceward.DataKeyStore].
func (s *Store) MasterUses(ctx context.Context) (uses []onceward.MasterUse, err error) {
	err = s.do(ctx, "count data keys", func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, "select master, count(*)::int from data_keys where wrapped is not null group by master order by master")
		if err != nil {
			return err
		}
		uses, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (u onceward.MasterUse, err error) {
			return u, row.Scan(&u.Master, &u.Keys)
		})
		return err
	})
	return uses, err
}

// RewrapDataKey replaces a wrapping; see [onceward.DataKeyStore].
func (s *Store) RewrapDataKey(ctx context.Context, id onceward.DataKeyID, was []byte, master string, wrapped []byte) (applied bool, err error) {
	err = s.do(ctx, "wrap data key", func(ctx context.Context, conn *pgx.Conn) error {
		applied, err = durably(ctx, conn, nil, "update data_keys set master = $3, wrapped = $4 where id = $1 and wrapped = $2", uuidOf(id), was, master, wrapped)
		return err
	})
	return applied, err
}

// CloseDataKeys takes keys out of use; see [onceward.DataKeyStore].
func (s *Store) CloseDataKeys(ctx context.Context, t onceward.Tenant, subject onceward.SubjectID, at time.Time) error {
	return s.do(ctx, "close data keys", func(ctx context.Context, conn *pgx.Conn) error {
		_, err := durably(ctx, conn, nil, "update data_keys set closed_at = $3::timestamptz where tenant = $1 and subject = $2 and closed_at is null", string(t), string(subject), optionalTime(at))
		return err
	})
}

// ShredDataKeys removes wrapped keys; see [onceward.DataKeyStore].
func (s *Store) ShredDataKeys(ctx context.Context, ids []onceward.DataKeyID, at time.Time, notes ...onceward.AuditEvent) (n int, err error) {
	err = s.do(ctx, "shred data keys", func(ctx context.Context, conn *pgx.Conn) error {
		return inTx(ctx, conn, func(tx pgx.Tx) error {
			tag, err := tx.Exec(ctx, `update data_keys set wrapped = null, master = '', shredded_at = $2::timestamptz, closed_at = coalesce(closed_at, $2::timestamptz)
where id = any($1::uuid[]) and wrapped is not null`, dataKeyIDs(ids), optionalTime(at))
			if n = int(tag.RowsAffected()); err != nil || n == 0 {
				return err
			}
			return note(ctx, tx, notes)
		})
	})
	return n, err
}
