// Package contract is the language in which a tool says what its write is, how
// it is keyed, sent, judged, looked up, approved, kept and undone. It loads
// strict YAML, compiles it, and answers as an onceward.Tool.
//
// Rules of this package:
//   - Everything that can be wrong is found at load: unknown fields, wrong
//     types, expressions that do not type-check, variables that are not set,
//     secrets that are not there. Every fault is listed, with its place.
//   - Only input, keys and answers vary after that. Rendering cannot change the
//     host, inject a header, or take a value that differs between attempts.
//   - Numbers are exact: a rounding that nobody asked for is an error.
//
// What it must not know: stores, the wire, the clock, the state machine. It
// opens no connection; the only thing that it reads after load is a secret.
//
// Start reading at document.go (every field, its default and its meaning), then
// load.go (from bytes to tools), compile.go (from fields to a Tool), prepare.go
// (one request) and judge.go (one answer). expr.go is CEL, template.go is ${…}.
package contract
