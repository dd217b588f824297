package webserver

import (
	"os"
	"runtime/debug"
)

// heapGrowth is by how many percent the heap may grow between two collections.
//
// Why: a server keeps little, and at Go's 100 collects it often
// (docs/performance.md).
const heapGrowth = 200

// GrowHeap lets the heap of a process that serves grow further between two
// collections, unless GOGC says otherwise. Undo takes that back.
func GrowHeap() (undo func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	before := debug.SetGCPercent(heapGrowth)
	return func() { debug.SetGCPercent(before) }
}
