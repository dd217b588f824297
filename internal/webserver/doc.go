// Package webserver makes the http.Server under every surface that this program
// serves: what it listens on, what it refuses before a handler sees it (another
// site's page, a rebound name, a sender that dawdles, too many at once), and
// how it ends.
//
// It must not know what is served. Refusals are written by a function that is
// handed in.
//
// Start reading at server.go, then guard.go (Host and Origin).
package webserver
