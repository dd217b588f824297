package simprovider

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// subject is what a request is about, as the auditor sees it.
type subject struct {
	System    string   `json:"system"`
	Action    string   `json:"action"`
	Reference string   `json:"reference"`
	Aliases   []string `json:"aliases,omitempty"`
}

// object is something that the provider keeps. Lookup is the value under which
// it can be found again, empty when it cannot.
type object struct {
	ID     string          `json:"id"`
	Lookup string          `json:"lookup,omitempty"`
	State  json.RawMessage `json:"state"`
}

const (
	typeRequest = "request" // a write arrived
	typeEffect  = "effect"  // a write was committed
)

// record is one line of the file and the only thing that changes the books.
type record struct {
	Type string    `json:"type"`
	At   time.Time `json:"at"`
	subject
	// Fault in force, empty for none.
	Fault string `json:"fault,omitempty"`
	// EffectID is the provider's reference of the effect; empty when a commit
	// changed nothing (an upsert of what was already there).
	EffectID    string  `json:"effect_id,omitempty"`
	Automations int     `json:"automations,omitempty"`
	Object      *object `json:"object,omitempty"`
	// Key is the idempotency key that this commit settled, with its answer.
	Key *keyRecord `json:"key,omitempty"`
}

// journal is the append-only file.
type journal struct {
	file *os.File
	err  error // the first failure; from then on nothing is accepted
}

// openJournal reads the file, hands every record to replay, and cuts off a
// last line without its end: it was being written when the process died.
func openJournal(path string, replay func(record)) (*journal, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	whole, err := readJournal(file, replay)
	if err == nil {
		err = file.Truncate(whole)
	}
	if err == nil {
		_, err = file.Seek(whole, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &journal{file: file}, nil
}

// readJournal returns the length of the part that consists of whole lines.
func readJournal(r io.Reader, replay func(record)) (int64, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return 0, err
	}
	var whole int64
	for number := 1; ; number++ {
		line, rest, complete := bytes.Cut(data, []byte{'\n'})
		if !complete {
			return whole, nil
		}
		var rec record
		if err := json.Unmarshal(line, &rec); err != nil {
			return 0, fmt.Errorf("read line %d: %w", number, err)
		}
		replay(rec)
		whole += int64(len(line)) + 1
		data = rest
	}
}

// append writes one line. An effect is on the disk before append returns; a
// mere arrival is left to the operating system, which survives kill -9.
func (j *journal) append(rec record) error {
	if j == nil {
		return nil
	}
	if j.err != nil {
		return j.err
	}
	line, err := json.Marshal(rec)
	if err != nil {
		return fmt.Errorf("encode %s record: %w", rec.Type, err)
	}
	if _, err = j.file.Write(append(line, '\n')); err == nil && rec.Type == typeEffect {
		err = j.file.Sync()
	}
	if err != nil {
		// Why: after a failed write or sync nobody knows what is on the disk.
		j.err = fmt.Errorf("append %s record: %w", rec.Type, err)
	}
	return j.err
}

func (j *journal) close() error { return j.file.Close() }

// replay takes one record of the file into memory.
func (s *Server) replay(rec record) {
	s.books.apply(rec)
	if rec.Key != nil {
		s.keys[rec.Key.Key] = rec.Key.entry()
	}
}
