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

// outbox is the events that are kept, and how far each sink is.
type outbox struct {
	last   int64
	events []onceward.OutboxEvent // in order
	sinks  map[string]*keptSink
}

type keptSink struct {
	onceward.Sink
	until time.Time
	aside map[int64]*onceward.SetAside
}

func (d *data) addEvents(events []onceward.OutboxEvent) {
	for _, e := range events {
		d.outbox.last++
		e.Place, e.At, e.Data = onceward.OutboxPlace{Position: d.outbox.last}, store.Stored(e.At), bytes.Clone(e.Data)
		d.outbox.events = append(d.outbox.events, e)
	}
}

// after are the events after a place.
func (o *outbox) after(p onceward.OutboxPlace) []onceward.OutboxEvent {
	at, _ := slices.BinarySearchFunc(o.events, p.Position+1, func(e onceward.OutboxEvent, want int64) int { return cmp.Compare(e.Place.Position, want) })
	return o.events[at:]
}

func (k *keptSink) inOrder() []*onceward.SetAside {
	all := make([]*onceward.SetAside, 0, len(k.aside))
	for _, a := range k.aside {
		all = append(all, a)
	}
	slices.SortFunc(all, func(a, b *onceward.SetAside) int { return a.Event.Place.Compare(b.Event.Place) })
	return all
}

// AddEvents appends events; see [onceward.OutboxStore].
func (s *Store) AddEvents(ctx context.Context, events []onceward.OutboxEvent) error {
	return s.write(ctx, "add events", func(d *data) error { d.addEvents(events); return nil })
}

// ReadOutbox reads events in order; see [onceward.OutboxStore].
func (s *Store) ReadOutbox(ctx context.Context, after onceward.OutboxPlace, limit int) (events []onceward.OutboxEvent, err error) {
	err = s.read(ctx, "read outbox", func(d *data) error {
		rest := d.outbox.after(after)
		events = slices.Clone(rest[:min(len(rest), limit)])
		return nil
	})
	return events, err
}

// HoldSink gives the lease of a sink; see [onceward.OutboxStore].
func (s *Store) HoldSink(ctx context.Context, sink, owner string, lease time.Duration) (out onceward.Sink, err error) {
	err = s.write(ctx, "hold sink", func(d *data) error {
		k, now := d.outbox.sinks[sink], d.now()
		if k == nil {
			k = &keptSink{Sink: onceward.Sink{Name: sink}, aside: map[int64]*onceward.SetAside{}}
			d.outbox.sinks[sink] = k
		}
		if k.Owner == owner || k.until.Before(now) {
			k.Owner, k.until, k.UpdatedAt = owner, now.Add(lease), now
		}
		out = k.Sink
		out.Held = k.Owner == owner
		return nil
	})
	return out, err
}

// StepSink stores what a relay did; see [onceward.OutboxStore].
func (s *Store) StepSink(ctx context.Context, step onceward.SinkStep) (ours bool, err error) {
	err = s.write(ctx, "step sink", func(d *data) error {
		k, now := d.outbox.sinks[step.Sink], d.now()
		if ours = k != nil && k.Owner == step.Owner && k.Place == step.From; !ours {
			return nil
		}
		k.Place, k.until, k.UpdatedAt = step.To, now.Add(step.Lease), now
		for _, p := range step.Gone {
			delete(k.aside, p.Position)
		}
		for _, a := range step.Aside {
			a.Sink, a.Since, a.DueAt, a.Message = step.Sink, now, store.Stored(a.DueAt), store.AsideMessage(a.Message)
			if was := k.aside[a.Event.Place.Position]; was != nil {
				a.Since, a.Event = was.Since, was.Event
			}
			k.aside[a.Event.Place.Position] = &a
		}
		for _, key := range step.Freed {
			k.free(key, now)
		}
		return nil
	})
	return ours && err == nil, err
}

// free makes the first event of a key that is set aside due, unless it is dead.
func (k *keptSink) free(key string, now time.Time) {
	for _, a := range k.inOrder() {
		if a.Event.Key == key {
			if !a.Dead {
				a.DueAt = now
			}
			return
		}
	}
}

// HeldKeys reads keys with events set aside; see [onceward.OutboxStore].
func (s *Store) HeldKeys(ctx context.Context, sink string) (keys []string, err error) {
	err = s.read(ctx, "read held keys", func(d *data) error {
		if k := d.outbox.sinks[sink]; k != nil {
			for _, a := range k.inOrder() {
				if a.Event.Key != "" && !slices.Contains(keys, a.Event.Key) {
					keys = append(keys, a.Event.Key)
				}
			}
		}
		return nil
	})
	return keys, err
}

