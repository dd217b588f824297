package postgres

import (
	"context"
	"crypto/rand"
	"io"
	"net/url"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/testdb"
)

func openInside(tb testing.TB, dsn string) *Store {
	tb.Helper()
	s, err := Open(tb.Context(), dsn, Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

func operation() onceward.Operation {
	now := time.Now()
	op := onceward.Operation{
		Tenant: "acme", Tool: "tickets.create", Key: onceward.Key(rand.Text()), State: onceward.StateReady, Version: 1, CreatedAt: now, UpdatedAt: now,
	}
	_, _ = rand.Read(op.Token[:])
	op.ID = onceward.NewOperationID(op.Tenant, op.Tool, op.Key)
	return op
}

// claim commits a new operation.
func claim(tb testing.TB, s *Store) {
	tb.Helper()
	out, err := s.Commit(tb.Context(), []onceward.Change{{After: operation()}})
	if err != nil || !out.Results[0].Applied {
		tb.Fatalf("a claim gives %+v, %v", out.Results, err)
	}
}

// inside gives the committer's connection while nothing is committed.
func inside(tb testing.TB, s *Store, use func(*session)) {
	tb.Helper()
	if err := s.session.enter(tb.Context(), "test"); err != nil {
		tb.Fatal(err)
	}
	defer s.session.leave()
	if err := s.session.connect(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	use(s.session)
}

func setting(tb testing.TB, s *session, name string) (value string) {
	tb.Helper()
	if err := s.conn.QueryRow(tb.Context(), "select current_setting($1)", name).Scan(&value); err != nil {
		tb.Fatal(err)
	}
	return value
}

func TestCommitterPinsItsSession(t *testing.T) {
	t.Parallel()
	inside(t, openInside(t, testdb.Postgres(t)), func(s *session) {
		for name, want := range map[string]string{
			"plan_cache_mode": "force_generic_plan", "enable_seqscan": "off", "enable_hashjoin": "off", "enable_mergejoin": "off",
			"jit": "off", "client_min_messages": "warning", "default_transaction_isolation": "read committed",
		} {
			if got := setting(t, s, name); got != want {
				t.Errorf("%s is %s, want %s", name, got, want)
			}
		}
	})
}

func TestCommitIsAsDurableAsTheAdministratorWantsAndNeverLess(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{"off": "on", "local": "on", "remote_write": "on", "on": "on", "remote_apply": "remote_apply"} {
		t.Run(said, func(t *testing.T) {
			t.Parallel()
			parsed, err := url.Parse(testdb.Postgres(t))
			if err != nil {
				t.Fatal(err)
			}
			query := parsed.Query()
			query.Set("synchronous_commit", said)
			parsed.RawQuery = query.Encode()
			store := openInside(t, parsed.String())
			inside(t, store, func(s *session) {
				if got := setting(t, s, "synchronous_commit"); got != want {
					t.Errorf("synchronous_commit is %s, want %s", got, want)
				}
			})
			err = store.do(t.Context(), "look", func(ctx context.Context, conn *pgx.Conn) error {
				return inTx(ctx, conn, func(tx pgx.Tx) error {
					var got, level string
					err := tx.QueryRow(ctx, "select current_setting('synchronous_commit'), current_setting('transaction_isolation')").Scan(&got, &level)
					if got != want || level != "read committed" {
						t.Errorf("of a transaction synchronous_commit is %s, want %s, and it is %s", got, want, level)
					}
					return err
				})
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestConnectionThatDiedWhileIdleCostsNoCommit(t *testing.T) {
	t.Parallel()
	s := openInside(t, testdb.Postgres(t))
	claim(t, s)
	inside(t, s, func(se *session) {
		var ended bool
		if err := s.pool.QueryRow(t.Context(), "select pg_terminate_backend($1, 10000)", int64(se.conn.PgConn().PID())).Scan(&ended); err != nil || !ended {
			t.Fatalf("end the committer's connection: %t, %v", ended, err)
		}
		se.usedAt = time.Now().Add(-2 * idleMax)
	})
	claim(t, s)
}

// A pooler, or an administrator's DISCARD, makes the server forget.
func TestForgottenStatementsAreRunAgain(t *testing.T) {
	t.Parallel()
	s := openInside(t, testdb.Postgres(t))
	claim(t, s)
	ops := []onceward.OperationID{{1}}
	if _, err := s.Load(t.Context(), ops); err != nil {
		t.Fatal(err)
	}
	inside(t, s, func(se *session) {
		if _, err := se.conn.PgConn().Exec(t.Context(), "deallocate all").ReadAll(); err != nil {
			t.Fatal(err)
		}
	})
	for _, c := range s.pool.AcquireAllIdle(t.Context()) {
		if _, err := c.Conn().PgConn().Exec(t.Context(), "deallocate all").ReadAll(); err != nil {
			t.Fatal(err)
		}
		c.Release()
	}
	claim(t, s)
	if _, err := s.Load(t.Context(), ops); err != nil {
		t.Error(err)
	}
}

// After a failover the connection may lead to what is a standby now.
func TestReadOnlyConnectionIsGivenUp(t *testing.T) {
	t.Parallel()
	s := openInside(t, testdb.Postgres(t))
	claim(t, s)
	inside(t, s, func(se *session) {
		if _, err := se.conn.Exec(t.Context(), "set default_transaction_read_only = on"); err != nil {
			t.Fatal(err)
		}
	})
	if _, err := s.Commit(t.Context(), []onceward.Change{{After: operation()}}); !onceward.Is(err, onceward.CodeLedgerReadOnly) {
		t.Errorf("a commit on a read-only connection gives %v, want ledger_read_only", err)
	}
	claim(t, s)
}

// Only an error after which the connection lives on says that nothing is stored:
// one that ends it may come after the commit.
func TestErrorThatEndsTheConnectionIsNoRefusal(t *testing.T) {
	t.Parallel()
	for _, err := range []error{
		&pgconn.PgError{SeverityUnlocalized: "FATAL", Code: "57P01"}, &pgconn.PgError{SeverityUnlocalized: "PANIC", Code: "XX000"},
		io.ErrUnexpectedEOF,
	} {
		if (&session{}).refused(err) {
			t.Errorf("%v is taken for a refusal", err)
		}
	}
}

func TestUnreachableServerIsNotDialledForEachCommit(t *testing.T) {
	t.Parallel()
	s := openInside(t, testdb.Postgres(t))
	inside(t, s, func(se *session) {
		se.drop()
		se.failure, se.until = context.DeadlineExceeded, time.Now().Add(time.Hour)
	})
	_, err := s.Commit(t.Context(), []onceward.Change{{After: operation()}})
	if !onceward.Is(err, onceward.CodeLedgerUnavailable) {
		t.Errorf("a commit within the pause gives %v, want ledger_unavailable", err)
	}
}

// A failover: batches wait that were let through before, and one is run again whose
// commit was lost. None of them reaches the other server before it was compared.
func TestNothingIsCommittedToAnotherServerBeforeItIsCompared(t *testing.T) {
	t.Parallel()
	s := openInside(t, testdb.Postgres(t))
	compared := true
	s.OnNewServer(func() { compared = false }, func() error {
		if compared {
			return nil
		}
		return onceward.Errorf(onceward.CodeLedgerUnavailable, "not compared yet")
	})
	claim(t, s)
	inside(t, s, func(in *session) {
		in.server = "one that was"
		in.drop()
	})
	waiting := []onceward.Change{{After: operation()}}
	for range 3 {
		if out, err := s.Commit(t.Context(), waiting); !onceward.Is(err, onceward.CodeLedgerUnavailable) {
			t.Fatalf("a batch on another server gives %+v, %v", out.Results, err)
		}
	}
	compared = true
	if out, err := s.Commit(t.Context(), waiting); err != nil || !out.Results[0].Applied {
		t.Fatalf("after the comparison a batch gives %+v, %v", out.Results, err)
	}
}
