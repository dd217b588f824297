package httpapi

import (
	"fmt"
	"net/http"

	"github.com/onceward/onceward"
)

// BatchRequest asks for many operations at once.
type BatchRequest struct {
	// Why nodes: an operation that is malformed is refused alone, not the batch.
	Operations []*onceward.Node `json:"operations" doc:"1 to 100 operations, each answered alone."`
	Wait       *duration        `json:"wait,omitempty" doc:"How long to wait for the ends, where an operation does not say."`
}

// BatchAnswer answers a batch, in the order of its operations.
type BatchAnswer struct {
	Results []BatchResult `json:"results"`
}

// BatchResult is what one operation of a batch would have been answered alone.
type BatchResult struct {
	Status    int        `json:"status" doc:"The HTTP status of this operation."`
	Operation *Operation `json:"operation,omitempty"`
	Decision  string     `json:"decision,omitempty" enum:"decisions"`
	Advice    string     `json:"advice,omitempty"`
	Problem   *Problem   `json:"problem,omitempty" doc:"There if the status is 400 or more."`
}

// batch is POST /v1/operations:batch.
func batch(c *call) error {
	if len(c.req.Header["Idempotency-Key"]) > 0 {
		return &onceward.Error{Code: onceward.CodeKeyAmbiguous, Message: "one Idempotency-Key header stands over a batch of operations", Hint: "give each operation its own member key, and send no header"}
	}
	var in BatchRequest
	if err := c.read(&in, true); err != nil {
		return err
	}
	if err := checkBatchSize(len(in.Operations)); err != nil {
		return err
	}
	results := make([]BatchResult, len(in.Operations))
	intents := make([]onceward.Intent, 0, len(in.Operations))
	places := make([]int, 0, len(in.Operations))
	for i, item := range in.Operations {
		intent, err := c.batchItem(item, fmt.Sprintf("operations[%d]", i), in.Wait)
		if err != nil {
			results[i] = c.refusedItem(err)
			continue
		}
		intents, places = append(intents, intent), append(places, i)
	}
	for i, a := range c.ledger.SubmitBatch(c.req.Context(), intents) {
		results[places[i]] = c.batchResult(a)
	}
	writeJSON(c.w, http.StatusOK, mediaJSON, &BatchAnswer{Results: results})
	return nil
}

func (c *call) batchItem(item *onceward.Node, path string, wait *duration) (onceward.Intent, error) {
	in := OperationRequest{Wait: wait}
	if err := decodeNode(item, &in, path); err != nil {
		return onceward.Intent{}, err
	}
	key, err := callerKey(nil, in.Key)
	if err != nil {
		return onceward.Intent{}, err
	}
	return c.intent(&in, key)
}

func (c *call) batchResult(a onceward.BatchAnswer) BatchResult {
	if a.Err != nil {
		return c.refusedItem(a.Err)
	}
	status, ok, p := itemAnswer(a.Answer, c.operation(a.Answer.Operation))
	if p != nil {
		return BatchResult{Status: status, Decision: p.Decision, Problem: p}
	}
	return BatchResult{Status: status, Operation: ok.Operation, Decision: ok.Decision, Advice: ok.Advice}
}

func (c *call) refusedItem(err error) BatchResult {
	p := problemOf(err)
	if blocks(onceward.Code(p.Code)) {
		p.Decision = string(onceward.DecisionBlocked)
	}
	if p.Status >= http.StatusInternalServerError {
		c.log500(p, err)
	}
	return BatchResult{Status: p.Status, Decision: p.Decision, Problem: p}
}

func checkBatchSize(n int) error {
	switch {
	case n == 0:
		return &onceward.Error{Code: onceward.CodeInvalidRequest, Message: "operations is empty", Hint: "send at least one operation"}
	case n > BatchItemsMax:
		return &onceward.Error{Code: onceward.CodeTooLarge, Message: fmt.Sprintf("operations has %d items, more than %d", n, BatchItemsMax), Hint: "send several batches"}
	}
	return nil
}
