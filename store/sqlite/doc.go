// Package sqlite keeps operations in an SQLite file: the embedded ledger, for
// one machine. Several processes may share the file.
//
// Every commit is on the disk before it is answered (WAL, synchronous=FULL).
// Each handle writes on one connection and reads on a few more; the database's
// clock is this process's wall clock.
//
// The package must not know any rule of the business: it loads, compares and
// sets, and appends. SQL stands next to the function that scans it. Start
// reading at store.go; commit.go is the hot path.
package sqlite
