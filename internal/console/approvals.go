package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/onceward/onceward"
)

// approvalsView is the list of open questions.
type approvalsView struct {
	Mine bool
	Open []*onceward.Operation
	Full bool // there may be more
	Now  time.Time
}

// approvals is GET /approvals.
func approvals(p *page) error {
	mine := p.req.URL.Query().Get("for") == "me"
	open, err := p.ledger.Approvals(p.req.Context(), p.who, onceward.ApprovalQuery{Mine: mine, Limit: 2 * ListPage})
	if err != nil {
		return err
	}
	return p.show("approvals", word("approvals.title"), approvalsView{Mine: mine, Open: open, Full: len(open) == 2*ListPage, Now: p.now})
}

// approvalView is the page of one question.
type approvalView struct {
	Op       *onceward.Operation
	Standing standing
	Asked    asked
	Digest   string
	Groups   []string
	May      map[string]bool
	Refused  string // why the reader may not say yes
	Changed  string // why no answer is taken
	Edited   []difference
	State    onceward.ApprovalState
	Until    time.Time
	Story    []line
	Now      time.Time

	// An edit under way.
	Draft   string
	Preview []difference
	Same    bool   // the draft changes nothing
	Wrong   string // why the draft is not taken
	Reason  string
}

// asked is what the showing of a question says.
type asked struct {
	Description    string          `json:"description"`
	BusinessOwner  string          `json:"business_owner"`
	TechnicalOwner string          `json:"technical_owner"`
	Promise        string          `json:"promise"`
	RequestedBy    string          `json:"requested_by"`
	InputAsText    string          `json:"input_as_text"`
	Input          json.RawMessage `json:"input"`
	Request        *askedRequest   `json:"request"`
	Documents      []askedDocument `json:"documents"`
	Hidden         []string        `json:"hidden_characters"`
	Decision       *struct {
		Branch string `json:"branch"`
	} `json:"decision"`
}

type askedRequest struct {
	Method  string   `json:"method"`
	URL     string   `json:"url"`
	Headers []string `json:"headers"`
	Body    string   `json:"body"`
}

type askedDocument struct {
	SHA256    string `json:"sha256"`
	Name      string `json:"name"`
	MediaType string `json:"media_type"`
	Size      int64  `json:"size"`
}

// approval is GET /approvals/{id}.
func approval(p *page) error {
	v, err := p.readApproval()
	if err != nil {
		return err
	}
	return p.show("approval", word("approval.title", v.Op.Tool), v)
}

func (p *page) readApproval() (*approvalView, error) {
	id, err := p.operationID()
	if err != nil {
		return nil, err
	}
	ctx := p.req.Context()
	s, err := p.ledger.ShowApproval(ctx, p.who, id)
	if err != nil {
		return nil, err
	}
	v := &approvalView{Op: s.Operation, Standing: standingOf(s.Operation, p.now), Digest: s.Operation.Digest.String(), Groups: s.Groups, May: map[string]bool{},
		Refused: s.Refused, Changed: s.Changed, Now: p.now}
	if err := json.Unmarshal(s.Text, &v.Asked); err != nil {
		return nil, fmt.Errorf("read what is asked of operation %s: %w", id, err)
	}
	for _, act := range s.May {
		v.May[string(act)] = true
	}
	v.State, v.Until = s.Operation.ApprovalStanding()
	v.Draft = spelled(pretty(v.Asked.Input))
	if !p.may(onceward.ActionRead) {
		return v, nil
	}
	records, err := p.ledger.Timeline(ctx, p.who, id)
	if err != nil {
		return nil, err
	}
	v.Story = storyOf(s.Operation, records, p.who.SeesResult(s.Operation))
	v.Edited = p.edited(records, v.Asked.Input)
	return v, nil
}

// spelled writes the characters of a JSON text that a reader would not see as
// escapes, which mean the same: they can only stand in strings.
func spelled(text string) string {
	if !strings.ContainsFunc(text, onceward.Hidden) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case !onceward.Hidden(r):
			b.WriteRune(r)
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// edited compares what was asked first with what is asked now: what the first
// editor was shown is kept as a document.
func (p *page) edited(records []onceward.Record, now json.RawMessage) []difference {
	for _, r := range records {
		if r.Event != onceward.KindApprovalEdited.String() || r.Shown == "" {
			continue
		}
		digest, err := onceward.ParseDigest(r.Shown)
		if err != nil {
			return nil
		}
		doc, err := p.ledger.Document(p.req.Context(), p.who, digest)
		if err != nil {
			return nil // it went with the record
		}
		var then asked
		if json.Unmarshal(doc.Body, &then) != nil {
			return nil
		}
		return differences(then.Input, now)
	}
	return nil
}

// difference is one value that two inputs do not share.
type difference struct{ Path, Was, Is string }

// differences compares two JSON values, member by member.
func differences(was, is []byte) []difference {
	a, b := map[string]string{}, map[string]string{}
	flatten(a, "", decoded(was))
	flatten(b, "", decoded(is))
	var paths []string
	for path := range a {
		paths = append(paths, path)
	}
	for path := range b {
		if _, both := a[path]; !both {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	var out []difference
	for _, path := range paths {
		if a[path] != b[path] {
			out = append(out, difference{path, a[path], b[path]})
		}
	}
	return out
}

func decoded(b []byte) any {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return string(b)
	}
	return v
}

// flatten notes every value that holds no other under its path.
func flatten(into map[string]string, path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		if len(v) > 0 {
			for name, member := range v {
				flatten(into, strings.TrimPrefix(path+"."+name, "."), member)
			}
			return
		}
	case []any:
		if len(v) > 0 {
			for i, element := range v {
				flatten(into, fmt.Sprintf("%s[%d]", path, i), element)
			}
			return
		}
	}
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // it came from JSON
	}
	into[path] = string(text)
}

