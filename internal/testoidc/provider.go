package testoidc

import (
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
)

// The provider's one person.
const (
	User     = "test-user@localhost"
	Password = "verysecure"
	Email    = "test-user@zitadel.ch" // its claim email
	Locale   = "de"                   // its claim locale
)

// Secret is what each client of a provider proves itself with.
const Secret = "not a real secret"

// Provider is an OpenID provider with one client: authorization code, PKCE, a
// page that asks for name and password, and userinfo.
type Provider struct {
	Issuer   string // ends with a slash
	ClientID string
}

// registering is held while a provider is made: its clients are shared by all.
var registering sync.Mutex

// NewProvider serves a provider until the test ends. It sends browsers back to
// callback and to nowhere else.
func NewProvider(t testing.TB, callback string) *Provider {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	p := &Provider{Issuer: "http://localhost:" + port + "/", ClientID: "onceward-console" + port}
	registering.Lock()
	storage.RegisterClients(storage.WebClient(p.ClientID, Secret, callback))
	handler := exampleop.SetupServer(p.Issuer, storage.NewStorage(storage.NewUserStore(p.Issuer)), slog.New(slog.DiscardHandler), false)
	registering.Unlock()
	srv := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = srv.Serve(l) }() // it ends with the test
	t.Cleanup(func() { _ = srv.Close() })
	return p
}
