package sqlite

import (
	"context"
	"errors"
	"sync"

	"github.com/onceward/onceward/store"
)

// pool bounds how many connections there are of a kind, and keeps those that
// are idle. The one used last is used next, so that a quiet ledger has few.
type pool struct {
	turns chan struct{} // one for each connection there may be

	mu   sync.Mutex
	idle []*conn
}

func newPool(size int) *pool {
	p := &pool{turns: make(chan struct{}, size)}
	for range size {
		p.turns <- struct{}{}
	}
	return p
}

// take waits for a turn, and gives an idle connection or opens one.
func (s *Store) take(ctx context.Context, p *pool, op string) (*conn, error) {
	select {
	case <-s.closed:
		return nil, store.Closed(op)
	default:
	}
	if err := ctx.Err(); err != nil {
		return nil, store.Canceled(op, err)
	}
	select {
	case <-s.closed:
		return nil, store.Closed(op)
	case <-ctx.Done():
		return nil, store.Canceled(op, ctx.Err())
	case <-p.turns:
	}
	if c := p.pop(); c != nil {
		return c, nil
	}
	c, err := s.connect(p == s.writer)
	if err != nil {
		p.turns <- struct{}{}
		return nil, failure(op, err)
	}
	return c, nil
}

func (p *pool) pop() *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.idle)
	if n == 0 {
		return nil
	}
	c := p.idle[n-1]
	p.idle = p.idle[:n-1]
	return c
}

// give takes a connection back and ends the turn. One that is stuck in a
// transaction is closed: the next turn opens another.
func (p *pool) give(c *conn) {
	c.db.SetInterrupt(context.Background())
	if !c.db.GetAutocommit() && c.run("ROLLBACK") != nil {
		_ = c.close() // the error that led here was given to the caller
	} else {
		p.put(c)
	}
	p.turns <- struct{}{}
}

func (p *pool) put(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, c)
}

// close waits until every connection is idle, and closes them all for good.
func (p *pool) close() error {
	for range cap(p.turns) {
		<-p.turns
	}
	var errs []error
	for c := p.pop(); c != nil; c = p.pop() {
		errs = append(errs, c.close())
	}
	return errors.Join(errs...)
}
