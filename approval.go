package onceward

import (
	"fmt"
	"slices"
	"time"
)

// Yes is one person's yes to the digest and the contract version that stand in
// the same row.
type Yes struct {
	Actor string
	At    time.Time
	Until time.Time // the yes is void after it, if no attempt has spent it
}

// Approval is what a row knows of the people who were asked. What was answered
// stays in it until the record is retired.
type Approval struct {
	Yeses      []Yes    // that count, oldest first: one a person
	RejectedBy string   // who said no; empty: nobody
	EditedBy   string   // whose edit the present input is; empty: it is the requester's
	Edited     []string // paths of the fields that edits have touched, sorted; no more than EditedFieldsMax
	Reminded   uint32   // bit n: reminder n of the present question was sent
}

// Superseded names an input that an approver's edit replaced, by its digest
// under the contract version of that time.
type Superseded struct {
	Digest   Digest
	Contract string
}

// EditedFieldsMax is how many edited fields are named.
const EditedFieldsMax = 64

// EditsMax is how many edits of one operation are followed.
const EditsMax = 16

// ApprovalState says how the question of an operation stands.
type ApprovalState string

// The states of an approval.
const (
	ApprovalPending  ApprovalState = "pending"  // nobody has answered, or too few
	ApprovalYes      ApprovalState = "granted"  // no attempt has spent it yet
	ApprovalIsSpent  ApprovalState = "spent"    // it covers the later attempts
	ApprovalNo       ApprovalState = "rejected" // somebody said no
	ApprovalIsLapsed ApprovalState = "expired"  // the next request asks anew
)

// AllApprovalStates lists the states.
var AllApprovalStates = []ApprovalState{ApprovalPending, ApprovalYes, ApprovalIsSpent, ApprovalNo, ApprovalIsLapsed}

// ApprovalStanding says how the question stands, and when it, or the yes that no
// attempt has spent, lapses. Empty: nobody is asked, or it ended without an
// answer, and with it the question.
func (o *Operation) ApprovalStanding() (s ApprovalState, until time.Time) {
	switch {
	case !o.ApprovalNeeded:
		return "", time.Time{}
	case o.ApprovalSpent:
		return ApprovalIsSpent, time.Time{}
	case o.Approval.RejectedBy != "":
		return ApprovalNo, time.Time{}
	case o.AskedInVain():
		return ApprovalIsLapsed, time.Time{}
	case o.State.Terminal():
		return "", time.Time{}
	case o.State == StateAwaitingApproval:
		return ApprovalPending, o.ApprovalEnds()
	}
	return ApprovalYes, o.ApprovedUntil
}

// Rendering is what an operation would do under one contract version.
type Rendering struct {
	Contract    string
	Policy      Policy
	Digest      Digest
	Prints      []FieldPrint
	Input       []byte // canonical
	Request     *Request
	ProviderKey string
	SerialKey   string
}

// Quorum is how many people must say yes, if any must.
func (o *Operation) Quorum() int { return max(1, o.Policy.Quorum) }

// QuorumLeft is how many people must still say yes; 0 where none is asked.
func (o *Operation) QuorumLeft() int {
	if o.State != StateAwaitingApproval {
		return 0
	}
	return o.Quorum() - len(o.Approval.Yeses)
}

// approvalGranted counts one person's yes, and makes the operation ready once
// enough people have said it. The approval is bound to digest and contract
// version by standing in the same row; the first attempt spends it.
//
// Invariant: the first answer wins. Whoever answers after it is told who
// answered, and when (answered).
func (m *step) approvalGranted(e ApprovalGranted) error {
	if err := m.answers(e, e.Actor, e.Digest, e.Contract); err != nil {
		return err
	}
	if err := m.op.mayGrant(e.Actor, m.at); err != nil {
		return err
	}
	m.sayYes(e.Actor, e.Until)
	return nil
}

// answers checks that an answer is for what stands in the row now.
func (m *step) answers(ev Event, actor string, d Digest, contract string) error {
	o := m.op
	switch {
	case actor == "":
		return forbidden(o, ev, "nobody answers")
	case o.supersededBy(d):
		return forbidden(o, ev, "the answer is for an input that "+o.Approval.EditedBy+" replaced by an edit: read what is asked now")
	case d != o.Digest:
		return forbidden(o, ev, "the answer is for another digest: read what is asked now")
	case contract != o.Contract:
		return forbidden(o, ev, "the answer is for contract version "+contract+", and "+o.Contract+" holds: read what is asked now")
	case o.approvalLapsed(m.at):
		return forbidden(o, ev, "nobody answered in time; the next request asks anew")
	}
	return nil
}

