package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store/migration"
)

//go:embed migration/*.sql
var files embed.FS

// application is what the ledger's databases say of themselves.
const application = "onceward"

// oldestServer is the oldest PostgreSQL that knows what the statements use.
const oldestServer = 140000

func steps() ([]migration.Step, error) {
	root, err := fs.Sub(files, "migration")
	if err != nil {
		return nil, err
	}
	return migration.Read(root)
}

// ready refuses a database that cannot be used, and brings the schema up to
// this version.
func (s *Store) ready(ctx context.Context, opts Options) error {
	all, err := steps()
	if err != nil {
		return err
	}
	return s.do(ctx, openOp, func(ctx context.Context, conn *pgx.Conn) error {
		readOnly, err := usable(ctx, conn)
		if err != nil {
			return err
		}
		state, err := (&schema{conn}).State(ctx)
		if err != nil {
			return err
		}
		pending, err := migration.Pending(state, all)
		switch {
		case err != nil:
			return err
		case readOnly:
			r := reasonOf(stateReadOnly)
			return &onceward.Error{Code: r.code, Op: openOp, Message: r.message, Hint: r.hint}
		case len(pending) == 0:
			return nil
		case opts.NoMigrate:
			return &onceward.Error{
				Code: onceward.CodeLedgerUnavailable, Op: openOp,
				Message: fmt.Sprintf("the database lacks %d migrations, the first is %s", len(pending), pending[0]), Hint: "run onceward migrate",
			}
		}
		return migrate(ctx, conn, all)
	})
}

// usable refuses a server that is too old, stores other text than UTF-8, or has
// no schema for the ledger, and tells whether it takes writes.
func usable(ctx context.Context, conn *pgx.Conn) (readOnly bool, err error) {
	var (
		version  int
		encoding string
		schema   *string
	)
	err = conn.QueryRow(ctx, `select current_setting('server_version_num')::int, current_setting('server_encoding'),
    current_schema()::text, current_setting('transaction_read_only')::boolean`).Scan(&version, &encoding, &schema, &readOnly)
	if err != nil {
		return false, err
	}
	refuse := func(message, hint string) error {
		return &onceward.Error{Code: onceward.CodeConfigInvalid, Op: openOp, Message: message, Hint: hint}
	}
	switch {
	case version < oldestServer:
		return false, refuse(fmt.Sprintf("PostgreSQL %d is too old", version/10000), "use PostgreSQL 14 or newer")
	case encoding != "UTF8":
		return false, refuse("the database stores text as "+encoding, "create the database with encoding UTF8")
	case schema == nil:
		r := reasonOf("3F000")
		return false, &onceward.Error{Code: r.code, Op: openOp, Message: r.message, Hint: r.hint}
	}
	return readOnly, nil
}

// migrate runs what is pending in one transaction, one process at a time: with
// replicas that start together one does it and the others find it done.
func migrate(ctx context.Context, conn *pgx.Conn, all []migration.Step) error {
	return pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "select pg_advisory_xact_lock(hashtextextended('onceward migration ' || current_schema(), 0))")
		if err != nil {
			return err
		}
		_, err = migration.Run(ctx, &schema{tx.Conn()}, all)
		return err
	})
}

// schema is the schema of the connection, the first of its search_path.
type schema struct{ conn *pgx.Conn }

// State reads what there is; see [migration.Database]. Tables of extensions do
// not count: many put theirs into public.
func (s *schema) State(ctx context.Context) (migration.State, error) {
	rows, err := s.conn.Query(ctx, `select c.relname::text from pg_class c join pg_namespace n on n.oid = c.relnamespace
where n.nspname = current_schema() and c.relkind in ('r', 'p', 'v', 'm', 'f')
    and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')
order by 1`)
	if err != nil {
		return migration.State{}, err
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(tables) == 0 {
		return migration.State{}, err
	}
	foreign := migration.State{Foreign: "its schema has the table " + tables[0] + " and nothing of a ledger"}
	if !slices.Contains(tables, "meta") || !slices.Contains(tables, "migrations") {
		return foreign, nil
	}
	var whose string
	err = s.conn.QueryRow(ctx, "select value from meta where name = 'application'").Scan(&whose)
	switch {
	case errors.Is(err, pgx.ErrNoRows) || sqlState(err) == "42703":
		return foreign, nil
	case err != nil:
		return migration.State{}, err
	case whose != application:
		return migration.State{Foreign: "it calls itself " + whose}, nil
	}
	return s.applied(ctx)
}

func (s *schema) applied(ctx context.Context) (migration.State, error) {
	rows, err := s.conn.Query(ctx, "select number, name, sum from migrations order by number")
	if err != nil {
		return migration.State{}, err
	}
	applied, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (a migration.Applied, err error) {
		var sum []byte
		err = row.Scan(&a.Number, &a.Name, &sum)
		copy(a.Sum[:], sum)
		return a, err
	})
	return migration.State{Applied: applied}, err
}

// Apply runs a step and records it; see [migration.Database].
func (s *schema) Apply(ctx context.Context, step migration.Step) error {
	if _, err := s.conn.PgConn().Exec(ctx, step.SQL).ReadAll(); err != nil {
		return err
	}
	_, err := s.conn.Exec(ctx, "insert into migrations (number, name, sum, applied_at) values ($1, $2, $3, now())",
		step.Number, step.Name, step.Sum[:])
	return err
}
