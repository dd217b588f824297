// Package relay hands events of the outbox on to their destinations: at least
// once, those of one key in order, with the same message ID on every delivery.
//
// A [Relay] is one destination, a sink. Of the processes that run one for the
// same sink, one holds its lease. It reads events in the order of the outbox,
// publishes them side by side, those of one key one after another, and moves the
// sink's place on. An event that the destination refuses is set aside, and so are those of its
// key behind it; others go on. A destination that cannot be reached stops the
// sink where it is.
//
// The package must not know any broker: see its folders for those. Start reading
// at relay.go.
package relay
