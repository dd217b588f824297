package drill

import (
	"fmt"
	"slices"
	"strings"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/faultproxy"
)

// broken notes what the scenario itself found wrong; the first stands.
func (st *stage) broken(why string, change *Change) {
	if st.row.Verdict == "" {
		st.row.Verdict, st.row.Why, st.row.Change = Broken, why, change
	}
}

// outside reports whether the scenario breaks what the promise rests on.
func (st *stage) outside() bool { return st.sc.outside != nil && st.sc.outside(st.s) }

// judge compares what was seen with what the effect class promises
// (docs/guarantees.md). What the scenario found wrong itself stands before it.
func (st *stage) judge() {
	row, s := st.row, st.s
	outside := st.outside()
	switch {
	case row.Verdict != "":
		return
	case row.Effects > 1 && outside:
		row.Verdict, row.Change = Outside, st.doubled()
		row.Why = fmt.Sprintf("%d effects: the promise rests on settle (%s), and the write came later", row.Effects, s.info.Policy.Settle)
		return
	case outside:
		row.Verdict, row.Why = Outside, "the write came later than settle; this time no second effect came of it"
		return
	case row.Effects > 1:
		st.broken(fmt.Sprintf("%d effects of one intention", row.Effects), st.doubled())
	case st.sc.Name == "late-commit" && s.byAbsence() && s.Lateness.Known && s.Lateness.Worst > s.info.Policy.Settle:
		st.broken("an absence is believed before the provider's worst lateness is over; it went well this time only", settleTooShort(s))
	case row.Writes > row.Attempts:
		st.broken(fmt.Sprintf("%d requests of %d attempts reached the provider", row.Writes, row.Attempts), nil)
	case st.sc.once && row.Writes > 1:
		st.broken(fmt.Sprintf("%d requests reached the provider, where one was enough", row.Writes), nil)
	}
	st.judgeEnd()
	if row.Verdict == "" {
		row.Verdict, row.Why = Kept, st.kept()
	}
}

// judgeEnd compares the end with the truth.
func (st *stage) judgeEnd() {
	row, s := st.row, st.s
	switch {
	case row.State == "succeeded" && row.Effects == 0:
		st.broken("it is called succeeded, and there is no effect", st.falselyDone())
	case (row.State == "failed" || row.State == "cancelled") && row.Effects > 0:
		st.broken("it is called "+row.State+", and there is an effect", st.falselyNotDone())
	case !slices.Contains([]string{"succeeded", "failed", "cancelled", "abandoned", "needs_review"}, row.State):
		st.broken("it did not settle: it is "+row.State+" after "+s.waits.toEnd().String(), s.change("spec.retry", "a longer recovery_window or more max_attempts may be needed; look at probe first"))
	case slices.Contains(st.allowed(), row.State):
	case row.State == "failed" && row.Attempts >= s.info.Policy.MaxAttempts && st.sc.unknown:
		// Its budget is spent, and it is true that there is no effect.
	case row.State == "failed":
		st.broken("it failed", st.blameFailure())
	case s.settles() && slices.Contains(s.personEnds(), row.State):
		st.broken("a person is asked although the contract could settle it: "+st.op.ReviewReason, s.change(st.settler(), "see why it settled nothing: "+st.op.ReviewReason))
	default:
		st.broken("it ended as "+row.State+", which was not to be expected", nil)
	}
}

// allowed lists the ends that are as promised.
func (st *stage) allowed() []string {
	s := st.s
	switch {
	case st.sc.Name == "key-memory-expired" && !s.probes():
		return s.personEnds()
	case st.sc.unknown && !s.settles():
		// A write that is proven not to have left, or judged by a rule of the
		// contract, needs no person.
		return append(slices.Clone(st.sc.ends), append(s.personEnds(), st.knownEnds()...)...)
	case len(st.sc.ends) > 0:
		return st.sc.ends
	}
	return []string{"succeeded"}
}

// knownEnds are ends of an outcome that the contract's own rules make known.
func (st *stage) knownEnds() []string {
	for _, x := range st.writes {
		if status := x.Fault.Status; status != 0 {
			if j := st.ruleFor(status); j.Verdict == onceward.VerdictNotDone || j.Verdict == onceward.VerdictDone {
				return []string{"succeeded", "failed"}
			}
		}
	}
	return nil
}

