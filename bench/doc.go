// Command bench measures what a guarded write costs, all in one run on one
// machine, so that its ratios mean something: a bare request, a proxy without a
// ledger, hand-written ledgers, the library and the server, on SQLite and
// PostgreSQL. docs/performance.md holds results and how to read them.
package main
