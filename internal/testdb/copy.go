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
	if err != nil {
		tb.Fatalf("testdb: %v", err)
	}
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Logf("testdb: the restored server of this failed test: %s", restored.logTail())
		}
		if err := restored.Close(); err != nil {
			tb.Errorf("testdb: %v", err)
		}
	})
	return restored
}

func (s *Server) openCopy(ctx context.Context, data string) (*Server, error) {
	restored := &Server{programs: s.programs, as: s.as, env: s.env, settings: s.settings, password: s.password}
	err := restored.makeFolder("")
	if err == nil {
		err = restored.takeOver(data)
	}
	if err == nil {
		restored.port, err = freeport.Find(ctx)
	}
	if err == nil {
		err = restored.Start(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, restored.Close())
	}
	ctx, cancel := context.WithTimeout(ctx, standbyWait)
	defer cancel()
	if err := restored.until(ctx, "SELECT NOT pg_is_in_recovery()"); err != nil {
		return nil, errors.Join(fmt.Errorf("%w%s", err, restored.logTail()), restored.Close())
	}
	return restored, nil
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
