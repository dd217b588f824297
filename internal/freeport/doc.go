// Package freeport finds loopback ports for programs that are told where to
// listen, and may be stopped and started again there.
package freeport
