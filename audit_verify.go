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

// signatures checks the checkpoints.
func (v *verifier) signatures(ctx context.Context) error {
	keys := map[string]bool{}
	for after := int64(0); ; {
		all, err := v.trail.Checkpoints(ctx, after, AuditRowsMax)
		if err != nil {
			return err
		}
		for i := range all {
			v.checkpoint(&all[i], keys)
			after = all[i].Number
		}
		if len(all) < AuditRowsMax {
			break
		}
	}
	if v.key != nil && v.v.SignedTo == 0 && v.v.Seals > 0 {
		v.fault(AuditFault{Table: "checkpoints", Row: "all", Problem: "no checkpoint is signed by the key that was given", Expected: hexKey(v.key)})
	}
	return nil
}

func hexKey(k ed25519.PublicKey) string { return fmt.Sprintf("%x", []byte(k)) }

func (v *verifier) checkpoint(c *Checkpoint, keys map[string]bool) {
	f := AuditFault{Table: "checkpoints", Row: number(c.Number)}
	seal, there := v.seals[c.Number]
	switch {
	case !c.Holds():
		f.Problem = "the signature is not that of the key: the checkpoint was edited"
	case v.key != nil && !v.key.Equal(c.Key):
		f.Problem, f.Expected, f.Found = "another key signed it", hexKey(v.key), hexKey(c.Key)
	case !there:
		f.Problem = "its seal is not there: it was removed"
	case seal != c.Hash:
		f.Problem, f.Expected, f.Found = "the seal is not the one that was signed: the chain was made anew up to there", c.Hash.String(), seal.String()
	default:
		v.v.Checkpoints++
		v.v.SignedTo, v.v.SignedAt = c.Number, c.At
		if k := hexKey(c.Key); !keys[k] {
			keys[k] = true
			v.v.Keys = append(v.v.Keys, k)
		}
		return
	}
	v.fault(f)
}

// operationsAtOnce is how many operations are compared at once.
const operationsAtOnce = 500

// operations compares the rows with the journal. What differs because somebody
// wrote in between is compared again once the journal's newest rows are known.
func (v *verifier) operations(ctx context.Context, last *Seal) error {
	seen := make(map[OperationID]bool, len(v.ops))
	var suspects []AuditOperation
	var after OperationID
	for {
		ops, err := v.trail.AuditOperations(ctx, after, operationsAtOnce)
		if err != nil {
			return err
		}
		for i := range ops {
			op := &ops[i]
			after = op.ID
			seen[op.ID] = true
			if v.compare(op, false) {
				v.v.Operations++
			} else {
				suspects = append(suspects, *op)
			}
		}
		if len(ops) < operationsAtOnce {
			break
		}
	}
	if len(seen) == 0 {
		if v.v.Aside = asideOnly(v.trail); v.v.Aside {
			return nil
		}
	}
	if err := v.again(ctx, last, suspects); err != nil {
		return err
	}
	return v.absent(ctx, last, seen)
}

// asideOnly reports whether a trail says of itself that it is a part, without
// operations: an exported file may begin at any seal.
func asideOnly(t AuditTrail) bool {
	a, ok := t.(interface{ NoOperations() bool })
	return ok && a.NoOperations()
}

// again compares what differed once more, as it is now.
func (v *verifier) again(ctx context.Context, last *Seal, suspects []AuditOperation) error {
	if len(suspects) == 0 {
		return nil
	}
	now := make([]AuditOperation, 0, len(suspects))
	for i := range suspects {
		there, err := v.trail.AuditOperations(ctx, before(suspects[i].ID), 1)
		if err != nil {
			return err
		}
		if len(there) == 1 && there[0].ID == suspects[i].ID {
			now = append(now, there[0])
		}
	}
	if err := v.tail(ctx, last); err != nil {
		return err
	}
	for i := range now {
		if v.compare(&now[i], true) {
			v.v.Operations++
		}
	}
	return nil
}

