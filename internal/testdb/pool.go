package testdb

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Pool hands out schemas that hold the same tables, for many tests that each need
// them as new: making tables costs a test half a second, emptying them a few
// milliseconds. A test that changes tables or settings wants [Postgres] in place of
// it. The zero value with Prepare is ready for use, by several tests at once.
type Pool struct {
	// Prepare makes the tables, and the rows that each test finds, in the empty
	// schema that the DSN leads to. It closes what it opens.
	Prepare func(ctx context.Context, dsn string) error

	mu   sync.Mutex
	idle []*pooled // as Prepare left them
}

// pooled is a schema of a pool, with a connection of the pool's own: a new one would
// first have to learn every table.
type pooled struct {
	schema string
	dsn    string // of its server
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
	p.mu.Lock()
	defer p.mu.Unlock()
	if last := len(p.idle) - 1; last >= 0 {
		s := p.idle[last]
		p.idle = p.idle[:last]
		return s, nil
	}
	s := &pooled{schema: schemaName(test), dsn: dsn}
	scoped, err := withSearchPath(dsn, s.schema)
	if err != nil {
		return nil, err
	}
	if s.conn, err = pgx.Connect(ctx, dsn); err != nil {
		return nil, err
	}
	if err := s.run(ctx, lockTimeout(leftOpenWait), "CREATE SCHEMA "+s.name(), "CREATE SCHEMA "+s.kept()); err != nil {
		return nil, err
	}
	if err := p.Prepare(ctx, scoped); err != nil {
		return nil, err
	}
	return s, s.run(ctx, s.forEachTable("CREATE TABLE "+s.kept()+".%1$I AS TABLE "+s.name()+".%1$I"))
}

// giveBack makes the schema as Prepare left it. One that cannot be emptied is
// dropped, and what holds it open is cut off and reported.
func (p *Pool) giveBack(s *pooled) error {
	ctx, cancel := context.WithTimeout(context.Background(), schemaWait)
	defer cancel()
	err := s.run(ctx, "BEGIN",
		s.forEachTable("DELETE FROM "+s.name()+".%1$I"),
		s.forEachTable("INSERT INTO "+s.name()+".%1$I OVERRIDING SYSTEM VALUE TABLE "+s.kept()+".%1$I"),
		"SELECT setval(seqrelid, seqstart, false) FROM pg_sequence JOIN pg_class ON oid = seqrelid WHERE relnamespace = '"+s.name()+"'::regnamespace",
		"COMMIT")
	if err != nil {
		return errors.Join(err, s.drop())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, s)
	return nil
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
	return errors.Join(err, dropSchema(s.dsn, s.schema, leftOpenWait), dropSchema(s.dsn, s.schema+pristine, leftOpenWait))
}

// forEachTable is a statement that runs another for every table of the schema, whose
// name stands in it as %1$I.
func (s *pooled) forEachTable(statement string) string {
	return `DO $do$ DECLARE name text; BEGIN
		FOR name IN SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = '` + s.name() + `'::regnamespace LOOP
			EXECUTE format('` + statement + `', name);
		END LOOP; END $do$`
}