// previewEdit is POST /approvals/{id}/preview: what an edit would change, before
// anybody says yes to it.
func previewEdit(p *page) error {
	v, err := p.readApproval()
	if err != nil {
		return err
	}
	v.Draft, v.Reason = p.req.PostForm.Get("input"), p.field("reason")
	canonical, err := onceward.Canonicalize([]byte(v.Draft))
	if err != nil {
		v.Wrong = messageOf(err)
	} else if v.Preview = differences(v.Asked.Input, canonical); len(v.Preview) == 0 {
		v.Same = true
	}
	return p.show("approval", word("approval.title", v.Op.Tool), v)
}

// approve is POST /approvals/{id}/approve, with an edit if the form has one.
func approve(p *page) error {
	id, err := p.operationID()
	if err != nil {
		return err
	}
	a := onceward.ApprovalAnswer{Contract: p.field("contract"), Reason: p.field("reason")}
	if a.Digest, err = onceward.ParseDigest(p.field("digest")); err != nil {
		return err
	}
	what := "approved"
	if p.field("edit") != "" {
		a.Edit, what = []byte(p.req.PostForm.Get("input")), "approved_edited"
	}
	op, err := p.ledger.Approve(p.req.Context(), p.who, id, a)
	if a.Edit != nil && (onceward.Is(err, onceward.CodeInvalidInput) || onceward.Is(err, onceward.CodeInvalidRequest) || onceward.Is(err, onceward.CodeStateForbids)) {
		return p.editAgain(err)
	}
	if err != nil {
		return err
	}
	if a.Edit != nil && op.State == onceward.StateAwaitingApproval && !saidYes(op, p.who.String()) {
		what = "edited" // whoever changed it may not be the one who says yes to it
	}
	return p.done("/approvals/"+id.String(), what)
}

// saidYes reports whether one of the yeses to the question is this principal's.
func saidYes(op *onceward.Operation, who string) bool {
	return slices.ContainsFunc(op.Approval.Yeses, func(y onceward.Yes) bool { return y.Actor == who })
}

// editAgain shows the page with the edit that was not taken, unless somebody else
// answered: then there is nothing left to edit.
func (p *page) editAgain(refusal error) error {
	v, err := p.readApproval()
	if err != nil || !v.May[string(onceward.ActEdit)] {
		return refusal
	}
	v.Draft, v.Reason, v.Wrong = p.req.PostForm.Get("input"), p.field("reason"), messageOf(refusal)
	p.render(p.opts.Status(onceward.CodeOf(refusal)), "approval", word("approval.title", v.Op.Tool), v)
	return nil
}

// reject is POST /approvals/{id}/reject.
func reject(p *page) error {
	id, err := p.operationID()
	if err != nil {
		return err
	}
	digest, err := onceward.ParseDigest(p.field("digest"))
	if err != nil {
		return err
	}
	if _, err := p.ledger.Reject(p.req.Context(), p.who, id, digest, p.field("reason")); err != nil {
		return err
	}
	return p.done("/approvals/"+id.String(), "rejected")
}

// assignApproval is POST /approvals/{id}/assign.
func assignApproval(p *page) error { return p.assign("/approvals/") }

// assign hands over whose turn it is.
func (p *page) assign(back string) error {
	id, err := p.operationID()
	if err != nil {
		return err
	}
	to := onceward.Assignment{To: p.field("to"), Team: p.field("team")}
	if to.To != "" && !strings.Contains(to.To, ":") {
		return &onceward.Error{Code: onceward.CodeInvalidRequest, Message: word("error.person", to.To), Hint: word("error.person.hint")}
	}
	if to.Due, err = timeField("assign.due", p.field("due")); err != nil {
		return err
	}
	if !to.Due.IsZero() && !p.now.Before(to.Due) {
		return &onceward.Error{Code: onceward.CodeInvalidRequest, Message: word("error.over", p.field("due")), Hint: word("error.over.hint")}
	}
	what := "handed_over"
	if to.To == "" && to.Team == "" {
		what = "given_back"
	}
	if _, err := p.ledger.Assign(p.req.Context(), p.who, id, to, p.field("reason")); err != nil {
		return err
	}
	return p.done(back+id.String(), what)
}
