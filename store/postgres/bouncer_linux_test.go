package postgres_test

import (
	"errors"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/testdb"
	"github.com/onceward/onceward/internal/testledger"
	"github.com/onceward/onceward/store"
	"github.com/onceward/onceward/store/postgres"
	"github.com/onceward/onceward/store/storetest"
)

// unprepared says in the connection string that nothing is prepared.
func unprepared(t *testing.T, dsn string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("default_query_exec_mode", "exec")
	u.RawQuery = q.Encode()
	return u.String()
}

// A pooler that hands each transaction to another server process keeps no
// prepared statement and no setting.
func TestStoreBehindATransactionPooler(t *testing.T) {
	t.Parallel()
	testdb.BouncerProgram(t)
	ledgers, poolers := testledger.PoolOf(t), sync.Map{} // by schema: each has one pooler for all its tests
	storetest.Run(t, func(sub *testing.T) storetest.Opened {
		direct := ledgers.Postgres(sub)
		through, started := poolers.Load(direct)
		if !started {
			through = unprepared(t, testdb.Bouncer(t, direct))
			poolers.Store(direct, through)
		}
		dsn := through.(string)
		return storetest.Opened{
			Store:   open(sub, dsn, postgres.Options{}),
			Again:   func(t *testing.T) onceward.Store { return open(t, dsn, postgres.Options{}) },
			Journal: func(t *testing.T) [][]store.Entry { return journal(t, direct) },
		}
	})
}

func TestPoolerWithoutTheSettingIsRefusedWithIt(t *testing.T) {
	t.Parallel()
	_, err := postgres.Open(t.Context(), testdb.Bouncer(t, testdb.Postgres(t)), postgres.Options{})
	if err == nil {
		t.Fatal("it was opened")
	}
	var e *onceward.Error
	if !errors.As(err, &e) || !strings.Contains(e.Hint, "default_query_exec_mode=exec") {
		t.Errorf("it says %v, not what to add", err)
	}
}

func TestPoolerAndExecutionModeAreTold(t *testing.T) {
	t.Parallel()
	direct := testdb.Postgres(t)
	for _, c := range []struct{ dsn, status, words string }{
		{direct, "ok", "prepared"},
		{unprepared(t, direct), "warning", "default_query_exec_mode"},
		{unprepared(t, testdb.Bouncer(t, direct)), "ok", "pooler"},
	} {
		all, err := open(t, c.dsn, postgres.Options{}).Durability(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var found onceward.SettingAdvice
		for _, a := range all {
			if a.Setting == "connection" {
				found = a
			}
		}
		if found.Status() != c.status || !strings.Contains(found.Detail+found.Fix, c.words) {
			t.Errorf("it says %+v (%s), want %s and %q", found, found.Status(), c.status, c.words)
		}
	}
}

func TestReplicasBehindAPoolerShareOneClaim(t *testing.T) {
	t.Parallel()
	dsn := unprepared(t, testdb.Bouncer(t, testdb.Postgres(t)))
	first, second := open(t, dsn, postgres.Options{}), open(t, dsn, postgres.Options{})
	for i := range 20 {
		op := claimed(string(rune('a' + i)))
		var won [2]bool
		var both sync.WaitGroup
		for n, s := range []*postgres.Store{first, second} {
			mine := op
			mine.Token = token()
			both.Go(func() {
				c, err := s.Commit(t.Context(), []onceward.Change{{After: mine}})
				if err != nil {
					t.Error(err)
					return
				}
				won[n] = c.Results[0].Applied
			})
		}
		both.Wait()
		if won[0] == won[1] {
			t.Errorf("key %s: claimed by both or by none: %v", op.Key, won)
		}
	}
}
