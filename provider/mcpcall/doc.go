// Package mcpcall performs attempts that are calls of an MCP server's tool:
// requests to mcp://server/tool whose body is the arguments. Sessions are the
// official SDK's; the tools/call itself is put on the wire once for each
// attempt, with evidence of how far it got, and its result is kept as bytes.
//
// It must hold no rule of the business, judge nothing, and repeat nothing: not to
// a server that was restarted, not after a refused credential, not because an
// answer asks for more input.
//
// Start reading at client.go, then http.go and stdio.go.
package mcpcall
