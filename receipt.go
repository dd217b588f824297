package onceward

import (
	"cmp"
	"context"
	"strings"
	"time"
)

// Limits of receipts.
const (
	// ReceiptTextBytesMax is how long a consumer's name and a message ID may be.
	ReceiptTextBytesMax = 512
	// DefaultKeepReceipts is how long a message is recognised: a message that was
	// parked for a quarter, and is then sent again, still is.
	DefaultKeepReceipts = 100 * 24 * time.Hour
)

// Receipt is the mark that a consumer handled a message.
type Receipt struct {
	Consumer string
	Message  string
	Keep     time.Duration // how long it is kept, from now
	Patience time.Duration // how long to wait for another transaction that handles the same message; 0: as long as the database does
}

// Inbox lets a consumer handle each message once. The zero value is ready to
// use, and safe for concurrent use.
type Inbox struct {
	// Keep is how long a message is recognised; 0: DefaultKeepReceipts. It has to
	// be longer than the longest time for which a message can be parked.
	Keep time.Duration
	// Patience is how long Once waits for another transaction that is handling the
	// same message, before it fails with CodeStillRunning; 0: as long as the
	// database lets a transaction wait.
	Patience time.Duration
}

// Once runs fn if the consumer has not handled the message before, and marks it
// as handled, both in the caller's transaction. It reports whether fn was run.
//
// If fn fails, neither its writes nor the mark are left in the transaction, so
// that the message is handled when it comes again; the error is returned as it
// is. While another transaction handles the same message Once waits: if that one
// commits, fn is not run. Consumers do not hinder each other: each handles the
// message once.
//
// CodeInvalidInput: consumer or message ID is empty or too long. Two messages
// without an ID have nothing in common.
func (i Inbox) Once(ctx context.Context, j Join, consumer, messageID string, fn func(ctx context.Context) error) (first bool, err error) {
	for _, text := range []struct{ name, value string }{{"consumer", consumer}, {"message ID", messageID}} {
		if text.value == "" || len(text.value) > ReceiptTextBytesMax || strings.ToValidUTF8(text.value, "") != text.value || strings.IndexByte(text.value, 0) >= 0 {
			return false, &Error{Code: CodeInvalidInput, Op: "receive message", Message: "the " + text.name + " is empty, longer than 512 bytes, or no text",
				Hint: "give each message the ID that its sender gave it, or derive one from its business fields"}
		}
	}
	err = j.Within(ctx, func() error {
		first, err = j.Receive(ctx, Receipt{Consumer: consumer, Message: messageID, Keep: cmp.Or(i.Keep, DefaultKeepReceipts), Patience: i.Patience})
		if err != nil || !first {
			return err
		}
		return fn(ctx)
	})
	return first && err == nil, err
}

// ReceiptStore keeps receipts. Its methods are safe for concurrent use.
type ReceiptStore interface {
	// DropReceipts forgets at most limit receipts whose time is over, and returns
	// how many.
	DropReceipts(ctx context.Context, limit int) (int, error)
}
