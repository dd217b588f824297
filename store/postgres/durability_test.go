package postgres_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/testdb"
	"github.com/onceward/onceward/store/postgres"
)

// standbyAdvice is what the store says of standbys; the zero value if nothing.
func standbyAdvice(t *testing.T, s *postgres.Store) onceward.SettingAdvice {
	t.Helper()
	all, err := s.Durability(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(a onceward.SettingAdvice) bool { return a.Setting == "synchronous_standby_names" })
	if i < 0 {
		return onceward.SettingAdvice{}
	}
	return all[i]
}

func wantAdvice(t *testing.T, when string, a onceward.SettingAdvice, words string) {
	t.Helper()
	if a.Status() != "warning" || !strings.Contains(a.Detail, words) || a.Fix == "" {
		t.Errorf("%s it says %+v, want a warning of %q", when, a, words)
	}
}

func TestStandbysAreJudgedByWhatAFailoverWouldLose(t *testing.T) {
	t.Parallel()
	primary := testdb.Cluster(t)
	s := open(t, primary.DSN(), postgres.Options{})
	if a := standbyAdvice(t, s); a.Status() != "ok" {
		t.Errorf("without a standby it says %+v", a)
	}
	standby := primary.Standby(t, "")
	if err := primary.AwaitStandbys(t.Context(), 1, "async"); err != nil {
		t.Fatal(err)
	}
	wantAdvice(t, "with an asynchronous standby", standbyAdvice(t, s), "a failover can lose")

	if _, err := connect(t, primary.DSN()).Exec(t.Context(), "CREATE ROLE clerk LOGIN PASSWORD 'clerk' IN ROLE pg_read_all_data, pg_write_all_data"); err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(primary.DSN())
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword("clerk", "clerk")
	wantAdvice(t, "to an account that may not look", standbyAdvice(t, open(t, u.String(), postgres.Options{NoMigrate: true})), "may not see")

	if err := primary.Set(t.Context(), "synchronous_standby_names", "*"); err != nil {
		t.Fatal(err)
	}
	if err := primary.AwaitStandbys(t.Context(), 1, "sync"); err != nil {
		t.Fatal(err)
	}
	if a := standbyAdvice(t, s); a.Status() != "ok" || !strings.Contains(a.Detail, "1 standby") {
		t.Errorf("with a synchronous standby it says %+v", a)
	}
	if err := standby.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := primary.AwaitStandbys(t.Context(), 0, "sync"); err != nil {
		t.Fatal(err)
	}
	wantAdvice(t, "with a synchronous standby that is gone", standbyAdvice(t, s), "wait")
	if err := primary.Set(t.Context(), "synchronous_standby_names", ""); err != nil {
		t.Fatal(err)
	}
}
