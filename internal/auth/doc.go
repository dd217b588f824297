// Package auth says who sends an HTTP request: the bearer of a token, a person
// who signed in through an identity provider, or, on a loopback server that has
// neither, the implicit local principal.
//
// It must hold no rule about what anybody may do (the root's authorize.go), and
// it never logs or repeats a credential.
//
// Start reading at authenticate.go, then oidc.go.
package auth
