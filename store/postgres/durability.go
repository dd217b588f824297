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
	var fsync, pages, commit, standbys string
	var async, sync int
	err := s.do(ctx, "read database settings", func(ctx context.Context, conn *pgx.Conn) error {
		return conn.QueryRow(ctx, `SELECT current_setting('fsync'), current_setting('full_page_writes'), current_setting('synchronous_commit'),
			current_setting('synchronous_standby_names'),
			(SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'async'),
			(SELECT count(*) FROM pg_stat_replication WHERE sync_state <> 'async')`).Scan(&fsync, &pages, &commit, &standbys, &async, &sync)
	})
	if err != nil {
		return nil, err
	}
	advice := []onceward.SettingAdvice{
		{Setting: "fsync", Bad: fsync != "on", Detail: "is " + fsync + orNothing(fsync == "on", ": a power cut loses commits and may break the database"), Fix: orNothing(fsync == "on", "set fsync = on")},
		{Setting: "full_page_writes", Bad: pages != "on", Detail: "is " + pages + orNothing(pages == "on", ": a power cut may tear pages"), Fix: orNothing(pages == "on", "set full_page_writes = on")},
		commitAdvice(commit),
	}
	if async > 0 && standbys == "" {
		advice = append(advice, onceward.SettingAdvice{Setting: "synchronous_standby_names", Warn: true,
			Detail: fmt.Sprintf("is empty, and %d standby servers follow asynchronously: a failover can lose the last commits, and with them claims whose writes were sent", async),
			Fix:    "name a synchronous standby, or reconcile after each failover"})
	}
	return advice, nil
}

// commitAdvice judges synchronous_commit as the server has it. Commits of this
// store set their own to at least on.
func commitAdvice(value string) onceward.SettingAdvice {
	a := onceward.SettingAdvice{Setting: "synchronous_commit", Detail: "is " + value}
	if value == "off" || value == "local" {
		a.Warn = true
		a.Detail += " for other sessions; the ledger's commits ask for on"
		a.Fix = "nothing for the ledger; set it to on if business rows share its transactions"
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
