package sqlite

import (
	"context"
	"time"

	"github.com/onceward/onceward"
)

// receive marks a message as handled in the connection's transaction; false: it
// was already, and its time is not over.
func (c *conn) receive(r onceward.Receipt, now time.Time) (first bool, err error) {
	n, err := c.changed(`INSERT INTO receipts (consumer, message, drop_at) VALUES (?1, ?2, ?3)
		ON CONFLICT (consumer, message) DO UPDATE SET drop_at = excluded.drop_at WHERE drop_at <= ?4`, func(b *binder) {
		b.text(r.Consumer)
		b.text(r.Message)
		b.time(now.Add(r.Keep))
		b.time(now)
	})
	return n == 1, err
}

// DropReceipts forgets receipts; see [onceward.ReceiptStore].
func (s *Store) DropReceipts(ctx context.Context, limit int) (n int, err error) {
	due := false
	err = s.readRaw(ctx, "drop receipts", func(c *conn) error {
		return c.query(`SELECT 1 FROM receipts WHERE drop_at <= ? LIMIT 1`, func(b *binder) { b.time(s.now()) }, func(*rower) error { due = true; return nil })
	})
	if err != nil || !due {
		return 0, err
	}
	err = s.write(ctx, "drop receipts", func(c *conn) error {
		n, err = c.changed(`DELETE FROM receipts WHERE (consumer, message) IN (SELECT consumer, message FROM receipts WHERE drop_at <= ? ORDER BY drop_at LIMIT ?)`,
			func(b *binder) { b.time(s.now()); b.int(int64(limit)) })
		return err
	})
	return n, err
}
