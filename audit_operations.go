package onceward

import (
	"context"
	"fmt"
)

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
