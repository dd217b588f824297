package memory

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// PutBulkReplay stores a bulk replay by compare-and-set; see
// [onceward.BulkReplayStore].
func (s *Store) PutBulkReplay(ctx context.Context, b onceward.BulkReplay, notes ...onceward.AuditEvent) (stored *onceward.BulkReplay, applied bool, err error) {
	body, err := store.EncodeBulkReplay(&b)
	if err != nil {
		return nil, false, err
	}
	return put(ctx, s, "store bulk replay", b.ID, &kept{revision: b.Revision, token: b.Token, body: body}, s.data.replays, (*data).bulkReplay, notes)
}

func (d *data) bulkReplay(id onceward.BulkReplayID) (*onceward.BulkReplay, error) {
	k := d.replays[id]
	if k == nil {
		return nil, nil
	}
	return store.DecodeBulkReplay(id, k.revision, k.token, k.body)
}

// LoadBulkReplay reads one; see [onceward.BulkReplayStore].
func (s *Store) LoadBulkReplay(ctx context.Context, id onceward.BulkReplayID) (b *onceward.BulkReplay, err error) {
	return load(ctx, s, "load bulk replay", id, (*data).bulkReplay)
}

// ListBulkReplays lists a tenant's; see [onceward.BulkReplayStore].
func (s *Store) ListBulkReplays(ctx context.Context, t onceward.Tenant, after onceward.BulkCursor, limit int) (page []*onceward.BulkReplay, err error) {
	newer := func(at time.Time, id onceward.BulkReplayID, b onceward.BulkCursor) int {
		return cmp.Or(b.CreatedAt.Compare(at), bytes.Compare(b.ID[:], id[:]))
	}
	err = s.read(ctx, "list bulk replays", func(d *data) error {
		for id := range d.replays {
			b, err := d.bulkReplay(id)
			if err != nil {
				return err
			}
			if b.Tenant == t && (after == onceward.BulkCursor{} || newer(b.CreatedAt, b.ID, after) > 0) {
				page = append(page, b)
			}
		}
		return nil
	})
	slices.SortFunc(page, func(a, b *onceward.BulkReplay) int {
		return newer(a.CreatedAt, a.ID, onceward.BulkCursor{CreatedAt: b.CreatedAt, ID: b.ID})
	})
	return page[:min(len(page), limit)], err
}

// RunningBulkReplays lists what runs; see [onceward.BulkReplayStore].
func (s *Store) RunningBulkReplays(ctx context.Context, limit int) (running []*onceward.BulkReplay, err error) {
	err = s.read(ctx, "list bulk replays", func(d *data) error {
		for id := range d.replays {
			b, err := d.bulkReplay(id)
			if err != nil {
				return err
			}
			if b.State == onceward.BulkRunning {
				running = append(running, b)
			}
		}
		return nil
	})
	slices.SortFunc(running, func(a, b *onceward.BulkReplay) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), bytes.Compare(a.ID[:], b.ID[:]))
	})
	return running[:min(len(running), limit)], err
}

// AgedBulkReplays lists old ones; see [onceward.BulkReplayStore].
func (s *Store) AgedBulkReplays(ctx context.Context, after onceward.BulkCursor, before time.Time, limit int) (page []*onceward.BulkReplay, err error) {
	older := func(a onceward.BulkCursor, b *onceward.BulkReplay) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), bytes.Compare(a.ID[:], b.ID[:]))
	}
	err = s.read(ctx, "list old bulk replays", func(d *data) error {
		for id := range d.replays {
			b, err := d.bulkReplay(id)
			if err != nil {
				return err
			}
			if b.CreatedAt.Before(before) && (after == onceward.BulkCursor{} || older(after, b) < 0) {
				page = append(page, b)
			}
		}
		return nil
	})
	slices.SortFunc(page, func(a, b *onceward.BulkReplay) int {
		return older(onceward.BulkCursor{CreatedAt: a.CreatedAt, ID: a.ID}, b)
	})
	return page[:min(len(page), limit)], err
}

// DropBulkReplay removes one; see [onceward.BulkReplayStore].
func (s *Store) DropBulkReplay(ctx context.Context, b *onceward.BulkReplay, notes ...onceward.AuditEvent) (dropped bool, err error) {
	err = s.write(ctx, "drop bulk replay", func(d *data) error {
		k := d.replays[b.ID]
		if dropped = k != nil && k.revision == b.Revision; dropped {
			delete(d.replays, b.ID)
			d.note(notes)
		}
		return nil
	})
	return dropped, err
}
