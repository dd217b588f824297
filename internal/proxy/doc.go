// Package proxy lets existing clients ask here in place of their own server: a
// read passes, and a write that a route of the upstream names becomes an
// operation of the ledger. Whoever sends it gets the provider's answer as it
// was, the first time and every time after.
//
// It must not know stores, the wire, or a rule of the business: contracts say
// what a request means, and [onceward.Ledger] does the rest. What callers send
// along and nobody may store is held in memory (held.go) and is written to no
// ledger, log or error.
//
// Start reading at Proxy.serve (proxy.go); then operate.go, which is the life of
// a write, answer.go, and pass.go, which is everything else.
package proxy
