// Package drill finds out whether one contract keeps what its effect class
// promises, at the provider that it is for: it runs the built program as real
// processes, puts a proxy that breaks things between them and the provider, lets
// the same intention arrive again and again, kills processes at crash points,
// and counts effects by the contract's own look-up.
//
// What it must not know: how the ledger works. It sees what a caller sees (the
// HTTP API), what the provider sees (the proxy) and what the contract says.
//
// Start reading at Scenarios (scenario.go), which is the list of what is tried;
// stage.go is the world of one scenario, verdict.go what is made of it, and
// report.go what comes out. docs/operating/drill.md is for those who use it.
package drill
