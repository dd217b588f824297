package console

import (
	"github.com/onceward/onceward"
)

// fork is POST /operations/{id}/fork: a wanted second effect, as an operation of
// its own. The browser goes on to that one.
func fork(p *page) error {
	id, err := p.operationID()
	if err != nil {
		return err
	}
	key, err := onceward.ParseCallerKey([]string{p.field("key")})
	if err != nil {
		return err
	}
	var input []byte
	if text := p.field("input"); text != "" {
		input = []byte(text)
	}
	a, err := p.ledger.Fork(p.req.Context(), p.who, id, key, p.field("reason"), input, 0)
	if err != nil {
		return err
	}
	return p.done("/operations/"+a.Operation.ID.String(), "forked")
}
