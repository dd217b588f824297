package httpapi

import (
	"encoding/json"
	"time"

	"github.com/onceward/onceward"
)

// ForkRequest asks for a wanted second effect.
type ForkRequest struct {
	Key    *string         `json:"key,omitempty" doc:"Names the second intention; also as Idempotency-Key. The same key is the same fork."`
	Reason string          `json:"reason" max:"reason" doc:"Why the effect is wanted a second time."`
	Input  json.RawMessage `json:"input,omitempty" doc:"The first operation's, if absent; needed where its contract does not keep it."`
	Wait   *duration       `json:"wait,omitempty" doc:"How long to wait for the end: 10s if absent, 60s at most."`
}

// fork is POST /v1/operations/{id}/fork.
func fork(c *call) error {
	id, err := c.operationID()
	if err != nil {
		return err
	}
	var in ForkRequest
	if err := c.read(&in, true); err != nil {
		return err
	}
	key, err := callerKey(c.req.Header, in.Key)
	if err != nil {
		return err
	}
	wait := onceward.DefaultWait
	if in.Wait != nil {
		wait = time.Duration(*in.Wait)
	}
	a, err := c.ledger.Fork(c.req.Context(), c.who, id, key, in.Reason, in.Input, wait)
	if err != nil {
		return err
	}
	c.answer(a)
	return nil
}
