package testdb

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/onceward/onceward/internal/freeport"
)

// ServeCopy starts a server of the test's own on a copy of this one's data that a
// backup made, waits until it takes writes, as after a recovery to an instant, and
// closes it when the test ends. The folder is taken over.
func (s *Server) ServeCopy(tb testing.TB, data string) *Server {
	tb.Helper()
	restored, err := s.openCopy(tb.Context(), data)
	return untilTestEnds(tb, "restored server", restored, err)
}

func (s *Server) openCopy(ctx context.Context, data string) (*Server, error) {
	return s.openBeside(ctx, func(restored *Server) error { return restored.takeOver(data) }, func(restored *Server) error {
		ctx, cancel := context.WithTimeout(ctx, standbyWait)
		defer cancel()
		if err := restored.until(ctx, "SELECT NOT pg_is_in_recovery()"); err != nil {
			return fmt.Errorf("%w%s", err, restored.logTail())
		}
		return nil
	})
}

// openBeside starts a server with the programs and settings of this one, on what
// fill puts into its folder; ready waits until it is of use, nil: it is at once.
func (s *Server) openBeside(ctx context.Context, fill, ready func(*Server) error) (*Server, error) {
	other := &Server{programs: s.programs, as: s.as, env: s.env, settings: s.settings, password: s.password}
	err := other.makeFolder("")
	if err == nil {
		err = fill(other)
	}
	if err == nil {
		other.port, err = freeport.Find(ctx)
	}
	if err == nil {
		err = other.Start(ctx)
	}
	if err == nil && ready != nil {
		err = ready(other)
	}
	if err != nil {
		return nil, errors.Join(err, other.Close())
	}
	return other, nil
}

// takeOver moves a folder of data to the server's place, and gives it to its account.
func (s *Server) takeOver(data string) error {
	if err := os.Rename(data, s.dataDir()); err != nil {
		return fmt.Errorf("take over a copy: %w", err)
	}
	return filepath.WalkDir(s.dataDir(), func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return giveTo(path, s.as)
	})
}
