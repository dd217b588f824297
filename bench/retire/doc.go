// Command retire measures what retention costs those who are served meanwhile: it
// fills a ledger with operations whose time is over, serves callers alone, then
// serves them while the whole of it is slimmed to tombstones, and prints both with
// their ratio. docs/operating/retention.md holds results.
package main
