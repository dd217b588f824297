package main

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
)

// benchSchema makes a schema for this run; wal reads the write-ahead log's
// position in bytes.
func benchSchema(ctx context.Context, dsn string) (schema string, wal func() int64, drop func(), err error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return "", nil, nil, fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	name := "bench_" + strconv.FormatInt(time.Now().UnixNano(), 36)
	if _, err := conn.Exec(ctx, "CREATE SCHEMA "+name); err != nil {
		return "", nil, nil, err
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return "", nil, nil, err
	}
	q := u.Query()
	q.Set("search_path", name)
	u.RawQuery = q.Encode()
	wal = func() int64 {
		var at int64
		if err := conn.QueryRow(ctx, `SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint`).Scan(&at); err != nil {
			return 0
		}
		return at
	}
	drop = func() {
		_, _ = conn.Exec(ctx, "DROP SCHEMA "+name+" CASCADE")
		_ = conn.Close(ctx)
	}
	return u.String(), wal, drop, nil
}
