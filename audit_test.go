package onceward_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/ncruces/go-sqlite3"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
	"github.com/onceward/onceward/store/postgres"
	"github.com/onceward/onceward/store/sqlite"
)

// auditKey is the key that the tests sign with.
var auditKey = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))

// tampering is a database that somebody changes beside the ledger.
type tampering struct {
	name string
	open func(t *testing.T) (s onceward.Store, run func(sql string))
}

var tamperings = []tampering{
	{"sqlite", func(t *testing.T) (onceward.Store, func(string)) {
		path := filepath.Join(t.TempDir(), "ledger.db")
		s := opened(t)(sqlite.Open(t.Context(), path, sqlite.Options{}))
		t.Cleanup(func() { _ = s.Close() })
		return s, func(sql string) {
			t.Helper()
			db, err := sqlite3.Open("file:" + path)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = db.Close() }()
			if err := db.Exec(sql); err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
			if db.Changes() == 0 {
				t.Fatalf("%s: changed nothing", sql)
			}
		}
	}},
	{"postgres", func(t *testing.T) (onceward.Store, func(string)) {
		dsn := ledgers.Postgres(t)
		s := opened(t)(postgres.Open(t.Context(), dsn, postgres.Options{}))
		t.Cleanup(func() { _ = s.Close() })
		return s, func(sql string) {
			t.Helper()
			c, err := pgx.Connect(context.Background(), dsn)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close(context.Background()) }()
			tag, err := c.Exec(context.Background(), sql)
			if err != nil || tag.RowsAffected() == 0 {
				t.Fatalf("%s: %v, changed %d rows", sql, err, tag.RowsAffected())
			}
		}
	}},
}

// story writes a trail: operations, one with a timeline, and events.
func story(t *testing.T, s onceward.Store) onceward.Operation {
	t.Helper()
	now, err := s.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var first onceward.Operation
	for i := range 3 {
		op := onceward.Operation{Tenant: "default", Tool: "tickets.create", Key: onceward.Key(fmt.Sprint(i)), Contract: "c0ffee", Effect: onceward.EffectProbedWrite,
			Digest: onceward.Digest{1}, State: onceward.StateNeedsReview, Version: 1, Token: onceward.WriteToken{byte(i + 1)}, Actor: "local:operator",
			CreatedAt: now, UpdatedAt: now, IntentAt: now, Input: []byte(`{"a":1}`)}
		op.ID = onceward.NewOperationID(op.Tenant, op.Tool, op.Key)
		commit(t, s, onceward.Change{After: op})
		after := op.Clone()
		after.Version, after.Token, after.State = 2, onceward.WriteToken{byte(i + 1), 2}, onceward.StateSucceeded
		commit(t, s, onceward.Change{Before: 1, After: after, Records: []onceward.Record{{Version: 2, At: now, Event: "resolved", From: op.State, To: after.State, Actor: "local:operator", Reason: "seen there"}}})
		if i == 0 {
			first = after
		}
		if err := s.Note(t.Context(), onceward.NewAuditEvent(onceward.AuditEvent{Tenant: "default", Actor: "local:operator", Action: onceward.AuditToolPaused, Subject: fmt.Sprintf("tool %d", i), Reason: "because"})); err != nil {
			t.Fatal(err)
		}
		sealAll(t, s)
	}
	return first
}

func commit(t *testing.T, s onceward.Store, c onceward.Change) {
	t.Helper()
	r, err := s.Commit(t.Context(), []onceward.Change{c})
	if err != nil || !r.Results[0].Applied {
		t.Fatalf("commit: %v, %+v", err, r.Results)
	}
}