func (o *Operation) supersededBy(d Digest) bool {
	return d != o.Digest && slices.ContainsFunc(o.Supersedes, func(s Superseded) bool { return s.Digest == d })
}

// ownRequest reports whether the yes of this person does not count, because it
// would be to an own request.
func (o *Operation) ownRequest(actor string) bool {
	return o.Policy.SeparateRequester && (actor == o.Actor || actor == o.Approval.EditedBy)
}

// mayGrant refuses a yes that would not count: to an own request, with
// CodeForbidden, or a second one of the same person, with CodeStateForbids.
func (o *Operation) mayGrant(actor string, at time.Time) error {
	if o.ownRequest(actor) {
		return &Error{Code: CodeForbidden, Op: "apply " + KindApprovalGranted.String(), OperationID: o.ID,
			Message: "whoever asked for it, or edited it, may not approve it", Hint: "another approver has to answer"}
	}
	for _, y := range o.Approval.Yeses {
		if y.Actor == actor && !y.Until.Before(at) {
			return &Error{Code: CodeStateForbids, Op: "apply " + KindApprovalGranted.String(), OperationID: o.ID,
				Message: fmt.Sprintf("%s said yes already, at %s, and another person has to", actor, y.At.Format(time.RFC3339))}
		}
	}
	return nil
}

func (m *step) sayYes(actor string, until time.Time) {
	o := m.op
	var yeses []Yes // a new slice: Apply changes no slice of its argument
	for _, y := range o.Approval.Yeses {
		if !y.Until.Before(m.at) { // else it is void
			yeses = append(yeses, y)
		}
	}
	o.Approval.Yeses = append(yeses, Yes{Actor: actor, At: m.at, Until: until})
	if len(o.Approval.Yeses) < o.Quorum() {
		return
	}
	o.State, o.DueAt, o.ApprovedUntil = StateReady, m.at, until
	for _, y := range o.Approval.Yeses {
		if y.Until.Before(o.ApprovedUntil) {
			o.ApprovedUntil = y.Until
		}
	}
}

// approvalRejected ends what a person does not want.
func (m *step) approvalRejected(e ApprovalRejected) error {
	if err := m.answers(e, e.Actor, e.Digest, m.op.Contract); err != nil {
		return err
	}
	m.op.Approval.RejectedBy = e.Actor
	return m.endUnsent(e)
}

// approvalEdited replaces the input before any attempt. What others have said
// yes to is not what would be sent any more; the editor's own yes counts for the
// new input, unless requester and approver have to be two people.
func (m *step) approvalEdited(e ApprovalEdited) error {
	o := m.op
	if err := m.answers(e, e.Actor, e.Digest, e.Contract); err != nil {
		return err
	}
	switch {
	case e.Key != o.Key:
		return forbidden(o, e, "the edit changes the key, which makes it another intention: reject it and fork")
	case e.Next.Contract != o.Contract:
		return forbidden(o, e, "the edit was rendered under another contract version")
	case len(o.Supersedes) >= EditsMax:
		return &Error{Code: CodeTooLarge, Op: "edit operation", OperationID: o.ID, Message: fmt.Sprintf("it was edited %d times", EditsMax), Hint: "reject it and fork"}
	}
	if e.Next.Digest != o.Digest {
		var olds []Superseded
		for _, s := range o.Supersedes {
			if s.Digest != e.Next.Digest {
				olds = append(olds, s)
			}
		}
		o.Supersedes = append(olds, Superseded{Digest: o.Digest, Contract: o.Contract})
	}
	edited := touched(o.Approval.Edited, DifferingFields(o.Prints, e.Next.Prints))
	m.rebind(&e.Next)
	o.Approval.EditedBy, o.Approval.Edited, o.Approval.Yeses = e.Actor, edited, nil
	o.ApprovedUntil = o.IntentAt.Add(-1)
	if !o.ownRequest(e.Actor) {
		m.sayYes(e.Actor, e.Until)
	}
	return nil
}

// touched adds the fields that an edit changes to those that earlier ones did.
func touched(before []string, changed []string) []string {
	all := slices.Compact(slices.Sorted(slices.Values(slices.Concat(before, changed))))
	return all[:min(len(all), EditedFieldsMax)]
}

