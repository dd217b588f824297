// Package mcp holds contracts for servers of the MCP project, and runs the
// gateway with those servers and with clients that we did not write (make mcp).
package mcp
