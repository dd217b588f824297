// Package examples carries the example contracts inside the binary, for the
// demonstration and for contract init.
package examples
