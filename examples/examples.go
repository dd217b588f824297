package examples

import "embed"

// Sim holds the contracts for the bundled provider, under sim/.
//
//go:embed sim/*.yaml
var Sim embed.FS
