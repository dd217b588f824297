package sqlite

import (
	"context"
	"strconv"

	"github.com/onceward/onceward"
)

// synchronousFull is what PRAGMA synchronous answers where each commit is synced.
const synchronousFull = 2

// Durability reads the settings on which the promise rests that a claim is
// durable, from the connection that commits. The store sets them itself: an
// answer other than ok is a defect. Errors are those of Load.
func (s *Store) Durability(ctx context.Context) ([]onceward.SettingAdvice, error) {
	var mode string
	var level int64
	err := s.write(ctx, "read database settings", func(c *conn) error {
		if err := c.query("PRAGMA journal_mode", nil, func(r *rower) error { mode = r.text(); return nil }); err != nil {
			return err
		}
		return c.query("PRAGMA synchronous", nil, func(r *rower) error { level = r.int(); return nil })
	})
	if err != nil {
		return nil, err
	}
	return []onceward.SettingAdvice{
		{Setting: "journal_mode", Bad: mode != "wal", Detail: "is " + mode},
		{Setting: "synchronous", Bad: level < synchronousFull, Detail: "is " + synchronousName(level)},
	}, nil
}

func synchronousName(level int64) string {
	if level == synchronousFull {
		return "full: each commit is on the disk before it counts"
	}
	return strconv.FormatInt(level, 10) + ": a power cut may lose commits"
}
