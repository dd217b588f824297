package webserver

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/onceward/onceward"
)

// Limits of a server. docs/reference/http.md lists them.
const (
	// DefaultHeaderTimeout is how long a request's header may take to arrive.
	DefaultHeaderTimeout = 10 * time.Second
	// DefaultRequestTimeout is how long a request may take to arrive, body included.
	DefaultRequestTimeout = 30 * time.Second
	// DefaultAnswerTimeout is how long a request may take from its header to the
	// last byte of its answer, waiting included. It is longer than onceward.MaxWait.
	DefaultAnswerTimeout = onceward.MaxWait + time.Minute
	// DefaultIdleTimeout is how long a connection may stay open between requests.
	DefaultIdleTimeout = 2 * time.Minute
	// DefaultHeaderBytesMax is the longest request header.
	DefaultHeaderBytesMax = 32 << 10
	// DefaultConnectionsMax is how many connections are served at once; more wait.
	DefaultConnectionsMax = 8192
)

// Options make a Server. Handler and Listener are needed; zero limits are the
// defaults above.
type Options struct {
	Handler  http.Handler
	Listener net.Listener // see Listen; the server closes it
	Log      *slog.Logger // what net/http has to say; nil discards

	// Refuse answers a request that no handler gets to see; nil: plain text.
	Refuse func(http.ResponseWriter, *http.Request, error)
	// Hosts are further names of this server, host or host:port, besides the
	// loopback address that it listens on. Beyond loopback, none means any.
	Hosts []string
	// Origins are further origins, scheme://host[:port], whose pages may ask.
	Origins []string
	// TLS is how connections are secured (see Certificate); nil: they are not.
	TLS *tls.Config

	HeaderTimeout, RequestTimeout, AnswerTimeout, IdleTimeout time.Duration
	HeaderBytesMax, ConnectionsMax                            int
}

// Server is an http.Server with its guards around a handler.
type Server struct {
	http     *http.Server
	listener net.Listener
}

// New makes a server; Serve starts it. CodeConfigInvalid: an option is missing.
func New(opts Options) (*Server, error) {
	if opts.Handler == nil || opts.Listener == nil {
		return nil, onceward.Errorf(onceward.CodeConfigInvalid, "a server needs a handler and a listener")
	}
	if opts.Refuse == nil {
		opts.Refuse = refusePlainly
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{listener: limitConnections(opts.Listener, orElse(opts.ConnectionsMax, DefaultConnectionsMax))}
	s.http = &http.Server{
		Handler:           newRequestIDs(newGuard(opts)),
		ReadHeaderTimeout: orElse(opts.HeaderTimeout, DefaultHeaderTimeout),
		// Why this does not end a handler that waits: net/http takes it off the
		// connection as soon as the request has been read (a test holds it to that).
		ReadTimeout:  orElse(opts.RequestTimeout, DefaultRequestTimeout),
		WriteTimeout: orElse(opts.AnswerTimeout, DefaultAnswerTimeout),
		TLSConfig:    opts.TLS,
		IdleTimeout:  orElse(opts.IdleTimeout, DefaultIdleTimeout),
		// Why twice the limit: what net/http refuses is answered in plain text; what
		// is read, and over the limit, the guard refuses as everything else is.
		MaxHeaderBytes:               2 * orElse(opts.HeaderBytesMax, DefaultHeaderBytesMax),
		DisableGeneralOptionsHandler: true,                                                   // OPTIONS * passes the guard too
		ErrorLog:                     slog.NewLogLogger(opts.Log.Handler(), slog.LevelDebug), // broken handshakes and the like: a caller's trouble
	}
	return s, nil
}

func orElse[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}

func newGuard(opts Options) *guard {
	g := &guard{noPort: "80", next: opts.Handler, refuse: opts.Refuse, headerBytesMax: orElse(opts.HeaderBytesMax, DefaultHeaderBytesMax), hosts: lower(opts.Hosts), origins: lower(opts.Origins)}
	if opts.TLS != nil {
		g.noPort = "443"
	}
	if a, ok := opts.Listener.Addr().(*net.TCPAddr); ok {
		_, g.port, _ = net.SplitHostPort(a.String())
		g.loopback = a.IP.IsLoopback()
	}
	return g
}

func lower(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = strings.ToLower(w)
	}
	return out
}

func refusePlainly(w http.ResponseWriter, _ *http.Request, err error) {
	http.Error(w, err.Error(), http.StatusForbidden)
}

// Addr is where the server listens.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Serve serves until Shutdown, and then returns nil.
func (s *Server) Serve() error {
	serve := s.http.Serve
	if s.http.TLSConfig != nil {
		serve = func(l net.Listener) error { return s.http.ServeTLS(l, "", "") }
	}
	if err := serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// OnShutdown has f run once, as soon as Shutdown begins, before it waits: whatever
// makes requests wait should let them go then.
func (s *Server) OnShutdown(f func()) { s.http.RegisterOnShutdown(sync.OnceFunc(f)) }

// Shutdown takes no new requests, lets those that are under way be answered,
// and cuts off what is left when ctx ends, which it reports as the context's error.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.http.Shutdown(ctx)
	if err != nil {
		return errors.Join(err, s.http.Close())
	}
	return nil
}
