// Package catalog holds contracts for write endpoints of real providers, one a
// file, embedded in the program. Each says in metadata.facts what is known of the
// provider, from where and of which day, and what is not known.
//
// The tests hold every contract to its facts: a double of the provider is made
// from them (double_test.go), at its worst, and the effects that it has are counted.
//
// What it must not know: the ledger, the wire, the command line.
//
// Start reading at catalog.go.
package catalog

//go:generate go test . -run TestReferencePageListsTheCatalog -update
