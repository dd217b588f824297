// Package httpcall puts one HTTP request on the wire and tells what was seen.
// It implements onceward.Provider.
//
// What it is for: a Send with SendOptions.Write is exactly one write on the
// wire. Nothing in here repeats it: no replay on a dead keep-alive connection,
// no redirect, no HTTP/2 (whose GOAWAY and REFUSED_STREAM ask clients to send
// again). Why its own connections instead of http.Transport: the transport
// decides by itself which requests it may send again (anything with an
// Idempotency-Key header, anything idempotent by method), and the lease has to
// be checked at the system call that lets the first byte go.
//
// Invariant: once the kernel took one byte of a write, the exchange ends with
// an answer or with "may have had its effect"; it is never started again. A
// pooled connection that proves dead before that byte is replaced silently.
//
// What it must not know: contracts, operations, verdicts, stores. It reports;
// the contract judges.
//
// Start reading at Client.Send (client.go), then exchange.go (one request and
// its answer), wire.go (the gate at the system call), egress.go (who may be
// talked to).
package httpcall
