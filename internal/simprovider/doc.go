// Package simprovider is a business system to practise on: tickets, payments,
// mail, contacts and fax over HTTP, each with another promise about repeated
// requests, and each able to fail in the ways that real providers fail.
//
// It has its own idea of the truth. For every business reference it counts the
// requests that arrived and the effects that were committed, so that it can
// judge whoever sits in front of it. For that reason it must not know the rest
// of this module: it imports the standard library only.
//
// It is a program for tests, demonstrations and drills. Its control paths
// (/faults, /effects, /credentials) ask for no token, so it belongs on a
// loopback address.
//
// Start reading at server.go, then exchange.go (the life of one request),
// behaviour.go (what each fault does) and ticket.go (the plainest system).
package simprovider
