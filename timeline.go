package onceward

import "slices"

// recordClaimed is the name of the timeline's first line, which is no event of
// the machine: the intention was seen for the first time.
const recordClaimed = "claimed"

// Story returns an operation's timeline with the lines that its row tells: the
// happy path is not recorded, it is read from the row (see Record). Lines made
// so have no version. A retired operation's row tells the claim only.
func (o *Operation) Story(records []Record) []Record {
	began := Record{At: o.CreatedAt, Event: recordClaimed, To: StateReady, Actor: o.Actor}
	if o.ApprovalNeeded {
		began.To = StateAwaitingApproval
	}
	story := []Record{began}
	told := func(k EventKind, attempt int) bool {
		return slices.ContainsFunc(records, func(r Record) bool { return r.Event == k.String() && r.Attempt == attempt })
	}
	if len(o.Attempts) > 0 {
		a := &o.Attempts[0]
		if !told(KindAttemptStarted, 1) {
			story = append(story, Record{At: a.StartedAt, Event: KindAttemptStarted.String(), From: StateReady, To: StateEffectPending, Attempt: 1, Actor: a.Owner})
		}
		if a.Status == StatusDone && a.Settler == SettledByAnswer && !told(KindAttemptDone, 1) {
			story = append(story, Record{At: a.EndedAt, Event: KindAttemptDone.String(), From: StateEffectPending, To: StateSucceeded, Attempt: 1,
				Actor: a.Owner, Reference: a.Reference})
		}
	}
	story = append(story, records...)
	slices.SortStableFunc(story, func(a, b Record) int { return a.At.Compare(b.At) })
	return story
}
