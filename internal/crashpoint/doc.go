// Package crashpoint really kills the process at a named place, so that tests
// and drills see what a crash leaves behind. It does nothing unless the
// environment asks for it.
package crashpoint
