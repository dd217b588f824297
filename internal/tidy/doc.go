// Package tidy holds the house rules that a machine can check: which package
// may import which, what the machine may not touch, that links lead somewhere.
// It is tests only and nothing imports it.
//
// A rule is a function from the tree (path to text) to complaints. Each is run
// on the repository, where it must find nothing, and on a small tree that breaks
// it, where it must find exactly that: a rule that cannot complain holds nothing.
//
// Start reading at rules_test.go, which lists them; imports_test.go has the
// table of import directions.
package tidy
