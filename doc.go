// Package onceward keeps writes to other systems to one effect per business
// intention: one intention, one stable key, one recorded outcome.
//
// It holds the vocabulary, the pure state machine, the use cases (Ledger) and
// the ports. It must not know SQL, HTTP, YAML or the command line: stores,
// providers and front doors import it, never the other way round.
//
// Start reading at Operation (operation.go) and the table in transitions.go,
// then Apply (machine.go), then Ledger.Submit (submit.go) and what follows it:
// duplicate.go, dispatch.go, advance.go, reconcile.go.
package onceward
