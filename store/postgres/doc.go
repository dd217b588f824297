// Package postgres keeps operations in PostgreSQL 14 or newer, for any number of
// replicas on one database.
//
// It must not know any rule of the business: it loads, compares and sets, and
// appends. Rows are encoded by package store.
//
// Start reading at commit.go: a batch (batch.go) becomes one statement
// (statement.go) that one connection (session.go) sends in one round trip.
// Everything else reads, or writes off the hot path, through a pool. The schema
// is in migration/.
//
// What the code relies on:
//
//   - Claims come before updates in the statement, each sorted by ID, and what
//     runs along touches only rows of operations that it holds: replicas cannot
//     deadlock.
//   - No column that changes between claim and success is in an index, and
//     columns that never change stand first in the row: an update stays on its
//     page and logs little.
//   - A batch that may be committed is run again, never read: what a read shows
//     proves nothing while the first run may still be on its way.
package postgres
