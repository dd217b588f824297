// Command faults shows what faults do to one intention under four guards: none,
// a retry, a look before each write, and Onceward. Every cell is measured by
// running it: real HTTP, the bundled provider with its own count of effects, a
// real SQLite ledger, real time.
//
//	go run ./bench/faults
//
// Start reading at modes.go (what goes wrong), then guards.go (who stands
// against it) and trial.go (how one intention is judged).
package main
