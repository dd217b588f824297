package postgres

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

const (
	eventColumns = `id, tenant, source, state, received_at, next_at, drop_at, revision, token, body`

	putEventsSQL = `insert into inbox (id, tenant, source, state, received_at, next_at, drop_at, revision, token, body, payload)
select * from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::timestamptz[], $6::timestamptz[], $7::timestamptz[], $8::bigint[], $9::uuid[], $10::bytea[], $11::bytea[])
on conflict (id) do nothing`

	// Rows are locked in the order of their IDs first: replicas that store the same
	// events at once wait for each other, and neither for the other's other row.
	setEventsSQL = `with locked as materialized (select id from inbox where id = any($1::uuid[]) order by id for update)
update inbox i set state = u.state, next_at = u.next_at, drop_at = u.drop_at, revision = u.revision, token = u.token, body = u.body
from unnest($1::uuid[], $2::text[], $3::timestamptz[], $4::timestamptz[], $5::bigint[], $6::uuid[], $7::bytea[]) u (id, state, next_at, drop_at, revision, token, body)
where i.id = u.id and i.id in (select id from locked) and i.revision = u.revision - 1`

	takeEventsSQL = `with picked as materialized (
    select id from inbox where next_at <= now() order by next_at, id limit $1 for update skip locked)
update inbox set next_at = now() + $2::bigint * interval '1 microsecond' where id = any(array(select id from picked)) returning ` + eventColumns + `, payload`

	dropEventsSQL = `delete from inbox where id = any(array(select id from inbox where drop_at <= now() order by drop_at limit $1 for update skip locked))`
)

// eventArrays are events column by column.
type eventArrays struct {
	ids, tokens                []pgtype.UUID
	tenants, sources, states   []string
	receivedAt, nextAt, dropAt []*time.Time
	revisions                  []int64
	bodies, payloads           [][]byte
}

// eventsAsArrays sorts events by ID, so that replicas that write the same ones at
// once lock them in one order.
func eventsAsArrays(events []onceward.InboxEvent) (*eventArrays, error) {
	sorted := make([]*onceward.InboxEvent, len(events))
	for i := range events {
		sorted[i] = &events[i]
	}
	slices.SortFunc(sorted, func(a, b *onceward.InboxEvent) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	a := &eventArrays{}
	for _, e := range sorted {
		body, payload, err := store.EncodeInboxEvent(e)
		if err != nil {
			return nil, err
		}
		a.ids, a.tokens = append(a.ids, uuidOf(e.ID)), append(a.tokens, uuidOf(e.Token))
		a.tenants, a.sources, a.states = append(a.tenants, string(e.Tenant)), append(a.sources, e.Source), append(a.states, string(e.State))
		a.receivedAt, a.nextAt, a.dropAt = append(a.receivedAt, optionalTime(e.ReceivedAt)), append(a.nextAt, optionalTime(e.NextAt)), append(a.dropAt, optionalTime(e.DropAt))
		a.revisions, a.bodies, a.payloads = append(a.revisions, e.Revision), append(a.bodies, body), append(a.payloads, payload)
	}
	return a, nil
}

// PutEvents records events; see [onceward.InboxStore].
func (s *Store) PutEvents(ctx context.Context, events []onceward.InboxEvent) ([]bool, error) {
	a, err := eventsAsArrays(events)
	if err != nil {
		return nil, err
	}
	return s.writeEvents(ctx, "record events", events, a, putEventsSQL, a.ids, a.tenants, a.sources, a.states, a.receivedAt, a.nextAt, a.dropAt, a.revisions, a.tokens, a.bodies, a.payloads)
}

// SetEvents stores events by compare-and-set; see [onceward.InboxStore].
func (s *Store) SetEvents(ctx context.Context, events []onceward.InboxEvent) ([]bool, error) {
	a, err := eventsAsArrays(events)
	if err != nil {
		return nil, err
	}
	return s.writeEvents(ctx, "store events", events, a, setEventsSQL, a.ids, a.states, a.nextAt, a.dropAt, a.revisions, a.tokens, a.bodies)
}

// writeEvents runs a statement durably, and says of which events the rows carry
// the token then.
func (s *Store) writeEvents(ctx context.Context, op string, events []onceward.InboxEvent, a *eventArrays, sql string, values ...any) ([]bool, error) {
	ours := make([]bool, len(events))
	err := s.do(ctx, op, func(ctx context.Context, conn *pgx.Conn) error {
		return inTx(ctx, conn, func(tx pgx.Tx) error {
			tag, err := tx.Exec(ctx, sql, values...)
			if err != nil {
				return err
			}
			if tag.RowsAffected() == int64(len(events)) {
				for i := range ours {
					ours[i] = true
				}
				return nil
			}
			rows, err := tx.Query(ctx, `select id, token from inbox where id = any($1::uuid[])`, a.ids)
			if err != nil {
				return err
			}
			stored := map[[16]byte][16]byte{}
			var id, token [16]byte
			if _, err := pgx.ForEachRow(rows, []any{&id, &token}, func() error { stored[id] = token; return nil }); err != nil {
				return err
			}
			for i := range events {
				token, there := stored[events[i].ID]
				ours[i] = there && token == events[i].Token
			}
			return nil
		})
	})
	return ours, err
}

// eventsOf reads eventColumns, and the payload behind them.
func eventsOf(rows pgx.Rows, err error, withPayload bool) ([]*onceward.InboxEvent, error) {
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (*onceward.InboxEvent, error) {
		var id, token [16]byte
		var received, next, drop *time.Time
		var body, payload []byte
		e := &onceward.InboxEvent{}
		into := []any{&id, (*string)(&e.Tenant), &e.Source, (*string)(&e.State), &received, &next, &drop, &e.Revision, &token, &body}
		if withPayload {
			into = append(into, &payload)
		}
		if err := row.Scan(into...); err != nil {
			return nil, err
		}
		e.ID, e.Token, e.ReceivedAt, e.NextAt, e.DropAt = id, token, timeOf(received), timeOf(next), timeOf(drop)
		return e, store.DecodeInboxEvent(e, body, payload)
	})
}

