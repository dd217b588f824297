package proxy

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/contract"
)

// Prefix is the path under which upstreams stand on the server's own address.
const Prefix = "/proxy/"

// Limits of a request.
const (
	// OperationBytesMax is the longest body of a request that becomes an
	// operation. It is stored as it came and as what it says.
	OperationBytesMax = 3 << 19
	// PassBytesMax is the longest body of a write that passes.
	PassBytesMax = contract.RequestBytesMax
)

// Options make a Proxy. All but Log are needed.
type Options struct {
	Ledger *onceward.Ledger
	// Held is where the contracts' tools find what their callers sent along.
	Held *Held
	// Authenticate says who asks. Of the request, only our own credentials are
	// shown to it, in an Authorization header.
	Authenticate func(*http.Request) (onceward.Principal, error)
	// Provider sends writes that pass without an operation.
	Provider onceward.Provider
	// Reads makes the transport of reads to hosts; head bounds the wait for the
	// start of an answer.
	Reads func(hosts []string, head time.Duration) http.RoundTripper
	// Refuse answers a request that was refused.
	Refuse func(http.ResponseWriter, *http.Request, error)
	// Unfinished answers a request whose operation has no provider's answer.
	Unfinished func(http.ResponseWriter, *http.Request, *onceward.Answer)
	// Log gets what callers cannot mend; nil discards.
	Log *slog.Logger
}

// Proxy is the http.Handler of /proxy/, and of the addresses and host names that
// upstreams have for themselves. It is safe for concurrent use.
type Proxy struct {
	opts Options
	log  *slog.Logger
	set  atomic.Pointer[table]
}

// table is the upstreams in force.
type table struct {
	byName, byHost map[string]*upstream
}

// upstream is one of them with its transport for reads.
type upstream struct {
	*contract.Upstream
	reads http.RoundTripper
}

// New makes a proxy without upstreams; Set brings them. CodeConfigInvalid: an
// option is missing.
func New(opts Options) (*Proxy, error) {
	if opts.Ledger == nil || opts.Held == nil || opts.Authenticate == nil || opts.Provider == nil || opts.Reads == nil || opts.Refuse == nil || opts.Unfinished == nil {
		return nil, onceward.Errorf(onceward.CodeConfigInvalid, "a proxy needs all of its options")
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	p := &Proxy{opts: opts, log: opts.Log}
	p.Set(nil)
	return p, nil
}

// Set puts other upstreams in force; requests under way keep theirs.
func (p *Proxy) Set(ups []*contract.Upstream) {
	t := &table{byName: map[string]*upstream{}, byHost: map[string]*upstream{}}
	for _, c := range ups {
		u := &upstream{Upstream: c, reads: p.opts.Reads(c.Hosts(), c.Deadline())}
		t.byName[c.Name()] = u
		if c.HostName() != "" {
			t.byHost[c.HostName()] = u
		}
	}
	before := p.set.Swap(t)
	if before == nil {
		return
	}
	for _, u := range before.byName {
		if idle, ok := u.reads.(interface{ CloseIdleConnections() }); ok {
			idle.CloseIdleConnections()
		}
	}
}

// Handler serves /proxy/ and the upstreams' host names in front of another handler.
func (p *Proxy) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		t := p.set.Load()
		if u, ok := t.byHost[hostOf(req)]; ok {
			p.serve(w, req, u, req.RequestURI)
			return
		}
		rest, ours := strings.CutPrefix(req.RequestURI, Prefix)
		if !ours {
			next.ServeHTTP(w, req)
			return
		}
		name, target := rest, "/"
		if i := strings.IndexAny(rest, "/?"); i >= 0 {
			name, target = rest[:i], rest[i:]
		}
		if strings.HasPrefix(target, "?") {
			target = "/" + target
		}
		if u, ok := t.byName[name]; ok {
			p.serve(w, req, u, target)
			return
		}
		p.opts.Refuse(w, req, notAnUpstream(name))
	})
}

// Upstream serves one upstream alone, for an address of its own.
func (p *Proxy) Upstream(name string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if u, ok := p.set.Load().byName[name]; ok {
			p.serve(w, req, u, req.RequestURI)
			return
		}
		p.opts.Refuse(w, req, notAnUpstream(name))
	})
}

func notAnUpstream(name string) error {
	return &onceward.Error{Code: onceward.CodeRouteNotFound, Message: "no upstream is called " + quoted(name), Hint: "load its document with --contracts"}
}

// quoted is a name from outside for messages, cut.
func quoted(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, s)
	return `"` + s[:min(len(s), 60)] + `"`
}

func hostOf(req *http.Request) string {
	host := strings.ToLower(req.Host)
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		host = host[:i]
	}
	return host
}

// exchange is one request on its way through the proxy.
type exchange struct {
	*Proxy
	w      http.ResponseWriter
	req    *http.Request
	up     *upstream
	target string // path and query below the upstream's URL, as they came
	who    onceward.Principal
}

// serve is the life of a request: who asks, what it is, and what becomes of it.
func (p *Proxy) serve(w http.ResponseWriter, req *http.Request, up *upstream, target string) {
	x := &exchange{Proxy: p, w: w, req: req, up: up, target: target}
	if err := x.run(); err != nil {
		if code := onceward.CodeOf(err); code == onceward.CodeInternal || code.ForOperators() {
			p.log.ErrorContext(req.Context(), "proxied request refused", "upstream", up.Name(), "error", err)
		}
		p.opts.Refuse(w, req, err)
	}
}

func (x *exchange) run() error {
	token, err := ownToken(x.req.Header)
	if err != nil {
		return err
	}
	if x.who, err = x.opts.Authenticate(asOurs(x.req, token)); err != nil {
		return unauthenticated(err)
	}
	if err := onceward.Authorize(x.who, onceward.ActionSubmit); err != nil {
		return err
	}
	if err := contract.CheckTarget(x.target); err != nil {
		return err
	}
	path, _, _ := strings.Cut(x.target, "?")
	if route, ok := x.up.Route(x.req.Method, path); ok {
		return x.operate(route)
	}
	read := x.req.Method == http.MethodGet || x.req.Method == http.MethodHead || x.req.Method == http.MethodOptions
	switch policy := x.up.Unlisted(); {
	case read && policy != contract.UnlistedRefuse:
		return x.passRead()
	case policy == contract.UnlistedPass:
		body, err := x.body(PassBytesMax)
		if err != nil {
			return err
		}
		return x.passWrite(body)
	}
	return &onceward.Error{Code: onceward.CodeRouteNotFound, Message: "no route of the upstream " + x.up.Name() + " names this method and path", Hint: "add a route, or say what unlisted requests may do"}
}

// answerGrace is how long an answer may take to be written once it is there.
const answerGrace = time.Minute

// until bounds the writing of the answer. A server's own bound is for answers of
// its own; a provider may take longer.
func (x *exchange) until(d time.Duration) {
	_ = http.NewResponseController(x.w).SetWriteDeadline(time.Now().Add(d)) // some writers have none
}

// detached is a context that the caller's hanging up does not end.
func (x *exchange) detached() context.Context { return context.WithoutCancel(x.req.Context()) }
