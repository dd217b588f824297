package sim

import "time"

// Spec is what the world and the auditor know of a tool: the provider's side of
// its contract.
type Spec struct {
	Name     string
	Class    string
	Probe    bool
	Window   time.Duration // how long the provider remembers a key
	Keep     time.Duration // record time after the end; 0: for ever
	Reusable bool          // a retired key may be used anew
}

// The times that every tool of a simulation has.
const (
	Deadline = time.Second
	Lease    = 5 * time.Second
	Settle   = 2 * time.Second
)

// Specs are the tools of a simulation.
var Specs = []Spec{
	{Name: "t.keyed", Class: "keyed_write", Window: 24 * time.Hour},
	{Name: "t.short", Class: "keyed_write", Window: 75 * time.Second, Probe: true},
	{Name: "t.chosen", Class: "conditional_write"},
	{Name: "t.upsert", Class: "conditional_write", Probe: true},
	{Name: "t.probed", Class: "probed_write", Probe: true},
	{Name: "t.unsafe", Class: "unsafe_write"},
	{Name: "t.retired", Class: "probed_write", Probe: true, Keep: 5 * time.Second},
	{Name: "t.anew", Class: "keyed_write", Window: 24 * time.Hour, Keep: 5 * time.Second, Reusable: true},
}
