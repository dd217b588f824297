package faultproxy

import "time"

// Direction is one way of a connection.
type Direction uint8

// The two directions.
const (
	ToServer Direction = iota // requests
	ToClient                  // answers
)

func (d Direction) other() Direction { return 1 - d }

// Kind is what a fault does when it strikes.
type Kind uint8

// The kinds of fault.
const (
	Pass      Kind = iota // nothing: bytes pass
	Refuse                // the connection is reset when it is accepted, so the client sees it while dialling or at its first use; the server never hears of it
	Cut                   // both sides see the end of the stream; the byte that struck is dropped
	Reset                 // both sides see a reset (linger 0); the byte that struck is dropped
	Swallow               // bytes of the direction are read and dropped from here on; the other direction passes
	BlackHole             // bytes of both directions are read and dropped from here on; nothing is closed
	Delay                 // every chunk of the direction from here on waits for Fault.Delay
)

// Fault says what happens to one connection. It strikes when a byte beyond
// After bytes arrives in direction On; those before it pass. The zero value
// lets everything pass.
//
// An answer that is lost after the server has done its work is
// Fault{Kind: Reset, On: ToClient}: the first byte of the answer strikes.
type Fault struct {
	Kind  Kind
	On    Direction
	After int64         // bytes of direction On that pass first
	Delay time.Duration // of a Delay
}