func (st *stage) kept() string {
	switch row := st.row; {
	case row.State == "needs_review":
		return "a person is asked, as its class says: " + st.s.info.Policy.Effect.Promise()
	case row.State == "failed":
		return "proven without effect, and its budget is spent"
	case st.sc.Name == "late-commit" && st.s.byAbsence() && !st.s.Lateness.Known:
		return "the provider's worst lateness was not told: this shows only that the look-up sees what arrives within settle"
	}
	return ""
}

// ruleFor is what the contract makes of a status that the proxy answered.
func (st *stage) ruleFor(status int) onceward.Judgement {
	return st.through.Judge(st.probed(), &onceward.Evidence{Status: status, Reach: onceward.ReachFirstByte, Body: []byte(`{}`)})
}

// blameStatus points at the rule that judges a status, or at outcomes where none
// does.
func (st *stage) blameStatus(status int, sentence string) *Change {
	field := st.ruleFor(status).Rule
	if !strings.HasPrefix(field, "outcomes[") {
		field = "outcomes"
	}
	return st.s.change("spec."+field, sentence)
}

// doubled says which line made the second effect possible.
func (st *stage) doubled() *Change {
	if c := st.falseRule(); c != nil {
		return c
	}
	if st.sc.blame != nil {
		if c := st.sc.blame(st.s); c != nil {
			return c
		}
	}
	s := st.s
	switch {
	case s.info.Policy.Effect == onceward.EffectConditionalWrite:
		return s.change("spec.condition", "the provider made a second effect under the same condition: it does not hold there, so the class is probed_write or unsafe_write")
	case s.resends():
		return s.change("spec.provider_key", "the provider made a second effect under the same key: look at in, name and scope, or do not call its window guaranteed")
	case s.probes():
		return s.change("spec.probe.found", "the look-up did not find an effect that was there: look at its URL, at found and at ours, and whether it lags")
	}
	return s.change("spec.effect", "nothing here settles an unknown outcome safely: see which outcome rule called it not done")
}

// falseRule finds a rule of the contract that calls an answer not done although
// the write behind it had its effect.
func (st *stage) falseRule() *Change {
	for _, x := range st.writes {
		if x.Fault.Kind != faultproxy.AnswerAfter || x.Status/100 != 2 {
			continue
		}
		if j := st.ruleFor(x.Fault.Status); j.Verdict == onceward.VerdictNotDone {
			return st.blameStatus(x.Fault.Status, fmt.Sprintf("this rule calls %d not done, and the effect was there: leave it out, so that the outcome is unknown and is settled", x.Fault.Status))
		}
	}
	return nil
}

func (st *stage) falselyNotDone() *Change {
	if c := st.falseRule(); c != nil {
		return c
	}
	if st.s.probes() {
		return st.s.change("spec.probe.found", "the look-up did not find an effect that was there: look at its URL, at found and at ours, and whether settle is long enough")
	}
	return st.s.change("spec.outcomes", "a rule calls an answer not done although the effect may be there")
}

// falselyDone says which line called it done.
func (st *stage) falselyDone() *Change {
	for _, x := range st.writes {
		if x.Status == 0 {
			continue
		}
		if j := st.through.Judge(st.probed(), evidenceOf(x)); j.Verdict == onceward.VerdictDone {
			if st.s.probes() {
				return st.s.change("spec.probe.found", fmt.Sprintf("the provider answered %d and the look-up shows nothing: look at its URL, at found and at ours, and whether it lags", x.Status))
			}
			if strings.HasPrefix(j.Rule, "outcomes[") {
				return st.s.change("spec."+j.Rule, "this rule calls an answer done that had no effect")
			}
		}
	}
	return st.s.change("spec.outcomes", "say which answers are done: by default every 2xx is")
}

// blameFailure points at the rule that made it fail.
func (st *stage) blameFailure() *Change {
	for _, x := range slices.Backward(st.writes) {
		switch {
		case x.Fault.Status != 0:
			return st.blameStatus(x.Fault.Status, fmt.Sprintf("%d ends the operation here: if the same write may succeed later, say retryable: true, or leave it out", x.Fault.Status))
		case x.Status != 0:
			return st.blameStatus(x.Status, fmt.Sprintf("the provider answered %d: is the example input one that it takes?", x.Status))
		}
	}
	return st.s.change("spec.retry.max_attempts", "its attempts were spent")
}

// settler is the field that was to settle an unknown outcome.
func (st *stage) settler() string {
	switch s := st.s; {
	case s.byAbsence():
		return "spec.probe.found"
	case s.info.Policy.Effect == onceward.EffectConditionalWrite:
		return "spec.condition"
	}
	return "spec.provider_key"
}
