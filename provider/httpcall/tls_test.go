package httpcall_test

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/testneed"
	"github.com/onceward/onceward/provider/httpcall"
	"github.com/onceward/onceward/provider/providertest"
)

func TestWritesOverTLSKeepTheirConnection(t *testing.T) {
	t.Parallel()
	cert, roots := authority(t)
	up := tlsUpstream(t, cert, nil)
	c := newClient(t, httpcall.Options{RootCAs: roots})
	checked := 0
	opts := write(up.Addr())
	opts.BeforeWrite = func() error {
		if checked++; up.Connections() == 0 {
			t.Error("the last check came before the handshake")
		}
		return nil
	}
	var reached []onceward.Reach
	opts.OnReach = func(r onceward.Reach) { reached = append(reached, r) }
	for range 2 {
		if ev := c.Send(t.Context(), post("https://"+up.Addr()+"/a"), opts); ev.Status != 200 || ev.Reach != onceward.ReachFirstByte {
			t.Fatalf("evidence = %s", show(ev))
		}
	}
	arrived(t, up, 2)
	if checked != 2 || len(reached) != 8 || reached[0] != onceward.ReachConnected {
		t.Errorf("checked %d times, reached %v", checked, reached)
	}
	if n := up.Connections(); n != 1 {
		t.Errorf("%d connections, want one that is kept", n)
	}
}

func TestLastCheckOverTLSRefusesAfterTheHandshakeAndBeforeTheRequest(t *testing.T) {
	t.Parallel()
	cert, roots := authority(t)
	up := tlsUpstream(t, cert, nil)
	opts := write(up.Addr())
	opts.BeforeWrite = func() error { return onceward.Errorf(onceward.CodeFenceLost, "newer attempt") }
	ev := newClient(t, httpcall.Options{RootCAs: roots}).Send(t.Context(), post("https://"+up.Addr()+"/a"), opts)
	if ev.Reach != onceward.ReachConnected || ev.ErrorCode != "fence_lost" || !ev.LastByteAt.IsZero() {
		t.Errorf("evidence = %s", show(ev))
	}
	arrived(t, up, 0)
}

func TestServerThatIsNotTrustedGetsNothing(t *testing.T) {
	t.Parallel()
	cert, roots := authority(t)
	_, others := authority(t)
	plain := providertest.NewUpstream(t)
	up := tlsUpstream(t, cert, nil)
	old := providertest.NewUpstreamOn(t, tls.NewListener(listen(t), &tls.Config{Certificates: []tls.Certificate{cert}, MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}))
	for name, c := range map[string]struct {
		options httpcall.Options
		addr    string
		code    string
	}{
		"unknown authority": {httpcall.Options{RootCAs: others}, up.Addr(), "tls_untrusted"},
		"no TLS":            {httpcall.Options{RootCAs: roots}, plain.Addr(), "tls_failed"},
		"old TLS":           {httpcall.Options{RootCAs: roots}, old.Addr(), "tls_failed"},
	} {
		ev := newClient(t, c.options).Send(t.Context(), post("https://"+c.addr+"/a"), write(c.addr))
		if !ev.Reach.NothingSent() || ev.ErrorClass != onceward.ClassConnection || ev.ErrorCode != c.code || !ev.LastByteAt.IsZero() {
			t.Errorf("%s: evidence = %s", name, show(ev))
		}
	}
	arrived(t, up, 0)
	arrived(t, old, 0)
}

func TestCertificateOfAnotherNameIsNotTrusted(t *testing.T) {
	t.Parallel()
	cert, roots := authority(t)
	l, err := net.Listen("tcp", "127.0.0.2:0") // the certificate names 127.0.0.1
	if err != nil {
		testneed.Missing(t, fmt.Sprintf("no second loopback address: %v", err))
	}
	up := providertest.NewUpstreamOn(t, tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{cert}}))
	ev := newClient(t, httpcall.Options{RootCAs: roots}).Send(t.Context(), post("https://"+up.Addr()+"/a"), write(up.Addr()))
	if !ev.Reach.NothingSent() || ev.ErrorCode != "tls_untrusted" {
		t.Errorf("evidence = %s", show(ev))
	}
	arrived(t, up, 0)
}

// h2Server speaks just enough HTTP/2 to refuse a stream in the two ways that
// tell a client to send again, and counts the requests that were sent to it.
type h2Server struct {
	listener net.Listener
	goAway   bool
	running  sync.WaitGroup

	mu       sync.Mutex
	conns    []net.Conn
	requests int
}

