package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward"
)

// diskSyncs writes 8 kB and syncs, again and again: what one commit after the
// other can reach at most.
func (s *suite) diskSyncs(ctx context.Context) error {
	f, err := os.Create(filepath.Join(s.dir, "sync"))
	if err != nil {
		return err
	}
	block := make([]byte, 8<<10)
	err = s.phase(ctx, "disk: write 8 kB and sync", 1, func(context.Context, int64) error {
		if _, err := f.WriteAt(block, 0); err != nil {
			return err
		}
		return f.Sync()
	}, nil, nil)
	return errors.Join(err, f.Close())
}

// twoCommits is the cycle by hand as pgbench runs it: a claim by a unique key,
// and its outcome, each a transaction of its own.
const twoCommits = `\set k random(1, 9000000000000000)
INSERT INTO bench_cycle (key, state) VALUES (:k, 1) ON CONFLICT DO NOTHING;
UPDATE bench_cycle SET state = 2, result = 'ch_0000000000000001' WHERE key = :k AND state = 1;
`

// pgbenchMost is how many clients are tried at most: each is a connection, and a
// server takes a hundred unless it is told otherwise.
const pgbenchMost = 64

var pgbenchRate = regexp.MustCompile(`tps = ([0-9.]+)`)

// pgbench prints what PostgreSQL's own load generator reaches with the cycle.
// Where there is none, it says so.
func (s *suite) pgbench(ctx context.Context, dsn string) error {
	program := pgbenchProgram()
	if program == "" {
		fmt.Println("| pgbench is not installed | | | | | | | | | |")
		return nil
	}
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, `CREATE TABLE bench_cycle (key bigint PRIMARY KEY, state int NOT NULL, result text) WITH (fillfactor = 50)`); err != nil {
		return err
	}
	script := filepath.Join(s.dir, "cycle.sql")
	if err := os.WriteFile(script, []byte(twoCommits), 0o600); err != nil {
		return err
	}
	for _, c := range s.callers {
		if !s.only.MatchString("pgbench") || c > pgbenchMost {
			continue
		}
		cmd := exec.CommandContext(ctx, program, "-n", "-M", "prepared", "-f", script, "-c", strconv.Itoa(c), "-j", strconv.Itoa(min(c, 2)),
			"-T", strconv.Itoa(max(1, int(s.seconds/time.Second))), withoutSchema(dsn))
		cmd.Env = append(os.Environ(), "PGOPTIONS=-c search_path="+schemaOf(dsn))
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("pgbench: %w: %s", err, out)
		}
		rate := "none within the time"
		if found := pgbenchRate.FindSubmatch(out); found != nil {
			rate, _, _ = strings.Cut(string(found[1]), ".")
		}
		fmt.Printf("| pgbench, two commits by hand | %d | %s | | | 2 | | | | |\n", c, rate)
	}
	return nil
}

func pgbenchProgram() string {
	if p, err := exec.LookPath("pgbench"); err == nil {
		return p
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/pgbench")
	if err != nil || len(found) == 0 {
		return ""
	}
	return found[len(found)-1]
}

// withoutSchema is a connection string without the setting that pgbench does not know.
func withoutSchema(dsn string) string {
	u, err := url.Parse(dsn)
	if err != nil {
		return dsn
	}
	q := u.Query()
	q.Del("search_path")
	u.RawQuery = q.Encode()
	return u.String()
}

func schemaOf(dsn string) string {
	u, err := url.Parse(dsn)
	if err != nil {
		return ""
	}
	return u.Query().Get("search_path")
}

// ledgerAlone writes batches into a store: as many claims as outcomes of the
// batch before. One operation is a claim and its outcome.
func (s *suite) ledgerAlone(ctx context.Context, name string, store onceward.Store, wal func() int64) error {
	for _, size := range []int{1, 100} {
		if err := s.batches(ctx, fmt.Sprintf("ledger alone, %s, batches of %d", name, size), size, s.aloneWork(store, size, ""), wal); err != nil {
			return err
		}
	}
	return nil
}

// aloneWork commits a batch of so many claims, with the outcomes of the one before.
func (s *suite) aloneWork(store onceward.Store, size int, prefix string) work {
	var running []onceward.Operation
	next := 0
	prefix += fmt.Sprintf("alone%d-", size)
	return func(ctx context.Context, _ int64) error {
		batch := make([]onceward.Change, 0, 2*size)
		for _, op := range running {
			batch = append(batch, onceward.Change{Before: 1, After: ended(op)})
		}
		running = running[:0]
		for range size {
			op := claimed(prefix+strconv.Itoa(next), time.Now(), s.tools[0].Info())
			next++
			running = append(running, op)
			batch = append(batch, onceward.Change{After: op})
		}
		if size > 1 {
			return committed(ctx, store, batch)
		}
		for _, c := range batch { // alone, each is a commit
			if err := committed(ctx, store, []onceward.Change{c}); err != nil {
				return err
			}
		}
		return nil
	}
}

func committed(ctx context.Context, store onceward.Store, batch []onceward.Change) error {
	out, err := store.Commit(ctx, batch)
	if err != nil {
		return err
	}
	for i, r := range out.Results {
		if !r.Applied {
			return fmt.Errorf("change %d was not applied: %+v", i, r)
		}
	}
	return nil
}
