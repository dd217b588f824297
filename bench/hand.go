package main

import (
	"context"
	"strconv"
	"sync"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/ncruces/go-sqlite3"
)

// The hand-written ledgers are what a careful engineer writes: claim by a
// unique key, call, complete; two commits.

func handPostgres(ctx context.Context, dsn string, call work) (work, func(), error) {
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, nil, err
	}
	cfg.MaxConns = 64
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, nil, err
	}
	if _, err := pool.Exec(ctx, `CREATE TABLE IF NOT EXISTS hand (key text PRIMARY KEY, state int NOT NULL, result bytea)`); err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context, n int64) error {
		key := "k" + strconv.FormatInt(n, 10)
		if _, err := pool.Exec(ctx, `INSERT INTO hand (key, state) VALUES ($1, 1) ON CONFLICT DO NOTHING`, key); err != nil {
			return err
		}
		if err := call(ctx, n); err != nil {
			return err
		}
		_, err := pool.Exec(ctx, `UPDATE hand SET state = 2, result = $2 WHERE key = $1 AND state = 1`, key, input)
		return err
	}, pool.Close, nil
}

func handSQLite(path string, call work) (work, func(), error) {
	db, err := sqlite3.Open(path)
	if err != nil {
		return nil, nil, err
	}
	if err := db.Exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
		CREATE TABLE hand (key TEXT PRIMARY KEY, state INTEGER NOT NULL, result BLOB) WITHOUT ROWID`); err != nil {
		return nil, nil, err
	}
	claim, _, err := db.Prepare(`INSERT INTO hand (key, state) VALUES (?1, 1) ON CONFLICT DO NOTHING`)
	if err != nil {
		return nil, nil, err
	}
	done, _, err := db.Prepare(`UPDATE hand SET state = 2, result = ?2 WHERE key = ?1 AND state = 1`)
	if err != nil {
		return nil, nil, err
	}
	var one sync.Mutex
	step := func(s *sqlite3.Stmt, bind func() error) error {
		one.Lock()
		defer one.Unlock()
		if err := bind(); err != nil {
			return err
		}
		s.Step()
		return s.Reset()
	}
	return func(ctx context.Context, n int64) error {
		key := "k" + strconv.FormatInt(n, 10)
		if err := step(claim, func() error { return claim.BindText(1, key) }); err != nil {
			return err
		}
		if err := call(ctx, n); err != nil {
			return err
		}
		return step(done, func() error {
			if err := done.BindText(1, key); err != nil {
				return err
			}
			return done.BindBlob(2, input)
		})
	}, func() { _ = db.Close() }, nil
}
