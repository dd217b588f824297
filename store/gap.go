package store

import (
	"encoding/json"
	"fmt"

	"github.com/onceward/onceward"
)

// GapPrefix begins the names of gaps in the table meta, which are in the order of
// their ends.
const GapPrefix = "gap."

// gap is a gap as it is stored.
type gap struct {
	Since   int64               `json:"since,omitempty"` // microseconds since 1970; 0: not known
	Until   int64               `json:"until"`
	Lost    int                 `json:"lost"`
	Cleared []onceward.ToolName `json:"cleared,omitempty"`
	By      string              `json:"by"`
	Reason  string              `json:"reason"`
}

// PutGap stores a gap by a store's own way to put a name and a value into meta.
func PutGap(g onceward.Gap, put func(name, value string) error) error {
	w := gap{Until: Micros(g.Until), Lost: g.Lost, Cleared: g.Cleared, By: g.By, Reason: g.Reason}
	if !g.Since.IsZero() {
		w.Since = Micros(g.Since)
	}
	text, err := json.Marshal(w)
	if err != nil {
		return fmt.Errorf("encode gap: %w", err)
	}
	return put(fmt.Sprintf("%s%020d", GapPrefix, w.Until), string(text))
}

// Gaps reads gaps by a store's own way to load the values that PutGap put, in the
// order of their names.
func Gaps(load func(values *[]string) error) ([]onceward.Gap, error) {
	var values []string
	if err := load(&values); err != nil {
		return nil, err
	}
	var all []onceward.Gap
	for _, v := range values {
		g, err := decodeGap(v)
		if err != nil {
			return nil, err
		}
		all = append(all, g)
	}
	return all, nil
}

func decodeGap(value string) (onceward.Gap, error) {
	var w gap
	if err := json.Unmarshal([]byte(value), &w); err != nil {
		return onceward.Gap{}, &onceward.Error{Code: onceward.CodeLedgerCorrupt, Op: "load gap", Message: "a stored gap cannot be read", Err: err}
	}
	g := onceward.Gap{Until: Time(w.Until), Lost: w.Lost, Cleared: w.Cleared, By: w.By, Reason: w.Reason}
	if w.Since != 0 {
		g.Since = Time(w.Since)
	}
	return g, nil
}
