package onceward

import "fmt"

// EffectClass is what the provider offers against a second effect; it decides
// what may follow an unknown outcome (docs/guarantees.md).
type EffectClass uint8

// The effect classes. Zero is no class.
const (
	EffectRead             EffectClass = iota + 1 // nothing is written; repeat freely, within budget
	EffectCompute                                 // as read: a pure or repeatable computation
	EffectKeyedWrite                              // honours an idempotency key for a stated window
	EffectConditionalWrite                        // create under a caller-chosen ID, If-None-Match, upsert
	EffectProbedWrite                             // can be looked up by a stable reference
	EffectUnsafeWrite                             // none of these: never repeated automatically
)

// AllEffectClasses lists every class in declaration order.
var AllEffectClasses = []EffectClass{EffectRead, EffectCompute, EffectKeyedWrite, EffectConditionalWrite, EffectProbedWrite, EffectUnsafeWrite}

var effectNames = [...]string{
	EffectRead: "read", EffectCompute: "compute", EffectKeyedWrite: "keyed_write",
	EffectConditionalWrite: "conditional_write", EffectProbedWrite: "probed_write", EffectUnsafeWrite: "unsafe_write",
}

// String returns the name used in contracts.
func (c EffectClass) String() string {
	if int(c) < len(effectNames) && c > 0 {
		return effectNames[c]
	}
	return fmt.Sprintf("effect(%d)", uint8(c))
}

// Writes reports whether an attempt of this class can change the outside world.
func (c EffectClass) Writes() bool { return c != EffectRead && c != EffectCompute }

// ParseEffectClass returns the class of that name, or an Error with CodeContractInvalid.
func ParseEffectClass(name string) (EffectClass, error) {
	for _, c := range AllEffectClasses {
		if effectNames[c] == name {
			return c, nil
		}
	}
	return 0, &Error{Code: CodeContractInvalid, Message: fmt.Sprintf("no effect class is called %q", name), Hint: "use read, compute, keyed_write, conditional_write, probed_write or unsafe_write"}
}

// Promise says in one sentence what an operation of this class is promised.
func (c EffectClass) Promise() string {
	switch c {
	case EffectRead, EffectCompute:
		return "nothing is written; repeated freely within the budget"
	case EffectKeyedWrite:
		return "one effect, while the provider keeps the key for its declared window"
	case EffectConditionalWrite:
		return "one effect, while nobody else writes under the same ID"
	case EffectProbedWrite:
		return "one effect, if nothing commits later than settle and the look-up sees what exists"
	case EffectUnsafeWrite:
		return "at most one effect by our hand; an unknown outcome waits for a person"
	}
	return ""
}

// ParseEffects reads names of effect classes; CodeInvalidRequest names one that
// is none.
func ParseEffects(names []string) ([]EffectClass, error) {
	var out []EffectClass
	for _, name := range names {
		c, err := ParseEffectClass(name)
		if err != nil {
			return nil, &Error{Code: CodeInvalidRequest, Op: "read effect class", Message: fmt.Sprintf("no effect class is called %.60q", name), Hint: "they are " + effectsInWords(AllEffectClasses)}
		}
		out = append(out, c)
	}
	return out, nil
}
