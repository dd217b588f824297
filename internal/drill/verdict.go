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
	if s.shared != nil {
		st.broken("inputs that differ in "+s.mark.path+" get one key: several intentions share one operation, and their effects", s.shared)
		return
	}
	defer st.slowness()
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
		st.broken(fmt.Sprintf("%d requests reached the provider, where one was enough", row.Writes), st.repeated())
	}
	st.judgeEnd()
	switch {
	case row.Verdict != "":
	case st.uncountable():
		row.Verdict, row.Why = NotDrilled, uncountable
	default:
		row.Verdict, row.Why = Kept, st.kept()
	}
}

const uncountable = "effects cannot be counted: the contract has no look-up and the answers name no reference of their own"

// uncountable reports whether more than one write was confirmed and nothing but
// the provider's word says that they are one effect: a row without a look-up
// must not be called good for that.
func (st *stage) uncountable() bool {
	return st.byWordOnly() && len(st.row.References) == 0
}

// byWordOnly reports whether several confirmed writes are counted as one effect
// because the class says so, and the provider's answers do not contradict.
func (st *stage) byWordOnly() bool {
	return st.row.CountedBy == byAnswersOnly && st.row.Confirmed > 1 && st.s.resends()
}

// slowness adds what a drill with divided waits cannot know.
func (st *stage) slowness() {
	if st.row.Verdict == Broken && st.s.waits.factor > 1 {
		st.row.Why += fmt.Sprintf(". Waits were divided by %g, and the provider's own slowness is not: see whether it is the same with --scale 1", st.s.waits.factor)
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
	case st.unreachable() != nil && row.State != "succeeded":
		row.Verdict, row.Why = Trouble, "the sandbox gave no answer: "+st.unreachable().Error()
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
			if j := st.ruleFor(x.Fault); j.Verdict == onceward.VerdictNotDone || j.Verdict == onceward.VerdictDone {
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
	case st.byWordOnly():
		return "counted by answers only: the provider confirmed more than one write, under one reference, and the contract has no look-up that could count what is there"
	}
	return ""
}

// unreachable is why the provider answered nothing to anybody; nil: it did, or
// what was lost was lost by the drill.
func (st *stage) unreachable() (err error) {
	for _, x := range slices.Concat(st.writes, st.looks) {
		switch {
		case x.Status != 0:
			return nil
		case x.Err != nil:
			err = x.Err
		}
	}
	return err
}

// answered is what an attempt saw: the proxy's answer, or the provider's; false
// where it saw none.
func answered(x faultproxy.Exchange) (*onceward.Evidence, bool) {
	switch x.Fault.Kind {
	case faultproxy.AnswerAfter, faultproxy.AnswerInstead:
		status, header, body := x.Fault.Answer()
		x.Status, x.Header, x.Answer = status, header, []byte(body)
	case faultproxy.LoseRequest, faultproxy.LoseAnswer, faultproxy.DeliverLate:
		return nil, false
	case faultproxy.Forward, faultproxy.HoldAnswer:
	}
	return evidenceOf(x), x.Status != 0
}

// ruleFor is what the contract makes of an answer that the proxy gave.
func (st *stage) ruleFor(f faultproxy.HTTPFault) onceward.Judgement {
	ev, _ := answered(faultproxy.Exchange{Fault: f})
	return st.through.Judge(st.probed(), ev)
}

// blameRule points at the rule that judged, or at outcomes where that is a
// default, whose name goes into the sentence.
func (st *stage) blameRule(rule, sentence string) *Change {
	if strings.HasPrefix(rule, "outcomes[") {
		return st.s.change("spec."+rule, sentence)
	}
	return st.s.change("spec.outcomes", sentence+" (no rule of the contract speaks about it: "+rule+")")
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
	if c := st.falseAbsence(); c != nil {
		return c
	}
	s := st.s
	switch {
	case st.row.Writes == 1:
		return s.change("spec.request", "one request made more than one effect, or the look-up shows effects of others: look at what the request does, and at found and ours")
	case s.info.Policy.Effect == onceward.EffectConditionalWrite:
		return s.change("spec.condition", "the provider made a second effect under the same condition: it does not hold there, so the class is probed_write or unsafe_write")
	case s.resends():
		return s.change("spec.provider_key", "the provider made a second effect under the same key: look at in, name and scope, or do not call its window guaranteed")
	}
	return s.change("spec.effect", "nothing here settles an unknown outcome safely: see which outcome rule called it not done")
}

// falseAbsence says what is wrong where a look-up showed nothing and the effect
// was there, or was still to come; nil where no look-up showed nothing.
func (st *stage) falseAbsence() *Change {
	op := st.probed()
	var empty, early bool // early: something was confirmed more than settle before
	for _, look := range st.looks {
		j := st.through.JudgeProbe(op, evidenceOf(look))
		if look.Status == 0 || !j.Conclusive || slices.ContainsFunc(j.Found, func(f onceward.FoundEffect) bool { return f.Ours }) {
			continue
		}
		empty = true
		early = early || slices.ContainsFunc(st.writes, func(w faultproxy.Exchange) bool {
			return w.Status/100 == 2 && w.AnsweredAt.Add(st.s.waits.settle).Before(look.At)
		})
	}
	s := st.s
	switch {
	case !empty:
		return nil
	case st.found >= st.row.Effects || !early:
		return s.change("spec.probe.settle", "the look-up showed nothing, that was believed, and the effect was found later: settle ("+s.info.Policy.Settle.String()+") is shorter than the provider is late")
	}
	return s.change("spec.probe.found", "the look-up did not find an effect that was confirmed more than settle before: look at its URL, at found and at ours, and whether it lags")
}

// falseRule finds a rule of the contract that calls an answer not done although
// the write behind it had its effect: one that the proxy put before a success,
// else one that the provider gave itself.
func (st *stage) falseRule() *Change {
	if c := st.notDoneRule(true); c != nil {
		return c
	}
	return st.notDoneRule(false)
}

func (st *stage) notDoneRule(hidden bool) *Change {
	for _, x := range st.writes {
		ev, ok := answered(x)
		if !ok || !x.Forwarded || hidden != (x.Fault.Kind == faultproxy.AnswerAfter) || hidden && x.Status/100 != 2 {
			continue
		}
		if j := st.through.Judge(st.probed(), ev); j.Verdict == onceward.VerdictNotDone {
			return st.blameRule(j.Rule, fmt.Sprintf("%d is called not done here, and the effect was there: call it unknown, so that it is settled", ev.Status))
		}
	}
	return nil
}

func (st *stage) falselyNotDone() *Change {
	if c := st.falseRule(); c != nil {
		return c
	}
	if c := st.falseAbsence(); c != nil {
		return c
	}
	return st.s.change("spec.outcomes", "it was called not done, by no rule that the drill saw at work, and the effect may be there")
}

// falselyDone says which line called it done.
func (st *stage) falselyDone() *Change {
	for _, x := range st.writes {
		if x.Status == 0 {
			continue
		}
		if j := st.through.Judge(st.probed(), evidenceOf(x)); j.Verdict == onceward.VerdictDone {
			if st.s.probes() {
				return st.s.change("spec.probe.found", fmt.Sprintf("the provider answered %d and the look-up still shows nothing when settle is over: look at its URL, at found and at ours, and whether it appears later than settle", x.Status))
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
		ev, ok := answered(x)
		if !ok {
			continue
		}
		rule := st.through.Judge(st.probed(), ev).Rule
		if x.Fault.Status != 0 {
			return st.blameRule(rule, fmt.Sprintf("%d ends the operation here: if the same write may succeed later, say retryable: true, or leave it out", ev.Status))
		}
		return st.blameRule(rule, st.ownAnswer(ev.Status))
	}
	return st.s.change("spec.retry.max_attempts", "its attempts were spent")
}

// ownAnswer asks about an answer of the provider's own.
func (st *stage) ownAnswer(status int) string {
	if status/100 == 3 {
		return fmt.Sprintf("the provider answered %d, and a redirect is never followed: give the URL that it leads to", status)
	}
	return fmt.Sprintf("the provider answered %d: is the example input one that it takes?", status)
}

// repeated says which answer was taken for unknown or not done, where one
// request was enough.
func (st *stage) repeated() *Change {
	for _, x := range st.writes {
		ev, ok := answered(x)
		if !ok || x.Fault.Kind != faultproxy.Forward {
			continue
		}
		if j := st.through.Judge(st.probed(), ev); j.Verdict != onceward.VerdictDone {
			return st.blameRule(j.Rule, st.ownAnswer(ev.Status))
		}
	}
	return nil
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
