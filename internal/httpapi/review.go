package httpapi

import (
	"net/http"
	"time"

	"github.com/onceward/onceward"
)

// Review is an operation as whoever has to settle it needs to see it.
type Review struct {
	Operation      *Operation     `json:"operation" doc:"In a list without attempts and events."`
	Owner          string         `json:"owner,omitempty" doc:"Who has taken it, or was given it by name; absent: nobody."`
	Team           string         `json:"team,omitempty" doc:"Who is asked."`
	Since          time.Time      `json:"since,omitzero" doc:"Since when it is with them."`
	Due            time.Time      `json:"due,omitzero" doc:"When it has to be settled."`
	Overdue        bool           `json:"overdue,omitempty" doc:"That time has passed."`
	BusinessOwner  string         `json:"business_owner,omitempty"`
	TechnicalOwner string         `json:"technical_owner,omitempty"`
	HasProbe       bool           `json:"has_probe" doc:"The effect can be looked up: POST /v1/operations/{id}/reconcile."`
	BlindSpots     string         `json:"blind_spots,omitempty" doc:"What the look-up cannot see, in words."`
	Answers        []ReviewAnswer `json:"answers" doc:"What may be answered at POST /v1/operations/{id}/resolve, for the newest attempt; empty: nothing has to be settled."`
}

// ReviewAnswer is one of the answers that a person may give.
type ReviewAnswer struct {
	When        string `json:"when" doc:"What the person has found out."`
	Outcome     string `json:"outcome" enum:"resolutions"`
	Then        string `json:"then,omitempty" enum:"then"`
	Attempt     int    `json:"attempt" doc:"The attempt that the answer is for: after another one nothing is settled."`
	Needs       string `json:"needs" enum:"review_needs" doc:"What has to be given with it."`
	Consequence string `json:"consequence" doc:"What follows from it."`
}

// ReviewPage is a page of the review queue.
type ReviewPage struct {
	Events  []InboxEvent `json:"events" doc:"Events of senders that wait for a person, newest first: on the first page of the whole queue only. GET /v1/events?waiting=true has all of them."`
	Reviews []Review     `json:"reviews"`
	Next    string       `json:"next,omitempty" doc:"Give it as after to get the next page; absent on the last one."`
}

// ReviewDetail is one operation with what may be answered.
type ReviewDetail struct {
	Review Review `json:"review"`
}

// AssignRequest hands over whose turn it is.
type AssignRequest struct {
	To     *string `json:"to,omitempty" max:"label" doc:"A principal: issuer:subject. It may answer an approval although it is in none of the contract's groups, but must be an approver."`
	Team   *string `json:"team,omitempty" max:"label" doc:"A group."`
	Due    *string `json:"due,omitempty" max:"label" doc:"RFC 3339. Absent: of a review as it is, of an approval none."`
	Reason string  `json:"reason" max:"reason" doc:"Why it is somebody else's turn."`
}

// CommentRequest adds to the timeline.
type CommentRequest struct {
	Text string `json:"text" max:"reason" doc:"What the next one has to know. No secrets: whoever reads the operation reads it."`
}

var reviewRoutes = []route{
	{
		Method: http.MethodGet, Path: "/v1/reviews", Name: "listReviews", handle: listReviews, Action: onceward.ActionReadReviews,
		Summary: "List what waits for a person to settle it: by deadline, so that what is overdue comes first.",
		Query: []param{
			{Name: "tool", Schema: textSchema(), Doc: "Of this tool."},
			{Name: "mine", Schema: boolSchema(), Doc: "true: only what the caller has taken, or was given by name."},
			{Name: "team", Schema: textSchema(), Doc: "That this team is asked for."},
			{Name: "overdue", Schema: boolSchema(), Doc: "true: only what is overdue."},
			{Name: "after", Schema: textSchema(), Doc: "The member next of the page before."},
			limitParam,
		},
		Answers:  []answer{{http.StatusOK, ReviewPage{}, "A page. A last page may be empty."}},
		Refusals: []onceward.Code{onceward.CodeCursorInvalid},
	},
	{
		Method: http.MethodGet, Path: "/v1/operations/{id}/review", Name: "getReview", handle: getReview, Action: onceward.ActionReadReviews,
		Summary: "Read one operation with its evidence, whose turn it is, and what may be answered.",
		Answers: []answer{{http.StatusOK, ReviewDetail{}, "The operation, whatever its state."}}, Refusals: []onceward.Code{onceward.CodeOperationNotFound},
	},
	{
		Method: http.MethodPost, Path: "/v1/operations/{id}/take", Name: "takeReview", handle: takeReview, Action: onceward.ActionWorkReviews,
		Summary: "Take a review. Of two at once one has it, and the other is told who and since when.",
		Body:    struct{}{}, BodyOptional: true, Answers: changeAnswers,
		Refusals: []onceward.Code{onceward.CodeOperationNotFound, onceward.CodeStateForbids},
	},
	{
		Method: http.MethodPost, Path: "/v1/operations/{id}/assign", Name: "assignOperation", handle: assign, Action: onceward.ActionAssign,
		Summary: "Hand over, to a person or a team and with a reason, whose turn it is: to approve, or to settle a review.",
		Body:    AssignRequest{}, Answers: changeAnswers,
		Refusals: []onceward.Code{onceward.CodeOperationNotFound, onceward.CodeStateForbids, onceward.CodeEvidenceRequired},
	},
	{
		Method: http.MethodPost, Path: "/v1/operations/{id}/comment", Name: "commentOperation", handle: commentOperation, Action: onceward.ActionWorkReviews,
		Summary: "Add to the timeline of an operation that waits for people, or has ended without its effect.",
		Body:    CommentRequest{}, Answers: changeAnswers,
		Refusals: []onceward.Code{onceward.CodeOperationNotFound, onceward.CodeStateForbids},
	},
}

