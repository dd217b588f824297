package onceward

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"strings"
	"time"
)

// AuditTrail is what verification reads: a store, or an exported file.
type AuditTrail interface {
	AuditRows(ctx context.Context, q AuditQuery) ([]AuditRow, error)
	Seals(ctx context.Context, after int64, limit int) ([]Seal, error)
	Checkpoints(ctx context.Context, after int64, limit int) ([]Checkpoint, error)
	// AuditOperations is as in AuditStore; a trail without operations gives none.
	AuditOperations(ctx context.Context, after OperationID, limit int) ([]AuditOperation, error)
}

// AuditFault is one broken place.
type AuditFault struct {
	Table    string // journal, audit, seals, checkpoints, operations, records
	Row      string // which row, by its key
	Problem  string // what is wrong, as a sentence
	Expected string // a hash or a number; empty: nothing to compare
	Found    string
}

// AuditVerdict is what a verification found. A trail is whole if Faults is empty;
// what is not sealed, not signed or not covered is told, and is no fault.
type AuditVerdict struct {
	Faults      []AuditFault
	Cut         bool // there are more faults than AuditFaultsMax
	Seals       int
	FirstSeal   int64 // above 1: what was before it was pruned
	LastSeal    int64
	SealedRows  int
	Unsealed    int       // rows after the last seal
	Checkpoints int       // whose signature holds
	SignedTo    int64     // number of the newest seal that a checkpoint covers; 0: none
	SignedAt    time.Time // of that checkpoint
	Keys        []string  // that signed, in hexadecimal, each once
	Operations  int       // whose rows are as the journal says
	Uncovered   int       // operations that the journal, or what is left of it, tells no hash of
	Aside       bool      // the operations' rows were not there to be compared
}

// AuditFaultsMax is how many faults are told.
const AuditFaultsMax = 100

// pinned is what the journal says last of an operation.
type pinned struct {
	generation Generation
	version    int64
	row        Digest
	gone       bool
	hashed     bool
	place      AuditPlace
}

// verifier walks a trail once.
type verifier struct {
	trail   AuditTrail
	key     ed25519.PublicKey
	v       AuditVerdict
	ops     map[OperationID]pinned
	records map[recordVersion]Digest
	slim    map[OperationID]int64 // version from which on records are kept
	seals   map[int64]Digest      // by number, as they should be
	anchors map[string]bool       // subjects of prunings that the trail tells of
	anchor  *Seal
	tainted map[OperationID]bool // told of by a row that was edited: what it says proves nothing
	old     bool                 // some rows of the journal are of a version that kept no hashes
}

type recordVersion struct {
	id      OperationID
	version int64
}

