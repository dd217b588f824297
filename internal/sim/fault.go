package sim

import (
	"math/rand/v2"
	"time"
)

// Fault is something that goes wrong by chance, at a place where it can.
type Fault uint8

// The faults.
const (
	RequestLost    Fault = iota // the write does not arrive
	AnswerLost                  // the effect happens, the answer does not arrive
	LateEffect                  // the effect happens late, yet inside settle, unanswered
	ErrorAfter                  // the effect happens, the answer is 503
	ErrorBefore                 // no effect, the answer is 503
	Refused                     // no connection
	Unauthorized                // 401
	RateLimited                 // 429
	Invalid                     // 400
	SlowAnswer                  // the answer comes after the deadline
	LookFails                   // a look-up is answered 503
	LookLost                    // a look-up is not answered
	LookLags                    // look-ups see an effect late, yet inside settle
	StoreRefuses                // the database is not reached: nothing is written
	CommitLost                  // the connection breaks inside the commit: nothing is written
	CommitLostKept              // the connection breaks inside the commit: all is written
	CommitLostLate              // the connection breaks inside the commit: all is written later
	ReadFails                   // the database does not answer a read
	StoreSlow                   // the database's answer takes seconds
	Stall                       // a goroutine stands still beyond its lease
	faultCount
)

var faultNames = [...]string{
	RequestLost: "request lost", AnswerLost: "answer lost", LateEffect: "late effect", ErrorAfter: "503 after effect", ErrorBefore: "503 before effect",
	Refused: "refused", Unauthorized: "401", RateLimited: "429", Invalid: "400", SlowAnswer: "slow answer", LookFails: "look-up fails",
	LookLost: "look-up lost", LookLags: "look-up lags", StoreRefuses: "store refuses", CommitLost: "commit lost", CommitLostKept: "commit lost but kept",
	CommitLostLate: "commit lost and late", ReadFails: "read fails", StoreSlow: "store slow", Stall: "stall",
}

// String names the fault.
func (f Fault) String() string { return faultNames[f] }

// Faults lists all of them.
func Faults() []Fault {
	all := make([]Fault, faultCount)
	for i := range all {
		all[i] = Fault(i)
	}
	return all
}

// Rates is how often each fault happens where it can, 0 to 1.
type Rates [faultCount]float64

// Dice decides what goes wrong. It is not safe for concurrent use.
type Dice struct {
	rates  Rates
	random *rand.Rand
	left   int // faults that may still happen
	calm   bool
	Thrown [faultCount]int // what went wrong so far
}

// NewDice throws by the plan.
func NewDice(p *Plan) *Dice {
	return &Dice{rates: p.Rates, random: stream(p.Order, 2), left: p.FaultsMax}
}

// Throw reports whether the fault happens now. It takes one number from the
// stream whatever the answer, so that a plan with fewer faults stays alike.
func (d *Dice) Throw(f Fault) bool {
	hit := d.random.Float64() < d.rates[f]
	if !hit || d.calm || d.left <= 0 {
		return false
	}
	d.left--
	d.Thrown[f]++
	return true
}

// First throws for each fault in turn and returns the first that happens.
func (d *Dice) First(fs ...Fault) (Fault, bool) {
	found, any := Fault(0), false
	for _, f := range fs {
		if !any && d.Throw(f) {
			found, any = f, true
		}
	}
	return found, any
}

// Between is a duration in [low, high).
func (d *Dice) Between(low, high time.Duration) time.Duration {
	if high <= low {
		return low
	}
	return low + time.Duration(d.random.Int64N(int64(high-low)))
}

// Calm ends all faults.
func (d *Dice) Calm() { d.calm = true }

func stream(seed, n uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, n)) }
