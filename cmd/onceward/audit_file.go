package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// The lines of an exported trail: exactly one member is there.
type trailLine struct {
	Head       *trailHead       `json:"onceward_audit,omitempty"`
	Seal       *trailSeal       `json:"seal,omitempty"`
	Row        *trailRow        `json:"row,omitempty"`
	Checkpoint *trailCheckpoint `json:"checkpoint,omitempty"`
}

type trailHead struct {
	Format int       `json:"format"`
	From   time.Time `json:"from,omitzero"`
	To     time.Time `json:"to,omitzero"`
}

type trailPlace struct {
	Xid      uint64 `json:"xid,omitempty"`
	Position int64  `json:"position"`
}

type trailSeal struct {
	Number   int64           `json:"number"`
	At       time.Time       `json:"at"`
	Previous onceward.Digest `json:"previous"`
	Journal  trailPlace      `json:"journal"`
	Events   trailPlace      `json:"events"`
	Count    int             `json:"count"`
	Rows     []byte          `json:"rows"` // what the hash is over; base64
	Hash     onceward.Digest `json:"hash"`
}

type trailRow struct {
	Table string `json:"table"`
	trailPlace
	At   time.Time       `json:"at"`
	Body []byte          `json:"body"` // what the seal is over; base64
	Says json.RawMessage `json:"says"` // the body, readable
}

type trailCheckpoint struct {
	Seal      int64           `json:"seal"`
	At        time.Time       `json:"at"`
	Hash      onceward.Digest `json:"hash"`
	Key       []byte          `json:"key"`
	Signature []byte          `json:"signature"`
}

// saysEvent and saysChange are what rows say.
type saysEvent struct {
	Tenant  string `json:"tenant,omitempty"`
	Actor   string `json:"actor"`
	Action  string `json:"action"`
	Subject string `json:"subject"`
	Reason  string `json:"reason,omitempty"`
	Detail  string `json:"detail,omitempty"`
}

type saysChange struct {
	Operation string `json:"operation"`
	Tenant    string `json:"tenant,omitempty"`
	Version   int64  `json:"version"`
	From      string `json:"from,omitempty"`
	To        string `json:"to,omitempty"`
	Event     string `json:"event,omitempty"`
	Actor     string `json:"actor,omitempty"`
	Row       string `json:"row_hash,omitempty"`
	Records   string `json:"records_hash,omitempty"`
}

// says makes a row readable.
func says(r *onceward.AuditRow) (json.RawMessage, error) {
	if e := r.Event; e != nil {
		return json.Marshal(saysEvent{string(e.Tenant), e.Actor, string(e.Action), e.Subject, e.Reason, e.Detail})
	}
	changes := make([]saysChange, len(r.Entries))
	for i := range r.Entries {
		e := &r.Entries[i]
		c := saysChange{Operation: e.ID.String(), Tenant: string(e.Tenant), Version: e.Version, Event: e.Event, Actor: e.Actor}
		if e.From != 0 {
			c.From = e.From.String()
		}
		if e.To != 0 {
			c.To = e.To.String()
		}
		if !e.Row.IsZero() {
			c.Row = e.Row.String()
		}
		if !e.Records.IsZero() {
			c.Records = e.Records.String()
		}
		changes[i] = c
	}
	return json.Marshal(changes)
}

// writeTrail writes the seals of a time with their rows and signatures. The seal
// before stands first without its rows, as what the chain goes on from.
func writeTrail(ctx context.Context, w io.Writer, s onceward.AuditStore, within span) (seals, rows int, err error) {
	enc := json.NewEncoder(w)
	if err := enc.Encode(trailLine{Head: &trailHead{Format: 1, From: within.from, To: within.to}}); err != nil {
		return 0, 0, err
	}
	var before onceward.Seal
	if !within.from.IsZero() {
		first, err := s.SealBefore(ctx, within.from)
		if err != nil {
			return 0, 0, err
		}
		if first != nil {
			before = *first
		}
	} else if first, err := s.Seals(ctx, 0, 1); err != nil {
		return 0, 0, err
	} else if len(first) == 1 && first[0].Number > 1 { // the anchor of a trail that was pruned
		before = first[0]
	}
	from := before.Number
	if from > 0 {
		if err := writeSeal(enc, &before); err != nil {
			return 0, 0, err
		}
	}
	for {
		page, err := s.Seals(ctx, before.Number, 10)
		if err != nil {
			return 0, 0, err
		}
		for i := range page {
			if !within.to.IsZero() && !page[i].At.Before(within.to) {
				page = page[:i]
				break
			}
			if err := writeSeal(enc, &page[i]); err != nil {
				return 0, 0, err
			}
			n, err := writeRows(ctx, enc, s, &before, &page[i])
			if err != nil {
				return 0, 0, err
			}
			before, seals, rows = page[i], seals+1, rows+n
		}
		if len(page) < 10 {
			break
		}
	}
	return seals, rows, writeCheckpoints(ctx, enc, s, from, before.Number)
}

