package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward"
)

// Durability reads the settings on which the promise rests that a claim is
// durable before anything is sent, and says what to change.
func (s *Store) Durability(ctx context.Context) ([]onceward.SettingAdvice, error) {
	var fsync, pages, commit string
	var f followers
	var pooled bool
	err := s.do(ctx, "read database settings", func(ctx context.Context, conn *pgx.Conn) error {
		var backend uint32
		if err := conn.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&backend); err != nil {
			return err
		}
		pooled = backend != conn.PgConn().PID() // a pooler tells a process of its own
		return conn.QueryRow(ctx, `SELECT current_setting('fsync'), current_setting('full_page_writes'), current_setting('synchronous_commit'),
			current_setting('synchronous_standby_names'),
			count(*) FILTER (WHERE sync_state = 'async'),
			count(*) FILTER (WHERE sync_state IN ('sync', 'quorum') AND state = 'streaming'),
			count(*) FILTER (WHERE pid IS NOT NULL AND state IS NULL)
			FROM pg_stat_replication`).Scan(&fsync, &pages, &commit, &f.names, &f.async, &f.sync, &f.hidden)
	})
	if err != nil {
		return nil, err
	}
	advice := []onceward.SettingAdvice{
		{Setting: "fsync", Bad: fsync != "on", Detail: "is " + fsync + orNothing(fsync == "on", ": a power cut loses commits and may break the database"), Fix: orNothing(fsync == "on", "set fsync = on")},
		{Setting: "full_page_writes", Bad: pages != "on", Detail: "is " + pages + orNothing(pages == "on", ": a power cut may tear pages"), Fix: orNothing(pages == "on", "set full_page_writes = on")},
		commitAdvice(commit),
		connectionAdvice(pooled, s.named()),
	}
	if a, ok := f.advice(); ok {
		advice = append(advice, a)
	}
	return advice, nil
}

// followers are the standbys of the server, as this account sees them.
type followers struct {
	names  string // synchronous_standby_names
	async  int
	sync   int // for which commits wait
	hidden int // of which the account may know nothing
}

// advice says what a failover would lose; not ok where there is no standby.
func (f followers) advice() (a onceward.SettingAdvice, ok bool) {
	a.Setting, a.Warn = "synchronous_standby_names", true
	switch {
	case f.hidden > 0 && f.names == "":
		a.Detail = fmt.Sprintf("is empty, and this account may not see whether %s could lose commits at a failover", standbys(f.hidden))
		a.Fix = "name a synchronous standby; grant the account pg_monitor, so that doctor sees who follows"
	case f.async > 0 && f.names == "":
		a.Detail = fmt.Sprintf("is empty, and the server is followed asynchronously by %s: a failover can lose the last commits, and with them claims whose writes were sent", standbys(f.async))
		a.Fix = "name a synchronous standby, or reconcile after each failover"
	case f.names != "" && f.sync == 0 && f.hidden == 0:
		a.Detail = "is " + f.names + ", and none of them follows: commits wait, and callers are told may_be_recorded, until one does"
		a.Fix = "start the standby; or take its name away, and know that a failover can lose commits then"
	case f.names != "":
		a.Warn = false
		a.Detail = fmt.Sprintf("is %s; commits wait for %s", f.names, standbys(f.sync+f.hidden))
	default:
		return a, false
	}
	return a, true
}

func standbys(n int) string {
	if n == 1 {
		return "1 standby"
	}
	return fmt.Sprintf("%d standbys", n)
}

// commitAdvice judges synchronous_commit as the server has it. Commits of this
// store set their own to at least on.
func commitAdvice(value string) onceward.SettingAdvice {
	a := onceward.SettingAdvice{Setting: "synchronous_commit", Detail: "is " + value}
	if value == "off" || value == "local" || value == "remote_write" {
		a.Warn = true
		a.Detail += " for other sessions; the ledger's commits ask for on"
		a.Fix = "nothing for the ledger; set it to on if business rows share its transactions"
	}
	return a
}

// connectionAdvice judges how statements reach the server.
func connectionAdvice(pooled, named bool) onceward.SettingAdvice {
	a := onceward.SettingAdvice{Setting: "connection"}
	switch {
	case pooled && named:
		a.Warn = true
		a.Detail = "goes through a pooler, with prepared statements: they fail where it hands each transaction to another server process"
		a.Fix = "connect directly; or add default_query_exec_mode=exec to the connection string if the pooler's mode is transaction"
	case pooled:
		a.Detail = "goes through a pooler, without prepared statements"
	case named:
		a.Detail = "is direct, with prepared statements"
	default:
		a.Warn = true
		a.Detail = "is direct, and each statement is planned anew"
		a.Fix = "take default_query_exec_mode out of the connection string: it is for poolers"
	}
	return a
}

// orNothing is the text unless the setting is right.
func orNothing(right bool, text string) string {
	if right {
		return ""
	}
	return text
}