// TakeEvents hands out what is to be handled; see [onceward.InboxStore].
func (s *Store) TakeEvents(ctx context.Context, limit int, hold time.Duration) (taken []*onceward.InboxEvent, err error) {
	err = s.do(ctx, "take events", func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, takeEventsSQL, limit, hold.Microseconds())
		taken, err = eventsOf(rows, err, true)
		return err
	})
	slices.SortFunc(taken, func(a, b *onceward.InboxEvent) int {
		return cmp.Or(a.ReceivedAt.Compare(b.ReceivedAt), bytes.Compare(a.ID[:], b.ID[:]))
	})
	return taken, err
}

// LoadEvent reads one event; see [onceward.InboxStore].
func (s *Store) LoadEvent(ctx context.Context, id onceward.InboxID) (found *onceward.InboxEvent, err error) {
	err = s.do(ctx, "load event", func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, `select `+eventColumns+`, payload from inbox where id = $1`, uuidOf(id))
		all, err := eventsOf(rows, err, true)
		if len(all) > 0 {
			found = all[0]
		}
		return err
	})
	return found, err
}

// ListEvents returns a page; see [onceward.InboxStore].
func (s *Store) ListEvents(ctx context.Context, f onceward.InboxFilter) (page []*onceward.InboxEvent, err error) {
	waiting := ""
	if f.Waiting {
		waiting = ` and state in ('unmapped', 'failed', 'late')`
	}
	first := f.After == onceward.InboxCursor{}
	err = s.do(ctx, "list events", func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, `select `+eventColumns+` from inbox
where tenant = $1 and ($2::boolean or (received_at, id) < ($3::timestamptz, $4::uuid)) and ($5::text = '' or source = $5) and ($6::text = '' or state = $6)`+waiting+`
order by received_at desc, id desc limit $7`, string(f.Tenant), first, optionalTime(f.After.ReceivedAt), uuidOf(f.After.ID), f.Source, string(f.State), f.Limit)
		page, err = eventsOf(rows, err, false)
		return err
	})
	return page, err
}

// DropEvents forgets events whose time is over; see [onceward.InboxStore].
func (s *Store) DropEvents(ctx context.Context, limit int) (n int, err error) {
	err = s.do(ctx, "drop events", func(ctx context.Context, conn *pgx.Conn) error {
		tag, err := conn.Exec(ctx, dropEventsSQL, limit)
		n = int(tag.RowsAffected())
		return err
	})
	return n, err
}
