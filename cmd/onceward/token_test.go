package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/onceward/onceward/internal/proctest"
)

// eventuallyRefused runs a command until it fails: other processes see a token,
// and its end, within a second.
func eventuallyRefused(ts *testscript.TestScript, _ bool, args []string) {
	for until := time.Now().Add(30 * time.Second); time.Now().Before(until); <-time.After(50 * time.Millisecond) {
		if ts.Exec(args[0], args[1:]...) != nil {
			return
		}
	}
	ts.Fatalf("%v is never refused", args)
}

// tokenID sets TOKEN_ID to the ID of the token in a file.
func tokenID(ts *testscript.TestScript, _ bool, args []string) {
	ts.Setenv("TOKEN_ID", strings.Split(ts.ReadFile(args[0]), "_")[1])
}

// grepSecret wants that the secret part of the token in a file stands in another
// file, or, negated, that it does not.
func grepSecret(ts *testscript.TestScript, neg bool, args []string) {
	secret := strings.TrimSpace(strings.Split(ts.ReadFile(args[0]), "_")[2])
	if strings.Contains(ts.ReadFile(args[1]), secret) == neg {
		ts.Fatalf("the secret stands in %s: %v", args[1], neg)
	}
}

// writeCertificate writes a self-signed certificate for 127.0.0.1 and its key.
func writeCertificate(t *testing.T, dir string, serial int64) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "onceward"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for name, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: cert}, keyFile: {Type: "PRIVATE KEY", Bytes: der}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}

// servedSerial is the serial number of the certificate at an address; 0: nobody there.
func servedSerial(address string) int64 {
	d := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // its serial number is all that is wanted
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	c, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return 0
	}
	defer c.Close()
	return c.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.Int64()
}

func TestServerSpeaksTLSAndTakesANewCertificateAtHangup(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := writeCertificate(t, dir, 1)
	listen := proctest.FreeAddress(t)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan int, 1)
	go func() {
		done <- run(ctx, []string{"serve", "--listen", listen, "--db", filepath.Join(dir, "o.db"), "--auth", "required", "--tls-cert", cert, "--tls-key", key}, os.Stdin, io.Discard, io.Discard)
	}()
	becomes := func(want int64) {
		t.Helper()
		for until := time.Now().Add(30 * time.Second); servedSerial(listen) != want; <-time.After(20 * time.Millisecond) {
			if time.Now().After(until) {
				t.Fatalf("certificate %d is never served", want)
			}
		}
	}
	becomes(1)
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // self-signed
	for path, want := range map[string]int{"/healthz": 200, "/v1/operations": 401} {
		res, err := client.Get("https://" + listen + path) //nolint:noctx // bounded by its timeout
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("%s: %s, want %d", path, res.Status, want)
		}
	}
	writeCertificate(t, dir, 2)
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	becomes(2)
	if err := os.WriteFile(cert, []byte("broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	becomes(2)
	client.CloseIdleConnections()
	stop()
	if code := <-done; code != exitDone {
		t.Errorf("the server ends with %d", code)
	}
}
