package sqlite

import (
	"os"

	"github.com/onceward/onceward"
)

// files are the ledger's two files as this handle opened them.
//
// Why they are looked at before each commit: a file that was moved or deleted
// takes writes as if nothing had happened, for as long as it is open. Whoever
// opens the path then makes a new ledger beside this one, and both would claim
// the same keys. Two look-ups cost about a hundredth of the sync that follows.
type files struct {
	path string
	main os.FileInfo
	log  os.FileInfo // nil before the first write; it stays while anybody has it open
}

// check refuses to go on with files that are not the ones at the path any more.
// It is called inside of a write transaction, which has opened both.
func (f *files) check() error {
	if err := f.checkMain(); err != nil {
		return err
	}
	log, err := os.Stat(f.path + "-wal")
	if err != nil || f.log != nil && !os.SameFile(log, f.log) {
		return moved(f.path+"-wal", err)
	}
	f.log = log
	return nil
}

// checkMain is check for a connection that reads.
func (f *files) checkMain() error {
	main, err := os.Stat(f.path)
	if err != nil || !os.SameFile(main, f.main) {
		return moved(f.path, err)
	}
	return nil
}

func moved(path string, cause error) error {
	return &onceward.Error{
		Code: onceward.CodeLedgerUnavailable, Op: "write ledger", Message: path + " was moved, removed or replaced while it was open",
		Hint: "put back the file that was there and restart: what is written now would be lost", Err: cause,
	}
}
