// Package httpapi is the HTTP API of a ledger: routes, wire types, problem
// details and the OpenAPI document that is made from them.
//
// It must not know how operations are stored or sent, nor hold a rule of the
// business: a handler reads a request, calls one use case of
// [onceward.Ledger], and writes what it got. What listens, on which address
// and for whom, is the business of whoever serves the handler.
//
// Start reading at routes.go, the table from which the mux, the rights, the
// OpenAPI document and the reference page are made; then call.go (the life of
// one request) and submit.go (the main job). problem.go has the one table from
// codes to statuses.
package httpapi

//go:generate go run ./gen
