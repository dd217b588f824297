package sqlite

import (
	"context"
	"testing"

	"github.com/ncruces/go-sqlite3/vfs"

	"github.com/onceward/onceward/store"
)

// Journal reads the whole journal, one element a commit.
func Journal(t testing.TB, s *Store) [][]store.Entry {
	t.Helper()
	var all [][]store.Entry
	err := s.readRaw(context.Background(), "read journal", func(c *conn) error {
		return c.query(`SELECT entries FROM journal ORDER BY position`, nil, func(r *rower) error {
			entries, err := store.DecodeJournal(r.blob())
			all = append(all, entries)
			return err
		})
	})
	if err != nil {
		t.Fatalf("read journal: %v", err)
	}
	return all
}

// SideBodies counts the rows of the side table.
func SideBodies(t testing.TB, s *Store) int {
	t.Helper()
	var n int64
	err := s.readRaw(context.Background(), "count bodies", func(c *conn) error {
		return c.query(`SELECT count(*) FROM bodies`, nil, func(r *rower) error { n = r.int(); return nil })
	})
	if err != nil {
		t.Fatalf("count bodies: %v", err)
	}
	return int(n)
}

// On makes the options use a file system of the driver.
func (o Options) On(vfs string) Options {
	o.vfs = vfs
	return o
}

// FilesOver is the store's file layer over another one than the system's.
func FilesOver(under vfs.VFSFilename) vfs.VFSFilename { return fullFiles{under} }
