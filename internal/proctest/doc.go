// Package proctest runs the real binary as real processes in tests: started,
// killed, stopped and continued by signal, beside the bundled provider, which
// counts effects by books of its own.
package proctest
