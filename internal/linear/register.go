package linear

import (
	"fmt"
	"slices"

	"github.com/anishathalye/porcupine"
)

// Kind is what a request does to its key.
type Kind uint8

// The kinds of request.
const (
	Claim  Kind = iota // takes the key for an input, or learns that it is taken
	Read               // sees the key's operation
	Cancel             // wishes that it does not happen, and sees it
)

// Call is a request as its client made it.
type Call struct {
	Kind  Kind
	Key   string
	Input string // of a claim: what is material of it
}

// Result is the sort of an answer.
type Result uint8

// The sorts of answer.
const (
	Unknown    Result = iota // none came, or it said that nobody knows: it may have happened, also later
	Nothing                  // refused, with the promise that nothing was recorded
	Absent                   // there is no such operation
	OtherInput               // the key belongs to another input
	Made                     // a claim: this request made the operation
	Joined                   // a claim: the operation was there
	Seen                     // a read or a cancel: the operation as it is
	TooLate                  // a cancel: the operation has ended

	// JoinedOrMade is a claim that found the operation there, after a wish to cancel
	// it: it may be this claim's own, if its commit was lost and the wish had changed
	// the row before the commit was run again.
	JoinedOrMade
)

// Answer is what a client was told.
type Answer struct {
	Result    Result
	State     string // of a read or a cancel
	Reference string // of the effect
	Cancel    bool   // somebody wished that it does not happen
}

// register is what is true of one key. The zero value is a key that nobody took.
type register struct {
	taken     bool
	input     string
	cancel    bool
	over      bool   // somebody was told that it has ended
	end       string // once somebody saw it: how it ended, for good
	reference string
}

// ends are the states in which an operation stays, as long as nobody replays or
// resolves it and its provider keeps its word.
var ends = []string{"succeeded", "failed", "cancelled", "abandoned", "compensated"}

// step is the whole rule: what a register may answer, and what it is afterwards.
func (r register) step(c Call, a Answer) (bool, register) {
	switch a.Result {
	case Unknown:
		return true, r.happened(c)
	case Nothing:
		return true, r
	case Absent:
		return !r.taken && c.Kind != Claim, r
	case OtherInput:
		return c.Kind == Claim && r.taken && r.input != c.Input, r
	case Made:
		return c.Kind == Claim && !r.taken, r.happened(c)
	case Joined:
		return c.Kind == Claim && r.taken && r.input == c.Input, r
	case JoinedOrMade:
		return c.Kind == Claim && (!r.taken || r.input == c.Input), r.happened(c)
	case Seen:
		if c.Kind == Claim || !r.taken {
			return false, r
		}
		return r.happened(c).seen(a)
	case TooLate:
		ok := c.Kind == Cancel && r.taken
		r.over = true
		return ok, r
	}
	return false, r
}

// happened is the register after a request had its effect on it.
func (r register) happened(c Call) register {
	switch c.Kind {
	case Claim:
		if !r.taken {
			r = register{taken: true, input: c.Input}
		}
	case Cancel:
		r.cancel = r.cancel || r.taken && !r.over
	case Read:
	}
	return r
}

// seen holds a look at the operation against what is known of it. Its end comes
// at an instant of its own; from the first look that shows it, it stays.
func (r register) seen(a Answer) (bool, register) {
	switch {
	case r.end != "":
		return a.State == r.end && a.Reference == r.reference, r
	case !slices.Contains(ends, a.State):
		return !r.over && a.Cancel == r.cancel, r
	case a.State == "cancelled" && !r.cancel:
		return false, r
	}
	r.over, r.end, r.reference = true, a.State, a.Reference
	return true, r
}

// model is the register in Porcupine's terms: each key is one by itself.
var model = porcupine.Model{
	Partition: func(all []porcupine.Operation) [][]porcupine.Operation {
		var keys [][]porcupine.Operation
		place := map[string]int{}
		for _, o := range all {
			key := o.Input.(Call).Key
			i, known := place[key]
			if !known {
				i = len(keys)
				place[key], keys = i, append(keys, nil)
			}
			keys[i] = append(keys[i], o)
		}
		return keys
	},
	Init: func() any { return register{} },
	Step: func(state, input, output any) (bool, any) {
		return state.(register).step(input.(Call), output.(Answer))
	},
	DescribeOperation: func(input, output any) string {
		return fmt.Sprintf("%v → %v", input.(Call), output.(Answer))
	},
	DescribeState: func(state any) string { return state.(register).String() },
}

// String implements fmt.Stringer.
func (c Call) String() string {
	return fmt.Sprintf("%s(%s %s)", [...]string{"claim", "read", "cancel"}[c.Kind], c.Key, c.Input)
}

// String implements fmt.Stringer.
func (a Answer) String() string {
	name := [...]string{"unknown", "nothing", "absent", "other input", "made", "joined", "seen", "too late"}[a.Result]
	if a.Result != Seen {
		return name
	}
	return fmt.Sprintf("%s %s cancel=%v", a.State, a.Reference, a.Cancel)
}

// String implements fmt.Stringer.
func (r register) String() string {
	if !r.taken {
		return "absent"
	}
	return fmt.Sprintf("taken for %s, cancel=%v, over=%v %s %s", r.input, r.cancel, r.over, r.end, r.reference)
}
