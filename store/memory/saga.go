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

// PutSaga stores a saga by compare-and-set; see [onceward.SagaStore].
func (s *Store) PutSaga(ctx context.Context, saga onceward.Saga, notes ...onceward.AuditEvent) (stored *onceward.Saga, applied bool, err error) {
	body, err := store.EncodeSaga(&saga)
	if err != nil {
		return nil, false, err
	}
	row := &kept{revision: saga.Revision, token: saga.Token, body: body, next: store.Stored(saga.NextAt)}
	return put(ctx, s, "store saga", saga.ID, row, s.data.sagas, (*data).saga, notes)
}

func (d *data) saga(id onceward.SagaID) (*onceward.Saga, error) {
	k := d.sagas[id]
	if k == nil {
		return nil, nil
	}
	return store.DecodeSaga(id, k.revision, k.token, k.next, k.body)
}

// LoadSaga reads one; see [onceward.SagaStore].
func (s *Store) LoadSaga(ctx context.Context, id onceward.SagaID) (saga *onceward.Saga, err error) {
	return load(ctx, s, "load saga", id, (*data).saga)
}

// ListSagas lists a tenant's; see [onceward.SagaStore].
func (s *Store) ListSagas(ctx context.Context, f onceward.SagaFilter) (page []*onceward.Saga, err error) {
	newer := func(at time.Time, id onceward.SagaID, b onceward.SagaCursor) int {
		return cmp.Or(b.CreatedAt.Compare(at), bytes.Compare(b.ID[:], id[:]))
	}
	err = s.read(ctx, "list sagas", func(d *data) error {
		page = nil
		for id := range d.sagas {
			one, err := d.saga(id)
			if err != nil {
				return err
			}
			wanted := one.Tenant == f.Tenant && (f.Name == "" || one.Name == f.Name) && (f.State == "" || one.State == f.State)
			if wanted && (f.After == onceward.SagaCursor{} || newer(one.CreatedAt, one.ID, f.After) > 0) {
				page = append(page, one)
			}
		}
		return nil
	})
	slices.SortFunc(page, func(a, b *onceward.Saga) int {
		return newer(a.CreatedAt, a.ID, onceward.SagaCursor{CreatedAt: b.CreatedAt, ID: b.ID})
	})
	return page[:min(len(page), f.Limit)], err
}

// TakeSagas hands out what is due; see [onceward.SagaStore].
func (s *Store) TakeSagas(ctx context.Context, limit int, hold time.Duration) (taken []*onceward.Saga, err error) {
	err = s.write(ctx, "take sagas", func(d *data) error {
		taken = nil
		now := d.now()
		var due []onceward.SagaID
		for id, k := range d.sagas {
			if !k.next.IsZero() && !k.next.After(now) {
				due = append(due, id)
			}
		}
		slices.SortFunc(due, func(a, b onceward.SagaID) int {
			return cmp.Or(d.sagas[a].next.Compare(d.sagas[b].next), bytes.Compare(a[:], b[:]))
		})
		for _, id := range due[:min(len(due), limit)] {
			d.sagas[id].next = store.Stored(now.Add(hold))
			one, err := d.saga(id)
			if err != nil {
				return err
			}
			taken = append(taken, one)
		}
		return nil
	})
	return taken, err
}

// RescheduleSaga sets when one is looked at; see [onceward.SagaStore].
func (s *Store) RescheduleSaga(ctx context.Context, id onceward.SagaID, revision int64, at time.Time) error {
	return s.write(ctx, "reschedule saga", func(d *data) error {
		if k := d.sagas[id]; k != nil && (revision == k.revision || revision == 0 && !k.next.IsZero()) {
			k.next = store.Stored(at)
		}
		return nil
	})
}

// wakeSaga lets a saga that has not ended come up now; see [onceward.Change].
func (d *data) wakeSaga(id onceward.SagaID) {
	k := d.sagas[id]
	if k == nil || k.next.IsZero() {
		return
	}
	k.revision++
	if now := store.Stored(d.now()); k.next.After(now) {
		k.next = now
	}
}

// CountSagas counts those that have not ended; see [onceward.SagaStore].
func (s *Store) CountSagas(ctx context.Context) (counts []onceward.SagaCount, err error) {
	err = s.read(ctx, "count sagas", func(d *data) error {
		of := map[onceward.SagaState]onceward.SagaCount{}
		for id, k := range d.sagas {
			one, err := d.saga(id)
			if err != nil {
				return err
			}
			if c := of[one.State]; !k.next.IsZero() && !one.State.Final() {
				if c.State = one.State; c.Count == 0 || one.CreatedAt.Before(c.Oldest) {
					c.Oldest = one.CreatedAt
				}
				c.Count++
				of[one.State] = c
			}
		}
		counts = slices.Collect(maps.Values(of))
		return nil
	})
	return counts, err
}

// NextSaga is when the earliest comes up; see [onceward.SagaStore].
func (s *Store) NextSaga(ctx context.Context) (next, now time.Time, err error) {
	err = s.read(ctx, "read next saga", func(d *data) error {
		now = d.now()
		for _, k := range d.sagas {
			if !k.next.IsZero() && (next.IsZero() || k.next.Before(next)) {
				next = k.next
			}
		}
		return nil
	})
	return next, now, err
}
