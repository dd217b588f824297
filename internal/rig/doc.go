// Package rig puts a ledger together on an open store with what every ledger
// needs: contracts in force, a committer, loops. It is for demonstrations,
// measurements and tests; the program wires its own, with all that can be set.
//
// It must not know which store or provider it gets. Start reading at New.
package rig