// What an answer needs.
const (
	needsReference = "reference"
	needsReason    = "reason"
)

func (c *call) review(r *onceward.Review) Review {
	op := r.Operation
	out := Review{Operation: c.operation(op), BusinessOwner: r.Info.BusinessOwner, TechnicalOwner: r.Info.TechnicalOwner,
		HasProbe: r.Info.Policy.HasProbe, BlindSpots: r.Info.BlindSpots, Answers: []ReviewAnswer{}}
	if op.State == onceward.StateNeedsReview {
		a := op.Assigned
		out.Owner, out.Team, out.Since, out.Due, out.Overdue = a.To, a.Team, a.At.UTC(), a.Due.UTC(), r.Overdue
	}
	for _, a := range r.Answers {
		w := ReviewAnswer{When: a.When, Outcome: a.Outcome.String(), Attempt: op.Attempt(), Needs: needsReason, Consequence: a.Consequence}
		if a.NeedsReference {
			w.Needs = needsReference
		}
		switch {
		case a.Retry:
			w.Then = "retry"
		case a.Outcome == onceward.ResolvedNotPerformed:
			w.Then = "fail"
		}
		out.Answers = append(out.Answers, w)
	}
	return out
}

// flag reads a query parameter that is true or false.
func (c *call) flag(name string) (bool, error) {
	s, given := c.param(name)
	if !given {
		return false, nil
	}
	if s != "true" && s != "false" {
		return false, onceward.Errorf(onceward.CodeInvalidRequest, "%s is neither true nor false", name)
	}
	return s == "true", nil
}

func (c *call) reviewQuery() (q onceward.ReviewQuery, err error) {
	if s, given := c.param("tool"); given {
		if q.Tool, err = onceward.ParseToolName(s); err != nil {
			return q, err
		}
	}
	if q.Mine, err = c.flag("mine"); err != nil {
		return q, err
	}
	if q.Overdue, err = c.flag("overdue"); err != nil {
		return q, err
	}
	team := c.optional("team")
	if err := checkLabel("team", team); err != nil {
		return q, err
	}
	q.Team = text(team)
	if s, given := c.param("after"); given {
		if q.After, err = decodeReviewCursor(s); err != nil {
			return q, err
		}
	}
	q.Limit, err = c.limit(onceward.MaxPage)
	return q, err
}

// listReviews is GET /v1/reviews.
func listReviews(c *call) error {
	q, err := c.reviewQuery()
	if err != nil {
		return err
	}
	found, err := c.ledger.Reviews(c.req.Context(), c.who, q)
	if err != nil {
		return err
	}
	page := ReviewPage{Events: []InboxEvent{}, Reviews: make([]Review, len(found))}
	if q == (onceward.ReviewQuery{Limit: q.Limit}) {
		events, err := c.ledger.WaitingEvents(c.req.Context(), c.who, q.Limit)
		if err != nil {
			return err
		}
		page.Events = wireEvents(events)
	}
	for i, r := range found {
		r.Operation.Result = nil // a list has none
		page.Reviews[i] = c.review(r)
	}
	if n := len(found); n == q.Limit {
		page.Next = encodeReviewCursor(found[n-1].Cursor())
	}
	writeJSON(c.w, http.StatusOK, mediaJSON, &page)
	return nil
}

// getReview is GET /v1/operations/{id}/review.
func getReview(c *call) error {
	id, err := c.operationID()
	if err != nil {
		return err
	}
	r, err := c.ledger.Review(c.req.Context(), c.who, id)
	if err != nil {
		return err
	}
	records, err := c.ledger.Timeline(c.req.Context(), c.who, id)
	if err != nil {
		return err
	}
	out := ReviewDetail{Review: c.review(r)}
	o := out.Review.Operation
	c.chain(r.Operation, o)
	o.AttemptList, o.Events = attempts(r.Operation), events(r.Operation.Story(records), c.who.SeesResult(r.Operation))
	c.operationHeaders(r.Operation, 0)
	writeJSON(c.w, http.StatusOK, mediaJSON, &out)
	return nil
}

// takeReview is POST /v1/operations/{id}/take.
func takeReview(c *call) error {
	id, err := c.operationID()
	if err != nil {
		return err
	}
	if err := c.read(&struct{}{}, false); err != nil {
		return err
	}
	op, err := c.ledger.TakeReview(c.req.Context(), c.who, id)
	if err != nil {
		return err
	}
	c.changed(op)
	return nil
}

// assign is POST /v1/operations/{id}/assign.
func assign(c *call) error {
	id, err := c.operationID()
	if err != nil {
		return err
	}
	var in AssignRequest
	if err := c.read(&in, true); err != nil {
		return err
	}
	to := onceward.Assignment{To: text(in.To), Team: text(in.Team)}
	if in.Due != nil {
		if to.Due, err = time.Parse(time.RFC3339, *in.Due); err != nil {
			return &onceward.Error{Code: onceward.CodeInvalidRequest, Message: "due is not a time", Hint: "write it as in 2026-11-29T17:00:00Z"}
		}
	}
	op, err := c.ledger.Assign(c.req.Context(), c.who, id, to, in.Reason)
	if err != nil {
		return err
	}
	c.changed(op)
	return nil
}

// commentOperation is POST /v1/operations/{id}/comment.
func commentOperation(c *call) error {
	id, err := c.operationID()
	if err != nil {
		return err
	}
	var in CommentRequest
	if err := c.read(&in, true); err != nil {
		return err
	}
	op, err := c.ledger.Comment(c.req.Context(), c.who, id, in.Text)
	if err != nil {
		return err
	}
	c.changed(op)
	return nil
}