// DueAside reads what is to be tried again; see [onceward.OutboxStore].
func (s *Store) DueAside(ctx context.Context, sink string, limit int) (out []onceward.SetAside, err error) {
	err = s.read(ctx, "read events set aside", func(d *data) error {
		if k := d.outbox.sinks[sink]; k != nil {
			for _, a := range k.inOrder() {
				if len(out) < limit && !a.DueAt.IsZero() && !a.DueAt.After(d.now()) {
					out = append(out, *a)
				}
			}
		}
		return nil
	})
	return out, err
}

// Sinks reads every sink; see [onceward.OutboxStore].
func (s *Store) Sinks(ctx context.Context) (all []onceward.Sink, err error) {
	err = s.read(ctx, "read sinks", func(d *data) error {
		for _, k := range d.outbox.sinks {
			sink, rest := k.Sink, d.outbox.after(k.Place)
			sink.Behind, sink.Aside = int64(min(len(rest), onceward.OutboxBehindMax)), len(k.aside)
			if len(rest) > 0 {
				sink.OldestAt = rest[0].At
			}
			for _, a := range k.aside {
				if a.Dead {
					sink.Dead++
				}
			}
			all = append(all, sink)
		}
		return nil
	})
	slices.SortFunc(all, func(a, b onceward.Sink) int { return cmp.Compare(a.Name, b.Name) })
	return all, err
}

// ListAside lists what is set aside; see [onceward.OutboxStore].
func (s *Store) ListAside(ctx context.Context, f onceward.AsideFilter) (out []onceward.SetAside, err error) {
	err = s.read(ctx, "list events set aside", func(d *data) error {
		for name, k := range d.outbox.sinks {
			for _, a := range k.inOrder() {
				if a.Event.Tenant == f.Tenant && (f.Sink == "" || f.Sink == name) && (a.Dead || !f.Dead) && a.Cursor().Compare(f.After) > 0 {
					listed := *a
					listed.Event.Data = nil
					out = append(out, listed)
				}
			}
		}
		return nil
	})
	slices.SortFunc(out, func(a, b onceward.SetAside) int { return a.Cursor().Compare(b.Cursor()) })
	return out[:min(len(out), f.Limit)], err
}

// Redrive drives a dead event again, or forgets it; see [onceward.OutboxStore].
func (s *Store) Redrive(ctx context.Context, t onceward.Tenant, sink, id string, drop bool, notes ...onceward.AuditEvent) (done bool, err error) {
	err = s.write(ctx, "drive event again", func(d *data) error {
		k := d.outbox.sinks[sink]
		if k == nil {
			return nil
		}
		for _, a := range k.inOrder() {
			if a.Event.ID != id || a.Event.Tenant != t || !a.Dead {
				continue
			}
			d.note(notes)
			if done = true; !drop {
				a.Dead, a.Tries, a.DueAt = false, 0, d.now()
				return nil
			}
			delete(k.aside, a.Event.Place.Position)
			if a.Event.Key != "" {
				k.free(a.Event.Key, d.now())
			}
			return nil
		}
		return nil
	})
	return done, err
}

// ForgetSink removes a sink; see [onceward.OutboxStore].
func (s *Store) ForgetSink(ctx context.Context, sink string) (there bool, err error) {
	err = s.write(ctx, "forget sink", func(d *data) error {
		there = d.outbox.sinks[sink] != nil
		delete(d.outbox.sinks, sink)
		return nil
	})
	return there, err
}

// DropOutbox removes what every sink has; see [onceward.OutboxStore].
func (s *Store) DropOutbox(ctx context.Context, limit int) (n int, err error) {
	err = s.write(ctx, "drop events", func(d *data) error {
		if len(d.outbox.sinks) == 0 {
			return nil
		}
		d.outbox.events = slices.DeleteFunc(d.outbox.events, func(e onceward.OutboxEvent) bool {
			for _, k := range d.outbox.sinks {
				if n == limit || e.Place.Compare(k.Place) > 0 || k.aside[e.Place.Position] != nil {
					return false
				}
			}
			n++
			return true
		})
		return nil
	})
	return n, err
}

// DropReceipts has nothing to forget: no caller's transaction joins a store in memory.
func (s *Store) DropReceipts(ctx context.Context, _ int) (int, error) {
	return 0, s.open(ctx, "drop receipts")
}
