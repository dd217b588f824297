package httpcall

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/onceward/onceward"
)

// How a read that passes through keeps connections.
const (
	passingIdle      = 90 * time.Second
	passingIdleCount = 32
)

// Passing returns a transport for reads that are passed through as they come:
// GET, HEAD and OPTIONS, nothing followed, nothing decoded, bodies as streams.
// It talks to the hosts of the list only, under the rules of every other
// request; head bounds the time until an answer begins. Anything that writes is
// refused: a transport may send again what it takes for harmless.
func (c *Client) Passing(hosts []string, head time.Duration) http.RoundTripper {
	return &passing{client: c, hosts: hosts, transport: c.passingTransport(head, func(string) []string { return hosts })}
}

// passingTransport talks to the hosts that are listed for an address.
func (c *Client) passingTransport(head time.Duration, listed func(address string) []string) *http.Transport {
	t := &http.Transport{
		DisableCompression: true, MaxIdleConnsPerHost: passingIdleCount, IdleConnTimeout: passingIdle,
		ResponseHeaderTimeout: head, TLSHandshakeTimeout: DefaultDeadline, MaxResponseHeaderBytes: headBytesMax,
		TLSClientConfig: c.tls.Clone(),
		TLSNextProto:    map[string]func(string, *tls.Conn) http.RoundTripper{}, // HTTP/1.1, as everywhere
	}
	if p := c.options.Proxy; p != nil {
		t.Proxy = http.ProxyURL(p)
	} else {
		t.DialContext = func(ctx context.Context, _, address string) (net.Conn, error) {
			return c.dialListed(ctx, address, listed(address))
		}
	}
	return t
}

// dialListed dials an origin that plan let pass.
func (c *Client) dialListed(ctx context.Context, address string, hosts []string) (net.Conn, error) {
	t := &target{}
	if !t.setOrigin(&url.URL{Scheme: "http", Host: address}) {
		return nil, newFault(onceward.ClassValidation, codeURL)
	}
	if f := t.allow(hosts); f != nil {
		return nil, f
	}
	return c.dial(ctx, t)
}

// passing checks each request before the transport sees it.
type passing struct {
	client    *Client
	hosts     []string
	transport *http.Transport
}

// RoundTrip implements http.RoundTripper.
func (p *passing) RoundTrip(req *http.Request) (*http.Response, error) {
	switch req.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
	default:
		return nil, newFault(onceward.ClassValidation, codeMethod)
	}
	if err := p.client.checkURL(req.URL, p.hosts); err != nil {
		return nil, err
	}
	return p.transport.RoundTrip(req)
}

// checkURL checks where a request goes that a transport puts on the wire.
func (c *Client) checkURL(u *url.URL, hosts []string) error {
	t := &target{}
	if f := t.setURL(u.String()); f != nil {
		return f
	}
	if f := t.allow(hosts); f != nil {
		return f
	}
	return c.checkLiteral(t)
}

// CloseIdleConnections closes what is kept.
func (p *passing) CloseIdleConnections() { p.transport.CloseIdleConnections() }
