package mcpgateway

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/onceward/onceward"
)

// Limits of a question that a client puts to its person.
const (
	// QuestionWithin is how long an answer may take.
	QuestionWithin = 10 * time.Minute
	// QuestionBytesMax is the longest input that is asked about in a client: a
	// person must see all of it.
	QuestionBytesMax = 4 << 10
)

// approvalRequest names the question among the input requests of a result.
const approvalRequest = "onceward_approval"

// question is what a sealed state says: whose answer, about what. It is good
// once, in this process, until its end.
type question struct {
	Nonce     string    `json:"nonce"`
	Operation string    `json:"operation"`
	Digest    string    `json:"digest"`
	Contract  string    `json:"contract"`
	Tool      string    `json:"tool"` // as it was called
	Who       string    `json:"who"`
	Until     time.Time `json:"until"`
}

// questions are those that were answered, so that no state is good twice.
type questions struct {
	mu   sync.Mutex
	used map[string]time.Time // by nonce, until it would end
}

// spend reports whether the nonce was not used yet.
func (q *questions) spend(nonce string, until, now time.Time) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for n, end := range q.used {
		if now.After(end) {
			delete(q.used, n)
		}
	}
	if _, twice := q.used[nonce]; twice {
		return false
	}
	if q.used == nil {
		q.used = map[string]time.Time{}
	}
	q.used[nonce] = until
	return true
}

// asksHere reports whether the question may be put to the person behind this
// client. Its answer comes from a client's process, so it counts only where the
// operator trusts that; everybody else is asked out of band, and so is whoever's
// yes would not count, such as one to an own request.
func (c *call) asksHere(ctx context.Context, op *onceward.Operation) bool {
	if op.State != onceward.StateAwaitingApproval || c.ask == nil || c.opts.Trusts == nil || !c.opts.Trusts(c.who) || len(op.Input) > QuestionBytesMax {
		return false
	}
	caps := c.ask.ClientCapabilities()
	if caps == nil || caps.Elicitation == nil {
		return false
	}
	shown, err := c.ledger.ShowApproval(ctx, c.who, op.ID)
	return err == nil && shown.Changed == "" && slices.Contains(shown.May, onceward.ActGrant)
}

// askPerson puts the question. In the era of sessions the answer comes while we
// wait; in the stateless one, with the next call, whose state is sealed.
func (c *call) askPerson(ctx context.Context, a *onceward.Answer, o *offer) (*object, error) {
	op := a.Operation
	ask := &mcp.ElicitParams{Mode: "form", Message: "Approve this call of " + string(op.Tool) + "? " + onceward.Visible(string(op.Input)),
		RequestedSchema: json.RawMessage(`{"type":"object","required":["decision"],"properties":{"decision":{"type":"string","title":"Your decision","enum":["approve","reject"]}}}`)}
	if c.modern {
		return c.inputRequired(op, ask)
	}
	waiting, cancel := context.WithTimeout(ctx, c.opts.AnswerWithin)
	defer cancel()
	res, err := c.ask.Session.Elicit(waiting, ask)
	if err != nil { // no answer in time, or none at all: it waits out of band
		return c.operation(a, o)
	}
	return c.decided(ctx, a, o, res, op.Digest, op.Contract)
}

// inputRequired asks in the stateless era.
func (c *call) inputRequired(op *onceward.Operation, ask *mcp.ElicitParams) (*object, error) {
	state, err := c.sealQuestion(&question{Nonce: rand.Text(), Operation: op.ID.String(), Digest: op.Digest.String(), Contract: op.Contract, Tool: c.name,
		Who: string(c.who.Tenant) + " " + c.who.String(), Until: time.Now().Add(QuestionWithin)})
	if err != nil {
		return nil, rpcError(onceward.Errorf(onceward.CodeInternal, "seal a question: %v", err))
	}
	out := &object{}
	out.put("resultType", "input_required")
	out.put("inputRequests", map[string]any{approvalRequest: map[string]any{"method": "elicitation/create", "params": ask}})
	out.put("requestState", state)
	out.set("_meta", metaWith(markerOf(op, onceward.DecisionEscalated, 0)))
	return out, nil
}