// VerifyAudit checks a trail: each seal against the one before, each sealed row
// against its seal, each checkpoint against its seal, and each operation's row
// and timeline against what the journal says of it. With a key every checkpoint
// has to be signed by it, and there has to be one. It may run beside writers.
func VerifyAudit(ctx context.Context, trail AuditTrail, key ed25519.PublicKey) (*AuditVerdict, error) {
	v := &verifier{trail: trail, key: key, ops: map[OperationID]pinned{}, records: map[recordVersion]Digest{}, slim: map[OperationID]int64{},
		seals: map[int64]Digest{}, anchors: map[string]bool{}, tainted: map[OperationID]bool{}}
	var last Seal
	for _, step := range []func() error{
		func() error { return v.chain(ctx, &last) },
		func() error { return v.tail(ctx, &last) },
		func() error { return v.signatures(ctx) },
		func() error { return v.operations(ctx, &last) },
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	if v.anchor != nil && !asideOnly(trail) && !v.anchors[anchorSubject(v.anchor)] {
		v.fault(AuditFault{Table: "seals", Row: number(v.anchor.Number - 1), Problem: "the chain begins at seal " + number(v.anchor.Number) + ", and the trail tells of no pruning up to there: seals were removed"})
	}
	return &v.v, nil
}

func number(n int64) string { return fmt.Sprint(n) }

func (v *verifier) fault(f AuditFault) {
	if len(v.v.Faults) == AuditFaultsMax {
		v.v.Cut = true
		return
	}
	v.v.Faults = append(v.v.Faults, f)
}

// sealsAtOnce is how many seals are read at once: each may name thousands of rows.
const sealsAtOnce = 20

// chain checks the seals in order and the rows that they cover.
func (v *verifier) chain(ctx context.Context, last *Seal) error {
	for {
		seals, err := v.trail.Seals(ctx, last.Number, sealsAtOnce)
		if err != nil || len(seals) == 0 {
			return err
		}
		for i := range seals {
			if err := v.sealed(ctx, last, &seals[i]); err != nil {
				return err
			}
			*last = seals[i]
		}
	}
}

// sealed checks one seal against the one before it, and its rows.
func (v *verifier) sealed(ctx context.Context, before, s *Seal) error {
	v.v.Seals++
	v.v.LastSeal = s.Number
	sum := s.sum()
	v.seals[s.Number] = sum
	broken := sum != s.Hash
	if broken {
		v.fault(AuditFault{Table: "seals", Row: number(s.Number), Problem: "the seal does not carry the hash of what stands in it: it was edited", Expected: sum.String(), Found: s.Hash.String()})
	}
	switch {
	case v.v.FirstSeal == 0:
		v.v.FirstSeal = s.Number
		if s.Number > 1 {
			anchor := *s
			v.anchor = &anchor
			return nil // its rows went with the seals before
		}
		if !s.Previous.IsZero() {
			v.fault(AuditFault{Table: "seals", Row: "1", Problem: "the first seal names one before it", Expected: Digest{}.String(), Found: s.Previous.String()})
		}
	case s.Number != before.Number+1:
		v.fault(AuditFault{Table: "seals", Row: missing(before.Number+1, s.Number-1), Problem: "the seal is missing: it was removed", Expected: number(before.Number + 1), Found: number(s.Number)})
	case s.Previous != before.Hash && s.Previous != v.seals[before.Number]:
		v.fault(AuditFault{Table: "seals", Row: number(s.Number), Problem: "the seal does not follow the one before it: one of the two was replaced", Expected: before.Hash.String(), Found: s.Previous.String()})
	}
	rows, ok := s.SealedRows()
	if !ok && !broken {
		v.fault(AuditFault{Table: "seals", Row: number(s.Number), Problem: "the list of the rows that it covers cannot be read"})
	}
	v.v.SealedRows += len(rows)
	for _, source := range AllAuditSources {
		if err := v.stretch(ctx, source, *before.last(source), *s.last(source), rows, s); err != nil {
			return err
		}
	}
	return nil
}

func missing(from, to int64) string {
	if from == to {
		return number(from)
	}
	return number(from) + " to " + number(to)
}

// stretch compares the rows of a source that a seal names with those that are
// there, which stand in the same order.
func (v *verifier) stretch(ctx context.Context, source AuditSource, after, to AuditPlace, sealed []SealedRow, s *Seal) error {
	var want []SealedRow
	for _, r := range sealed {
		if r.Source == source {
			want = append(want, r)
		}
	}
	if len(want) == 0 {
		return nil
	}
	by := "seal " + number(s.Number)
	if first := want[0].Place; after.Compare(first) >= 0 { // a broken seal names nonsense
		after = AuditPlace{Xid: first.Xid, Position: first.Position - 1}
	}
	err := v.each(ctx, AuditQuery{Source: source, After: after, To: to}, func(r *AuditRow) {
		for len(want) > 0 && want[0].Place.Compare(r.Place) < 0 {
			v.removed(want[0], by)
			want = want[1:]
		}
		switch hash := HashAuditRow(r); {
		case len(want) == 0 || want[0].Place != r.Place:
			v.fault(AuditFault{Table: source.String(), Row: place(r.Place), Problem: by + " does not know the row: it was put in afterwards", Found: hash.String()})
		case hash != want[0].Hash:
			v.fault(AuditFault{Table: source.String(), Row: place(r.Place), Problem: "the row is not the one that " + by + " covers: it was edited", Expected: want[0].Hash.String(), Found: hash.String()})
			for _, e := range r.Entries {
				v.tainted[e.ID] = true
			}
			want = want[1:]
		default:
			want = want[1:]
		}
		v.take(r)
	})
	for _, r := range want {
		v.removed(r, by)
	}
	return err
}

func (v *verifier) removed(r SealedRow, by string) {
	v.fault(AuditFault{Table: r.Source.String(), Row: place(r.Place), Problem: "the row that " + by + " covers is not there: it was removed", Expected: r.Hash.String()})
}

func place(p AuditPlace) string {
	if p.Xid == 0 {
		return "position " + number(p.Position)
	}
	return fmt.Sprintf("xid %d, position %d", p.Xid, p.Position)
}

// each reads all rows of a query, in pages.
func (v *verifier) each(ctx context.Context, q AuditQuery, row func(*AuditRow)) error {
	q.Limit = AuditRowsMax
	for {
		rows, err := v.trail.AuditRows(ctx, q)
		if err != nil {
			return err
		}
		for i := range rows {
			row(&rows[i])
			q.After = rows[i].Place
		}
		if len(rows) < q.Limit {
			return nil
		}
	}
}

// take learns from a row what the operations and the trail itself have to be.
func (v *verifier) take(r *AuditRow) {
	if r.Event != nil && r.Event.Action == AuditTrailPruned {
		v.anchors[r.Event.Subject] = true
	}
	for i := range r.Entries {
		e := &r.Entries[i]
		p := pinned{e.Generation, e.Version, e.Row, e.Gone, !e.Row.IsZero(), r.Place}
		v.old = v.old || !p.hashed && !p.gone
		if old, known := v.ops[e.ID]; !known || old.generation < p.generation || old.generation == p.generation && old.version < p.version {
			v.ops[e.ID] = p
		}
		if !e.Records.IsZero() {
			v.records[recordVersion{e.ID, e.Version}] = e.Records
		}
		if e.Slim || e.Gone {
			v.slim[e.ID] = max(v.slim[e.ID], e.Version)
		}
	}
}

// tail takes the rows that are not sealed yet, also those that others may still
// come before.
func (v *verifier) tail(ctx context.Context, last *Seal) error {
	v.v.Unsealed = 0
	for _, source := range AllAuditSources {
		err := v.each(ctx, AuditQuery{Source: source, After: *last.last(source), Open: true}, func(r *AuditRow) {
			v.v.Unsealed++
			v.take(r)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// String is the fault in one line.
func (f AuditFault) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s: %s", f.Table, f.Row, f.Problem)
	if f.Expected != "" {
		b.WriteString("; expected " + f.Expected)
	}
	if f.Found != "" {
		b.WriteString("; found " + f.Found)
	}
	return b.String()
}
