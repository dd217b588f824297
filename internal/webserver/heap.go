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

// CollectLess has a process that serves collect its garbage as seldom as suits
// it, unless GOGC says otherwise. Undo takes that back.
func CollectLess() (undo func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	before := debug.SetGCPercent(heapGrowth)
	return func() { debug.SetGCPercent(before) }
}
