package simprovider

import (
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// DefaultKeyRetention is how long an idempotency key is honoured when
// Options.KeyRetention is zero.
const DefaultKeyRetention = 24 * time.Hour

// Options says what a Server is like. The zero value is an empty provider in
// memory that asks for no token.
type Options struct {
	// Clock is where time comes from; nil is the system's clock.
	Clock Clock
	// KeyRetention is how long after its first request an idempotency key is
	// honoured; afterwards the same key is a new payment. Zero is 24 hours.
	KeyRetention time.Duration
	// File names a JSON-lines file that survives a crash of the process:
	// every effect is appended and synced before it is answered, and all of
	// them are read again at the start. Empty keeps everything in memory.
	// Only one server may use a file at a time. See Open.
	File string
	// Token, when set, must come as "Authorization: Bearer TOKEN" on every
	// call of a business system. POST /credentials changes it.
	Token string
	// Log gets one line per request; nil logs nothing. Neither tokens nor
	// bodies are written to it.
	Log io.Writer
}

// Server is the provider. It is safe for concurrent use.
type Server struct {
	clock     Clock
	retention time.Duration
	log       requestLog
	mux       *http.ServeMux

	closing  chan struct{}  // closed once by Close
	inside   sync.WaitGroup // handlers and late commits under way
	closedMu sync.Mutex     // orders Close against new arrivals
	closed   bool

	mu      sync.Mutex // guards everything below
	books   *books
	keys    map[string]*keyEntry
	scripts scripts
	token   string
	journal *journal // nil when nothing is kept on disk
	late    map[*lateCommit]struct{}
}

// New returns an empty provider in memory. It panics when opts.File is set,
// because reading a file can fail: that is Open's business.
func New(opts Options) *Server {
	if opts.File != "" {
		panic("simprovider: New cannot read Options.File; use Open")
	}
	return build(opts)
}

// Open returns a provider that goes on where the one that wrote opts.File
// stopped. Without a File it is New. A torn last line, which no client was
// ever answered for, is cut off; any other broken line is an error.
func Open(opts Options) (*Server, error) {
	s := build(opts)
	if opts.File == "" {
		return s, nil
	}
	j, err := openJournal(opts.File, s.replay)
	if err != nil {
		return nil, fmt.Errorf("open provider file: %w", err)
	}
	s.journal = j
	return s, nil
}

func build(opts Options) *Server {
	s := &Server{
		clock:     opts.Clock,
		retention: opts.KeyRetention,
		log:       requestLog{w: opts.Log},
		closing:   make(chan struct{}),
		books:     newBooks(),
		keys:      map[string]*keyEntry{},
		token:     opts.Token,
		late:      map[*lateCommit]struct{}{},
	}
	if s.clock == nil {
		s.clock = systemClock{}
	}
	if s.retention == 0 {
		s.retention = DefaultKeyRetention
	}
	s.mux = s.routes()
	return s
}

// Handler serves the provider.
func (s *Server) Handler() http.Handler { return http.HandlerFunc(s.serve) }

// serve counts a handler in, so that Close can wait for it.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		panic(http.ErrAbortHandler) // closed: break the connection, as a dead provider does
	}
	defer s.inside.Done()
	s.mux.ServeHTTP(w, r)
}

// enter reports whether the server still takes work; if so, the caller owes
// one s.inside.Done.
func (s *Server) enter() bool {
	s.closedMu.Lock()
	defer s.closedMu.Unlock()
	if s.closed {
		return false
	}
	s.inside.Add(1)
	return true
}

// Close ends the provider: hanging and slow requests lose their connection,
// late commits that are still to come never happen, and the file is closed.
// It returns when nothing of the server runs any more. A second call is
// harmless. It does not close the listener, which the caller owns.
func (s *Server) Close() error {
	s.closedMu.Lock()
	already := s.closed
	s.closed = true
	s.closedMu.Unlock()
	if !already {
		close(s.closing)
		s.stopLateCommits()
	}
	s.inside.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.journal == nil {
		return nil
	}
	err := s.journal.close()
	s.journal = nil
	return err
}

// wait lets d pass; false means that the server was closed meanwhile.
func (s *Server) wait(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	passed := make(chan struct{})
	stop := s.clock.AfterFunc(d, func() { close(passed) })
	select {
	case <-passed:
		return true
	case <-s.closing:
		stop()
		return false
	}
}

func (s *Server) routes() *http.ServeMux {
	mux := http.NewServeMux()
	for pattern, understand := range map[string]understand{
		"POST /tickets":              s.createTicket,
		"POST /tickets/{id}/close":   s.closeTicket,
		"GET /tickets":               s.findTickets,
		"GET /tickets/{id}":          s.getTicket,
		"POST /payments":             s.createPayment,
		"POST /payments/{id}/refund": s.refundPayment,
		"GET /payments":              s.findPayments,
		"GET /payments/{id}":         s.getPayment,
		"POST /mail":                 s.sendMail,
		"GET /mail":                  s.findMail,
		"PUT /contacts/by-external-id/{external_id}": s.upsertContact,
		"GET /contacts/by-external-id/{external_id}": s.getContact,
		"POST /fax": s.sendFax,
	} {
		mux.HandleFunc(pattern, s.system(understand))
	}
	mux.HandleFunc("GET /{$}", s.index)
	mux.HandleFunc("GET /effects", s.effects)
	mux.HandleFunc("GET /effects/summary", s.effectsSummary)
	mux.HandleFunc("GET /faults", s.listFaults)
	mux.HandleFunc("POST /faults", s.addFaults)
	mux.HandleFunc("DELETE /faults", s.clearFaults)
	mux.HandleFunc("POST /credentials", s.changeCredentials)
	return mux
}
