// Package committer is group commit between the ledger and its store: callers
// queue independent changes, one goroutine takes what waits, commits it as one
// batch and wakes everybody in it. There is no timer: a batch is what arrived
// during the last commit, so a lone caller waits for nobody.
//
// It knows nothing of operations beyond their ID; what a change means is the
// root package's. Start reading at Committer.Write.
package committer
