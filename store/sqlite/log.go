package sqlite

import (
	"encoding/binary"

	"github.com/ncruces/go-sqlite3/vfs"
)

// logFile is the write-ahead log of one connection. SQLite writes it frame by
// frame, each in two pieces; here the frames of a transaction gather and reach
// the system in one write, together with its last. See decision 0010.
//
// Nobody can miss a frame that waits here: other connections read the log up to
// the last commit that the log's index shows, and SQLite moves that on after it
// has written the commit's last frame; this connection's own reads write first.
type logFile struct {
	fullFile
	waiting []byte // the next bytes of the file
	at      int64  // where they belong
	last    bool   // the frame that is being written ends a transaction
}

const (
	// frameHeader is the length of a frame's header; bytes 4 to 8 of it are not
	// zero in the last frame of a transaction (sqlite.org/walformat.html, 2.1).
	frameHeader = 24
	// waitingMax bounds what gathers, in bytes.
	waitingMax = 1 << 20
)

// WriteAt implements vfs.File.
func (f *logFile) WriteAt(p []byte, off int64) (int, error) {
	if off != f.at+int64(len(f.waiting)) || len(f.waiting)+len(p) > waitingMax {
		if err := f.flush(); err != nil {
			return 0, err
		}
		f.at = off
	}
	f.waiting = append(f.waiting, p...)
	if len(p) == frameHeader {
		f.last = binary.BigEndian.Uint32(p[4:]) != 0
		return len(p), nil
	}
	if !f.last {
		return len(p), nil
	}
	f.last = false
	if err := f.flush(); err != nil {
		return 0, err
	}
	return len(p), nil
}

// flush writes what waits. After an error nothing waits: the transaction fails,
// and SQLite writes its frames anew.
func (f *logFile) flush() error {
	if len(f.waiting) == 0 {
		return nil
	}
	_, err := f.fullFile.WriteAt(f.waiting, f.at)
	f.at, f.waiting = 0, f.waiting[:0]
	return err
}

// ReadAt implements vfs.File.
func (f *logFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.flush(); err != nil {
		return 0, err
	}
	return f.fullFile.ReadAt(p, off)
}

// Truncate implements vfs.File.
func (f *logFile) Truncate(size int64) error {
	if err := f.flush(); err != nil {
		return err
	}
	return f.fullFile.Truncate(size)
}

// Size implements vfs.File.
func (f *logFile) Size() (int64, error) {
	if err := f.flush(); err != nil {
		return 0, err
	}
	return f.fullFile.Size()
}

// Sync implements vfs.File.
func (f *logFile) Sync(flags vfs.SyncFlag) error {
	if err := f.flush(); err != nil {
		return err
	}
	return f.fullFile.Sync(flags)
}
