// Package archive writes what is about to be deleted to files in a folder, as
// JSON lines: the ledger's Exporter.
//
// A process appends to a file of its own, a new one each day. What it has taken
// is on disk before it says so. After a crash the same line may stand in two
// files: operation, generation and version name it. A last line that is not whole
// was never said to be taken.
//
// What is kept encrypted is exported as it is stored, encrypted: it can be read, by
// Reveal, as long as its data key is there, and no longer.
//
// It must not know when something may be deleted. Start reading at folder.go.
package archive
