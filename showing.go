package onceward

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Showing is what an approver is shown, and answers for.
type Showing struct {
	Operation *Operation
	Text      []byte        // canonical JSON; the same for the same question
	Digest    Digest        // SHA-256 of Text: under it the showing is kept as a document once somebody answers
	Groups    []string      // who may answer; empty: every approver
	May       []ApprovalAct // how the principal who looks may answer; none while Changed says why no answer is taken
	Refused   string        // why the principal may not say yes; empty: it may
	Changed   string        // what has changed since it was asked, so that an answer is refused; empty: nothing
}

// ApprovalAct is one way of answering a question.
type ApprovalAct string

// The answers.
const (
	ActGrant  ApprovalAct = "grant"
	ActEdit   ApprovalAct = "edit"
	ActReject ApprovalAct = "reject"
	ActAssign ApprovalAct = "assign" // to another person or team
)

// AllApprovalActs lists the answers.
var AllApprovalActs = []ApprovalAct{ActGrant, ActEdit, ActReject, ActAssign}

// mayAnswerHow lists how a principal may answer, and why it may not say yes, if
// so. Whoever asked may still take it back, change it, or hand it over.
func mayAnswerHow(p Principal, op *Operation, info *ToolInfo, at time.Time) (may []ApprovalAct, why string) {
	if err := mayAnswer(p, op, info); err != nil {
		return nil, messageOf(err)
	}
	if err := op.mayGrant(p.String(), at); err != nil {
		return AllApprovalActs[1:], messageOf(err)
	}
	return AllApprovalActs, ""
}

// ShowingMediaType is the media type of a kept showing.
const ShowingMediaType = "application/vnd.onceward.approval+json"

// ShowApproval returns what an approver has to look at. Linked documents are
// fetched and kept on the way.
func (l *Ledger) ShowApproval(ctx context.Context, p Principal, id OperationID) (*Showing, error) {
	if err := Authorize(p, ActionReadApprovals); err != nil {
		return nil, err
	}
	op, t, err := l.load(ctx, p.Tenant, id)
	if err != nil {
		return nil, err
	}
	if !op.ApprovalNeeded {
		return nil, &Error{Code: CodeStateForbids, Op: "show approval", OperationID: id, Message: "no approval was asked for"}
	}
	s, err := showing(op, t.Info())
	if err != nil {
		return nil, err
	}
	s.Groups = t.Info().Approvers
	var may []ApprovalAct
	may, s.Refused = mayAnswerHow(p, op, t.Info(), l.clock.now())
	if op.State != StateAwaitingApproval {
		if s.Changed = op.answered(); s.Changed == "" {
			s.Changed = "it is " + op.State.String()
		}
		return s, nil
	}
	if _, s.Changed, err = l.changedSince(ctx, op, t); err != nil {
		s.Changed = messageOf(err)
	}
	if s.Changed == "" {
		s.May = may
	}
	return s, nil
}

