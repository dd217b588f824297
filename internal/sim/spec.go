package sim

import "time"

// Spec is what the world and the auditor know of a tool: the provider's side of
// its contract, and what the contract says of its own.
type Spec struct {
	Name      string
	Class     string
	Probe     bool
	Window    time.Duration // how long the provider remembers a key
	Keep      time.Duration // record time after the end; 0: for ever
	Reusable  bool          // a retired key may be used anew
	Serial    bool          // one operation at a time works on a resource
	Rate      Rate          // how often a replica may start an attempt
	NotAfter  time.Duration // how old an intent may be when it is sent first; 0: any age
	Remote    bool          // the caller performs the write itself
	Asked     time.Duration // how long a question to people waits, and how long a yes holds; 0: nobody is asked
	Quorum    int           // how many people must say yes
	Apart     bool          // whoever asked, or edited, may not say yes
	Tombstone time.Duration // after Keep, until the key is forgotten; 0: for ever
}

// Rate is so many in so long. The zero value is no bound.
type Rate struct {
	Count int
	Per   time.Duration
}

// The times that every tool of a simulation has.
const (
	Deadline = time.Second
	Lease    = 5 * time.Second
	Settle   = 2 * time.Second
)

// plainSpecs is how many of the Specs have an effect class and a record time and
// nothing else. The plans of plain seeds have only those.
const plainSpecs = 8

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

	{Name: "t.serial.keyed", Class: "keyed_write", Window: 24 * time.Hour, Serial: true},
	{Name: "t.serial.probed", Class: "probed_write", Probe: true, Serial: true},
	{Name: "t.serial.unsafe", Class: "unsafe_write", Serial: true},
	{Name: "t.rated", Class: "keyed_write", Window: 24 * time.Hour, Rate: Rate{Count: 1, Per: 4 * time.Second}},
	{Name: "t.dated.keyed", Class: "keyed_write", Window: 24 * time.Hour, NotAfter: 5 * time.Second},
	{Name: "t.dated.probed", Class: "probed_write", Probe: true, NotAfter: 5 * time.Second},
	{Name: "t.remote.keyed", Class: "keyed_write", Window: 24 * time.Hour, Remote: true},
	{Name: "t.remote.probed", Class: "probed_write", Probe: true, Remote: true},
	{Name: "t.remote.chosen", Class: "conditional_write", Probe: true, Remote: true},
	{Name: "t.asked", Class: "keyed_write", Window: 24 * time.Hour, Asked: 6 * time.Second, Quorum: 1},
	{Name: "t.asked.two", Class: "probed_write", Probe: true, Asked: 8 * time.Second, Quorum: 2, Apart: true},
	{Name: "t.forgotten", Class: "keyed_write", Window: 24 * time.Hour, Keep: 3 * time.Second, Tombstone: 4 * time.Second},
	{Name: "t.forgotten.anew", Class: "probed_write", Probe: true, Keep: 3 * time.Second, Tombstone: 4 * time.Second, Reusable: true},
}

// specNamed finds a tool; nil if there is none.
func specNamed(name string) *Spec {
	for i := range Specs {
		if Specs[i].Name == name {
			return &Specs[i]
		}
	}
	return nil
}
