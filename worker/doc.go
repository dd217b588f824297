// Package worker is the background loops of a ledger: one file a loop, each
// with Step(ctx), which does one bounded piece of work and says whether there
// was any, and no rule of its own. Run repeats Step; tests and the simulator
// step by hand.
package worker
