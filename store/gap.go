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

// EncodeGap is a gap's name and value.
func EncodeGap(g onceward.Gap) (name, value string, err error) {
	w := gap{Until: Micros(g.Until), Lost: g.Lost, Cleared: g.Cleared, By: g.By, Reason: g.Reason}
	if !g.Since.IsZero() {
		w.Since = Micros(g.Since)
	}
	text, err := json.Marshal(w)
	if err != nil {
		return "", "", fmt.Errorf("encode gap: %w", err)
	}
	return fmt.Sprintf("%s%020d", GapPrefix, w.Until), string(text), nil
}

// DecodeGap reads what EncodeGap made.
func DecodeGap(value string) (onceward.Gap, error) {
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

// DecodeGaps reads gaps in order.
func DecodeGaps(values []string) ([]onceward.Gap, error) {
	var all []onceward.Gap
	for _, v := range values {
		g, err := DecodeGap(v)
		if err != nil {
			return nil, err
		}
		all = append(all, g)
	}
	return all, nil
}
