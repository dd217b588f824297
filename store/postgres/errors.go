package postgres

import (
	"context"
	"crypto/tls"
	"errors"
	"net"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// reason is what an error of the server means here.
type reason struct {
	code    onceward.Code
	message string
	hint    string
}

// reasons tells by SQLSTATE, never by text: texts are translated and change.
var reasons = map[string]reason{
	"08P01": {onceward.CodeLedgerUnavailable, "PostgreSQL, or a pooler before it, did not understand the protocol",
		"behind PgBouncer add default_query_exec_mode=exec to the connection string, or connect directly"},
	"0A000": {onceward.CodeLedgerUnavailable, "PostgreSQL does not support what the ledger asked for", "use PostgreSQL 14 or newer"},
	"25006": {onceward.CodeLedgerReadOnly, "the database does not take writes: it is a standby, or read-only",
		"connect to the primary, for example with target_session_attrs=read-write and all hosts in the connection string"},
	"26000": {onceward.CodeLedgerUnavailable, "a prepared statement is gone: a pooler hands each transaction to another server process",
		"add default_query_exec_mode=exec to the connection string, or connect directly"},
	"28000": {onceward.CodeLedgerUnavailable, "PostgreSQL does not let this account in from here", "check the account and pg_hba.conf"},
	"28P01": {onceward.CodeLedgerUnavailable, "PostgreSQL refused the password", "check the password in the connection string, or PGPASSWORD"},
	"3D000": {onceward.CodeLedgerUnavailable, "the database does not exist", "create it (createdb), or correct its name in the connection string"},
	"3F000": {onceward.CodeLedgerUnavailable, "the schema does not exist", "create it, or correct search_path in the connection string"},
	"42501": {onceward.CodeLedgerUnavailable, "the account may not do this in the database",
		"grant the account the right to use, read and write the ledger's tables, and to create them once (onceward migrate)"},
	"42P01": {onceward.CodeLedgerUnavailable, "a table of the ledger is missing", "run onceward migrate; check search_path in the connection string"},
	"42703": {onceward.CodeLedgerUnavailable, "a column of the ledger is missing", "run onceward migrate"},
	"42P05": {onceward.CodeLedgerUnavailable, "a prepared statement is there already: a pooler hands each transaction to another server process",
		"add default_query_exec_mode=exec to the connection string, or connect directly"},
	"53100": {onceward.CodeLedgerUnavailable, "the database's disk is full", "free space there; nothing was recorded"},
	"53200": {onceward.CodeLedgerUnavailable, "the database is out of memory", "lower work_mem or the number of connections there"},
	"53300": {onceward.CodeLedgerUnavailable, "the database has no connection left",
		"raise max_connections there, lower pool_max_conns here, or put a pooler between"},
	"55P03": {onceward.CodeLedgerUnavailable, "a lock was not free within lock_timeout", "raise lock_timeout for this account; look for who holds it"},
	"57014": {onceward.CodeLedgerUnavailable, "the database cancelled a statement", "raise statement_timeout for this account"},
	"57P01": {onceward.CodeLedgerUnavailable, "the database is shutting down", "ask again when it is up"},
	"57P02": {onceward.CodeLedgerUnavailable, "the database crashed and recovers", "ask again when it is up"},
	"57P03": {onceward.CodeLedgerUnavailable, "the database is starting or in recovery", "ask again when it is up"},
	"XX001": {onceward.CodeLedgerCorrupt, "the database found damaged data", "see the database's log; restore from a backup"},
	"XX002": {onceward.CodeLedgerCorrupt, "the database found a damaged index", "see the database's log; reindex, or restore from a backup"},
}

// classes is for what has no entry of its own, by the first two characters.
var classes = map[string]reason{
	"08": {onceward.CodeLedgerUnavailable, "the connection to the database broke", "check the network and the database"},
	"22": {onceward.CodeInvalidInput, "the database cannot store a value", "the value is no valid text in the database's encoding, or out of range"},
	"23": {onceward.CodeInvalidInput, "a constraint of the database refuses a row", "the tables may have been changed by hand"},
	"28": {onceward.CodeLedgerUnavailable, "PostgreSQL does not let this account in", "check the account and pg_hba.conf"},
	"40": {onceward.CodeLedgerUnavailable, "other transactions were in the way for too long", "ask again; look for long transactions in the database"},
	"53": {onceward.CodeLedgerUnavailable, "the database is short of a resource", "see the database's log"},
	"54": {onceward.CodeTooLarge, "a value is larger than the database can store", "shorten the run, the correlation ID or the key"},
	"57": {onceward.CodeLedgerUnavailable, "the database ended the connection", "ask again when it is up"},
	"58": {onceward.CodeLedgerUnavailable, "the database has trouble with its disk", "see the database's log"},
	"XX": {onceward.CodeLedgerUnavailable, "the database met an error of its own", "see the database's log"},
}

// SQLSTATEs that are looked at by themselves.
const (
	stateSerialization = "40001"
	stateDeadlock      = "40P01"
	stateReadOnly      = "25006"
	stateNoStatement   = "26000"
	stateChangedPlan   = "0A000"
)

func reasonOf(sqlstate string) reason {
	if r, ok := reasons[sqlstate]; ok {
		return r
	}
	if len(sqlstate) == 5 {
		if r, ok := classes[sqlstate[:2]]; ok {
			return r
		}
	}
	return reason{onceward.CodeInternal, "the database refused a statement", "see the database's log"}
}

// sqlError stands for an error of the server. Its text is the code alone: the
// server's own text may quote what was to be stored.
type sqlError struct{ pg *pgconn.PgError }

func (e *sqlError) Error() string { return "SQLSTATE " + e.pg.Code }
func (e *sqlError) Unwrap() error { return e.pg }

// warningError is a commit that ended with a warning: the server stopped waiting
// for its synchronous standby.
type warningError struct{ pg *pgconn.PgError }

func (e *warningError) Error() string { return "the commit ended with warning " + e.pg.Code }

// commitError is a batch that failed, and what is known of it.
type commitError struct {
	fate fate
	err  error
}

func (e *commitError) Error() string { return e.err.Error() }
func (e *commitError) Unwrap() error { return e.err }

// again reports whether a batch can simply be run again.
func again(err error) bool {
	var c *commitError
	if !errors.As(err, &c) {
		return false
	}
	switch c.fate {
	case stale, vanished:
		return true
	case aborted:
		return contended(err)
	case unsent, lost:
	}
	return false
}

func sqlState(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}

func contended(err error) bool {
	state := sqlState(err)
	return state == stateSerialization || state == stateDeadlock
}

// outdated reports whether the connection does not know a statement any more,
// or knows it for tables that have changed.
func outdated(err error) bool {
	state := sqlState(err)
	return state == stateNoStatement || state == stateChangedPlan
}

// failed turns any error into one of the ledger. It never shows the connection
// string, nor anything that was to be stored.
func (s *Store) failed(ctx context.Context, op string, err error) error {
	var ours *onceward.Error
	if err == nil || errors.As(err, &ours) {
		return err
	}
	var c *commitError
	if errors.As(err, &c) && c.fate >= vanished {
		return &onceward.Error{
			Code: onceward.CodeMayBeRecorded, Op: op, Message: "the database was lost during the commit",
			Hint: "ask again with the same key", Err: cause(ctx, c.err),
		}
	}
	if ctx.Err() != nil {
		return store.Canceled(op, context.Cause(ctx))
	}
	if state := sqlState(err); state != "" {
		r := reasonOf(state)
		return &onceward.Error{Code: r.code, Op: op, Message: r.message, Hint: r.hint, Err: cause(ctx, err)}
	}
	var bad *malformedError
	if errors.As(err, &bad) {
		return &onceward.Error{Code: onceward.CodeLedgerCorrupt, Op: op, Err: bad}
	}
	return &onceward.Error{
		Code: onceward.CodeLedgerUnavailable, Op: op, Message: "cannot reach PostgreSQL at " + s.address(),
		Hint: "check that it runs and that host, port and TLS settings of the connection string are right", Err: cause(ctx, err),
	}
}

// cause is what may be shown of an error: not the texts of the driver and of
// the server, which hold parts of the connection string or of the data.
func cause(ctx context.Context, err error) error {
	var (
		pg          *pgconn.PgError
		warning     *warningError
		network     *net.OpError
		name        *net.DNSError
		certificate *tls.CertificateVerificationError
	)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &pg):
		return &sqlError{pg}
	case errors.As(err, &warning):
		return warning
	case errors.As(err, &name):
		return name
	case errors.As(err, &network):
		return network
	case errors.As(err, &certificate):
		return certificate
	case errors.Is(err, context.DeadlineExceeded):
		return context.DeadlineExceeded
	}
	return nil
}
