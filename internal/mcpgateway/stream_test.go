package mcpgateway

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/onceward/onceward"
)

// stream is a client on a pair of streams.
type stream struct {
	*world
	in    *io.PipeWriter
	lines *bufio.Scanner
	ended chan error
}

// stream opens a session of the older era on a pair of streams.
func (w *world) stream() *stream {
	w.Helper()
	theirs, in := io.Pipe()
	out, ours := io.Pipe()
	s := &stream{world: w, in: in, lines: bufio.NewScanner(out), ended: make(chan error, 1)}
	go func() {
		s.ended <- w.gateway.ServeStream(w.Context(), theirs, ours, onceward.LocalPrincipal())
		_ = ours.Close() // never fails (io.Pipe)
	}()
	s.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	s.hears(`"id":1`)
	s.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return s
}

func (s *stream) send(message string) {
	s.Helper()
	_, err := fmt.Fprintln(s.in, message)
	s.must(err)
}

// hears reads the next message, and fails if it is another one.
func (s *stream) hears(part string) string {
	s.Helper()
	if !s.lines.Scan() {
		s.Fatalf("the stream ends before %s: %v", part, s.lines.Err())
	}
	if !strings.Contains(s.lines.Text(), part) {
		s.Fatalf("heard %s, want %s", s.lines.Text(), part)
	}
	return s.lines.Text()
}

func TestCallThatIsTakenBackOnAStreamHappensAndIsNotAnswered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	held := w.provider.HoldAnswer()
	defer held.Release()
	s := w.stream()
	s.send(toolCall(2, tickets, `{"id":"a"}`))
	<-held.Reached()
	s.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
	s.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`) // not asked yet
	s.send(toolCall(3, tickets, `{"id":"a"}`))
	held.Release()
	s.hears(`"id":3`)
	w.must(s.in.Close())
	if err := <-s.ended; err != nil || s.lines.Scan() || w.provider.Writes() != 1 {
		t.Errorf("the stream ends with %v and %q, after %d writes", err, s.lines.Text(), w.provider.Writes())
	}
}
