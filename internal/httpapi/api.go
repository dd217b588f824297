package httpapi

import (
	"log/slog"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/onceward/onceward"
)

// Options make an API. Ledger is needed.
type Options struct {
	Ledger *onceward.Ledger
	// Authenticate says who asks, by the request's credentials. Its errors carry
	// CodeUnauthenticated or CodeForbidden. Nil: everybody is the implicit local
	// principal, which is for loopback addresses only.
	Authenticate func(*http.Request) (onceward.Principal, error)
	// Log gets defects and what the ledger cannot do; nil discards. There is no
	// line per request.
	Log *slog.Logger
	// BodyBytesMax is the longest request body; 0: DefaultBodyBytesMax.
	BodyBytesMax int64
	// Metrics answers GET /metrics; nil: nothing is measured.
	Metrics http.Handler
	// Now is the clock that bounds how long a readiness answer is used again;
	// nil: time.Now.
	Now func() time.Time
}

// API is the http.Handler of the route table. It is safe for concurrent
// use and answers whatever else with a problem.
type API struct {
	opts     Options
	ledger   *onceward.Ledger
	log      *slog.Logger
	mux      *http.ServeMux
	openapi  []byte
	ready    readiness
	draining atomic.Bool
	warned   atomic.Int64 // Unix second of the last line about the ledger
}

// New makes the API. CodeConfigInvalid: an option is missing or out of range.
func New(opts Options) (*API, error) {
	if opts.Ledger == nil {
		return nil, onceward.Errorf(onceward.CodeConfigInvalid, "an API needs a ledger")
	}
	if opts.BodyBytesMax == 0 {
		opts.BodyBytesMax = DefaultBodyBytesMax
	}
	if opts.BodyBytesMax < 1 || opts.BodyBytesMax > onceward.JSONBytesMax {
		return nil, onceward.Errorf(onceward.CodeConfigInvalid, "the body limit %d is not between 1 and %d bytes", opts.BodyBytesMax, onceward.JSONBytesMax)
	}
	if opts.Authenticate == nil {
		opts.Authenticate = func(*http.Request) (onceward.Principal, error) { return onceward.LocalPrincipal(), nil }
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	a := &API{opts: opts, ledger: opts.Ledger, log: opts.Log, mux: http.NewServeMux(), openapi: OpenAPI()}
	a.register()
	return a, nil
}

// register fills the mux from the route table: each route, for each path a
// refusal of the methods it has not, and a refusal of every other path.
func (a *API) register() {
	allowed := map[string][]string{}
	for i := range routes {
		r := &routes[i]
		a.mux.HandleFunc(r.Method+" "+r.Path, func(w http.ResponseWriter, req *http.Request) { a.serve(w, req, r) })
		allowed[r.Path] = append(allowed[r.Path], r.Method)
		if r.Method == http.MethodGet {
			allowed[r.Path] = append(allowed[r.Path], http.MethodHead)
		}
	}
	for path, methods := range allowed {
		slices.Sort(methods)
		allow := strings.Join(methods, ", ")
		a.mux.HandleFunc(path, func(w http.ResponseWriter, req *http.Request) {
			w.Header().Set("Allow", allow)
			WriteProblem(w, req, onceward.Errorf(onceward.CodeMethodNotAllowed, "this path takes %s only", allow))
		})
	}
	a.mux.HandleFunc("/", notFound)
}

func notFound(w http.ResponseWriter, req *http.Request) {
	WriteProblem(w, req, &onceward.Error{Code: onceward.CodeRouteNotFound, Message: "no such path", Hint: "GET /openapi.json lists the paths"})
}

// VersionHeader names this API and its version in every answer, so that a client
// knows with whom it speaks.
const VersionHeader = "Onceward-Api"

var version = []string{"v1"}

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	w.Header()[VersionHeader] = version
	// Why: the mux answers an unclean path with a redirect, and a write that is
	// sent again elsewhere is the last thing to invite.
	if p := req.URL.Path; p == "" || p[0] != '/' || p != path.Clean(p) {
		notFound(w, req)
		return
	}
	a.mux.ServeHTTP(w, req)
}

// Drain makes /readyz answer that the server goes away, so that a load balancer
// sends nothing new. It cannot be undone.
func (a *API) Drain() { a.draining.Store(true) }
