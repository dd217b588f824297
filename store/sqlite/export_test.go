package sqlite

import (
	"context"
	"testing"

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

// On makes the options use a file system of the driver.
func (o Options) On(vfs string) Options {
	o.vfs = vfs
	return o
}
