package library_test

import (
	"context"
	"log/slog"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/worker"
)

// bankSettles is how long after a lost answer a transfer may still appear.
const bankSettles = 2 * time.Second

// loops start the background loops; the returned function ends them.
func loops(l *onceward.Ledger, s onceward.Store) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	due := worker.NewDue(l, s, slog.Default())
	wait := worker.Start(ctx, onceward.SystemClock{}, slog.Default(), due, worker.NewStranded(l), worker.NewSwitches(l), worker.NewRetire(l))
	return func() { cancel(); wait(); due.Wait() }
}

// member is the text of a member of a JSON object; empty if there is none.
func member(input []byte, name string) string {
	n, err := onceward.ParseJSON(input)
	check(err)
	m, ok := n.Member(name)
	if !ok {
		return ""
	}
	text, _ := m.Text()
	return text
}
