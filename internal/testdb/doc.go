// Package testdb gives tests a real PostgreSQL.
//
// Three ways, by what the test does to the database:
//
//   - [Postgres] hands out a fresh schema in a server that is already running
//     (cmd/withpg starts one around "go test"; make test does it). Cheap; most
//     tests want this.
//   - [Pool] hands out schemas whose tables are there already, and empties them
//     after each test: for suites of hundreds of tests over the same tables.
//   - [Cluster] starts a server of the test's own, to be stopped, killed and
//     started again ([Server]). A second or two each.
//
// A test never passes by lacking a database: it is skipped with the reason, or
// fails, as package testneed says.
//
// Servers run with fsync=off unless a setting says otherwise. Why: what these
// tests prove is the order and the isolation of commits, and what survives the
// death of processes. Killing a process loses nothing that it had written to
// the kernel, synced or not. Only a power cut does, and no test here cuts the
// power; measurements that pay for durability set fsync=on.
//
// The package must not know Onceward: it imports nothing of this module
// but helpers that know it as little, so that any package may use it in its tests. Start reading at testdb.go.
package testdb
