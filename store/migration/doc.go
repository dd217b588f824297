// Package migration brings a database forward, step by numbered step. The steps
// are files NNNN_name.sql that a store embeds; what was run is recorded in the
// database with the SHA-256 of the file, so that a changed step, a step of a
// newer release and a database of somebody else are told apart and named.
//
// There is no way back: an older release refuses a newer database
// (CodeLedgerTooNew) and changes nothing, unless all that the newer release did is
// called NNNN_expand_name.sql. Such a step takes nothing away that the release before
// relies on, and asks nothing of it.
//
// The package knows no dialect and no driver. Start reading at run.go.
package migration
