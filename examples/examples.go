// Package examples carries the example contracts inside the binary, for the
// demonstration and for contract init.
package examples

import "embed"

// Sim holds the contracts for the bundled provider, under sim/.
//
//go:embed sim/*.yaml
var Sim embed.FS
