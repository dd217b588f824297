package onceward_test

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	_ "github.com/ncruces/go-sqlite3/driver"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/testdb"
	"github.com/onceward/onceward/oncewardtest"
	"github.com/onceward/onceward/store/postgres"
	"github.com/onceward/onceward/store/sqlite"
)

// shop is a program that keeps its own table, of what it booked, in the ledger's
// database.
type shop struct {
	*world
	db   *sql.DB
	join func(*sql.Tx) onceward.Join
}

// inEachDatabase runs a situation in a program on each database that can be joined.
func inEachDatabase(t *testing.T, tool *oncewardtest.Tool, situation func(t *testing.T, s *shop), opts ...worldOption) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "ledger.db")
		w := newWorldOn(t, onSQLiteAt(path), nil, tool, opts...)
		situation(t, newShop(t, w, besideSQLite(t, path), sqlite.InTx))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		dsn := testdb.Postgres(t)
		w := newWorldOn(t, onPostgresAt(dsn), nil, tool, opts...)
		config, err := pgx.ParseConfig(dsn)
		if err != nil {
			t.Fatal(err)
		}
		situation(t, newShop(t, w, stdlib.OpenDB(*config), postgres.InSQL))
	})
}

// besideSQLite is the program's own way to a ledger's file.
func besideSQLite(t *testing.T, path string) *sql.DB {
	t.Helper()
	q := url.Values{"_txlock": {"immediate"}, "_pragma": {"busy_timeout(10000)", "synchronous(full)"}}
	db, err := sql.Open("sqlite3", (&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}).String())
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func newShop(t *testing.T, w *world, db *sql.DB, join func(*sql.Tx) onceward.Join) *shop {
	t.Helper()
	t.Cleanup(func() { _ = db.Close() })
	if _, err := db.ExecContext(t.Context(), `CREATE TABLE booked (what TEXT NOT NULL)`); err != nil {
		t.Fatal(err)
	}
	return &shop{world: w, db: db, join: join}
}