// sealAll seals and signs whatever is there. Transactions of other tests on the
// same server may hold some rows back for a moment.
func sealAll(t *testing.T, s onceward.Store) {
	t.Helper()
	a := &onceward.Auditor{Store: s, Key: auditKey, Actor: "r_test", Now: func(ctx context.Context) (time.Time, error) {
		now, err := s.Now(ctx)
		if last, err := s.LastCheckpoint(ctx); err == nil && last != nil {
			now = last.At.Add(onceward.CheckpointEvery)
		}
		return now, err
	}}
	for v := verified(t, s, nil); v.Unsealed > 0 || v.SignedTo < v.LastSeal; v = verified(t, s, nil) {
		if _, err := a.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func verified(t *testing.T, s onceward.AuditTrail, key ed25519.PublicKey) *onceward.AuditVerdict {
	t.Helper()
	v, err := onceward.VerifyAudit(t.Context(), s, key)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestByteFlippedInTheDatabaseIsNamed(t *testing.T) {
	t.Parallel()
	for _, db := range tamperings {
		t.Run(db.name, func(t *testing.T) {
			t.Parallel()
			id := onceward.NewOperationID("default", "tickets.create", "0")
			cases := []struct{ name, sqlite, postgres, table, row, problem string }{
				{"in the input of an operation", `UPDATE operations SET input = CAST('{"a":2}' AS BLOB) WHERE key = '0'`, `update operations set input = '{"a":2}' where key = '0'`,
					"operations", id.String(), "was edited"},
				{"in the state of an operation", `UPDATE operations SET state = state - 1 WHERE key = '0'`, `update operations set state = state - 1 where key = '0'`,
					"operations", id.String(), "was edited"},
				{"operation removed", `DELETE FROM records; DELETE FROM operations WHERE key = '0'`, `delete from operations where key = '0'`,
					"operations", id.String(), "was removed"},
				{"in a timeline", `UPDATE records SET body = unhex(substr(hex(body), 1, length(hex(body))-4) || 'EE' || substr(hex(body), -2)) WHERE operation_id = (SELECT min(id) FROM operations)`,
					`update records set body = set_byte(body, length(body)-2, 90) where operation_id = (select min(id::text)::uuid from operations)`, "records", " version 2", "was edited"},
				{"in a row of the journal", `UPDATE journal SET entries = unhex(substr(hex(entries), 1, 42) || 'EE' || substr(hex(entries), 45)) WHERE position = 2`,
					`update journal set entries = set_byte(entries, 21, get_byte(entries, 21) # 1) where position = 2`, "journal", "position 2", "was edited"},
				{"row of the journal removed", `DELETE FROM journal WHERE position = 2`, `delete from journal where position = 2`, "journal", "position 2", "was removed"},
				{"row of the journal put in", ``,
					`insert into journal (xid, at, token, entries) select xid, at, token, entries from journal where position = 2`, "journal", "", "put in afterwards"},
				{"in who did it", `UPDATE audit SET actor = 'local:operatos' WHERE position = 2`, `update audit set actor = 'local:operatos' where position = 2`, "audit", "position 2", "was edited"},
				{"event removed", `DELETE FROM audit WHERE position = 2`, `delete from audit where position = 2`, "audit", "position 2", "was removed"},
				{"in the rows of a seal", `UPDATE seals SET rows = unhex(substr(hex(rows), 1, 18) || 'EE' || substr(hex(rows), 21)) WHERE number = 2`,
					`update seals set rows = set_byte(rows, 9, get_byte(rows, 9) # 1) where number = 2`, "seals", "2", "was edited"},
				{"in the hash of a seal", `UPDATE seals SET hash = zeroblob(32) WHERE number = 2`, `update seals set hash = set_byte(hash, 3, get_byte(hash, 3) # 1) where number = 2`, "seals", "2", "was edited"},
				{"seal removed", `DELETE FROM seals WHERE number = 2`, `delete from seals where number = 2`, "seals", "2", "was removed"},
				{"first seals removed", `DELETE FROM seals WHERE number < 3`, `delete from seals where number < 3`, "seals", "", "removed"},
				{"in a checkpoint", `UPDATE checkpoints SET signature = zeroblob(64) WHERE number = 1`, `update checkpoints set signature = set_byte(signature, 3, get_byte(signature, 3) # 1) where number = 1`,
					"checkpoints", "1", "was edited"},
			}
			for _, c := range cases {
				if c.sqlite == "" && db.name == "sqlite" {
					continue // its positions have no gap into which a row could be put
				}
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					s, run := db.open(t)
					story(t, s)
					public := auditKey.Public().(ed25519.PublicKey)
					if v := verified(t, s, public); len(v.Faults) > 0 || v.Operations != 3 || v.SignedTo < 3 {
						t.Fatalf("an honest trail gives %+v", v)
					}
					sql := c.sqlite
					if db.name == "postgres" {
						sql = c.postgres
					}
					run(sql)
					v := verified(t, s, public)
					for _, f := range v.Faults {
						if f.Table == c.table && strings.Contains(f.Row, c.row) && strings.Contains(f.Problem, c.problem) {
							return
						}
					}
					t.Errorf("nothing names %s, %q: %v", c.table, c.row, v.Faults)
				})
			}
		})
	}
}

// secret stands for whatever an audit trail must not hold.
const secret = "s3cr3t-of-somebody"

func TestAuditTrailHoldsNoPayloadAndNoSecret(t *testing.T) {
	t.Parallel()
	for _, db := range tamperings {
		t.Run(db.name, func(t *testing.T) {
			t.Parallel()
			s, _ := db.open(t)
			op := story(t, s)
			next := op.Clone()
			next.Version, next.Token = 3, onceward.WriteToken{3}
			next.Input = []byte(`"` + secret + `"`)
			next.Request = &onceward.Request{Method: "POST", URL: "https://x.test/?key=" + secret, Header: []onceward.HeaderField{{Name: "Authorization", Value: secret}}, Body: []byte(secret)}
			next.Result = &onceward.Result{Status: 200, Body: []byte(secret), BodyKept: true}
			next.Failure.Message = secret
			commit(t, s, onceward.Change{Before: 2, After: next, Records: []onceward.Record{{Version: 3, Event: "attempt_unknown", From: op.State, To: op.State, Actor: "r_1", Reason: secret,
				Evidence: &onceward.Evidence{Body: []byte(secret), ErrorText: secret, Header: []onceward.HeaderField{{Name: "Set-Cookie", Value: secret}}}}}})
			token, hidden, err := onceward.NewToken(onceward.LocalPrincipal(), onceward.TokenRequest{Subject: "bot", Scope: onceward.Scope{Roles: []onceward.Role{"caller"}}}, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Note(t.Context(), onceward.TokenIssued(&token)); err != nil {
				t.Fatal(err)
			}
			rows := 0
			for _, source := range onceward.AllAuditSources {
				all, err := s.AuditRows(t.Context(), onceward.AuditQuery{Source: source, Limit: onceward.AuditRowsMax, Open: true})
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range all {
					rows++
					for _, what := range []string{secret, hidden, hidden[len(hidden)-40:], string(token.Hash[:])} {
						if bytes.Contains(r.Body, []byte(what)) {
							t.Errorf("%s %v holds a secret or payload", r.Source, r.Place)
						}
					}
				}
			}
			if rows != 11 {
				t.Errorf("%d rows were looked at", rows)
			}
		})
	}
}

func TestRowBehindAnOpenTransactionIsNeitherSealedNorSkipped(t *testing.T) {
	t.Parallel()
	dsn := ledgers.Postgres(t)
	s := opened(t)(postgres.Open(t.Context(), dsn, postgres.Options{}))
	t.Cleanup(func() { _ = s.Close() })
	slow, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = slow.Close(context.Background()) })
	tx, err := slow.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const late = `insert into audit (id, at, tenant, actor, action, subject, reason, detail) values (gen_random_uuid(), now(), '', 'a', 'late', 's', '', '')`
	if _, err := tx.Exec(t.Context(), late); err != nil {
		t.Fatal(err)
	}
	if err := s.Note(t.Context(), onceward.NewAuditEvent(onceward.AuditEvent{Actor: "a", Action: "early"})); err != nil {
		t.Fatal(err)
	}
	a := &onceward.Auditor{Store: s, Now: s.Now}
	for range 3 {
		if _, err := a.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if last, err := s.LastSeal(t.Context()); err != nil || last != nil {
		t.Fatalf("a row that another may still come before was sealed: %+v (%v)", last, err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	sealAll(t, s)
	if v := verified(t, s, nil); len(v.Faults) > 0 || v.SealedRows != 2 {
		t.Errorf("after the commit: %+v", v)
	}
}

func TestAuditorsAtOnceMakeOneChainBesideWriters(t *testing.T) {
	t.Parallel()
	for _, db := range []database{onMemory, onSQLite, onPostgres} {
		t.Run(db.name, func(t *testing.T) {
			t.Parallel()
			handle := db.open(t, time.Now)
			s := handle()
			t.Cleanup(func() { _ = s.Close() })
			var work sync.WaitGroup
			ctx, stop := context.WithCancel(t.Context())
			for range 2 {
				other := handle()
				t.Cleanup(func() { _ = other.Close() })
				work.Go(func() {
					a := &onceward.Auditor{Store: other, Now: other.Now}
					for ctx.Err() == nil {
						if _, err := a.Step(ctx); err != nil && ctx.Err() == nil {
							t.Errorf("step: %v", err)
							return
						}
					}
				})
			}
			for i := range 30 {
				now, err := s.Now(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				op := onceward.Operation{Tenant: "default", Tool: "tickets.create", Key: onceward.Key(fmt.Sprint(i)), Effect: onceward.EffectProbedWrite,
					State: onceward.StateReady, Version: 1, Token: onceward.WriteToken{byte(i + 1)}, CreatedAt: now, UpdatedAt: now}
				op.ID = onceward.NewOperationID(op.Tenant, op.Tool, op.Key)
				commit(t, s, onceward.Change{After: op})
				if i%5 == 0 {
					if v := verified(t, s, nil); len(v.Faults) > 0 {
						t.Errorf("beside writers: %v", v.Faults)
					}
				}
			}
			stop()
			work.Wait()
			sealAll(t, s)
			if v := verified(t, s, nil); len(v.Faults) > 0 || v.SealedRows != 30 || v.Operations != 30 {
				t.Errorf("at the end: %+v", v)
			}
		})
	}
}

func TestCountsOutliveALedgerThatIsAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite))
	w.ask(`{"id":"1"}`)
	w.ask(`{"id":"1"}`)
	w.store.GoAway()
	if err := w.ledger.FlushTallies(t.Context()); !onceward.Is(err, onceward.CodeLedgerUnavailable) {
		t.Fatalf("a ledger that is away takes counts: %v", err)
	}
	w.store.ComeBack()
	for range 2 {
		if err := w.ledger.FlushTallies(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	r, err := w.ledger.Report(t.Context(), onceward.LocalPrincipal(), w.clock.Now().Add(-time.Hour), w.clock.Now().Add(time.Hour))
	if err != nil || r.Total != (onceward.Answered{Fresh: 1, Replayed: 1}) {
		t.Errorf("the report counts %+v (%v)", r.Total, err)
	}
}

// mixed is a trail with seals, or checkpoints, of another one.
type mixed struct {
	onceward.AuditTrail
	seals       func(seals []onceward.Seal) []onceward.Seal
	checkpoints onceward.AuditTrail
}

func (m mixed) Seals(ctx context.Context, after int64, limit int) ([]onceward.Seal, error) {
	seals, err := m.AuditTrail.Seals(ctx, after, limit)
	if m.seals != nil {
		seals = m.seals(seals)
	}
	return seals, err
}

func (m mixed) Checkpoints(ctx context.Context, after int64, limit int) ([]onceward.Checkpoint, error) {
	if m.checkpoints != nil {
		return m.checkpoints.Checkpoints(ctx, after, limit)
	}
	return m.AuditTrail.Checkpoints(ctx, after, limit)
}

func TestSealsAndSignaturesOfAnotherChainAreNamed(t *testing.T) {
	t.Parallel()
	ours, _ := tamperings[0].open(t)
	story(t, ours)
	theirs, _ := tamperings[0].open(t)
	story(t, theirs)
	others, err := theirs.Seals(t.Context(), 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	swapped := mixed{AuditTrail: ours, seals: func(seals []onceward.Seal) []onceward.Seal {
		for i := range seals {
			if seals[i].Number == 2 {
				seals[i] = others[0]
			}
		}
		return seals
	}}
	for name, c := range map[string]struct {
		trail   onceward.AuditTrail
		problem string
	}{
		"a whole seal of another chain": {swapped, "does not follow the one before it"},
		"a chain that was made anew":    {mixed{AuditTrail: theirs, checkpoints: ours}, "the chain was made anew up to there"},
	} {
		if v := verified(t, c.trail, nil); !strings.Contains(fmt.Sprint(v.Faults), c.problem) {
			t.Errorf("%s: %v, want %q", name, v.Faults, c.problem)
		}
	}
}