func startH2(tb testing.TB, cert tls.Certificate, goAway bool, protocols ...string) *h2Server {
	tb.Helper()
	s := &h2Server{goAway: goAway, listener: tls.NewListener(listen(tb), &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: protocols})}
	s.running.Go(func() {
		for {
			c, err := s.listener.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns = append(s.conns, c)
			s.mu.Unlock()
			s.running.Go(func() { s.serve(c) })
		}
	})
	tb.Cleanup(func() {
		_ = s.listener.Close()
		s.mu.Lock()
		for _, c := range s.conns {
			_ = c.Close()
		}
		s.mu.Unlock()
		s.running.Wait()
	})
	return s
}

func (s *h2Server) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

func (s *h2Server) serve(c net.Conn) {
	defer func() { _ = c.Close() }()
	preface := make([]byte, len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
	if _, err := io.ReadFull(c, preface); err != nil || !bytes.HasPrefix(preface, []byte("PRI ")) {
		return
	}
	h2Frame(c, 4, 0, 0, nil) // SETTINGS
	for {
		head := make([]byte, 9)
		if _, err := io.ReadFull(c, head); err != nil {
			return
		}
		body := make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
		if _, err := io.ReadFull(c, body); err != nil {
			return
		}
		stream := binary.BigEndian.Uint32(head[5:])
		switch head[3] {
		case 4:
			if head[4]&1 == 0 {
				h2Frame(c, 4, 1, 0, nil)
			}
		case 1: // HEADERS: one request
			s.mu.Lock()
			s.requests++
			again := s.requests > 1
			s.mu.Unlock()
			switch {
			case again: // 200, from the static table
				h2Frame(c, 1, 5, stream, []byte{0x88})
			case s.goAway:
				h2Frame(c, 7, 0, 0, make([]byte, 8)) // last stream 0: this one was not processed
			default:
				h2Frame(c, 3, 0, stream, []byte{0, 0, 0, 7}) // RST_STREAM REFUSED_STREAM
			}
		}
	}
}

func h2Frame(w io.Writer, kind, flags byte, stream uint32, body []byte) {
	head := []byte{byte(len(body) >> 16), byte(len(body) >> 8), byte(len(body)), kind, flags, 0, 0, 0, 0}
	binary.BigEndian.PutUint32(head[5:], stream)
	_, _ = w.Write(append(head, body...))
}

func TestRefusedStreamAndGoAwayCannotAskForASecondSend(t *testing.T) {
	t.Parallel()
	cert, roots := authority(t)
	for name, goAway := range map[string]bool{"GOAWAY": true, "REFUSED_STREAM": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			control := startH2(t, cert, goAway, "h2")
			plain := plainClient(t, &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: roots}})
			plainSend(t, plain, post("https://"+control.listener.Addr().String()+"/a"))
			if n := control.count(); n < 2 {
				t.Fatalf("the trap is none: the standard client sent %d requests", n)
			}

			up := startH2(t, cert, goAway, "h2")
			addr := up.listener.Addr().String()
			ev := newClient(t, httpcall.Options{RootCAs: roots}).Send(t.Context(), post("https://"+addr+"/a"), write(addr))
			if n := up.count(); n != 0 || ev.Status != 0 || ev.ErrorClass != onceward.ClassConnection {
				t.Errorf("%d requests arrived, evidence = %s", n, show(ev))
			}
		})
	}
}

func TestServerThatOffersBothProtocolsIsSpokenToInTheOldOne(t *testing.T) {
	t.Parallel()
	cert, roots := authority(t)
	offered := make(chan []string, 1)
	up := providertest.NewUpstreamOn(t, tls.NewListener(listen(t), &tls.Config{
		Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2", "http/1.1"},
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			offered <- hello.SupportedProtos
			return nil, nil
		},
	}), providertest.Close())
	ev := newClient(t, httpcall.Options{RootCAs: roots}).Send(t.Context(), post("https://"+up.Addr()+"/a"), write(up.Addr()))
	if ev.Status != 0 || ev.Reach != onceward.ReachBodyWritten || ev.ErrorCode != "closed" {
		t.Errorf("evidence = %s", show(ev))
	}
	if got := <-offered; !slices.Equal(got, []string{"http/1.1"}) {
		t.Errorf("offered %q, want http/1.1 alone", got)
	}
	arrived(t, up, 1)
}