// showing renders the question. Why so much text: a person says yes to what is
// written here, and a later reader has to see the same.
func showing(op *Operation, info *ToolInfo) (*Showing, error) {
	hidden := hiddenIn(nil, "input", string(op.Input))
	text := map[string]any{
		"operation": op.ID.String(), "tenant": string(op.Tenant), "tool": string(op.Tool), "description": Visible(info.Description),
		"business_owner": info.BusinessOwner, "technical_owner": info.TechnicalOwner, "contract_version": op.Contract, "effect": op.Effect.String(),
		"promise": op.Effect.Promise(), "key": Visible(string(op.Key)), "digest": op.Digest.String(), "requested_by": Visible(op.Actor),
		"asked_at": op.IntentAt.UTC().Format(time.RFC3339Nano), "run": Visible(op.Run), "correlation_id": Visible(op.CorrelationID),
		"edited_by": Visible(op.Approval.EditedBy), "input_as_text": Visible(string(op.Input)),
	}
	if by := op.DecidedBy; !by.IsZero() {
		text["decision"] = map[string]any{"id": by.Decision.String(), "version": by.Version, "branch": Visible(by.Branch), "rules": by.Rules}
	}
	if op.Blind != "" {
		text["blind"] = op.Blind // why: else whoever has the digest could try inputs against it
	}
	if len(op.Input) > 0 {
		text["input"] = json.RawMessage(op.Input)
	}
	if r := op.Request; r != nil {
		header := make([]string, len(r.Header))
		for i, h := range r.Header {
			header[i] = Visible(h.Name + ": " + h.Value)
		}
		text["request"] = map[string]any{"method": r.Method, "url": Visible(r.URL), "headers": header, "body": Visible(string(r.Body))}
		hidden = hiddenIn(hiddenIn(hidden, "request.url", r.URL), "request.body", string(r.Body))
	}
	docs := make([]any, len(op.Documents))
	for i, d := range op.Documents {
		docs[i] = map[string]any{"sha256": d.Digest.String(), "name": Visible(d.Name), "url": Visible(d.URL), "media_type": d.MediaType, "size": d.Size}
		hidden = hiddenIn(hidden, fmt.Sprintf("documents[%d].name", i), d.Name)
	}
	text["documents"], text["hidden_characters"] = docs, hidden
	raw, err := json.Marshal(text)
	if err != nil {
		return nil, &Error{Code: CodeInternal, Op: "show approval", OperationID: op.ID, Message: "what is asked cannot be written down", Err: err}
	}
	canonical, err := Canonicalize(raw)
	if err != nil {
		return nil, fmt.Errorf("show approval of operation %s: %w", op.ID, err)
	}
	return &Showing{Operation: op, Text: canonical, Digest: sha256.Sum256(canonical)}, nil
}

// keepShowing keeps what the approver was shown, and names it.
func (l *Ledger) keepShowing(ctx context.Context, op *Operation, t Tool, actor string) (string, error) {
	s, err := showing(op, t.Info())
	if err != nil {
		return "", err
	}
	d := Document{Tenant: op.Tenant, Digest: s.Digest, MediaType: ShowingMediaType, Body: s.Text, Actor: actor, CreatedAt: l.clock.now(), Concealed: Concealed{DataKey: op.DataKey}}
	if err := l.store.PutDocument(ctx, d); err != nil {
		return "", fmt.Errorf("keep what was shown of operation %s: %w", op.ID, err)
	}
	return s.Digest.String(), nil
}

// Visible writes characters that a reader would not see, or that change what is
// read around them, as ⟦U+200B⟧: controls, joiners, direction marks, fillers,
// unusual spaces, and bytes that are no text. Line ends and tabs stay.
func Visible(s string) string {
	plain := true
	for _, r := range s {
		plain = plain && !Hidden(r)
	}
	if plain {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && s[i] != "\uFFFD"[0]:
			fmt.Fprintf(&b, "⟦byte %02X⟧", s[i])
		case Hidden(r):
			fmt.Fprintf(&b, "⟦U+%04X⟧", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// fillers are letters and marks that show nothing.
var fillers = []rune{0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0}

// Hidden reports whether a reader would not see the character, or see it change
// what is read around it: what Visible writes out. Line ends, tabs and the usual
// space are not hidden.
func Hidden(r rune) bool {
	switch {
	case r == '\n' || r == '\t' || r == ' ':
		return false
	case r == utf8.RuneError, unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zs, unicode.Zl, unicode.Zp, unicode.Variation_Selector):
		return true
	}
	return slices.Contains(fillers, r)
}

// hiddenMax is how many kinds of hidden characters are listed of one text.
const hiddenMax = 16

// hiddenIn lists the hidden characters of a text, each once.
func hiddenIn(found []string, where, s string) []string {
	if found == nil {
		found = []string{}
	}
	n := 0
	for _, r := range s {
		if name := fmt.Sprintf("U+%04X in %s", r, where); Hidden(r) && !slices.Contains(found, name) && n < hiddenMax {
			found, n = append(found, name), n+1
		}
	}
	return found
}
