package sealed

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/onceward/onceward"
)

// shreddedList is a file that names, one a line, the data keys which were
// shredded. It stands where no backup of the ledger reaches it. An empty path: no
// file.
type shreddedList struct {
	path string
	mu   sync.Mutex
}

// add appends, and returns once that is on disk.
func (l *shreddedList) add(ids []onceward.DataKeyID) error {
	if l.path == "" {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var lines strings.Builder
	lines.WriteString("\n") // ends a line that a crash cut off
	for _, id := range ids {
		lines.WriteString(id.String() + "\n")
	}
	_, statErr := os.Stat(l.path)
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return l.unusable(err)
	}
	_, err = f.WriteString(lines.String())
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil && errors.Is(statErr, fs.ErrNotExist) {
		err = syncFolder(filepath.Dir(l.path))
	}
	if err != nil {
		return l.unusable(err)
	}
	return nil
}

// read returns what the file names. A line that a crash cut off is none: its keys
// were not shredded yet. Any other line is of another file.
func (l *shreddedList) read() ([]onceward.DataKeyID, error) {
	if l.path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, l.unusable(err)
	}
	var ids []onceward.DataKeyID
	whole := len(onceward.DataKeyID{}.String())
	for n, line := range strings.Split(string(text), "\n") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		switch id, err := onceward.ParseDataKeyID(line); {
		case err == nil:
			ids = append(ids, id)
		case len(line) >= whole || !strings.HasPrefix("dk_", line[:min(len(line), len("dk_"))]):
			return nil, l.unusable(fmt.Errorf("line %d names no data key", n+1))
		}
	}
	return ids, nil
}

func (l *shreddedList) unusable(err error) error {
	return &onceward.Error{Code: onceward.CodeConfigInvalid, Op: "note shredded keys", Message: "the list of shredded keys cannot be used", Hint: "it is a file that this process may read and append to", Err: err}
}

func syncFolder(dir string) error {
	if runtime.GOOS == "windows" {
		return nil // NTFS journals names by itself
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func plural(n int) string {
	if n == 1 {
		return "a data key"
	}
	return fmt.Sprintf("%d data keys", n)
}
