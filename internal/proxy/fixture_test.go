package proxy_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/committer"
	"github.com/onceward/onceward/contract"
	"github.com/onceward/onceward/internal/auth"
	"github.com/onceward/onceward/internal/faultproxy"
	"github.com/onceward/onceward/internal/httpapi"
	"github.com/onceward/onceward/internal/proxy"
	"github.com/onceward/onceward/provider/httpcall"
	"github.com/onceward/onceward/store/sqlite"
	"github.com/onceward/onceward/worker"
)

// shop is the upstream: it makes an order for each request, or the one that it
// made before under the same key, and keeps every request it saw.
type shop struct {
	*httptest.Server
	faults *faultproxy.Proxy
	answer func(w http.ResponseWriter, req *http.Request, body string) bool // true: it has answered

	mu     sync.Mutex
	seen   []*http.Request
	orders map[string]string // by key
}

func newShop(t testing.TB) *shop {
	t.Helper()
	s := &shop{orders: map[string]string{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	var err error
	if s.faults, err = faultproxy.Start(s.Listener.Addr().String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.faults.Close() })
	return s
}

func (s *shop) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	s.seen = append(s.seen, req)
	s.mu.Unlock()
	if s.answer != nil && s.answer(w, req, string(body)) {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Request-Id", "req_of_the_shop")
	w.Header().Set("Set-Cookie", "a=b")
	w.Header().Set("Onceward-Operation", "op_of_a_liar")
	if req.Method == http.MethodGet {
		fmt.Fprintf(w, `{"path":%q,"authorization":%q}`, req.RequestURI, req.Header.Get("Authorization"))
		return
	}
	s.mu.Lock()
	key := req.Header.Get("Idempotency-Key")
	id, known := s.orders[key]
	if !known || key == "" {
		id = fmt.Sprintf("or_%d", len(s.orders)+1)
		s.orders[key+strings.Repeat("?", len(s.orders)*b2i(key == ""))] = id
	}
	s.mu.Unlock()
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintf(w, `{"id":%q, "echo":%q}`, id, body)
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// effects is how many orders the shop made.
func (s *shop) effects() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.orders)
}

// requests are the requests that the shop saw.
func (s *shop) requests() []*http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*http.Request(nil), s.seen...)
}

// shopRoutes are the routes of most tests.
const shopRoutes = `
    - name: orders.create
      match: POST /v1/orders
      deadline: 2s
      effect: keyed_write
      key: [input.body.meta.order]
      volatile: [body.note]
      provider_key: {in: header, name: Idempotency-Key, window: 24h, window_kind: guaranteed}
      outcomes:
        - {when: response.status == 201, is: done, reference: '${response.json.id}'}
        - {when: response.status == 402, is: not_done, class: validation}
      retry: {backoff: {initial: 10ms, max: 100ms}}
    - name: parcels.create
      match: POST /v1/shops/{shop}/parcels
      effect: keyed_write
      provider_key: {in: header, name: Idempotency-Key, window: 24h, window_kind: guaranteed}
    - name: notes.create
      match: POST /v1/notes
      effect: unsafe_write
      keyless: pass
    - name: chat
      match: POST /v1/chat
      effect: compute
      deadline: 1m
      retry: {backoff: {initial: 10ms, max: 100ms}}
`

// world is a proxy on a ledger of its own, before a shop.
type world struct {
	*shop
	URL    string // of the proxy, /proxy/shop included
	ledger *onceward.Ledger
	held   *proxy.Held
	file   string // of the ledger
	stop   func()
}

type setting struct {
	spec, routes string
	wait         string
	file         string
}

func newWorld(t testing.TB, set setting) *world {
	t.Helper()
	return openWorld(t, newShop(t), set)
}

func openWorld(t testing.TB, s *shop, set setting) *world {
	t.Helper()
	if set.routes == "" {
		set.routes = shopRoutes
	}
	if set.wait == "" {
		set.wait = "10s"
	}
	if set.file == "" {
		set.file = filepath.Join(t.TempDir(), "ledger.db")
	}
	source := "apiVersion: onceward/v1\nkind: Upstream\nmetadata: {name: shop, owner: us}\nspec:\n  url: http://" + s.faults.Addr() + "\n  wait: " + set.wait + "\n" + set.spec + "\n  routes:" + set.routes
	w := &world{shop: s, file: set.file}
	w.open(t, source)
	return w
}

func (w *world) open(t testing.TB, source string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shop.yaml")
	if err := os.WriteFile(path, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	held := &proxy.Held{}
	w.held = held
	env := func(name string) (string, bool) { return "own-secret-of-the-contract", name == "SHOP_KEY" }
	opts := contract.Options{Held: held, ByteTail: contract.NoByteTail, Env: env}
	set, err := contract.LoadDir([]string{path}, opts)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	store, err := sqlite.Open(t.Context(), w.file, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	registry := onceward.NewRegistry(store, contract.Compiler(opts))
	var tools []onceward.Tool
	for _, tool := range set.Tools() {
		tools = append(tools, tool)
	}
	if err := registry.Activate(t.Context(), tools, false); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	group, client := committer.New(store, committer.Options{}), httpcall.New(httpcall.Options{})
	if w.ledger, err = onceward.New(onceward.Options{Store: store, Writer: group, Tools: registry, Provider: client, Log: log}); err != nil {
		t.Fatal(err)
	}
	if err := w.ledger.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	due := worker.NewDue(w.ledger, store, log)
	wait := worker.Start(ctx, onceward.SystemClock{}, log, due, worker.NewStranded(w.ledger))
	who, err := auth.New(auth.Options{Ledger: w.ledger})
	if err != nil {
		t.Fatal(err)
	}
	px, err := proxy.New(proxy.Options{Ledger: w.ledger, Held: held, Authenticate: who.Authenticate, Provider: client, Reads: client.Passing,
		Refuse: httpapi.WriteProblem, Unfinished: httpapi.WriteUnfinished})
	if err != nil {
		t.Fatal(err)
	}
	px.Set(set.Upstreams())
	srv := httptest.NewServer(px.Handler(http.NotFoundHandler()))
	w.URL = srv.URL + "/proxy/shop"
	w.stop = sync.OnceFunc(func() {
		srv.Close()
		stop()
		wait()
		due.Wait()
		_ = w.ledger.Close(context.Background())
		group.Close()
		client.Close()
		_ = store.Close()
	})
	t.Cleanup(w.stop)
}

// got is an answer, read.
type got struct {
	status int
	header http.Header
	body   string
}

// header is what a request carries, in pairs.
func (w *world) send(t *testing.T, method, path, body string, header ...string) got {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, w.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return got{res.StatusCode, res.Header, string(data)}
}

func (w *world) order(t *testing.T, order string, header ...string) got {
	t.Helper()
	return w.send(t, http.MethodPost, "/v1/orders", fmt.Sprintf(`{"meta":{"order":%q},"cents":4200}`, order), header...)
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); {
		if time.Now().After(deadline) {
			t.Fatalf("it did not come about that %s", what)
		}
		<-time.After(5 * time.Millisecond)
	}
}
