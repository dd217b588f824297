// Package witness remembers the newest dispatches in a small file beside the
// ledger, for [onceward.Witness].
//
// The file is a ring of records of one size. A dispatch is one write into the
// page cache, about a microsecond, which outlives the process; the disk has it
// within a second, by a sync of its own that no attempt waits for. What a power
// cut can cost is therefore the last second of notes, and then only a ledger that
// is less than that second too old is not found out.
//
// Several processes may share a file: each write stands by itself, and the newest
// is never written over by an older one. It must not know what the ledger makes
// of it. Start reading at file.go.
package witness
