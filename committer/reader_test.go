package committer_test

import (
	"context"
	"sync"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/committer"
)

// shelf is a store whose first read waits, and that fails each read in which a
// certain row is, as a query does that meets a row which cannot be read.
type shelf struct {
	onceward.Store // nothing but Load is called

	unread  onceward.OperationID
	code    onceward.Code
	entered chan struct{}
	release chan struct{}
	mu      sync.Mutex
	reads   [][]onceward.OperationID
}

// Load implements onceward.Store.
func (s *shelf) Load(_ context.Context, ids []onceward.OperationID) ([]*onceward.Operation, error) {
	s.mu.Lock()
	s.reads = append(s.reads, ids)
	s.mu.Unlock()
	s.entered <- struct{}{}
	<-s.release
	ops := make([]*onceward.Operation, len(ids))
	for i, id := range ids {
		if id == s.unread {
			return nil, &onceward.Error{Code: s.code, OperationID: id}
		}
		ops[i] = &onceward.Operation{ID: id}
	}
	return ops, nil
}

// A row that a newer release wrote, or that is damaged, fails its own reader; who
// shared the query with it gets what he asked for.
func TestRowThatCannotBeReadHarmsNoNeighbour(t *testing.T) {
	t.Parallel()
	for _, code := range []onceward.Code{onceward.CodeLedgerTooNew, onceward.CodeLedgerCorrupt} {
		s := &shelf{unread: onceward.OperationID{9}, code: code, entered: make(chan struct{}, 64), release: make(chan struct{})}
		c := committer.New(s, committer.Options{})
		var wg sync.WaitGroup
		read := func(id byte) {
			wg.Go(func() {
				op, err := c.Read(context.Background(), onceward.OperationID{id})
				switch {
				case id == 9:
					if !onceward.Is(err, code) {
						t.Errorf("the row that cannot be read gives %v, want %s", err, code)
					}
				case err != nil || op == nil || op.ID[0] != id:
					t.Errorf("its neighbour %d gives %v, %v", id, op, err)
				}
			})
		}
		for range 2 { // as many as are under way at once
			read(1)
			<-s.entered
		}
		for id := byte(2); id < 10; id++ {
			read(id)
		}
		close(s.release)
		wg.Wait()
		c.Close()
	}
}

// Callers of one batch who ask for the same row get an operation each, and those
// who ask alone are given what was read.
func TestReadersOfOneRowShareNoOperation(t *testing.T) {
	t.Parallel()
	s := &shelf{entered: make(chan struct{}, 64), release: make(chan struct{})}
	c := committer.New(s, committer.Options{})
	defer c.Close()
	var wg sync.WaitGroup
	var mu sync.Mutex
	got := map[*onceward.Operation]bool{}
	read := func(id byte) {
		wg.Go(func() {
			op, err := c.Read(context.Background(), onceward.OperationID{id})
			if err != nil || op == nil || op.ID[0] != id {
				t.Errorf("row %d is read as %v, %v", id, op, err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if got[op] {
				t.Errorf("two readers of row %d have one operation", id)
			}
			got[op] = true
		})
	}
	for range 2 { // as many as are under way at once
		read(1)
		<-s.entered
	}
	for range 8 {
		read(2)
		read(3)
	}
	read(4)
	close(s.release)
	wg.Wait()
}
