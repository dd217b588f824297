package webserver

import (
	"crypto/tls"
	"sync/atomic"

	"github.com/onceward/onceward"
)

// Certificate is a certificate and its key, in files that may be replaced while
// the server runs. It is safe for concurrent use.
type Certificate struct {
	certFile, keyFile string
	current           atomic.Pointer[tls.Certificate]
}

// OpenCertificate reads the two files. CodeConfigInvalid: they cannot be read, or
// do not belong together.
func OpenCertificate(certFile, keyFile string) (*Certificate, error) {
	c := &Certificate{certFile: certFile, keyFile: keyFile}
	return c, c.Reload()
}

// Reload reads the files anew. If they cannot be used, what is in use stays.
func (c *Certificate) Reload() error {
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return &onceward.Error{Code: onceward.CodeConfigInvalid, Op: "read certificate", Message: "the certificate " + c.certFile + " and its key cannot be used",
			Hint: "both are PEM files, the certificate with its chain, and belong together", Err: err}
	}
	c.current.Store(&pair)
	return nil
}

// Config is for a server: TLS 1.2 or newer, with the certificate that was read last.
func (c *Certificate) Config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current.Load(), nil }}
}
