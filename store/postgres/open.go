package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/onceward/onceward"
)

const openOp = "open ledger"

// Open opens the ledger in a PostgreSQL database and brings its schema up to
// this version. dsn is a postgres:// URL or a key=value connection string;
// besides PostgreSQL's own it may hold pool_max_conns and
// default_query_exec_mode. Close the store when nothing is in flight.
//
// Errors say what is wrong and what to do, and never show the connection
// string: CodeConfigInvalid (it cannot be read), CodeLedgerUnavailable (not
// reachable, no such database, refused account or password, no connection
// left), CodeLedgerReadOnly, CodeLedgerForeign, CodeLedgerTooNew,
// CodeLedgerCorrupt.
func Open(ctx context.Context, dsn string, opts Options) (*Store, error) {
	s, err := newStore(dsn, opts)
	if err != nil {
		return nil, err
	}
	if s.pool, err = pgxpool.NewWithConfig(ctx, s.config); err != nil {
		return nil, s.failed(ctx, openOp, err)
	}
	if err = s.ready(ctx, opts); err != nil {
		_ = s.Close()
		return nil, s.failed(ctx, openOp, err)
	}
	return s, nil
}

// newStore is a store that has no connection yet.
func newStore(dsn string, opts Options) (*Store, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		// Not the cause: the driver's text quotes the connection string.
		return nil, &onceward.Error{
			Code: onceward.CodeConfigInvalid, Op: openOp, Message: "the PostgreSQL connection string cannot be read",
			Hint: "write it as postgres://USER:PASSWORD@HOST:PORT/DATABASE, with every special character of the password percent-encoded",
		}
	}
	opts.apply(config)
	s := &Store{config: config, timeout: opts.Timeout}
	if s.timeout <= 0 {
		s.timeout = DefaultTimeout
	}
	s.session = newSession(s)
	config.AfterConnect = s.reads
	return s, nil
}

// apply sets what the options say, and defaults where neither they nor the
// connection string say anything.
func (o Options) apply(config *pgxpool.Config) {
	if o.ExecMode != 0 {
		config.ConnConfig.DefaultQueryExecMode = o.ExecMode
	}
	if config.ConnConfig.DefaultQueryExecMode == pgx.QueryExecModeSimpleProtocol {
		// It gives values as text only; exec is as good behind any pooler.
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	}
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = connectTimeout
	}
	if o.ReadConns > 0 {
		config.MaxConns = o.ReadConns
	}
	params := config.ConnConfig.RuntimeParams
	if params["application_name"] == "" {
		params["application_name"] = "onceward"
	}
	if config.ConnConfig.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement {
		// Under a stricter one each loser of a race is an error, and run again.
		// Not behind a pooler, which refuses the parameter.
		params["default_transaction_isolation"] = "read committed"
	}
}
