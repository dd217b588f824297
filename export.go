package onceward

import (
	"context"
	"fmt"
)

// Exported is what is about to be deleted.
type Exported struct {
	Operation *Operation
	Records   []Record // its timeline; none for a tombstone
	Tombstone bool     // a tombstone is about to be dropped, not a record to be slimmed
}

// Exporter takes what is about to be deleted out of the ledger. It returns once
// that is as safe as the ledger itself: only then is anything deleted. The same
// may be given again after a crash; operation, generation and version name it.
type Exporter interface {
	Export(ctx context.Context, all []Exported) error
}

// export hands what is about to go to the exporter, if there is one, whole.
//
// Crash point: export.after_sync.
func (l *Ledger) export(ctx context.Context, ops []*Operation) error {
	if l.opts.Exporter == nil || len(ops) == 0 {
		return nil
	}
	ids := make([]OperationID, len(ops))
	for i := range ops {
		ids[i] = ops[i].ID
	}
	whole, err := l.store.Load(ctx, ids)
	if err != nil {
		return fmt.Errorf("load operations to export: %w", err)
	}
	all := make([]Exported, 0, len(ops))
	for i, op := range whole {
		if op == nil || op.Version != ops[i].Version || op.Generation != ops[i].Generation {
			continue // changed since: it is not deleted under that version either
		}
		x := Exported{Operation: op, Tombstone: op.Retired}
		if !op.Retired {
			d, err := l.store.LoadDetail(ctx, op.ID)
			if err != nil {
				return fmt.Errorf("load timeline of operation %s to export: %w", op.ID, err)
			}
			x.Records = d.Records
		}
		all = append(all, x)
	}
	if err := l.opts.Exporter.Export(ctx, all); err != nil {
		return fmt.Errorf("export before deletion: %w", err)
	}
	l.crash("export.after_sync")
	return nil
}