// in runs work in a transaction of the program's own, which commits unless work fails.
func (s *shop) in(work func(ctx context.Context, tx *sql.Tx, j onceward.Join) error) error {
	ctx := s.t.Context()
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := work(ctx, tx, s.join(tx)); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// book writes a row of the program's own.
func book(ctx context.Context, tx *sql.Tx, what string) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO booked (what) VALUES ('`+what+`')`)
	return err
}

func (s *shop) booked() (n int) {
	s.t.Helper()
	if err := s.db.QueryRowContext(s.t.Context(), `SELECT count(*) FROM booked`).Scan(&n); err != nil {
		s.t.Fatal(err)
	}
	return n
}

// events are the IDs of the events that a relay would see, once there are as many
// as are wanted.
func (s *shop) events(want int) []onceward.OutboxEvent {
	s.t.Helper()
	for until := time.Now().Add(20 * time.Second); ; {
		events, err := s.store.ReadOutbox(s.t.Context(), onceward.OutboxPlace{}, 100)
		if err != nil {
			s.t.Fatal(err)
		}
		if len(events) >= want || time.Now().After(until) {
			return events
		}
	}
}

var errBroken = errors.New("broken")

func invoice(key string) onceward.Intent {
	return onceward.Intent{Principal: onceward.LocalPrincipal(), Tool: "t.write", Input: []byte(`{"id":"` + key + `"}`)}
}

// sell books, records the operation and tells of it, all in one transaction.
func (s *shop) sell(key string, after error) (a *onceward.Answer, err error) {
	err = s.in(func(ctx context.Context, tx *sql.Tx, j onceward.Join) error {
		a, err = s.ledger.DoIn(ctx, j, invoice(key), func(ctx context.Context) (onceward.LocalEffect, error) {
			if err := book(ctx, tx, key); err != nil {
				return onceward.LocalEffect{}, err
			}
			err := onceward.Outbox{}.Add(ctx, j, onceward.OutboxEvent{ID: "sold-" + key, Type: "shop.sold", Key: key})
			return onceward.LocalEffect{Reference: "booking-" + key, Result: &onceward.Result{Status: 201, Body: []byte(key), BodyKept: true}}, err
		})
		return errors.Join(err, after)
	})
	return a, err
}

// Consumer's mark, business row, operation and event are one transaction: all of
// them are there, or none.
func TestBusinessRowOperationAndEventCommitTogether(t *testing.T) {
	t.Parallel()
	inEachDatabase(t, remote(onceward.EffectUnsafeWrite), func(t *testing.T, s *shop) {
		if _, err := s.sell("a", errBroken); !errors.Is(err, errBroken) {
			t.Fatalf("the transaction ended with %v", err)
		}
		id := onceward.NewOperationID(onceward.DefaultTenant, "t.write", "a")
		if _, err := s.ledger.Get(t.Context(), onceward.LocalPrincipal(), id, 0); !onceward.Is(err, onceward.CodeOperationNotFound) || s.booked() != 0 {
			t.Fatalf("after a rollback: the operation %v, %d rows", err, s.booked())
		}
		a, err := s.sell("a", nil)
		if err != nil || a.Decision != onceward.DecisionFresh || a.Operation.State != onceward.StateSucceeded || a.Operation.Reference != "booking-a" {
			t.Fatalf("the sale got %+v, %v", a, err)
		}
		again, err := s.sell("a", nil)
		if err != nil || again.Decision != onceward.DecisionReplayed || string(again.Operation.Result.Body) != "a" {
			t.Fatalf("the same sale again got %+v, %v", again, err)
		}
		if n, events := s.booked(), s.events(1); n != 1 || len(events) != 1 || events[0].ID != "sold-a" {
			t.Fatalf("%d rows are booked, and events %+v told", n, events)
		}
		_, err = s.ledger.Submit(t.Context(), invoice("a"))
		wantCode(t, err, onceward.CodeInvalidRequest) // its caller performs it
	})
}

func TestLocalEffectAskedForManyTimesAtOnceHappensOnce(t *testing.T) {
	t.Parallel()
	inEachDatabase(t, remote(onceward.EffectUnsafeWrite), func(t *testing.T, s *shop) {
		var all sync.WaitGroup
		answers := make([]*onceward.Answer, 8)
		for i := range answers {
			all.Go(func() {
				var err error
				if answers[i], err = s.sell("a", nil); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		fresh := 0
		for _, a := range answers {
			if a == nil || a.Operation.State != onceward.StateSucceeded {
				t.Fatalf("a sale got %+v", a)
			}
			if a.Decision == onceward.DecisionFresh {
				fresh++
			}
		}
		if n := s.booked(); n != 1 || fresh != 1 {
			t.Fatalf("%d rows are booked by %d sales", n, fresh)
		}
	})
}

// Even if the program commits although the function failed.
func TestFunctionThatFailsLeavesNothingOfItsOperation(t *testing.T) {
	t.Parallel()
	inEachDatabase(t, remote(onceward.EffectUnsafeWrite), func(t *testing.T, s *shop) {
		err := s.in(func(ctx context.Context, tx *sql.Tx, j onceward.Join) error {
			_, err := s.ledger.DoIn(ctx, j, invoice("a"), func(ctx context.Context) (onceward.LocalEffect, error) {
				return onceward.LocalEffect{}, errors.Join(book(ctx, tx, "a"), errBroken)
			})
			if !errors.Is(err, errBroken) {
				return errors.New("the failure was not told")
			}
			return book(ctx, tx, "something else")
		})
		if err != nil || s.booked() != 1 {
			t.Fatalf("the transaction ended with %v, %d rows", err, s.booked())
		}
		if a, err := s.sell("a", nil); err != nil || a.Decision != onceward.DecisionFresh || s.booked() != 2 {
			t.Fatalf("the next try got %+v, %v", a, err)
		}
	})
}

// What a person has to approve, or is paused, is recorded and not performed; once
// it may be, the next request performs it.
func TestLocalEffectWaitsForItsApproval(t *testing.T) {
	t.Parallel()
	tool := remote(onceward.EffectUnsafeWrite)
	tool.NeedsApproval = true
	inEachDatabase(t, tool, func(t *testing.T, s *shop) {
		a, err := s.sell("a", nil)
		if err != nil || a.Decision != onceward.DecisionEscalated || a.Operation.State != onceward.StateAwaitingApproval || s.booked() != 0 {
			t.Fatalf("the sale got %+v, %v", a, err)
		}
		approver := onceward.LocalPrincipal()
		if _, err := s.ledger.Approve(t.Context(), approver, a.Operation.ID, onceward.ApprovalAnswer{Digest: a.Operation.Digest, Contract: a.Operation.Contract, Reason: "fine"}); err != nil {
			t.Fatal(err)
		}
		if a, err = s.sell("a", nil); err != nil || a.Operation.State != onceward.StateSucceeded || s.booked() != 1 {
			t.Fatalf("the approved sale got %+v, %v; %d rows", a, err, s.booked())
		}
	})
}

// A yes is to what was shown: under another contract it is asked for again, within
// the caller's transaction.
func TestLocalEffectIsAskedForAgainUnderTheContractInForce(t *testing.T) {
	t.Parallel()
	needsYes := func(v string) *oncewardtest.Tool {
		tool := remote(onceward.EffectUnsafeWrite, version(v))
		tool.NeedsApproval = true
		return tool
	}
	inEachDatabase(t, needsYes("v1"), func(t *testing.T, s *shop) {
		a, err := s.sell("a", nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.approve(ann, a.Operation, s.shown(a.Operation)); err != nil {
			t.Fatal(err)
		}
		next := &shop{world: &world{replica: s.process(t, needsYes("v2"))}, db: s.db, join: s.join}
		if a, err = next.sell("a", nil); err != nil || a.Operation.State != onceward.StateAwaitingApproval || a.Operation.Contract != "v2" || s.booked() != 0 {
			t.Fatalf("the sale under another contract got %+v, %v; %d rows", a, err, s.booked())
		}
		if err := next.approve(ann, a.Operation, next.shown(a.Operation)); err != nil {
			t.Fatal(err)
		}
		if a, err = next.sell("a", nil); err != nil || a.Operation.State != onceward.StateSucceeded || s.booked() != 1 {
			t.Fatalf("the approved sale got %+v, %v; %d rows", a, err, s.booked())
		}
	})
}

func TestOperationSubmittedInATransactionIsSentAfterItsCommit(t *testing.T) {
	t.Parallel()
	inEachDatabase(t, oncewardtest.NewTool("t.write", onceward.EffectKeyedWrite), func(t *testing.T, s *shop) {
		submit := func(after error) (a *onceward.Answer, err error) {
			err = s.in(func(ctx context.Context, tx *sql.Tx, j onceward.Join) error {
				a, err = s.ledger.SubmitIn(ctx, j, invoice("a"))
				return errors.Join(err, book(ctx, tx, "a"), after)
			})
			return a, err
		}
		if _, err := submit(errBroken); !errors.Is(err, errBroken) {
			t.Fatal(err)
		}
		s.work()
		s.quiet()
		if n := s.provider.Writes(); n != 0 {
			t.Fatalf("%d writes after a rollback", n)
		}
		a, err := submit(nil)
		if err != nil || a.Operation.State != onceward.StateReady || s.provider.Writes() != 0 {
			t.Fatalf("the submission got %+v, %v, %d writes", a, err, s.provider.Writes())
		}
		if again, err := submit(errBroken); !errors.Is(err, errBroken) || again.Decision != onceward.DecisionJoined {
			t.Fatalf("the same again got %+v, %v", again, err)
		}
		s.work()
		s.quiet()
		if op := s.get(a.Operation.ID); op.State != onceward.StateSucceeded || s.provider.Effects() != 1 || s.booked() != 1 {
			t.Fatalf("the operation is %s, with %d effects and %d rows", op.State, s.provider.Effects(), s.booked())
		}
	})
}
