package httpcall_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/provider/httpcall"
	"github.com/onceward/onceward/provider/providertest"
)

func newClient(tb testing.TB, o httpcall.Options) *httpcall.Client {
	tb.Helper()
	c := httpcall.New(o)
	tb.Cleanup(c.Close)
	return c
}

func post(url string) *onceward.Request {
	return &onceward.Request{
		Method: "POST", URL: url, Body: []byte(`{"title":"a"}`),
		Header: []onceward.HeaderField{{Name: "Content-Type", Value: "application/json"}, {Name: "Idempotency-Key", Value: "k1"}},
	}
}

func get(url string, header ...onceward.HeaderField) *onceward.Request {
	return &onceward.Request{Method: "GET", URL: url, Header: header}
}

func write(hosts ...string) onceward.SendOptions {
	return onceward.SendOptions{Write: true, Deadline: 20 * time.Second, Hosts: hosts}
}

func read(hosts ...string) onceward.SendOptions {
	return onceward.SendOptions{Deadline: 20 * time.Second, Hosts: hosts}
}

// show prints evidence for a failure message, cut where it is long.
func show(ev onceward.Evidence) string {
	return fmt.Sprintf("%.900s", fmt.Sprintf("%+v body %q", ev, ev.Body))
}

func arrived(tb testing.TB, u *providertest.Upstream, n int) {
	tb.Helper()
	if got := len(u.Requests()); got != n {
		tb.Errorf("%d requests arrived, want %d", got, n)
	}
}

func value(ev onceward.Evidence, name string) string {
	i := slices.IndexFunc(ev.Header, func(h onceward.HeaderField) bool { return h.Name == name })
	if i < 0 {
		return ""
	}
	return ev.Header[i].Value
}

// authority is a certificate for localhost and 127.0.0.1 and the pool that trusts it.
func authority(tb testing.TB) (tls.Certificate, *x509.CertPool) {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		tb.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		tb.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

func listen(tb testing.TB) net.Listener {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = l.Close() })
	return l
}

func tlsUpstream(tb testing.TB, cert tls.Certificate, protocols []string, steps ...providertest.Step) *providertest.Upstream {
	tb.Helper()
	l := tls.NewListener(listen(tb), &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: protocols})
	return providertest.NewUpstreamOn(tb, l, steps...)
}
