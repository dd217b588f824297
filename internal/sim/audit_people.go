package sim

import (
	"fmt"
	"slices"
	"time"
)

// people is what the auditor knows of those who were asked.
type people struct {
	shown   map[string][]showing // by operation and person: what they looked at before they answered
	yeses   map[string][]yes     // by operation: what counts now
	editor  map[string]string    // by operation: whose edit it is now
	edits   map[string]map[string]bool
	inForce version // of the contracts
}

// showing is what stood before a person.
type showing struct {
	amount   int64
	contract string
}

// yes is one person's, of what was shown.
type yes struct {
	showing
	who string
	at  time.Duration
}

type version struct {
	name  string
	since time.Duration
}

func newPeople() people {
	return people{shown: map[string][]showing{}, yeses: map[string][]yes{}, editor: map[string]string{}, edits: map[string]map[string]bool{}}
}

// Amended hears that a process put a version of the contracts in force. The
// first that does counts.
func (a *Auditor) Amended(name string) {
	if a.inForce.name != name {
		a.inForce = version{name, a.World.Now()}
	}
}

// Answers hears that a person is about to answer what they looked at.
func (a *Auditor) Answers(who, op string, amount int64, contract string) {
	a.shown[op+" "+who] = append(a.shown[op+" "+who], showing{amount, contract})
}

// asked judges a stored row by what people were asked and said.
func (a *Auditor) asked(before, r *Row, events, actors []string) {
	s := specNamed(r.Tool)
	if s == nil || s.Asked == 0 {
		return
	}
	for i, event := range events {
		switch event {
		case "approval_granted":
			a.saysYes(r, actors[i], showing{r.Amount, r.Contract})
		case "approval_edited":
			a.yeses[r.Op], a.editor[r.Op] = nil, actors[i]
			if a.edits[r.Op] == nil {
				a.edits[r.Op] = map[string]bool{}
			}
			a.edits[r.Op][fmt.Sprint(before.Amount)], a.edits[r.Op][fmt.Sprint(r.Amount)] = true, true
			a.saysYes(r, actors[i], showing{r.Amount, r.Contract})
		case "approval_voided", "approval_rejected", "approval_expired":
			a.yeses[r.Op] = nil
		}
	}
	if r.Attempts == 1 && r.Owner != "" && before.Attempts == 0 {
		a.spends(s, r)
	}
}

func (a *Auditor) saysYes(r *Row, who string, to showing) {
	if !slices.Contains(a.shown[r.Op+" "+who], to) {
		a.breach(YesIsForShown, "a yes of %s to %s counts for amount %d under %s; they were shown %v", who, r.Op, to.amount, to.contract, a.shown[r.Op+" "+who])
	}
	a.yeses[r.Op] = append(a.yeses[r.Op], yes{to, who, a.World.Now()})
}

// spends judges the start of the first attempt, as of when it was decided.
func (a *Auditor) spends(s *Spec, r *Row) {
	at := a.World.Now()
	if first, ok := a.starts[start{r.Op, r.Owner, 1, r.Generation}]; ok {
		at = first
	}
	var who []string
	for _, y := range a.yeses[r.Op] {
		own := s.Apart && (y.who == Requester || y.who == a.editor[r.Op])
		over := !a.Vague && at > y.at+s.Asked+a.Back+clockSlack
		if y.showing == (showing{r.Amount, r.Contract}) && !own && !over && !slices.Contains(who, y.who) {
			who = append(who, y.who)
		}
	}
	if len(who) < s.Quorum {
		a.breach(YesNeeded, "%s starts for amount %d under %s with %d of %d yeses: %v of %+v", r.Op, r.Amount, r.Contract, len(who), s.Quorum, who, a.yeses[r.Op])
	}
	if v := a.inForce; !a.Vague && v.name != "" && v.name != r.Contract && at > v.since+clockSlack {
		a.breach(YesNeeded, "%s starts under %s, and %s is in force since %s", r.Op, r.Contract, v.name, v.since)
	}
	delete(a.yeses, r.Op)
}

// Requester names who asks for operations.
const Requester = "local:operator"
