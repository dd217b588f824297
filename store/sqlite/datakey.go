package sqlite

import (
	"context"
	"strings"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

const dataKeyColumns = `id, tenant, subject, master, wrapped, created_at, closed_at, shredded_at`

func (r *rower) dataKey() (k onceward.DataKey) {
	r.fill(k.ID[:])
	k.Tenant, k.Subject, k.Master, k.Wrapped = onceward.Tenant(r.text()), onceward.SubjectID(r.text()), r.text(), r.blob()
	k.CreatedAt, k.ClosedAt, k.ShreddedAt = r.time(), r.time(), r.time()
	return k
}

func (c *conn) dataKeys(where string, bind func(b *binder)) (page []onceward.DataKey, err error) {
	err = c.query(`SELECT `+dataKeyColumns+` FROM data_keys `+where, bind, func(r *rower) error { page = append(page, r.dataKey()); return nil })
	return page, err
}

func (c *conn) dataKeyInUse(t onceward.Tenant, subject onceward.SubjectID) (*onceward.DataKey, error) {
	found, err := c.dataKeys(`WHERE tenant = ? AND subject = ? AND closed_at IS NULL`, func(b *binder) {
		b.text(string(t))
		b.text(string(subject))
	})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// PutDataKey stores a key unless one is in use; see [onceward.DataKeyStore].
func (s *Store) PutDataKey(ctx context.Context, k onceward.DataKey) (stands onceward.DataKey, err error) {
	if err := store.CheckDataKey(&k); err != nil {
		return stands, err
	}
	err = s.write(ctx, "store data key", func(c *conn) error {
		err := c.exec(`INSERT INTO data_keys (id, tenant, subject, master, wrapped, created_at) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`, func(b *binder) {
			b.blob(k.ID[:])
			b.text(string(k.Tenant))
			b.text(string(k.Subject))
			b.text(k.Master)
			b.blob(k.Wrapped)
			b.time(k.CreatedAt)
		})
		if err != nil {
			return err
		}
		found, err := c.dataKeyInUse(k.Tenant, k.Subject)
		if err == nil && found == nil {
			err = onceward.Errorf(onceward.CodeInternal, "the data key's ID is taken")
		}
		if err == nil {
			stands = *found
		}
		return err
	})
	return stands, err
}

// DataKeyInUse reads the key that is in use; see [onceward.DataKeyStore].
func (s *Store) DataKeyInUse(ctx context.Context, t onceward.Tenant, subject onceward.SubjectID) (found *onceward.DataKey, err error) {
	err = s.readRaw(ctx, "load data key", func(c *conn) (err error) {
		found, err = c.dataKeyInUse(t, subject)
		return err
	})
	return found, err
}

// DataKeys reads keys by ID; see [onceward.DataKeyStore].
func (s *Store) DataKeys(ctx context.Context, ids []onceward.DataKeyID) ([]onceward.DataKey, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	return s.listDataKeys(ctx, `WHERE id IN (?`+strings.Repeat(", ?", len(ids)-1)+`) ORDER BY id`, func(b *binder) {
		for i := range ids {
			b.blob(ids[i][:])
		}
	})
}

// ListDataKeys returns a page; see [onceward.DataKeyStore].
func (s *Store) ListDataKeys(ctx context.Context, t onceward.Tenant, subject onceward.SubjectID, after onceward.DataKeyID, limit int) ([]onceward.DataKey, error) {
	where := `WHERE id > ?`
	if t != onceward.EveryTenant {
		where += ` AND tenant = ?`
	}
	if subject != "" {
		where += ` AND subject = ?`
	}
	return s.listDataKeys(ctx, where+` ORDER BY id LIMIT ?`, func(b *binder) {
		b.blob(after[:])
		if t != onceward.EveryTenant {
			b.text(string(t))
		}
		if subject != "" {
			b.text(string(subject))
		}
		b.int(int64(limit))
	})
}

// KeysNotWrappedBy returns keys of other master keys; see [onceward.DataKeyStore].
func (s *Store) KeysNotWrappedBy(ctx context.Context, master string, limit int) ([]onceward.DataKey, error) {
	return s.listDataKeys(ctx, `WHERE wrapped IS NOT NULL AND (master < ?1 OR master > ?1) ORDER BY id LIMIT ?2`, func(b *binder) {
		b.text(master)
		b.int(int64(limit))
	})
}

func (s *Store) listDataKeys(ctx context.Context, where string, bind func(b *binder)) (page []onceward.DataKey, err error) {
	err = s.readRaw(ctx, "list data keys", func(c *conn) (err error) {
		page, err = c.dataKeys(where, bind)
		return err
	})
	return page, err
}

// MasterUses counts keys by master key; see [onceward.DataKeyStore].
func (s *Store) MasterUses(ctx context.Context) (uses []onceward.MasterUse, err error) {
	err = s.readRaw(ctx, "count data keys", func(c *conn) error {
		return c.query(`SELECT master, count(*) FROM data_keys WHERE wrapped IS NOT NULL GROUP BY master ORDER BY master`, func(*binder) {}, func(r *rower) error {
			uses = append(uses, onceward.MasterUse{Master: r.text(), Keys: int(r.int())})
			return nil
		})
	})
	return uses, err
}

// RewrapDataKey replaces a wrapping; see [onceward.DataKeyStore].
func (s *Store) RewrapDataKey(ctx context.Context, id onceward.DataKeyID, was []byte, master string, wrapped []byte) (applied bool, err error) {
	err = s.write(ctx, "wrap data key", func(c *conn) error {
		n, err := c.changed(`UPDATE data_keys SET master = ?, wrapped = ? WHERE id = ? AND wrapped = ?`, func(b *binder) {
			b.text(master)
			b.blob(wrapped)
			b.blob(id[:])
			b.blob(was)
		})
		applied = n == 1
		return err
	})
	return applied, err
}

// CloseDataKeys takes keys out of use; see [onceward.DataKeyStore].
func (s *Store) CloseDataKeys(ctx context.Context, t onceward.Tenant, subject onceward.SubjectID, at time.Time) error {
	return s.write(ctx, "close data keys", func(c *conn) error {
		return c.exec(`UPDATE data_keys SET closed_at = ? WHERE tenant = ? AND subject = ? AND closed_at IS NULL`, func(b *binder) {
			b.time(at)
			b.text(string(t))
			b.text(string(subject))
		})
	})
}

// ShredDataKeys removes wrapped keys; see [onceward.DataKeyStore]. They are
// overwritten in the file, too.
func (s *Store) ShredDataKeys(ctx context.Context, ids []onceward.DataKeyID, at time.Time, notes ...onceward.AuditEvent) (n int, err error) {
	err = s.write(ctx, "shred data keys", func(c *conn) error {
		n = 0
		for i := range ids {
			gone, err := c.changed(`UPDATE data_keys SET wrapped = NULL, master = '', shredded_at = ?1, closed_at = coalesce(closed_at, ?1) WHERE id = ?2 AND wrapped IS NOT NULL`, func(b *binder) {
				b.time(at)
				b.blob(ids[i][:])
			})
			if err != nil {
				return err
			}
			n += gone
		}
		if n == 0 {
			return nil
		}
		return s.note(c, notes)
	})
	return n, err
}