func writeSeal(enc *json.Encoder, s *onceward.Seal) error {
	return enc.Encode(trailLine{Seal: &trailSeal{Number: s.Number, At: s.At, Previous: s.Previous, Journal: trailPlace(s.Journal), Events: trailPlace(s.Events),
		Count: s.Count, Rows: s.Rows, Hash: s.Hash}})
}

func writeRows(ctx context.Context, enc *json.Encoder, s onceward.AuditStore, before, seal *onceward.Seal) (n int, err error) {
	for _, q := range []onceward.AuditQuery{
		{Source: onceward.SourceJournal, After: before.Journal, To: seal.Journal, Limit: onceward.AuditRowsMax},
		{Source: onceward.SourceEvents, After: before.Events, To: seal.Events, Limit: onceward.AuditRowsMax},
	} {
		if q.After == q.To {
			continue
		}
		for {
			page, err := s.AuditRows(ctx, q)
			if err != nil {
				return n, err
			}
			for i := range page {
				r := &page[i]
				text, err := says(r)
				if err != nil {
					return n, err
				}
				if err := enc.Encode(trailLine{Row: &trailRow{Table: r.Source.String(), trailPlace: trailPlace(r.Place), At: r.At, Body: r.Body, Says: text}}); err != nil {
					return n, err
				}
				q.After = r.Place
			}
			n += len(page)
			if len(page) < q.Limit {
				break
			}
		}
	}
	return n, nil
}

func writeCheckpoints(ctx context.Context, enc *json.Encoder, s onceward.AuditStore, from, to int64) error {
	after := max(from-1, 0)
	for {
		page, err := s.Checkpoints(ctx, after, onceward.AuditRowsMax)
		if err != nil {
			return err
		}
		for _, c := range page {
			after = c.Number
			if c.Number > to {
				return nil
			}
			if err := enc.Encode(trailLine{Checkpoint: &trailCheckpoint{Seal: c.Number, At: c.At, Hash: c.Hash, Key: c.Key, Signature: c.Signature}}); err != nil {
				return err
			}
		}
		if len(page) < onceward.AuditRowsMax {
			return nil
		}
	}
}

// fileTrail is an exported trail.
type fileTrail struct {
	seals       []onceward.Seal
	checkpoints []onceward.Checkpoint
	rows        map[onceward.AuditSource][]onceward.AuditRow
}

// readTrail reads an exported file. What a row says beside its body is no part of
// any hash, so that it is held to the body here.
func readTrail(path string) (*fileTrail, []onceward.AuditFault, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, usageError("%s cannot be read: %v", path, err)
	}
	defer func() { _ = f.Close() }() // only read
	t := &fileTrail{rows: map[onceward.AuditSource][]onceward.AuditRow{}}
	var faults []onceward.AuditFault
	r := bufio.NewReader(f)
	for n := 1; ; n++ {
		text, err := r.ReadBytes('\n')
		if len(bytes.TrimSpace(text)) > 0 {
			fault, bad := t.line(n, text)
			if bad != nil {
				return nil, nil, bad
			}
			if fault != nil {
				faults = append(faults, *fault)
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil, err
		}
	}
	slices.SortStableFunc(t.seals, func(a, b onceward.Seal) int { return cmp.Compare(a.Number, b.Number) })
	slices.SortStableFunc(t.checkpoints, func(a, b onceward.Checkpoint) int { return cmp.Compare(a.Number, b.Number) })
	for source := range t.rows {
		slices.SortStableFunc(t.rows[source], func(a, b onceward.AuditRow) int { return a.Place.Compare(b.Place) })
	}
	return t, faults, nil
}