// before is the greatest ID below this one.
func before(id OperationID) OperationID {
	for i := len(id) - 1; i >= 0; i-- {
		id[i]--
		if id[i] != 0xFF {
			break
		}
	}
	return id
}

// compare reports whether an operation is as the journal says. With tell it
// names what is not; an operation that the journal has no hash of is counted.
func (v *verifier) compare(op *AuditOperation, tell bool) bool {
	fault := func(table, row, problem, expected, found string) bool {
		if tell {
			v.fault(AuditFault{Table: table, Row: row, Problem: problem, Expected: expected, Found: found})
		}
		return false
	}
	id := op.ID.String()
	p, known := v.ops[op.ID]
	at := "the journal's row at " + place(p.place)
	switch {
	case v.tainted[op.ID], !known && v.anchor != nil && op.UpdatedAt.Before(v.anchor.At), known && !p.hashed && !p.gone && p.version == op.Version:
		v.v.Uncovered++ // told of by what was pruned, or by a version that kept no hashes
		v.v.Operations--
		return true
	case !known:
		return fault("operations", id, "no row of the journal tells of the operation: it was put in beside the ledger", "", op.Row.String())
	case p.gone && p.generation >= op.Generation:
		return fault("operations", id, at+" says that it was dropped, and it is there", "", op.Row.String())
	case p.version != op.Version || p.generation != op.Generation:
		return fault("operations", id, fmt.Sprintf("the row has version %d, and %s tells of %d: the row was replaced", op.Version, at, p.version), number(p.version), number(op.Version))
	case p.row != op.Row:
		return fault("operations", id, "the row is not the one that "+at+" tells of: it, or a body beside it, was edited", p.row.String(), op.Row.String())
	}
	whole := true
	for version, found := range op.Records {
		want, told := v.records[recordVersion{op.ID, version}]
		switch row := fmt.Sprintf("%s version %d", id, version); {
		case told && want != found:
			whole = fault("records", row, "the timeline is not the one that the journal tells of: it was edited", want.String(), found.String())
		case !told && v.anchor == nil && version >= v.slim[op.ID] && v.firstHashed(op.ID):
			whole = fault("records", row, "no row of the journal tells of this part of the timeline: it was put in afterwards", "", found.String())
		}
	}
	for version, want := range v.timeline(op.ID, op.Version) {
		if _, there := op.Records[version]; !there {
			whole = fault("records", fmt.Sprintf("%s version %d", id, version), "a part of the timeline is missing: it was removed", want.String(), "")
		}
	}
	return whole
}

// firstHashed reports whether every version of the operation was journaled with
// its hash. Why so coarse: a ledger that an earlier version wrote keeps records
// that its journal has no hashes of.
func (v *verifier) firstHashed(id OperationID) bool {
	return v.ops[id].hashed && v.v.FirstSeal <= 1 && !v.old
}

// timeline gives the records that an operation should have.
func (v *verifier) timeline(id OperationID, version int64) map[int64]Digest {
	all := map[int64]Digest{}
	for n := max(v.slim[id], 1); n <= version; n++ {
		if want, told := v.records[recordVersion{id, n}]; told {
			all[n] = want
		}
	}
	return all
}

// absent names the operations that the journal tells of and that are not there.
func (v *verifier) absent(ctx context.Context, last *Seal, seen map[OperationID]bool) error {
	if err := v.tail(ctx, last); err != nil {
		return err
	}
	for id, p := range v.ops {
		if seen[id] || p.gone || v.tainted[id] {
			continue
		}
		there, err := v.trail.AuditOperations(ctx, before(id), 1)
		if err != nil {
			return err
		}
		if len(there) == 1 && there[0].ID == id {
			continue // made since
		}
		v.fault(AuditFault{Table: "operations", Row: id.String(), Problem: "the row that the journal's row at " + place(p.place) + " tells of is not there: it was removed", Expected: p.row.String()})
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
