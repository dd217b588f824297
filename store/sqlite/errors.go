package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

	"github.com/ncruces/go-sqlite3"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// meaning is what a driver's code says to whoever runs the ledger.
type meaning struct {
	code    onceward.Code
	message string
	hint    string
}

// meanings is the one table from the driver's primary codes to ours. What is
// not in it is a defect of ours: CodeInternal.
var meanings = map[sqlite3.ErrorCode]meaning{
	sqlite3.BUSY:     {onceward.CodeLedgerUnavailable, "another process has held the ledger's lock for too long", "find who holds it (onceward doctor, or fuser on the file) and let it finish"},
	sqlite3.LOCKED:   {onceward.CodeLedgerUnavailable, "the ledger is locked by this process", "try again"},
	sqlite3.PROTOCOL: {onceward.CodeLedgerUnavailable, "the ledger's lock could not be had for all the others that want it", "try again, or run fewer processes on one file"},
	sqlite3.READONLY: {onceward.CodeLedgerReadOnly, "the ledger's file, or its folder, cannot be written", "give this account the right to write both"},
	sqlite3.PERM:     {onceward.CodeLedgerReadOnly, "the ledger's file cannot be opened for writing", "give this account the right to write it"},
	sqlite3.FULL:     {onceward.CodeLedgerUnavailable, "the disk is full", "make room; nothing was recorded"},
	sqlite3.IOERR:    {onceward.CodeLedgerUnavailable, "the disk refused to read or write", "look at the system's log for errors of the disk"},
	sqlite3.CANTOPEN: {onceward.CodeLedgerUnavailable, "the ledger's file cannot be opened", "see that the folder exists and that this account may write it"},
	sqlite3.NOMEM:    {onceward.CodeLedgerUnavailable, "there is no memory left for it", "give the process more memory"},
	sqlite3.NOLFS:    {onceward.CodeLedgerUnavailable, "the file system cannot hold a file of that size", "move the ledger to another file system"},
	sqlite3.CORRUPT:  {onceward.CodeLedgerCorrupt, "the ledger's file is damaged", "stop, and restore it from a backup"},
	sqlite3.NOTADB:   {onceward.CodeLedgerCorrupt, "the ledger's file is no SQLite database any more", "stop, and restore it from a backup"},
	sqlite3.TOOBIG:   {onceward.CodeTooLarge, "a value is longer than SQLite can store", "store less"},
}

// failure turns a driver's error into one of ours, by the driver's code. Errors
// that have a code already stay as they are.
func failure(op string, err error) error {
	var ours *onceward.Error
	if err == nil || errors.As(err, &ours) {
		return err
	}
	if errors.Is(err, sqlite3.READONLY_DBMOVED) {
		return &onceward.Error{
			Code: onceward.CodeLedgerUnavailable, Op: op, Message: "the ledger's file was moved or removed while it was open",
			Hint: "put it back and restart", Err: err,
		}
	}
	var code sqlite3.ErrorCode
	if errors.As(err, &code) {
		if code == sqlite3.CANTOPEN && (errors.Is(err, syscall.EROFS) || errors.Is(err, fs.ErrPermission)) {
			code = sqlite3.READONLY // a disk that was mounted so, or a mode
		}
		if m, ok := meanings[code]; ok {
			return &onceward.Error{Code: m.code, Op: op, Message: m.message, Hint: m.hint, Err: err}
		}
	}
	return &onceward.Error{Code: onceward.CodeInternal, Op: op, Message: "the database refused a statement", Err: err}
}

// interrupted is failure for what runs under a context: if that has ended, this
// is why, whatever the driver calls it.
func interrupted(ctx context.Context, op string, err error) error {
	if cause := ctx.Err(); cause != nil && (errors.Is(err, sqlite3.INTERRUPT) || errors.Is(err, sqlite3.BUSY)) {
		return store.Canceled(op, cause)
	}
	return failure(op, err)
}

// commitFailure is failure for COMMIT itself. A disk that fails there may have
// the batch or not: this process takes it as not written, and whoever recovers
// the file after a crash may find it. To run the same batch again is right in
// both cases.
func commitFailure(op string, err error) error {
	if errors.Is(err, sqlite3.IOERR) {
		return &onceward.Error{
			Code: onceward.CodeMayBeRecorded, Op: op, Message: "the disk failed while the batch was being committed",
			Hint: "ask again with the same key", Err: err,
		}
	}
	return failure(op, err)
}
