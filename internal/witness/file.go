package witness

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"sync"
	"time"

	"github.com/onceward/onceward"
)

// The file's form.
const (
	// Kept is how many dispatches are remembered.
	Kept = 1024

	recordBytes = 256
	fileBytes   = Kept * recordBytes
	toolBytes   = 128 // the longest name of a tool

	syncEvery = time.Second
)

// A record: checksum of the rest, number, operation, generation, attempt, time,
// length of the tool's name, name. All numbers are little-endian.
const (
	atNumber     = 4
	atOperation  = 12
	atGeneration = 28
	atAttempt    = 32
	atTime       = 36
	atToolLength = 44
	atTool       = 45
)

// File is a witness in a file. It is safe for concurrent use.
type File struct {
	path string

	mu     sync.Mutex
	file   *os.File
	number uint64 // of the newest record
	dirty  bool
	broken error // nothing is noted any more

	stop chan struct{}
	done chan struct{}
}

var _ onceward.Witness = (*File)(nil)

// Open opens the file, and makes it if there is none. CodeConfigInvalid: it is no
// witness, or cannot be one. Close it after the ledger.
func Open(path string) (*File, error) {
	w := &File{path: path, stop: make(chan struct{}), done: make(chan struct{})}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, unusable(path, "cannot be opened", err)
	}
	w.file = f
	if err := w.begin(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	go w.run()
	return w, nil
}

// begin takes the whole file at once, so that a full disk is met at start.
func (w *File) begin() error {
	info, err := w.file.Stat()
	switch {
	case err != nil:
		return unusable(w.path, "cannot be read", err)
	case !info.Mode().IsRegular() || info.Size() != 0 && info.Size() != fileBytes:
		return unusable(w.path, "is no witness", nil)
	case info.Size() == 0:
		if _, err := w.file.WriteAt(make([]byte, fileBytes), 0); err != nil {
			return unusable(w.path, "cannot be written", err)
		}
		if err := w.file.Sync(); err != nil {
			return unusable(w.path, "cannot be written", err)
		}
	}
	_, w.number, err = w.read()
	return err
}

func unusable(path, why string, cause error) error {
	return &onceward.Error{Code: onceward.CodeConfigInvalid, Op: "open witness", Message: path + " " + why, Hint: "give --witness a file of its own that this account may write, on a local disk, and not where the ledger's backups go", Err: cause}
}

// See implements onceward.Witness.
func (w *File) See(d onceward.Dispatched) error {
	var r [recordBytes]byte
	copy(r[atOperation:], d.Operation[:])
	binary.LittleEndian.PutUint32(r[atGeneration:], uint32(d.Generation))
	binary.LittleEndian.PutUint32(r[atAttempt:], uint32(d.Attempt))
	binary.LittleEndian.PutUint64(r[atTime:], uint64(d.At.UnixMicro()))
	r[atToolLength] = byte(copy(r[atTool:atTool+toolBytes], d.Tool))
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken != nil {
		return w.broken
	}
	w.number++
	binary.LittleEndian.PutUint64(r[atNumber:], w.number)
	binary.LittleEndian.PutUint32(r[:], crc32.ChecksumIEEE(r[atNumber:]))
	if _, err := w.file.WriteAt(r[:], int64(w.number%Kept)*recordBytes); err != nil {
		return w.lost("cannot be written", err)
	}
	w.dirty = true
	return nil
}

func (w *File) lost(why string, cause error) error {
	return &onceward.Error{Code: onceward.CodeLedgerUnavailable, Op: "note dispatch", Message: "the witness " + w.path + " " + why, Hint: "nothing is sent that it does not see: make room, or put it back and restart", Err: cause}
}

// Seen implements onceward.Witness. A record that is torn is none.
func (w *File) Seen() ([]onceward.Dispatched, error) {
	all, _, err := w.read()
	return all, err
}

func (w *File) read() (all []onceward.Dispatched, newest uint64, err error) {
	data := make([]byte, fileBytes)
	if n, err := w.file.ReadAt(data, 0); err != nil && (!errors.Is(err, io.EOF) || n < fileBytes) {
		return nil, 0, unusable(w.path, "cannot be read", err)
	}
	for ; len(data) > 0; data = data[recordBytes:] {
		r := data[:recordBytes]
		number := binary.LittleEndian.Uint64(r[atNumber:])
		if number == 0 || binary.LittleEndian.Uint32(r) != crc32.ChecksumIEEE(r[atNumber:]) {
			continue
		}
		newest = max(newest, number)
		d := onceward.Dispatched{
			Generation: onceward.Generation(binary.LittleEndian.Uint32(r[atGeneration:])), Attempt: int(binary.LittleEndian.Uint32(r[atAttempt:])),
			At: time.UnixMicro(int64(binary.LittleEndian.Uint64(r[atTime:]))).UTC(), Tool: onceward.ToolName(r[atTool : atTool+min(int(r[atToolLength]), toolBytes)]),
		}
		copy(d.Operation[:], r[atOperation:])
		all = append(all, d)
	}
	return all, newest, nil
}

// run brings what was noted to the disk, and sees that the file is still the one
// at its path: one that was moved away would be noted in for nobody.
func (w *File) run() {
	defer close(w.done)
	tick := time.NewTicker(syncEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			w.tend()
		case <-w.stop:
			return
		}
	}
}

func (w *File) tend() {
	w.mu.Lock()
	dirty := w.dirty
	w.dirty = false
	w.mu.Unlock()
	var err error
	if dirty {
		err = w.file.Sync() // not under the lock: no attempt waits for it
	}
	here, serr := w.file.Stat()
	there, terr := os.Stat(w.path)
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err != nil:
		w.broken = w.lost("cannot be brought to the disk", err)
	case serr != nil || terr != nil || !os.SameFile(here, there):
		w.broken = w.lost("was moved, removed or replaced", errors.Join(serr, terr))
	}
}

// Close brings the rest to the disk.
func (w *File) Close() error {
	close(w.stop)
	<-w.done
	if err := errors.Join(w.file.Sync(), w.file.Close()); err != nil {
		return fmt.Errorf("close witness: %w", err)
	}
	return nil
}
