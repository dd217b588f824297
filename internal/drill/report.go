package drill

import (
	"time"
)

// Verdict is what a row came to.
type Verdict string

// The verdicts.
const (
	Kept          Verdict = "as promised"
	Broken        Verdict = "broken"              // the contract does not keep what its class promises
	Outside       Verdict = "outside the promise" // shows what happens where an assumption does not hold
	NotApplicable Verdict = "not applicable"
	NotDrilled    Verdict = "not drilled" // could have been, but not here; Why says why
	Trouble       Verdict = "trouble"     // the drill itself could not carry it out
)

// Verdicts lists the verdicts, worst first.
var Verdicts = []Verdict{Broken, Trouble, NotDrilled, Outside, NotApplicable, Kept}

// Change says what to write instead, and where.
type Change struct {
	File     string `json:"file"`
	Line     int    `json:"line"`
	Field    string `json:"field"`
	Sentence string `json:"sentence"`
}

// Row is one scenario at one contract.
type Row struct {
	Tool       string        `json:"tool"`
	Class      string        `json:"class"`
	Scenario   string        `json:"scenario"`
	Title      string        `json:"title"`
	Verdict    Verdict       `json:"verdict"`
	Why        string        `json:"why,omitempty"`
	Change     *Change       `json:"change,omitempty"`
	Deliveries int           `json:"deliveries"` // requests of callers for the intention
	Attempts   int           `json:"attempts"`   // of the operation
	Writes     int           `json:"writes"`     // requests that reached the provider
	Confirmed  int           `json:"confirmed"`  // of those: answered 2xx
	Effects    int           `json:"effects"`
	CountedBy  string        `json:"counted_by,omitempty"`
	HumanAsks  int           `json:"human_asks"` // reviews, and tools that a person had to resume
	State      string        `json:"state,omitempty"`
	Settled    time.Duration `json:"settled_ns"` // from the first delivery to the end, in the drill's shortened time
	Keys       []string      `json:"keys,omitempty"`
	References []string      `json:"references,omitempty"`
	Log        string        `json:"log,omitempty"` // the end of what the servers said; only where there was trouble
}

// ran reports whether the scenario was carried out.
func (r *Row) ran() bool { return r.Verdict == Kept || r.Verdict == Broken || r.Verdict == Outside }

// needsWords reports whether its line in a table says too little. A person who is
// asked as the class says is seen in the table.
func (r *Row) needsWords() bool {
	return r.Verdict == Broken || r.Verdict == Outside || r.Verdict == Kept && r.Why != "" && r.State == "succeeded"
}

// Wait is a duration of the contract as the drill changed it.
type Wait struct {
	Field string        `json:"field"`
	Was   time.Duration `json:"was_ns"`
	Is    time.Duration `json:"is_ns"`
}

// ToolReport describes one contract and how it was drilled.
type ToolReport struct {
	Name         string   `json:"name"`
	Effect       string   `json:"effect"`
	Promise      string   `json:"promise"`
	Version      string   `json:"version"`
	File         string   `json:"file"`
	Line         int      `json:"line"`
	Hosts        []string `json:"hosts"`
	Factor       float64  `json:"factor"`
	Waits        []Wait   `json:"waits"`
	Lateness     string   `json:"lateness"`
	KeyField     string   `json:"key_field"`
	Notes        []string `json:"notes,omitempty"`
	Compensation string   `json:"compensation,omitempty"` // the tool that would undo what was left behind
}

// Report is what a run came to.
type Report struct {
	Run     string          `json:"run"`
	Started time.Time       `json:"started"`
	Ended   time.Time       `json:"ended"`
	Ledger  string          `json:"ledger"`
	Tools   []ToolReport    `json:"tools"`
	Rows    []Row           `json:"rows"`
	Totals  map[Verdict]int `json:"totals"`
	Demo    bool            `json:"demo"`
}

func (r *Report) sum() {
	r.Totals = make(map[Verdict]int, len(Verdicts))
	for _, v := range Verdicts {
		r.Totals[v] = 0
	}
	for i := range r.Rows {
		r.Totals[r.Rows[i].Verdict]++
	}
}

// rowsOf are the rows of one tool.
func (r *Report) rowsOf(tool string) []Row {
	var rows []Row
	for _, row := range r.Rows {
		if row.Tool == tool {
			rows = append(rows, row)
		}
	}
	return rows
}

// LeftBehind lists the rows that left effects at the provider.
func (r *Report) LeftBehind() []Row {
	var rows []Row
	for _, row := range r.Rows {
		if row.Effects > 0 || len(row.References) > 0 || row.Writes > 0 {
			rows = append(rows, row)
		}
	}
	return rows
}
