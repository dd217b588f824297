package drill

import (
	"context"
	"errors"
	"strings"
	"testing"
)

var errNone = errors.New("none here")

func noServer(context.Context, Launch) (Process, error) { return nil, errNone }

func noLedger(context.Context, string) (string, func() error, error) { return "", nil, errNone }

func TestLedgerThatCannotBeRemovedIsTold(t *testing.T) {
	t.Parallel()
	row := Row{Why: "a person is asked"}
	st := &stage{row: &row, drop: func() error { return errors.New("the schema is in use") }}
	st.close()
	if !strings.Contains(row.Why, "a person is asked; its ledger was not removed: the schema is in use") {
		t.Errorf("the row says %q", row.Why)
	}
}