func (t *fileTrail) line(n int, text []byte) (*onceward.AuditFault, error) {
	var l trailLine
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&l); err != nil {
		return nil, usageError("line %d is none of an exported trail", n)
	}
	switch {
	case n == 1 && (l.Head == nil || l.Head.Format != 1):
		return nil, usageError("it is no exported trail of a format that this version knows")
	case l.Seal != nil:
		s := l.Seal
		t.seals = append(t.seals, onceward.Seal{Number: s.Number, At: s.At, Previous: s.Previous, Journal: onceward.AuditPlace(s.Journal), Events: onceward.AuditPlace(s.Events),
			Count: s.Count, Rows: s.Rows, Hash: s.Hash})
	case l.Checkpoint != nil:
		c := l.Checkpoint
		t.checkpoints = append(t.checkpoints, onceward.Checkpoint{Number: c.Seal, At: c.At, Hash: c.Hash, Key: c.Key, Signature: c.Signature})
	case l.Row != nil:
		return t.row(n, l.Row)
	}
	return nil, nil
}

func (t *fileTrail) row(n int, l *trailRow) (*onceward.AuditFault, error) {
	r := onceward.AuditRow{Place: onceward.AuditPlace(l.trailPlace), At: l.At, Body: l.Body}
	switch l.Table {
	case onceward.SourceJournal.String():
		r.Source = onceward.SourceJournal
		r.Entries, _ = store.DecodeJournalBody(l.Body) // one that cannot be read says nothing, and its seal tells
	case onceward.SourceEvents.String():
		r.Source = onceward.SourceEvents
		r.Event, _ = store.DecodeEventBody(l.Body)
	default:
		return nil, usageError("line %d is of a table that this version does not know", n)
	}
	t.rows[r.Source] = append(t.rows[r.Source], r)
	text, err := says(&r)
	var compact bytes.Buffer
	if err != nil || json.Compact(&compact, l.Says) != nil || !bytes.Equal(compact.Bytes(), text) {
		return &onceward.AuditFault{Table: l.Table, Row: "line " + strconv.Itoa(n), Problem: fmt.Sprintf("what the line says is not what its body says (position %d): it was edited", l.Position)}, nil
	}
	return nil, nil
}

// NoOperations tells the verification that operations are not in a file.
func (t *fileTrail) NoOperations() bool { return true }

// AuditRows implements onceward.AuditTrail.
func (t *fileTrail) AuditRows(_ context.Context, q onceward.AuditQuery) ([]onceward.AuditRow, error) {
	all := t.rows[q.Source]
	i, found := slices.BinarySearchFunc(all, q.After, func(r onceward.AuditRow, p onceward.AuditPlace) int { return r.Place.Compare(p) })
	for found && i < len(all) && all[i].Place == q.After {
		i++
	}
	end := i
	for end < len(all) && end-i < q.Limit && (q.To == onceward.AuditPlace{} || all[end].Place.Compare(q.To) <= 0) {
		end++
	}
	return all[i:end], nil
}

// Seals implements onceward.AuditTrail.
func (t *fileTrail) Seals(_ context.Context, after int64, limit int) ([]onceward.Seal, error) {
	return pageOf(t.seals, after, limit, func(s onceward.Seal, n int64) int { return cmp.Compare(s.Number, n) }), nil
}

// Checkpoints implements onceward.AuditTrail.
func (t *fileTrail) Checkpoints(_ context.Context, after int64, limit int) ([]onceward.Checkpoint, error) {
	return pageOf(t.checkpoints, after, limit, func(c onceward.Checkpoint, n int64) int { return cmp.Compare(c.Number, n) }), nil
}

// pageOf gives what comes after a number in a sorted list.
func pageOf[T any](all []T, after int64, limit int, by func(T, int64) int) []T {
	i, _ := slices.BinarySearchFunc(all, after+1, by)
	return all[i:min(len(all), i+limit)]
}

// AuditOperations implements onceward.AuditTrail.
func (t *fileTrail) AuditOperations(context.Context, onceward.OperationID, int) ([]onceward.AuditOperation, error) {
	return nil, nil
}