// rebind replaces what would be sent. Nothing has been sent yet.
func (m *step) rebind(r *Rendering) {
	o := m.op
	o.Contract, o.Policy, o.Effect = r.Contract, r.Policy, r.Policy.Effect
	o.Digest, o.Prints, o.Input, o.Request = r.Digest, r.Prints, r.Input, r.Request
	o.ProviderKey, o.SerialKey = r.ProviderKey, r.SerialKey
}

// approvalVoided asks anew, under another contract version if one is given. An
// approval that an attempt has spent covers every later attempt under its digest
// and is never voided. Of what has ended, only a question that nobody answered
// in time is asked anew.
func (m *step) approvalVoided(e ApprovalVoided) error {
	o := m.op
	switch {
	case o.Attempt() > 0:
		return forbidden(o, e, "an attempt has spent the approval")
	case !o.ApprovalNeeded:
		return forbidden(o, e, "no approval was asked for")
	case o.State.Terminal() && !o.AskedInVain():
		return forbidden(o, e, o.answered())
	case o.State.Terminal() && e.Next == nil:
		return forbidden(o, e, "what would be sent is not kept")
	}
	if e.Next != nil {
		m.rebind(e.Next)
	}
	o.State, o.IntentAt, o.Parked, o.Failure = StateAwaitingApproval, m.at, NotParked, Failure{}
	o.putQuestion()
	return nil
}

// putQuestion puts the question whether it may be done, and forgets earlier answers.
func (o *Operation) putQuestion() {
	o.ApprovalNeeded, o.ApprovedUntil = true, o.IntentAt.Add(-1)
	o.Approval = Approval{EditedBy: o.Approval.EditedBy, Edited: o.Approval.Edited}
	o.DueAt = o.questionDue()
}

// approvalExpired ends a question that nobody answered, or an approval that no
// attempt has spent in its time.
func (m *step) approvalExpired(e ApprovalExpired) error {
	if !m.op.approvalLapsed(m.at) {
		return forbidden(m.op, e, "its time is not over")
	}
	return m.endUnsent(e)
}

// approvalLapsed reports whether the time of the question, or of the approval,
// is over.
func (o *Operation) approvalLapsed(at time.Time) bool {
	switch o.State {
	case StateAwaitingApproval:
		end := o.ApprovalEnds()
		return !end.IsZero() && !at.Before(end)
	case StateReady:
		return o.unspent() && o.ApprovedUntil.Before(at)
	case StateEffectPending, StateOutcomeUnknown, StateNeedsReview, StateSucceeded, StateFailed, StateAbandoned, StateCancelled, StateCompensated:
	}
	return false
}

// unspent reports whether the first attempt still needs the approval.
func (o *Operation) unspent() bool { return o.ApprovalNeeded && !o.ApprovalSpent }

// AskedInVain reports whether it ended because nobody answered in time: then the
// next request with the same digest asks anew.
func (o *Operation) AskedInVain() bool {
	return o.State == StateCancelled && o.Failure.Code == KindApprovalExpired.String() && o.Attempt() == 0 && !o.Retired && !o.CancelRequested && !o.Forked
}

// answered says who answered first, and when; empty if nobody did.
func (o *Operation) answered() string {
	yeses := o.Approval.Yeses
	switch {
	case o.Approval.RejectedBy != "":
		return fmt.Sprintf("%s said no at %s", o.Approval.RejectedBy, o.CompletedAt.Format(time.RFC3339))
	case o.AskedInVain():
		return "nobody answered in time; the next request asks anew"
	case len(yeses) > 0 && o.State != StateAwaitingApproval:
		last := yeses[len(yeses)-1]
		return fmt.Sprintf("%s said yes at %s", last.Actor, last.At.Format(time.RFC3339))
	case !o.ApprovalNeeded:
		return "no approval was asked for"
	}
	return ""
}

// endUnsent cancels what no attempt may have touched.
func (m *step) endUnsent(ev Event) error {
	if m.op.OpenAttempts() > 0 {
		return forbidden(m.op, ev, "an attempt is open")
	}
	if _, ok := ev.(NotAfterPassed); ok && !m.op.pastNotAfter(m.at) {
		return forbidden(m.op, ev, "not_after has not passed")
	}
	m.op.State = StateCancelled
	m.op.Failure = Failure{Code: ev.Kind().String(), Message: endReasons[ev.Kind()]}
	return nil
}

var endReasons = map[EventKind]string{
	KindApprovalRejected: "the approver said no",
	KindApprovalExpired:  "nobody approved it in time",
	KindNotAfterPassed:   "the intent is older than the contract's not_after; nothing was sent",
	KindCancelRequested:  "cancelled on request before anything was sent",
}
