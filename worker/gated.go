package worker

import (
	"context"

	"github.com/onceward/onceward"
)

// Gated lets loops rest while the ledger takes no writes, because it is older than
// its own dispatches. Stranded goes on: it is what sees that the ledger was recovered.
func Gated(l *onceward.Ledger, loops ...Loop) []Loop {
	out := make([]Loop, len(loops))
	for i, loop := range loops {
		out[i] = loop
		if _, sees := loop.(*Stranded); !sees {
			out[i] = &gated{loop, l}
		}
	}
	return out
}

type gated struct {
	Loop
	ledger *onceward.Ledger
}

// Step implements Loop.
func (g *gated) Step(ctx context.Context) (bool, error) {
	if g.ledger.Refusal() != nil {
		return false, nil
	}
	return g.Loop.Step(ctx)
}
