package migration

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"

	"github.com/onceward/onceward"
)

// Step is one migration as this release knows it.
type Step struct {
	Number int    // from 1, without gaps
	Name   string // of the file, without number and suffix
	SQL    string
	Sum    [sha256.Size]byte // over the file with line ends as "\n"
}

// String is "0003_name".
func (s Step) String() string { return fmt.Sprintf("%04d_%s", s.Number, s.Name) }

var fileName = regexp.MustCompile(`^([0-9]{4})_([a-z0-9_]+)\.sql$`)

// Read reads the steps in the root of a file system, in order. It refuses a
// file that is no step, a gap and a number given twice with CodeInternal: the
// release itself is wrong.
func Read(fsys fs.FS) ([]Step, error) {
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	var steps []Step
	for _, entry := range entries { // sorted by name, so by number
		m := fileName.FindStringSubmatch(entry.Name())
		if m == nil {
			return nil, onceward.Errorf(onceward.CodeInternal, "migration %s is not called NNNN_name.sql", entry.Name())
		}
		number, err := strconv.Atoi(m[1])
		if err != nil || number != len(steps)+1 {
			return nil, onceward.Errorf(onceward.CodeInternal, "migration %s stands where number %d is due", entry.Name(), len(steps)+1)
		}
		text, err := fs.ReadFile(fsys, entry.Name())
		if err != nil {
			return nil, fmt.Errorf("read migration %s: %w", entry.Name(), err)
		}
		text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
		steps = append(steps, Step{Number: number, Name: m[2], SQL: string(text), Sum: sha256.Sum256(text)})
	}
	return steps, nil
}
