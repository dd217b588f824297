package archive

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/onceward/onceward"
)

// Folder writes into a folder. It is safe for concurrent use.
type Folder struct {
	dir  string
	name string // of this process, in its files' names
	now  func() time.Time

	mu   sync.Mutex
	file *os.File
	day  string
}

// Open makes the folder, for its owner only, if it is not there. CodeConfigInvalid:
// it cannot be written to.
func Open(dir string) (*Folder, error) {
	f := &Folder{dir: dir, now: time.Now}
	id := make([]byte, 4)
	_, _ = rand.Read(id) // never fails (crypto/rand)
	f.name = hex.EncodeToString(id)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, unusable(err)
	}
	probe, err := os.CreateTemp(dir, ".writable-*")
	if err != nil {
		return nil, unusable(err)
	}
	if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
		return nil, unusable(err)
	}
	return f, nil
}

func unusable(err error) error {
	return &onceward.Error{Code: onceward.CodeConfigInvalid, Op: "export", Message: "the folder for exports cannot be written to", Hint: "give a folder that this process may write to; until then nothing is deleted", Err: err}
}

// Export implements onceward.Exporter. After a failure the next one begins a new
// file, so that no line follows half a line.
func (f *Folder) Export(_ context.Context, all []onceward.Exported) error {
	if len(all) == 0 {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	var out []byte
	for i := range all {
		b, err := lineOf(&all[i], now)
		if err != nil {
			return unusable(err)
		}
		out = append(out, b...)
	}
	if err := f.open(now); err != nil {
		return unusable(err)
	}
	_, err := f.file.Write(out)
	if err == nil {
		err = f.file.Sync()
	}
	if err != nil {
		return unusable(errors.Join(err, f.close()))
	}
	return nil
}

// open opens the day's file, and has its name on disk before anything is in it.
func (f *Folder) open(now time.Time) error {
	day := now.UTC().Format(time.DateOnly)
	if f.file != nil && f.day == day {
		return nil
	}
	if err := f.close(); err != nil {
		return err
	}
	file, err := os.OpenFile(filepath.Join(f.dir, day+"-"+f.name+"-"+now.UTC().Format("150405.000000")+".jsonl"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	f.file, f.day = file, day
	return f.syncFolder()
}

func (f *Folder) syncFolder() error {
	if runtime.GOOS == "windows" {
		return nil // NTFS journals names by itself
	}
	d, err := os.Open(f.dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func (f *Folder) close() error {
	if f.file == nil {
		return nil
	}
	err := f.file.Close()
	f.file = nil
	return err
}

// Close closes the file. Nothing may be exported afterwards.
func (f *Folder) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.close()
}
