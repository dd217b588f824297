package postgres

import (
	"context"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward"
)

// servers is which server the connections lead to, and who is told when it is
// another one.
type servers struct {
	mu      sync.Mutex
	readers string       // the server of the newest connection of the pool
	told    func()       // nil: nobody asks
	refusal func() error // why nothing may be committed; nil: nobody minds
}

// OnNewServer implements [onceward.ServerWatcher]. A server is known by the instant
// at which it started. Behind a pooler it is asked for when the connection to the
// pooler is made.
func (s *Store) OnNewServer(told func(), refusal func() error) {
	s.servers.mu.Lock()
	defer s.servers.mu.Unlock()
	s.servers.told, s.servers.refusal = told, refusal
}

// refused is why nothing may be committed now.
//
// Why here too: batches wait that were let through before the other server was
// seen, and one whose commit was lost is run again. On a server that has forgotten,
// its claims would be fresh.
func (s *servers) refused() error {
	s.mu.Lock()
	refusal := s.refusal
	s.mu.Unlock()
	if refusal == nil {
		return nil
	}
	return refusal()
}

// serverOf names the server behind a connection.
func serverOf(ctx context.Context, conn *pgx.Conn) (name string, err error) {
	err = conn.QueryRow(ctx, "select pg_postmaster_start_time()::text").Scan(&name)
	return name, err
}

// reads tells of another server that a connection of the pool leads to.
func (s *Store) reads(ctx context.Context, conn *pgx.Conn) error {
	name, err := serverOf(ctx, conn)
	if err != nil {
		return err
	}
	s.servers.mu.Lock()
	defer s.servers.mu.Unlock()
	if other := s.servers.readers != "" && s.servers.readers != name; other && s.servers.told != nil {
		s.servers.told()
	}
	s.servers.readers = name
	return nil
}

// commitsTo tells of another server that the committing connection leads to, and
// refuses the batch that was to be committed: nobody has compared that ledger yet.
//
// Why the session keeps its own name of the server: batches wait that were let
// through before a connection of the pool saw the other server.
func (s *session) commitsTo(ctx context.Context, conn *pgx.Conn) error {
	name, err := serverOf(ctx, conn)
	if err != nil {
		return err
	}
	other := s.server != "" && s.server != name
	s.server = name
	servers := &s.store.servers
	servers.mu.Lock()
	defer servers.mu.Unlock()
	if !other || servers.told == nil {
		return nil
	}
	servers.told()
	return &onceward.Error{Code: onceward.CodeLedgerUnavailable, Op: commitOp, Message: "another database server answers than before", Hint: "ask again: it is compared with the witness first"}
}
