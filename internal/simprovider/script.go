package simprovider

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
)

// Script says which requests go wrong, and how: either a list of Faults, given
// in order to the next requests that match, or a Rate.
type Script struct {
	// System is tickets, payments, mail, contacts or fax; empty is all.
	System string `json:"system,omitempty"`
	Match  Match  `json:"match,omitzero"`
	// Faults go one each to the next matching requests; then the script is
	// used up. "none" lets one pass.
	Faults []Fault `json:"faults,omitempty"`
	// Rate maps a fault (with parameters, as in the header) to its
	// probability. The draw depends on Seed, system, reference and the number
	// of the request under that reference, so that a run can be repeated
	// whatever the order in which requests of different references arrive.
	Rate map[string]float64 `json:"rate,omitempty"`
	Seed uint64             `json:"seed,omitempty"`
}

// Match narrows a Script; its zero value matches every write.
type Match struct {
	// Reference is any name of the business: reference, external ID, key.
	Reference string `json:"reference,omitempty"`
	// Action is what is done, such as create, close, refund; empty is any.
	Action string `json:"action,omitempty"`
	// Nth is the number of the matching request that gets the first fault,
	// counted from the moment the script was added; zero and 1 are the next.
	Nth int `json:"nth,omitempty"`
	// On is "write" (default), "read" (lookups) or "any".
	On string `json:"on,omitempty"`
}

func (s *Script) check() error {
	switch {
	case s.System != "" && !slices.Contains(systems, s.System):
		return fmt.Errorf("no system %q; there are: %v", s.System, systems)
	case (len(s.Faults) == 0) == (len(s.Rate) == 0):
		return fmt.Errorf("a script has either faults or rate")
	case len(s.Rate) > 0 && s.Match.Nth != 0:
		return fmt.Errorf("nth goes with faults, not with rate")
	case s.Match.Nth < 0:
		return fmt.Errorf("nth counts from 1")
	case s.Match.On != "" && s.Match.On != "write" && s.Match.On != "read" && s.Match.On != "any":
		return fmt.Errorf("on must be write, read or any")
	}
	for _, fault := range s.Faults {
		if err := fault.check(); err != nil {
			return err
		}
	}
	return s.checkRate()
}

func (s *Script) checkRate() error {
	sum := 0.0
	for text, p := range s.Rate {
		if _, err := ParseFault(text); err != nil {
			return err
		}
		if math.IsNaN(p) || p < 0 || p > 1 {
			return fmt.Errorf("rate of %q must be between 0 and 1", text)
		}
		sum += p
	}
	if sum > 1+1e-9 {
		return fmt.Errorf("rates add up to %g, more than 1", sum)
	}
	return nil
}

func (s *Script) matches(req request) bool {
	switch s.Match.On {
	case "", "write":
		if !req.write {
			return false
		}
	case "read":
		if req.write {
			return false
		}
	}
	if s.System != "" && s.System != req.System {
		return false
	}
	if s.Match.Action != "" && s.Match.Action != req.Action {
		return false
	}
	return s.Match.Reference == "" || s.Match.Reference == req.Reference ||
		slices.Contains(req.Aliases, s.Match.Reference)
}

// draw chooses by rate for the nth request under its reference.
func (s *Script) draw(req request, nth int) Fault {
	seed := binary.BigEndian.AppendUint64(nil, s.Seed)
	seed = fmt.Appendf(seed, "%s\x00%s\x00%s\x00%t\x00%d", req.System, req.Action, req.Reference, req.write, nth)
	sum := sha256.Sum256(seed)
	point := float64(binary.BigEndian.Uint64(sum[:])>>11) / (1 << 53)
	for _, text := range slices.Sorted(maps.Keys(s.Rate)) {
		if point -= s.Rate[text]; point < 0 {
			fault, _ := ParseFault(text) // checked when the script came in
			return fault
		}
	}
	return Fault{}
}

// scripts are the faults to come; the Server's mutex guards them.
type scripts struct {
	list []*running // without those that are used up
	last int        // number of the newest
}

// running is a script with how far it has got.
type running struct {
	Script
	ID   int `json:"id"`
	Seen int `json:"seen"` // matching requests so far
	Done int `json:"done"` // faults given out
}

func (r *running) usedUp() bool { return len(r.Rate) == 0 && r.Done == len(r.Faults) }

func (s *scripts) add(script Script) *running {
	s.last++
	added := &running{Script: script, ID: s.last}
	s.list = append(s.list, added)
	return added
}

// choose gives the request its fault: the first list that is due, else the
// first rate that strikes. Every matching script counts the request; only the
// chosen one is moved on.
func (s *scripts) choose(req request, nth int) Fault {
	var chosen *running
	drawn := Fault{}
	for _, r := range s.list {
		if !r.matches(req) {
			continue
		}
		r.Seen++
		switch {
		case len(r.Rate) > 0:
			if drawn.Name == "" {
				drawn = r.draw(req, nth)
			}
		case chosen == nil && !r.usedUp() && r.Seen >= r.Match.Nth:
			chosen = r
		}
	}
	if chosen == nil {
		return drawn
	}
	chosen.Done++
	s.list = slices.DeleteFunc(s.list, (*running).usedUp)
	return chosen.Faults[chosen.Done-1]
}
