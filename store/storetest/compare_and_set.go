package storetest

import (
	"context"

	"github.com/onceward/onceward"
)

// writtenByCompareAndSet holds a kind of row to it: of two first rows, and of two
// second ones, one is stored, and the other write is given that one back. good
// stores a row that must be applied, also again; second makes a row its second
// revision; afresh makes it a write of its own.
func writtenByCompareAndSet[T any](f *fixture, row T, good func(T), put func(onceward.Store, context.Context, T, ...onceward.AuditEvent) (*T, bool, error),
	second func(*T, string), afresh func(*T)) {
	f.Helper()
	lost := func(what string, try, to T) {
		f.Helper()
		stored, applied, err := put(f.other, f.ctx, try)
		f.must(err)
		f.equal("whether "+what+" was applied", false, applied)
		f.equal("the row that it lost to", &to, stored)
	}
	good(row)
	good(row)
	again := row
	afresh(&again)
	lost("another first row", again, row)
	one, other := row, row
	for mark, r := range map[string]*T{"one": &one, "other": &other} {
		afresh(r)
		second(r, mark)
	}
	good(one)
	lost("another second row", other, one)
}