// brought reads the state that a call brings; nil: it brings none. One that was
// not sealed here, or for another caller or tool, refuses the call.
//
// Why before the claim: whoever is told that the call did nothing must be told so
// before it does anything.
func (c *call) brought() (*question, error) {
	if c.ask == nil || c.ask.Params.RequestState == "" {
		return nil, nil
	}
	q, err := c.openQuestion(c.ask.Params.RequestState)
	if err != nil || q.Tool != c.name || q.Who != string(c.who.Tenant)+" "+c.who.String() {
		return nil, notOpen(onceward.OperationID{})
	}
	return q, nil
}

// notOpen refuses a state.
func notOpen(id onceward.OperationID) error {
	return &onceward.Error{Code: onceward.CodeStateForbids, Op: "read answer", OperationID: id, Message: "the state is not that of an open question to this caller about this call",
		Hint: "call again without it: whoever has to be asked is asked anew"}
}

// answered takes the answer that a call brings to an operation that waits for
// one. A state of another operation, too old or used, is refused.
//
// Why not where the operation does not wait: a client whose answer was lost has
// to send the same call again, state and all, and is told what became of it.
func (c *call) answered(ctx context.Context, a *onceward.Answer, o *offer, q *question) (*object, error) {
	res, _ := c.ask.Params.InputResponses[approvalRequest].(*mcp.ElicitResult)
	now := time.Now()
	if res == nil || q.Operation != a.Operation.ID.String() || now.After(q.Until) || !c.asked.spend(q.Nonce, q.Until, now) {
		return c.refused(notOpen(a.Operation.ID))
	}
	digest, err := onceward.ParseDigest(q.Digest)
	if err != nil {
		return c.refused(err)
	}
	return c.decided(ctx, a, o, res, digest, q.Contract)
}

// decided records an explicit choice. Nothing else is an approval: no free
// text, no closed window.
func (c *call) decided(ctx context.Context, a *onceward.Answer, o *offer, res *mcp.ElicitResult, digest onceward.Digest, contract string) (*object, error) {
	const how = "answered in an MCP client that is trusted"
	choice, _ := res.Content["decision"].(string)
	var err error
	switch {
	case res.Action == "accept" && choice == "approve":
		_, err = c.ledger.Approve(ctx, c.who, a.Operation.ID, onceward.ApprovalAnswer{Digest: digest, Contract: contract, Reason: how})
	case res.Action == "accept" && choice == "reject", res.Action == "decline":
		_, err = c.ledger.Reject(ctx, c.who, a.Operation.ID, digest, how)
	default:
		return c.operation(a, o)
	}
	if err != nil {
		return c.refused(err)
	}
	op, err := c.ledger.Get(ctx, c.who, a.Operation.ID, c.opts.AnswerWithin)
	if err != nil { // the choice holds, and what it led to is not known here
		return c.refused(&onceward.Error{Code: onceward.CodeMayBeRecorded, Op: "read operation", OperationID: a.Operation.ID, Err: err})
	}
	return c.operation(&onceward.Answer{Operation: op, Decision: a.Decision, RetryAfter: c.ledger.RetryAfter(op)}, o)
}

func (g *Gateway) sealer() (cipher.AEAD, error) {
	block, err := aes.NewCipher(g.seal[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

func (g *Gateway) sealQuestion(q *question) (string, error) {
	aead, err := g.sealer()
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(aead.Seal(nil, nil, mustMarshal(q), []byte(approvalRequest))), nil
}

func (g *Gateway) openQuestion(state string) (*question, error) {
	aead, err := g.sealer()
	if err != nil {
		return nil, err
	}
	sealed, err := base64.RawURLEncoding.DecodeString(state)
	if err != nil {
		return nil, fmt.Errorf("read state: %w", err)
	}
	raw, err := aead.Open(nil, nil, sealed, []byte(approvalRequest))
	if err != nil {
		return nil, fmt.Errorf("open state: %w", err)
	}
	var q question
	return &q, json.Unmarshal(raw, &q)
}
