// Package mcpgateway serves the contracts in force as tools of the Model Context
// Protocol: over streamable HTTP, for the era of sessions and for the stateless
// one, and over standard input and output. A tools/call is an operation: it is
// claimed before anything is sent, joined by whoever repeats it, answered before
// the caller gives up, and replayed from the record afterwards.
//
// It must hold no rule of the business (the root's), talk to no provider, and
// pass no caller's credentials on. A key is never taken from a JSON-RPC ID, a
// session or a model's call ID, and no schema that a model sees asks for one.
//
// Start reading at call.go, then key.go and answer.go.
package mcpgateway
