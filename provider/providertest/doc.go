// Package providertest is the conformance suite of the port onceward.Provider,
// and the upstream on raw TCP that it plays against.
//
// What it is for: every provider runs Run. A new rule of the port is added
// here, not to one provider's tests.
//
// What it must not know: any provider's inside. It counts what arrives.
//
// Start reading at Run (suite.go); Upstream (upstream.go) is the other side.
package providertest
