package testdb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Pool hands out schemas that hold the same tables, for many tests that each need
// them as new: making tables costs a test half a second, emptying them a few
// milliseconds. A test that makes or changes tables wants [Postgres] in place of
// it. The zero value with Prepare is ready for use, by several tests at once.
type Pool struct {
	// Prepare makes the tables, and the rows that each test finds, in the empty
	// schema that the DSN leads to; sequences begin anew for each test. It closes
	// what it opens.
	Prepare func(ctx context.Context, dsn string) error

	wait time.Duration // for what a test left open; 0: leftOpenWait

	mu   sync.Mutex
	idle []*pooled // as Prepare left them
}

// pooled is a schema of a pool, with a connection of the pool's own: a new one would
// first have to learn every table.
type pooled struct {
	schema string
	dsn    string // of its server
	wait   time.Duration
	conn   *pgx.Conn
}

// pristine is the schema beside a pool's that keeps the rows which Prepare left.
const pristine = "_pristine"

// Postgres returns the DSN of a schema as Prepare leaves it. It is emptied when the
// test ends: close what uses it before that, in a Cleanup registered after this
// call. Without a server it does what [Postgres] does.
func (p *Pool) Postgres(tb testing.TB) string {
	tb.Helper()
	s, err := p.take(tb.Context(), around(tb), tb.Name())
	if err != nil {
		tb.Fatalf("testdb: %v", err)
	}
	tb.Cleanup(func() {
		if err := p.giveBack(s); err != nil {
			tb.Errorf("testdb: %v", err)
		}
	})
	scoped, err := withSearchPath(s.dsn, s.schema)
	if err != nil {
		tb.Fatalf("testdb: %v", err)
	}
	return scoped
}

// Close drops the schemas that nobody has now.
func (p *Pool) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var err error
	for _, s := range p.idle {
		err = errors.Join(err, s.drop())
	}
	p.idle = nil
	return err
}

func (p *Pool) take(ctx context.Context, dsn, test string) (*pooled, error) {
	if s := p.anIdle(); s != nil {
		return s, nil
	}
	s := &pooled{schema: schemaName(test), dsn: dsn, wait: cmp.Or(p.wait, leftOpenWait)}
	scoped, err := withSearchPath(dsn, s.schema)
	if err != nil {
		return nil, err
	}
	if s.conn, err = pgx.Connect(ctx, dsn); err != nil {
		return nil, err
	}
	err = s.run(ctx, lockTimeout(s.wait), "CREATE SCHEMA "+s.name(), "CREATE SCHEMA "+s.kept())
	if err == nil {
		err = p.Prepare(ctx, scoped)
	}
	if err == nil {
		err = s.run(ctx, s.forEachTable("CREATE TABLE "+s.kept()+".%1$I AS TABLE "+s.name()+".%1$I"))
	}
	if err != nil {
		return nil, errors.Join(err, s.drop())
	}
	return s, nil
}

// anIdle takes a schema that nobody has; nil: there is none.
func (p *Pool) anIdle() *pooled {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.idle) - 1
	if last < 0 {
		return nil
	}
	s := p.idle[last]
	p.idle = p.idle[:last]
	return s
}

// giveBack makes the schema as Prepare left it. One that cannot be emptied is
// dropped, and what holds it open is cut off and reported.
//
// Why a lock that nobody shares: a transaction that a test left open is found, and
// does not commit into the next one.
func (p *Pool) giveBack(s *pooled) error {
	ctx, cancel := context.WithTimeout(context.Background(), schemaWait)
	defer cancel()
	err := s.unchanged(ctx)
	if err == nil {
		err = s.run(ctx, "BEGIN",
			s.forEachTable("LOCK TABLE "+s.name()+".%1$I IN ACCESS EXCLUSIVE MODE"),
			s.forEachTable("DELETE FROM "+s.name()+".%1$I"),
			s.forEachTable("INSERT INTO "+s.name()+".%1$I OVERRIDING SYSTEM VALUE TABLE "+s.kept()+".%1$I"),
			"SELECT setval(seqrelid, seqstart, false) FROM pg_sequence JOIN pg_class ON oid = seqrelid WHERE relnamespace = '"+s.name()+"'::regnamespace",
			"COMMIT")
	}
	if err != nil {
		return errors.Join(err, s.drop())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, s)
	return nil
}

// unchanged fails if a test made tables in a schema that the next test gets.
func (s *pooled) unchanged(ctx context.Context) error {
	var made string
	err := s.conn.QueryRow(ctx, `SELECT coalesce(string_agg(relname, ', '), '') FROM pg_class WHERE relkind = 'r' AND relnamespace = '`+s.name()+`'::regnamespace
		AND relname NOT IN (SELECT relname FROM pg_class WHERE relnamespace = '`+s.kept()+`'::regnamespace)`).Scan(&made)
	if err == nil && made != "" {
		err = fmt.Errorf("the test made tables in a schema of a pool (%s): it wants Postgres in place of the pool", made)
	}
	return err
}

func (s *pooled) name() string { return pgx.Identifier{s.schema}.Sanitize() }

func (s *pooled) kept() string { return pgx.Identifier{s.schema + pristine}.Sanitize() }

func (s *pooled) run(ctx context.Context, statements ...string) error {
	for _, statement := range statements {
		if _, err := s.conn.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

func (s *pooled) drop() error {
	err := s.conn.Close(context.Background())
	return errors.Join(err, dropSchema(s.dsn, s.schema, s.wait), dropSchema(s.dsn, s.schema+pristine, s.wait))
}

// forEachTable is a statement that runs another for every table of the schema, whose
// name stands in it as %1$I.
func (s *pooled) forEachTable(statement string) string {
	return `DO $do$ DECLARE name text; BEGIN
		FOR name IN SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = '` + s.name() + `'::regnamespace LOOP
			EXECUTE format('` + statement + `', name);
		END LOOP; END $do$`
}
