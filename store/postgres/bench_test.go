package postgres_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/testdb"
	"github.com/onceward/onceward/store/postgres"
)

// claimed is a claim with what a real one carries.
func claimed(key string) onceward.Operation {
	now := time.Now().UTC().Truncate(time.Microsecond)
	op := onceward.Operation{
		Tenant: "acme", Tool: "tickets.create", Key: onceward.Key(key), Contract: "c0ffee012345", Effect: onceward.EffectProbedWrite,
		State: onceward.StateEffectPending, Version: 1, Token: token(), Actor: "local:operator",
		CreatedAt: now, UpdatedAt: now, IntentAt: now, ProviderKey: "ow_" + rand.Text(),
		Input: []byte(fmt.Sprintf(`{"event_id":%q,"source":"shop","subject":"order cannot be paid"}`, key)),
		Request: &onceward.Request{
			Method: "POST", URL: "https://tickets.example/api/tickets",
			Header: []onceward.HeaderField{{Name: "Content-Type", Value: "application/json"}},
			Body:   []byte(fmt.Sprintf(`{"external_id":%q,"title":"order cannot be paid"}`, key)),
		},
		Attempts: []onceward.Attempt{{
			Number: 1, Owner: "r_0123456789abcdef", Status: onceward.StatusRunning, StartedAt: now, LeaseUntil: now.Add(25 * time.Second),
		}},
	}
	_, _ = rand.Read(op.Digest[:])
	op.ID = onceward.NewOperationID(op.Tenant, op.Tool, op.Key)
	return op
}

func token() (t onceward.WriteToken) {
	_, _ = rand.Read(t[:])
	return t
}

// succeeded is the operation with its attempt done and a result of 60 bytes.
func succeeded(op onceward.Operation) onceward.Operation {
	after := op.Clone()
	at := op.CreatedAt.Add(40 * time.Millisecond)
	after.Version, after.Token, after.State = op.Version+1, token(), onceward.StateSucceeded
	after.UpdatedAt, after.CompletedAt, after.Reference, after.Request = at, at, "tkt_0123456789", nil
	after.Result = &onceward.Result{Status: 201, Body: json.RawMessage(`{"id":"tkt_0123456789","status":"open","queue":"payments","n":1}`[:60]), BodyKept: true}
	last := &after.Attempts[len(after.Attempts)-1]
	last.Status, last.Settler, last.EndedAt, last.LastByteAt, last.Reach = onceward.StatusDone, onceward.SettledByAnswer, at, at, onceward.ReachFirstByte
	last.Reference = after.Reference
	return after
}

func commit(b *testing.B, s *postgres.Store, batch []onceward.Change) {
	b.Helper()
	out, err := s.Commit(context.Background(), batch)
	if err != nil {
		b.Fatalf("commit: %v", err)
	}
	for i, r := range out.Results {
		if !r.Applied {
			b.Fatalf("change %d was not applied: %+v", i, r)
		}
	}
}

// handWritten is what one writes without a ledger: a claim and an outcome, each
// a statement and a commit of its own.
func handWritten(b *testing.B, conn *pgx.Conn, op, end onceward.Operation) {
	b.Helper()
	ctx := context.Background()
	if _, err := conn.Exec(ctx, `insert into by_hand (key, state, claimed_at, input) values ($1, 1, now(), $2) on conflict (key) do nothing`,
		string(op.Key), op.Input); err != nil {
		b.Fatalf("claim by hand: %v", err)
	}
	if _, err := conn.Exec(ctx, `update by_hand set state = 2, completed_at = now(), result = $2 where key = $1 and state = 1`,
		string(op.Key), end.Result.Body); err != nil {
		b.Fatalf("outcome by hand: %v", err)
	}
}

const byHand = `create table by_hand (key text primary key, state smallint not null, claimed_at timestamptz not null,
    completed_at timestamptz, input bytea, result bytea)`

// BenchmarkLone is a claim and its outcome, one after the other, by the store
// and by hand in turn, so that both meet the same machine.
func BenchmarkLone(b *testing.B) {
	dsn := testdb.Postgres(b)
	s, conn := open(b, dsn, postgres.Options{}), connect(b, dsn)
	if _, err := conn.Exec(b.Context(), byHand); err != nil {
		b.Fatal(err)
	}
	var ours, hands []time.Duration
	for b.Loop() {
		op := claimed(rand.Text())
		end := succeeded(op)
		start := time.Now()
		commit(b, s, []onceward.Change{{After: op}})
		commit(b, s, []onceward.Change{{Before: 1, After: end}})
		ours = append(ours, time.Since(start))
		start = time.Now()
		handWritten(b, conn, op, end)
		hands = append(hands, time.Since(start))
	}
	b.ReportMetric(float64(median(ours).Microseconds()), "p50-µs")
	b.ReportMetric(float64(median(hands).Microseconds()), "p50-µs-by-hand")
	b.ReportMetric(float64(median(ours))/float64(median(hands)), "ratio")
}

// BenchmarkBatch is batches of half claims, half outcomes of the claims before.
func BenchmarkBatch(b *testing.B) {
	for _, size := range []int{2, 20, 100, 256} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			dsn := testdb.Postgres(b)
			s, conn := open(b, dsn, postgres.Options{}), connect(b, dsn)
			before := walPosition(b, conn)
			var running []onceward.Operation
			var spent []time.Duration
			done := 0
			for b.Loop() {
				batch := make([]onceward.Change, 0, size)
				for _, op := range running {
					batch = append(batch, onceward.Change{Before: 1, After: succeeded(op)})
				}
				done += len(running)
				running = running[:0]
				for range size / 2 {
					op := claimed(rand.Text())
					running = append(running, op)
					batch = append(batch, onceward.Change{After: op})
				}
				start := time.Now()
				commit(b, s, batch)
				spent = append(spent, time.Since(start))
			}
			b.ReportMetric(float64(size)/median(spent).Seconds(), "changes/s")
			b.ReportMetric(float64(walPosition(b, conn)-before)/float64(max(done, 1)), "WAL-B/op")
			b.ReportMetric(hotShare(b, s, conn), "HOT-%")
		})
	}
}

// BenchmarkLoad reads so many finished operations at once.
func BenchmarkLoad(b *testing.B) {
	for _, size := range []int{1, 32} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s := open(b, testdb.Postgres(b), postgres.Options{})
			var ids []onceward.OperationID
			for range size {
				op := claimed(rand.Text())
				commit(b, s, []onceward.Change{{After: op}})
				commit(b, s, []onceward.Change{{Before: 1, After: succeeded(op)}})
				ids = append(ids, op.ID)
			}
			b.ReportAllocs()
			for b.Loop() {
				if ops, err := s.Load(context.Background(), ids); err != nil || ops[0] == nil {
					b.Fatalf("load gives %v, %v", ops[0], err)
				}
			}
		})
	}
}
