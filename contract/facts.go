package contract

import "time"

// Facts is what a contract's author knew of its provider. Nothing of it changes
// what the tool does.
type Facts struct {
	Provider string
	Endpoint string // as the provider names it
	Sources  []FactSource
	Settle   string // why the look-up waits as long as it does
	Unknown  string // what could not be found out
	Undo     string // how the effect is undone where no contract does it, or that nothing does
}

// FactSource is where facts come from.
type FactSource struct {
	URL   string // empty: observed, and Says tells where
	Date  string // YYYY-MM-DD
	Basis string // documented, quoted, observed or reported
	Says  string
}

// Facts returns what the contract says of its provider; ok is false if nothing.
func (t *Tool) Facts() (f Facts, ok bool) {
	doc := t.doc.Metadata.Facts
	if doc == nil {
		return Facts{}, false
	}
	f = Facts{Provider: doc.Provider.value, Endpoint: doc.Endpoint.value, Settle: doc.Settle.value, Unknown: doc.Unknown.value, Undo: doc.Undo.value}
	for i := range doc.Sources {
		s := &doc.Sources[i]
		f.Sources = append(f.Sources, FactSource{URL: s.URL.value, Date: s.Date.value, Basis: s.Basis.value, Says: s.Says.value})
	}
	return f, true
}

// facts checks the days of what is known.
func (c *compiler) facts() {
	f := c.doc.Metadata.Facts
	if f == nil {
		return
	}
	for i := range f.Sources {
		d := &f.Sources[i].Date
		if _, err := time.Parse(time.DateOnly, d.value); err != nil {
			c.problem(d.at, "metadata.facts.sources.date", "it is a day, such as 2026-11-29")
		}
	}
}

// Compensates names the tool that undoes the effect; empty: none.
func (t *Tool) Compensates() string {
	if t.undo == nil {
		return ""
	}
	return string(t.undo.tool)
}
