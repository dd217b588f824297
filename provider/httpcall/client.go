package httpcall

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/url"
	"time"

	"github.com/onceward/onceward"
)

// Defaults and limits.
const (
	DefaultDeadline    = 30 * time.Second // of an exchange whose options name none
	DefaultIdlePerHost = 256              // idle connections kept for one origin
	headBytesMax       = 256 << 10        // of the head of an answer, all lines together
	maxInformational   = 8                // 1xx answers before the final one
	maxRedirects       = 5                // of a read
)

// Options configure a Client. The zero value is usable.
type Options struct {
	Version      string            // of this program, for User-Agent; empty: "dev"
	RootCAs      *x509.CertPool    // trusted authorities; nil: the system's
	Certificates []tls.Certificate // shown to servers that ask for a client certificate
	Proxy        *url.URL          // http or https proxy that opens CONNECT tunnels; nil: none, whatever the environment says
	Resolver     *net.Resolver     // nil: Go's default
	IdlePerHost  int               // idle connections kept for one origin; 0: DefaultIdlePerHost; negative: none

	// RefusePrivateNames refuses a name on a host list that resolves to a
	// private, loopback or shared (CGNAT) address. Such an address must then be
	// listed as an address, or as localhost. Off, a listed name may be private;
	// link-local and metadata addresses stay refused in both cases.
	RefusePrivateNames bool
}

// Client puts requests on the wire over HTTP/1.1. It keeps connections between
// exchanges, is safe for concurrent use, and starts no goroutine that outlives
// a call.
type Client struct {
	options Options
	agent   string
	tls     *tls.Config
	pool    pool
}

var _ onceward.Provider = (*Client)(nil)

// New makes a Client. It reads nothing and connects to nothing.
func New(o Options) *Client {
	if o.Version == "" {
		o.Version = "dev"
	}
	if o.IdlePerHost == 0 {
		o.IdlePerHost = DefaultIdlePerHost
	}
	return &Client{
		options: o,
		agent:   "onceward/" + o.Version,
		tls: &tls.Config{
			MinVersion:   tls.VersionTLS12,
			RootCAs:      o.RootCAs,
			Certificates: o.Certificates,
			// HTTP/2 is not offered: a server that cannot take more answers
			// GOAWAY or REFUSED_STREAM there, which asks the client to send again.
			NextProtos:         []string{"http/1.1"},
			ClientSessionCache: tls.NewLRUClientSessionCache(0),
		},
		pool: pool{idle: make(map[origin][]*conn), perHost: max(o.IdlePerHost, 0)},
	}
}

// Close closes idle connections. A Send that runs ends by itself and keeps no
// connection; one that starts later sends nothing (client_closed).
func (c *Client) Close() { c.pool.close() }

// Send puts req on the wire once and returns what was seen. It blocks until the
// exchange ended, at the latest when opts.Deadline has passed.
//
// With opts.Write there is one request on the wire and no redirect. Without it
// the request is taken for a read: GET and HEAD follow up to five redirects
// within opts.Hosts, and a read that died on a kept connection before any
// answer is asked once more on a new one.
//
// The evidence's Reach is never ReachUnknown. Times are this process's wall
// clock. A cancelled ctx ends the exchange like its deadline does; if bytes had
// left, the evidence says so.
func (c *Client) Send(ctx context.Context, req *onceward.Request, opts onceward.SendOptions) onceward.Evidence {
	x := c.newExchange(req, &opts)
	if opts.Write {
		x.write(ctx)
	} else {
		x.read(ctx)
	}
	x.ev.EndedAt = time.Now()
	if opts.Tap != nil {
		opts.Tap.End(x.ev.Status != 0 && !x.ev.BodyCut && !x.ev.BodyTooBig)
	}
	if x.ev.LastByteAt.IsZero() && !x.ev.Reach.NothingSent() {
		x.ev.LastByteAt = x.ev.EndedAt
	}
	return x.ev
}
