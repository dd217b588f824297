package memory

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// PutDataKey stores a key unless one is in use; see [onceward.DataKeyStore].
func (s *Store) PutDataKey(ctx context.Context, k onceward.DataKey) (stands onceward.DataKey, err error) {
	if err := store.CheckDataKey(&k); err != nil {
		return stands, err
	}
	err = s.write(ctx, "store data key", func(d *data) error {
		if old := d.dataKeyInUse(k.Tenant, k.Subject); old != nil {
			stands = copyDataKey(*old)
			return nil
		}
		k.CreatedAt, k.ClosedAt, k.ShreddedAt = store.Stored(k.CreatedAt), time.Time{}, time.Time{}
		stored := copyDataKey(k)
		d.dataKeys[k.ID] = &stored
		stands = copyDataKey(k)
		return nil
	})
	return stands, err
}

func (d *data) dataKeyInUse(t onceward.Tenant, subject onceward.SubjectID) *onceward.DataKey {
	for _, k := range d.dataKeys {
		if k.Tenant == t && k.Subject == subject && k.ClosedAt.IsZero() {
			return k
		}
	}
	return nil
}

func copyDataKey(k onceward.DataKey) onceward.DataKey {
	k.Wrapped = bytes.Clone(k.Wrapped)
	return k
}

// DataKeyInUse reads the key that is in use; see [onceward.DataKeyStore].
func (s *Store) DataKeyInUse(ctx context.Context, t onceward.Tenant, subject onceward.SubjectID) (found *onceward.DataKey, err error) {
	err = s.read(ctx, "load data key", func(d *data) error {
		if k := d.dataKeyInUse(t, subject); k != nil {
			found = new(copyDataKey(*k))
		}
		return nil
	})
	return found, err
}

// DataKeys reads keys by ID; see [onceward.DataKeyStore].
func (s *Store) DataKeys(ctx context.Context, ids []onceward.DataKeyID) ([]onceward.DataKey, error) {
	return s.dataKeysWhere(ctx, len(ids), func(k *onceward.DataKey) bool { return slices.Contains(ids, k.ID) })
}

// ListDataKeys returns a page; see [onceward.DataKeyStore].
func (s *Store) ListDataKeys(ctx context.Context, t onceward.Tenant, subject onceward.SubjectID, after onceward.DataKeyID, limit int) ([]onceward.DataKey, error) {
	return s.dataKeysWhere(ctx, limit, func(k *onceward.DataKey) bool {
		return (t == onceward.EveryTenant || k.Tenant == t) && (subject == "" || k.Subject == subject) && bytes.Compare(k.ID[:], after[:]) > 0
	})
}

// KeysNotWrappedBy returns keys of other master keys; see [onceward.DataKeyStore].
func (s *Store) KeysNotWrappedBy(ctx context.Context, master string, limit int) ([]onceward.DataKey, error) {
	return s.dataKeysWhere(ctx, limit, func(k *onceward.DataKey) bool { return k.Wrapped != nil && k.Master != master })
}

func (s *Store) dataKeysWhere(ctx context.Context, limit int, want func(*onceward.DataKey) bool) (page []onceward.DataKey, err error) {
	err = s.read(ctx, "list data keys", func(d *data) error {
		for _, k := range slices.SortedFunc(maps.Values(d.dataKeys), func(a, b *onceward.DataKey) int { return bytes.Compare(a.ID[:], b.ID[:]) }) {
			if want(k) && len(page) < limit {
				page = append(page, copyDataKey(*k))
			}
		}
		return nil
	})
	return page, err
}

// MasterUses counts keys by master key; see [onceward.DataKeyStore].
func (s *Store) MasterUses(ctx context.Context) (uses []onceward.MasterUse, err error) {
	err = s.read(ctx, "count data keys", func(d *data) error {
		counts := map[string]int{}
		for _, k := range d.dataKeys {
			if k.Wrapped != nil {
				counts[k.Master]++
			}
		}
		for name, n := range counts {
			uses = append(uses, onceward.MasterUse{Master: name, Keys: n})
		}
		slices.SortFunc(uses, func(a, b onceward.MasterUse) int { return cmp.Compare(a.Master, b.Master) })
		return nil
	})
	return uses, err
}

// RewrapDataKey replaces a wrapping; see [onceward.DataKeyStore].
func (s *Store) RewrapDataKey(ctx context.Context, id onceward.DataKeyID, was []byte, master string, wrapped []byte) (applied bool, err error) {
	err = s.write(ctx, "wrap data key", func(d *data) error {
		if k := d.dataKeys[id]; k != nil && k.Wrapped != nil && bytes.Equal(k.Wrapped, was) {
			k.Master, k.Wrapped, applied = master, bytes.Clone(wrapped), true
		}
		return nil
	})
	return applied, err
}

// CloseDataKeys takes keys out of use; see [onceward.DataKeyStore].
func (s *Store) CloseDataKeys(ctx context.Context, t onceward.Tenant, subject onceward.SubjectID, at time.Time) error {
	return s.write(ctx, "close data keys", func(d *data) error {
		if k := d.dataKeyInUse(t, subject); k != nil {
			k.ClosedAt = store.Stored(at)
		}
		return nil
	})
}

// ShredDataKeys removes wrapped keys; see [onceward.DataKeyStore].
func (s *Store) ShredDataKeys(ctx context.Context, ids []onceward.DataKeyID, at time.Time, notes ...onceward.AuditEvent) (n int, err error) {
	err = s.write(ctx, "shred data keys", func(d *data) error {
		for _, id := range ids {
			k := d.dataKeys[id]
			if k == nil || k.Wrapped == nil {
				continue
			}
			k.Wrapped, k.Master, k.ShreddedAt = nil, "", store.Stored(at)
			if k.ClosedAt.IsZero() {
				k.ClosedAt = k.ShreddedAt
			}
			n++
		}
		if n > 0 {
			d.note(notes)
		}
		return nil
	})
	return n, err
}
