// Package sim judges the whole engine in a world that it makes up from a seed.
//
// A [Plan] says what callers ask for, what performers of claims and people who
// are asked do, what operators do, when processes die or stand still, when the
// database's clock jumps, ahead or back, and how often the wire and the database
// fail. The plans of seeds from [Wide] on draw features besides: resources, rates,
// dates, remote performers, approvals, batches, forks, keys that are forgotten.
//
// The [World] is the outside: it alone knows which effects exist. The [Auditor]
// hears what the engine stored, sent and answered, and compares it with the world.
// The tests of this package run the engine itself between the two: two to four
// replicas over one store, all of whose goroutines stand still at every call of a
// port, until a scheduler lets exactly one go on. So one number repeats everything.
//
// The package imports nothing of this module: whoever judges must not share code
// with the judged, and knows states and codes by their names only. Start
// reading at [Auditor]; the engine is wired in engine_test.go.
package sim
