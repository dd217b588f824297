// Package enginetest is what the tests of the wrappers in integrations share: an
// effect whose answer is always lost, and a ledger that can look it up.
//
// It must not know any engine. Start reading at Parcels.
package enginetest
