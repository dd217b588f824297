// Package explore walks through everything that can happen to one operation: it
// takes the pure machine (onceward.Apply) as it is and puts a small, complete
// world around it: workers that crash and stall at every point, a provider that
// commits early, late or never and whose answers get lost, look-ups that see too
// early, people who cancel, resolve and replay, and time.
//
// Every state that can be reached under a [Config] is visited once, breadth
// first, so that the first broken rule comes with a shortest way to it. Two
// judges look at every step. The world knows what the provider really did; the
// books know what the system was told. Neither uses the machine's own code, and
// neither may believe it.
//
// Time is a number of ticks. Every instant is kept relative to now and stops
// growing once no rule can tell it from an older one, which makes the number of
// states finite. What is not in the model is listed in docs/guarantees.md.
//
// The package must not know stores, providers or the ledger: what they add is
// tried by simulation and by real crashes. Start reading at [Run].
package explore
