// Package store is what the three stores have in common: how an [onceward.Change]
// becomes columns, side bodies, timeline rows and a journal entry, and how a
// stored row becomes an [onceward.Operation] again. It is neutral of dialects:
// no SQL, no driver.
//
// It must not know any rule of the business, nor which store uses it. Start
// reading at write.go ([Prepare] is the way in, [Decode] the way out).
//
// The encodings are private to the ledger and versioned by their first byte.
// Every blob lacks what is zero, so that the row of an undisturbed operation
// stays lean; whatever cannot be read back is an [onceward.Error] with
// CodeLedgerCorrupt, never a guess.
package store
