package onceward_test

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

// handle takes a message as a consumer does, and books a row for it.
func (s *shop) handle(inbox onceward.Inbox, consumer, message string, after error) (first bool, err error) {
	err = s.in(func(ctx context.Context, tx *sql.Tx, j onceward.Join) error {
		first, err = inbox.Once(ctx, j, consumer, message, func(ctx context.Context) error {
			return errors.Join(book(ctx, tx, consumer), after)
		})
		return err
	})
	return first, err
}

func TestMessageIsHandledOnceByEachOfItsConsumers(t *testing.T) {
	t.Parallel()
	inEachDatabase(t, remote(onceward.EffectUnsafeWrite), func(t *testing.T, s *shop) {
		for _, want := range []struct {
			consumer string
			first    bool
		}{{"billing", true}, {"billing", false}, {"shipping", true}, {"billing", false}, {"shipping", false}} {
			if first, err := s.handle(onceward.Inbox{}, want.consumer, "m1", nil); err != nil || first != want.first {
				t.Fatalf("%s handled it: %t, %v; want %t", want.consumer, first, err, want.first)
			}
		}
		if n := s.booked(); n != 2 {
			t.Fatalf("%d rows are booked", n)
		}
	})
}

func TestMessageWhoseHandlingFailedIsHandledWhenItComesAgain(t *testing.T) {
	t.Parallel()
	inEachDatabase(t, remote(onceward.EffectUnsafeWrite), func(t *testing.T, s *shop) {
		if first, err := s.handle(onceward.Inbox{}, "billing", "m1", errBroken); first || !errors.Is(err, errBroken) || s.booked() != 0 {
			t.Fatalf("the failed handling: %t, %v, %d rows", first, err, s.booked())
		}
		err := s.in(func(ctx context.Context, tx *sql.Tx, j onceward.Join) error { // a program that commits all the same
			_, err := onceward.Inbox{}.Once(ctx, j, "billing", "m1", func(ctx context.Context) error { return errors.Join(book(ctx, tx, "x"), errBroken) })
			if !errors.Is(err, errBroken) {
				t.Errorf("the failure was not told: %v", err)
			}
			return nil
		})
		if err != nil || s.booked() != 0 {
			t.Fatalf("after a commit in spite of the failure: %v, %d rows", err, s.booked())
		}
		if first, err := s.handle(onceward.Inbox{}, "billing", "m1", nil); !first || err != nil || s.booked() != 1 {
			t.Fatalf("the next delivery: %t, %v, %d rows", first, err, s.booked())
		}
	})
}

func TestMessageDeliveredManyTimesAtOnceIsHandledOnce(t *testing.T) {
	t.Parallel()
	inEachDatabase(t, remote(onceward.EffectUnsafeWrite), func(t *testing.T, s *shop) {
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if _, err := s.handle(onceward.Inbox{}, "billing", "m1", nil); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if n := s.booked(); n != 1 {
			t.Fatalf("%d rows are booked", n)
		}
	})
}

// The second delivery does not wait longer than its patience: it is told to come
// later. (SQLite has one writer: there the whole transaction waits, or comes later.)
func TestDeliveryThatIsBeingHandledIsToldToComeLater(t *testing.T) {
	t.Parallel()
	inEachDatabase(t, remote(onceward.EffectUnsafeWrite), func(t *testing.T, s *shop) {
		if strings.HasSuffix(t.Name(), "sqlite") {
			if _, err := s.db.ExecContext(t.Context(), `PRAGMA busy_timeout = 1`); err != nil {
				t.Fatal(err)
			}
		}
		err := s.in(func(ctx context.Context, tx *sql.Tx, j onceward.Join) error {
			first, err := onceward.Inbox{}.Once(ctx, j, "billing", "m1", func(ctx context.Context) error {
				second, err := s.handle(onceward.Inbox{Patience: 20 * time.Millisecond}, "billing", "m1", nil)
				if second || err == nil || !strings.HasSuffix(t.Name(), "sqlite") && !onceward.Is(err, onceward.CodeStillRunning) {
					t.Errorf("the second delivery: %t, %v", second, err)
				}
				return book(ctx, tx, "first")
			})
			if !first {
				t.Error("the first delivery was not handled")
			}
			return err
		})
		if err != nil || s.booked() != 1 {
			t.Fatalf("the first delivery: %v, %d rows", err, s.booked())
		}
	})
}

func TestMessageParkedForAMonthIsRecognised(t *testing.T) {
	t.Parallel()
	inEachDatabase(t, remote(onceward.EffectUnsafeWrite), func(t *testing.T, s *shop) {
		drop := func() int {
			t.Helper()
			n, err := s.store.DropReceipts(t.Context(), 10)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		age := func(d time.Duration) { // as if that time had passed
			t.Helper()
			sql := `UPDATE receipts SET drop_at = drop_at - interval '1 second' * ` + strconv.Itoa(int(d.Seconds()))
			if strings.HasSuffix(t.Name(), "sqlite") {
				sql = `UPDATE receipts SET drop_at = drop_at - ` + strconv.FormatInt(d.Microseconds(), 10)
			}
			if _, err := s.db.ExecContext(t.Context(), sql); err != nil {
				t.Fatal(err)
			}
		}
		if first, err := s.handle(onceward.Inbox{}, "billing", "m1", nil); err != nil || !first {
			t.Fatalf("the first delivery: %t, %v", first, err)
		}
		age(31 * 24 * time.Hour)
		if n := drop(); n != 0 {
			t.Fatalf("%d receipts were dropped after a month", n)
		}
		if first, err := s.handle(onceward.Inbox{}, "billing", "m1", nil); err != nil || first {
			t.Fatalf("the delivery after a month: %t, %v", first, err)
		}
		age(onceward.DefaultKeepReceipts)
		if n := drop(); n != 1 || s.booked() != 1 {
			t.Fatalf("%d receipts were dropped after their time, %d rows", n, s.booked())
		}
	})
}

func TestMessagesWithoutAnIDShareNothing(t *testing.T) {
	t.Parallel()
	inEachDatabase(t, remote(onceward.EffectUnsafeWrite), func(t *testing.T, s *shop) {
		for _, message := range []string{"", "nul \x00", "not \xff text", strings.Repeat("x", onceward.ReceiptTextBytesMax+1)} {
			_, err := s.handle(onceward.Inbox{}, "billing", message, nil)
			wantCode(t, err, onceward.CodeInvalidInput)
		}
		_, err := s.handle(onceward.Inbox{}, "", "m1", nil)
		wantCode(t, err, onceward.CodeInvalidInput)
		if n := s.booked(); n != 0 {
			t.Fatalf("%d rows are booked", n)
		}
	})
}
