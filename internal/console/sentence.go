package console

import (
	"time"

	"github.com/onceward/onceward"
)

// said is one sentence; At, where there is one, ends it.
type said struct {
	Text string
	At   time.Time
}

func say(key string, args ...any) said { return said{Text: word("say."+key, args...)} }

func sayAt(at time.Time, key string, args ...any) said { return said{word("say."+key, args...), at} }

// standing is what is known of an operation, in plain language: what is so, and
// what happens next.
type standing struct {
	Tone  string
	Known []said
	Next  []said
}

// standingOf says how an operation stands. The states are the machine's; this
// only puts them into words.
func standingOf(op *onceward.Operation, now time.Time) standing {
	s := standing{Tone: tone(op.State)}
	switch op.State {
	case onceward.StateAwaitingApproval:
		s.Known = []said{say("unsent"), {Text: counted("say.yes_left", op.QuorumLeft())}}
		if ends := op.ApprovalEnds(); !ends.IsZero() {
			s.Next = []said{sayAt(ends, "expires")}
		}
	case onceward.StateReady:
		s.ready(op, now)
	case onceward.StateEffectPending:
		s.Known = []said{say("under_way", op.Attempt())}
		if a := op.Running(); a != nil {
			s.Next = []said{sayAt(a.LeaseUntil, "lease")}
		}
	case onceward.StateOutcomeUnknown:
		s.unknown(op)
	case onceward.StateNeedsReview:
		s.review(op)
	case onceward.StateSucceeded:
		s.succeeded(op)
	case onceward.StateFailed:
		s.Known = []said{say("not_happened")}
		s.why(op)
		s.Next = []said{say("no_retry")}
		if from := op.RetryFrom(); !from.IsZero() {
			s.Next = []said{sayAt(from, "buys")}
		}
	case onceward.StateAbandoned:
		s.Known, s.Next = []said{say("may_have"), say("nobody_knows")}, []said{say("nobody_looks")}
	case onceward.StateCancelled:
		s.Known, s.Next = []said{say("not_happened"), say("cancelled")}, []said{say("ended")}
		if op.Approval.RejectedBy != "" {
			s.Known[1] = say("rejected", onceward.Visible(op.Approval.RejectedBy))
		} else if op.AskedInVain() {
			s.Known[1], s.Next = say("in_vain"), []said{say("asked_anew")}
		}
	case onceward.StateCompensated:
		s.Known, s.Next = []said{say("undone")}, []said{say("ended")}
	}
	if op.CancelRequested && !op.State.Terminal() {
		s.Next = append(s.Next, say("cancel_wish"))
	}
	return s
}

func (s *standing) ready(op *onceward.Operation, now time.Time) {
	s.Known = []said{say("not_yet")}
	if op.OpenAttempts() > 0 {
		s.Tone, s.Known = "open", []said{say("may_have")}
		s.why(op)
	} else if op.Attempt() > 0 {
		s.why(op)
	}
	switch {
	case op.Parked != onceward.NotParked:
		s.Next = []said{say("parked", wordOr("parked.", string(op.Parked)))}
	case op.DueAt.After(now):
		s.Next = []said{sayAt(op.DueAt, "starts")}
	default:
		s.Next = []said{say("starts_now")}
	}
}

func (s *standing) unknown(op *onceward.Operation) {
	s.Known = []said{say("may_have"), say("nobody_knows")}
	s.why(op)
	switch {
	case op.DueAt.IsZero():
	case op.Policy.HasProbe:
		s.Next = []said{sayAt(op.DueAt, "looked_up")}
	case op.Policy.KeyWindow > 0 || op.Effect == onceward.EffectConditionalWrite:
		s.Next = []said{sayAt(op.DueAt, "sent_again")}
	default:
		s.Next = []said{sayAt(op.DueAt, "next_step")}
	}
}

func (s *standing) review(op *onceward.Operation) {
	s.Known = []said{say("may_have")}
	if op.Broken {
		s.Tone, s.Known = "bad", []said{say("twice")}
	}
	if op.ReviewReason != "" {
		s.Known = append(s.Known, say("asked_because", onceward.Visible(op.ReviewReason)))
	}
	who := op.Assigned.To
	if who == "" {
		who = op.Assigned.Team
	}
	switch {
	case who != "" && !op.Assigned.Due.IsZero():
		s.Next = []said{sayAt(op.Assigned.Due, "with_until", onceward.Visible(who))}
	case who != "":
		s.Next = []said{say("with", onceward.Visible(who))}
	default:
		s.Next = []said{say("with_anybody")}
	}
	s.Next = append(s.Next, say("nothing_alone"))
}

func (s *standing) succeeded(op *onceward.Operation) {
	switch {
	case op.Reference != "":
		s.Known = []said{say("happened", onceward.Visible(op.Reference))}
	case op.RefPending:
		s.Known = []said{say("happened_unread")}
	default:
		s.Known = []said{say("happened_plain")}
	}
	for i := range op.Attempts {
		if a := &op.Attempts[i]; a.Status == onceward.StatusDone {
			s.Known = append(s.Known, said{Text: wordOr("settler.", a.Settler.String())})
			break
		}
	}
	s.Next = []said{say("answered_from")}
}

// why adds what the last attempt that was not done met.
func (s *standing) why(op *onceward.Operation) {
	if f := op.Failure; f.Message != "" {
		s.Known = append(s.Known, say("because", onceward.Visible(f.Message)))
	}
}
