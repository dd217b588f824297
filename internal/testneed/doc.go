// Package testneed ends tests that cannot run where they are: for want of a
// program, of a right, or of a feature of the system. A plain go test skips
// them with the reason; make test, which promises that every test runs, fails.
package testneed
