package testdb

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// standbyWait bounds how long a standby may take to follow, and to become a
// primary.
const standbyWait = 60 * time.Second

// Standby starts a server of the test's own that follows this one, which it
// reaches at the address given (a proxy's; empty: directly), and closes it when
// the test ends. It is asynchronous until Set makes synchronous_standby_names
// "*".
func (s *Server) Standby(tb testing.TB, through string) *Server {
	tb.Helper()
	standby, err := s.openStandby(tb.Context(), through)
	return untilTestEnds(tb, "standby", standby, err)
}

func (s *Server) openStandby(ctx context.Context, through string) (*Server, error) {
	from, err := url.Parse(s.DSN())
	if err != nil {
		return nil, err
	}
	if through != "" {
		from.Host = through
	}
	return s.openBeside(ctx, func(standby *Server) error {
		// Why a fresh slot: the log that the standby has not fetched yet is kept.
		slot := "s_" + strings.ToLower(rand.Text()[:8])
		return standby.runLogged(ctx, standby.command(filepath.Join(filepath.Dir(s.programs.initdb), "pg_basebackup"), "--dbname", from.String(),
			"--pgdata", standby.dataDir(), "--write-recovery-conf", "--wal-method=stream", "--checkpoint=fast", "--no-sync", "--create-slot", "--slot", slot))
	}, nil)
}

// Synchronous waits for the standby that follows this server, and has each commit
// wait for it from then on.
func (s *Server) Synchronous(ctx context.Context) error {
	if err := s.AwaitStandbys(ctx, 1, "async"); err != nil {
		return err
	}
	if err := s.Set(ctx, "synchronous_standby_names", "*"); err != nil {
		return err
	}
	return s.AwaitStandbys(ctx, 1, "sync")
}

// Promote makes a standby a primary and waits until it takes writes.
func (s *Server) Promote(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, standbyWait)
	defer cancel()
	if err := execute(ctx, s.DSN(), fmt.Sprintf("SELECT pg_promote(true, %d)", int(standbyWait.Seconds()))); err != nil {
		return fmt.Errorf("promote standby: %w", err)
	}
	return s.until(ctx, "SELECT NOT pg_is_in_recovery()")
}

// Set changes a setting of the running server that needs no restart, and waits
// until new sessions have it. The value must be one that the server shows as it
// was given.
func (s *Server) Set(ctx context.Context, name, value string) error {
	ctx, cancel := context.WithTimeout(ctx, standbyWait)
	defer cancel()
	quoted := "'" + strings.ReplaceAll(value, "'", "''") + "'"
	if err := execute(ctx, s.DSN(), "ALTER SYSTEM SET "+pgx.Identifier{name}.Sanitize()+" = "+quoted, "SELECT pg_reload_conf()"); err != nil {
		return fmt.Errorf("set %s: %w", name, err)
	}
	return s.until(ctx, "SELECT current_setting('"+name+"') = "+quoted)
}

// AwaitStandbys waits until so many standbys follow in a state of
// pg_stat_replication.sync_state: "async", "sync".
func (s *Server) AwaitStandbys(ctx context.Context, n int, state string) error {
	ctx, cancel := context.WithTimeout(ctx, standbyWait)
	defer cancel()
	return s.until(ctx, fmt.Sprintf("SELECT count(*) = %d FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = '%s'", n, state))
}

// AwaitHeldCommit waits until a commit waits for a synchronous standby.
func (s *Server) AwaitHeldCommit(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, standbyWait)
	defer cancel()
	return s.until(ctx, "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
}

// AwaitReplayed waits until this standby shows all that the primary has written
// so far.
func (s *Server) AwaitReplayed(ctx context.Context, primary *Server) error {
	ctx, cancel := context.WithTimeout(ctx, standbyWait)
	defer cancel()
	conn, err := pgx.Connect(ctx, primary.DSN())
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	var at string
	if err := conn.QueryRow(ctx, "SELECT pg_current_wal_lsn()::text").Scan(&at); err != nil {
		return fmt.Errorf("read the primary's position: %w", err)
	}
	return s.until(ctx, "SELECT pg_last_wal_replay_lsn() >= '"+at+"'::pg_lsn")
}

// until asks the server, in sessions of their own, until it says true.
func (s *Server) until(ctx context.Context, question string) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		yes, err := s.asked(ctx, question)
		if yes {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for %q at %s: %w", question, net.JoinHostPort("127.0.0.1", fmt.Sprint(s.port)), errors.Join(ctx.Err(), err))
		}
	}
}

func (s *Server) asked(ctx context.Context, question string) (yes bool, err error) {
	conn, err := pgx.Connect(ctx, s.DSN())
	if err != nil {
		return false, err
	}
	defer func() { _ = conn.Close(ctx) }()
	err = conn.QueryRow(ctx, question).Scan(&yes)
	return yes, err
}
