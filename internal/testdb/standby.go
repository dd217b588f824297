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

	"github.com/onceward/onceward/internal/freeport"
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
	if err != nil {
		tb.Fatalf("testdb: %v", err)
	}
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Logf("testdb: the standby of this failed test: %s", standby.logTail())
		}
		if err := standby.Close(); err != nil {
			tb.Errorf("testdb: %v", err)
		}
	})
	return standby
}

func (s *Server) openStandby(ctx context.Context, through string) (*Server, error) {
	standby := &Server{programs: s.programs, as: s.as, env: s.env, settings: s.settings, password: s.password}
	if err := standby.makeFolder(""); err != nil {
		return nil, errors.Join(err, standby.Close())
	}
	from, err := url.Parse(s.DSN())
	if err != nil {
		return nil, errors.Join(err, standby.Close())
	}
	if through != "" {
		from.Host = through
	}
	// Why a fresh slot: the log that the standby has not fetched yet is kept.
	slot := "s_" + strings.ToLower(rand.Text()[:8])
	backup := standby.command(filepath.Join(filepath.Dir(s.programs.initdb), "pg_basebackup"), "--dbname", from.String(),
		"--pgdata", standby.dataDir(), "--write-recovery-conf", "--wal-method=stream", "--checkpoint=fast", "--no-sync", "--create-slot", "--slot", slot)
	if err := standby.runLogged(ctx, backup); err != nil {
		return nil, errors.Join(err, standby.Close())
	}
	if standby.port, err = freeport.Find(ctx); err == nil {
		err = standby.Start(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, standby.Close())
	}
	return standby, nil
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
