// Package storetest is the conformance suite of the port [onceward.Store]. Each
// store runs it from a test of its own:
//
//	storetest.Run(t, func(t *testing.T) storetest.Opened { ... })
//
// What the suite asserts, it reads through a second handle on the same
// database, so that a store cannot pass by remembering. A new rule of the port
// becomes a test here, not in one store.
//
// It must not know which store it tests. Start reading at run.go; one file a
// subject, one exported-looking name a situation.
package storetest
