package postgres

import (
	"context"
	"net/url"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward"
)

// scratchWait bounds making and dropping a scratch schema.
const scratchWait = 30 * time.Second

// Scratch makes a schema for a ledger that is thrown away, and returns the
// connection string that leads to it. drop removes the schema with all it holds.
// dsn is a postgres:// URL. Errors are those of Open.
func Scratch(ctx context.Context, dsn, schema string) (scoped string, drop func() error, err error) {
	u, err := url.Parse(dsn)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return "", nil, &onceward.Error{Code: onceward.CodeConfigInvalid, Op: "make schema", Message: "the PostgreSQL connection string is no postgres:// URL"}
	}
	name := pgx.Identifier{schema}.Sanitize()
	if err := once(ctx, dsn, "CREATE SCHEMA "+name); err != nil {
		return "", nil, err
	}
	query := u.Query()
	query.Set("search_path", schema)
	u.RawQuery = query.Encode()
	return u.String(), func() error { return once(context.WithoutCancel(ctx), dsn, "DROP SCHEMA "+name+" CASCADE") }, nil
}

// once runs one statement on a connection of its own.
func once(ctx context.Context, dsn, statement string) error {
	ctx, cancel := context.WithTimeout(ctx, scratchWait)
	defer cancel()
	config, err := pgx.ParseConfig(dsn)
	if err != nil { // not the cause: the driver's text quotes the connection string
		return &onceward.Error{Code: onceward.CodeConfigInvalid, Op: "make schema", Message: "the PostgreSQL connection string cannot be read"}
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return &onceward.Error{Code: onceward.CodeLedgerUnavailable, Op: "make schema", Message: "the database cannot be reached, or refuses the account"}
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, statement); err != nil {
		return &onceward.Error{Code: onceward.CodeLedgerUnavailable, Op: "make schema", Message: "the account may not make or drop a schema, or it is in use", Err: err}
	}
	return nil
}
