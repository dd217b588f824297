// Package testoidc is identity providers for tests: a real OpenID provider with
// pages on which its one person signs in, and an authorization server that signs
// whatever token it is told to.
//
// It must know nothing of this module: any test may use it. Start reading at
// provider.go.
package testoidc
