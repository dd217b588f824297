package console

import (
	"time"
	"unicode/utf8"

	"github.com/onceward/onceward"
)

// bodyShown is how much of an answer a page shows.
const bodyShown = 8 << 10

// evidenceView is what an attempt or a look-up saw, in words.
type evidenceView struct {
	Sent    string // how far the request went
	Answer  string // what came back
	Trouble string // what went wrong on the way
	Took    time.Duration
	Status  int
	Body    string // what was answered; empty: nothing, or it is not for who looks
	Cut     bool
	Hidden  bool // there is a body, and it is not for who looks
	Last    time.Time
	Header  []onceward.HeaderField
}

// evidenceOf puts evidence into words; nil for none. Bodies are only for whoever
// may see results.
func evidenceOf(ev *onceward.Evidence, sees bool) *evidenceView {
	if ev == nil {
		return nil
	}
	v := &evidenceView{Sent: word("reach." + ev.Reach.String()), Took: ev.EndedAt.Sub(ev.StartedAt), Status: ev.Status, Last: ev.LastByteAt, Trouble: ev.ErrorText}
	if ev.StartedAt.IsZero() || ev.EndedAt.IsZero() {
		v.Took = 0
	}
	switch {
	case ev.Status == 0:
		v.Answer = word("evidence.no_answer")
	case ev.RemoteAddr != "":
		v.Answer = word("evidence.answer_from", ev.Status, ev.RemoteAddr)
	default:
		v.Answer = word("evidence.answer", ev.Status)
	}
	switch {
	case ev.BodyCut:
		v.Answer += ", " + word("evidence.cut")
	case ev.BodyTooBig:
		v.Answer += ", " + word("evidence.too_big")
	}
	if len(ev.Body) == 0 {
		return v
	}
	if v.Hidden = !sees; sees {
		v.Body, v.Cut = bodyText(ev.Body)
		v.Header = ev.Header
	}
	return v
}

// bodyText is a body as text, laid out if it is JSON, and whether it was cut.
func bodyText(b []byte) (text string, cut bool) {
	text = pretty(b)
	if len(text) <= bodyShown {
		return text, false
	}
	end := bodyShown
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end], true
}

// line is a line of the story.
type line struct {
	At                       time.Time
	Event, Name              string
	From, To                 onceward.State
	Attempt                  int
	Actor, Reason, Reference string
	Shown                    string
	Evidence                 *evidenceView
	Kind                     string // people, probe, attempt or machine
}

// storyOf is the timeline in words, oldest first.
func storyOf(op *onceward.Operation, records []onceward.Record, sees bool) []line {
	records = op.Story(records)
	lines := make([]line, len(records))
	for i, r := range records {
		name := r.Event
		if r.Event == onceward.KindProbeAbsent.String() && r.From == r.To {
			name = "probe_absent_early"
		}
		lines[i] = line{At: r.At, Event: eventWord(name), Name: r.Event, From: r.From, To: r.To, Attempt: r.Attempt, Actor: r.Actor, Reason: r.Reason,
			Reference: r.Reference, Shown: r.Shown, Evidence: evidenceOf(r.Evidence, sees), Kind: kindOf(r.Event)}
	}
	return lines
}

// kindOf says whose doing an event is.
func kindOf(event string) string {
	switch event {
	case onceward.KindApprovalGranted.String(), onceward.KindApprovalRejected.String(), onceward.KindApprovalEdited.String(), onceward.KindAssigned.String(),
		onceward.KindReviewTaken.String(), onceward.KindCommented.String(), onceward.KindResolved.String(), onceward.KindReplayRequested.String(),
		onceward.KindCancelRequested.String(), onceward.KindForked.String():
		return "people"
	case onceward.KindProbeFound.String(), onceward.KindProbeAbsent.String(), onceward.KindProbeInconclusive.String(), onceward.KindEffectProven.String():
		return "probe"
	case onceward.KindAttemptStarted.String(), onceward.KindAttemptDone.String(), onceward.KindAttemptNotDone.String(), onceward.KindAttemptUnknown.String(),
		onceward.KindLeaseExpired.String():
		return "attempt"
	}
	return "machine"
}
