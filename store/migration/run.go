package migration

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/onceward/onceward"
)

// Applied is a step as the database recorded it.
type Applied struct {
	Number int
	Name   string
	Sum    [sha256.Size]byte
}

// State is what a database is before a migration.
type State struct {
	Foreign string    // what shows that it belongs to somebody else, as "it has a table customers"; empty: nothing
	Applied []Applied // by number; none: the database is new, or empty
}

// expands is how a step is called that takes nothing away which the release before
// relies on: it adds tables, indexes, and columns that may be left out.
const expands = "expand_"

// Database is a database that can be brought forward. Whoever calls [Run] holds
// a lock in it that keeps other processes from doing the same meanwhile.
type Database interface {
	// State reads what there is.
	State(ctx context.Context) (State, error)

	// Apply runs a step and records it, both or neither. Why one method: a step
	// that ran and is not recorded would run again.
	Apply(ctx context.Context, step Step) error
}

// Run brings the database to the last of the steps and returns how many it ran.
// It refuses, and changes nothing: a database of another application, or one
// that was made by other steps than these (CodeLedgerForeign); one that a newer
// release made (CodeLedgerTooNew). Other errors come from the database; the
// steps before stay, so that it can be run again.
func Run(ctx context.Context, db Database, steps []Step) (int, error) {
	state, err := db.State(ctx)
	if err != nil {
		return 0, err
	}
	pending, err := Pending(state, steps)
	if err != nil {
		return 0, err
	}
	for i, step := range pending {
		if err := db.Apply(ctx, step); err != nil {
			return i, fmt.Errorf("run migration %s: %w", step, err)
		}
	}
	return len(pending), nil
}

// Pending returns the steps that the database still needs, or the refusal that
// [Run] would give. A database that newer releases only expanded is none that this
// release would refuse: so a replica of the version before can be started anew in
// the middle of an upgrade, and an upgrade can be taken back
// (docs/operating/upgrade.md).
func Pending(state State, steps []Step) ([]Step, error) {
	if state.Foreign != "" {
		return nil, &onceward.Error{
			Code: onceward.CodeLedgerForeign, Op: "open ledger", Message: "the database belongs to another application: " + state.Foreign,
			Hint: "give the ledger a database of its own",
		}
	}
	for i, a := range state.Applied {
		if i >= len(steps) && strings.HasPrefix(a.Name, expands) {
			continue
		}
		if i >= len(steps) {
			return nil, &onceward.Error{
				Code: onceward.CodeLedgerTooNew, Op: "open ledger",
				Message: fmt.Sprintf("a newer release made the database: it has migration %04d_%s, this release ends at %04d", a.Number, a.Name, len(steps)),
				Hint:    "run the newer release; nothing was changed",
			}
		}
		if a.Number != steps[i].Number || a.Sum != steps[i].Sum {
			return nil, &onceward.Error{
				Code: onceward.CodeLedgerForeign, Op: "open ledger",
				Message: fmt.Sprintf("the database was made by other migrations than this release has: %04d_%s is not %s", a.Number, a.Name, steps[i]),
				Hint:    "run the release that made the database, or one that follows it; nothing was changed",
			}
		}
	}
	return steps[min(len(state.Applied), len(steps)):], nil
}
