package main

import (
	"crypto/tls"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/pflag"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/auth"
	"github.com/onceward/onceward/internal/console"
	"github.com/onceward/onceward/internal/httpapi"
	"github.com/onceward/onceward/internal/proxy"
	"github.com/onceward/onceward/internal/webserver"
)

// What --auth may say.
const (
	authAuto     = "auto"     // credentials are demanded once a token was made
	authRequired = "required" // always
)

func accessFlags(f *pflag.FlagSet) {
	f.String("auth", authAuto, "auto: demand credentials once a token was ever made; required: always (ONCEWARD_AUTH)")
	f.String("tls-cert", "", "certificate with its chain, PEM; read anew at SIGHUP (ONCEWARD_TLS_CERT)")
	f.String("tls-key", "", "its key (ONCEWARD_TLS_KEY)")
	f.Bool("behind-tls-proxy", false, "something in front ends TLS: demand credentials, and mark cookies as secure (ONCEWARD_BEHIND_TLS_PROXY)")
	f.StringSlice("hosts", nil, "names by which the server is reached, host or host:port (ONCEWARD_HOSTS, comma-separated)")
}

// oidcConfig is the member oidc of the configuration file.
type oidcConfig struct {
	Issuer           string       `yaml:"issuer"`
	ClientID         string       `yaml:"client_id"`
	ClientSecretEnv  string       `yaml:"client_secret_env"`
	ClientSecretFile string       `yaml:"client_secret_file"`
	RedirectURL      string       `yaml:"redirect_url"`
	Scopes           []string     `yaml:"scopes"`
	Claims           claimsConfig `yaml:",inline"`
}

// claimsConfig says what the claims of an issuer's tokens mean here.
type claimsConfig struct {
	Tenant      string                     `yaml:"tenant"`
	TenantClaim string                     `yaml:"tenant_claim"`
	Tenants     map[string]onceward.Tenant `yaml:"tenants"`
	RolesClaim  string                     `yaml:"roles_claim"`
	Roles       map[string][]onceward.Role `yaml:"roles"`
	GroupsClaim string                     `yaml:"groups_claim"`
	Groups      map[string]string          `yaml:"groups"`
}

func (c *claimsConfig) claims() auth.Claims {
	return auth.Claims{Tenant: onceward.Tenant(c.Tenant), TenantClaim: c.TenantClaim, Tenants: c.Tenants, RolesClaim: c.RolesClaim, Roles: c.Roles,
		GroupsClaim: c.GroupsClaim, Groups: c.Groups}
}

// access is who reaches a server, and over what.
type access struct {
	cfg         *config
	required    bool // credentials are always demanded
	open        bool // it may listen beyond loopback
	certificate *webserver.Certificate
}

// access checks what the configuration says of it.
func (cfg *config) access() (*access, error) {
	invalid := func(format string, args ...any) error {
		return &onceward.Error{Code: onceward.CodeConfigInvalid, Op: "read configuration", Message: fmt.Sprintf(format, args...)}
	}
	a := &access{cfg: cfg}
	switch {
	case cfg.Auth != authAuto && cfg.Auth != authRequired:
		return nil, invalid("auth is %q, and neither auto nor required", cfg.Auth)
	case (cfg.TLSCert == "") != (cfg.TLSKey == ""):
		return nil, invalid("tls-cert and tls-key go together")
	case cfg.TLSCert != "" && cfg.Proxied:
		return nil, invalid("either tls-cert or behind-tls-proxy says who ends TLS")
	}
	a.required = cfg.Auth == authRequired || cfg.OIDC != nil || cfg.MCP.OAuth != nil || cfg.Proxied
	a.open = a.required && (cfg.TLSCert != "" || cfg.Proxied)
	var err error
	if cfg.TLSCert != "" {
		a.certificate, err = webserver.OpenCertificate(cfg.TLSCert, cfg.TLSKey)
	}
	return a, err
}

func (a *access) tls() *tls.Config {
	if a.certificate == nil {
		return nil
	}
	return a.certificate.Config()
}

func (a *access) scheme() string {
	if a.certificate == nil {
		return "http://"
	}
	return "https://"
}

func (a *access) reload() error {
	if a.certificate == nil {
		return nil
	}
	return a.certificate.Reload()
}

// guarded is the API and the proxy behind authentication, and what serves them.
func (a *access) guarded(e *engine, log *slog.Logger) (*guarded, error) {
	who, err := auth.New(auth.Options{Ledger: e.ledger, Required: a.required, Secure: a.certificate != nil || a.cfg.Proxied})
	if err != nil {
		return nil, err
	}
	var signIn *auth.SignIn
	if a.cfg.OIDC != nil {
		if signIn, err = a.cfg.OIDC.signIn(who, log); err != nil {
			return nil, err
		}
	}
	api, err := httpapi.New(httpapi.Options{Ledger: e.ledger, Log: log, Metrics: e.metrics.Handler(), Authenticate: who.Authenticate})
	if err != nil {
		return nil, err
	}
	tools, err := a.cfg.gateway(e.ledger, e.mcp, e.client.Relay(), log, who.Authenticate)
	if err != nil {
		return nil, err
	}
	e.announce(tools.Lists())
	px, err := e.proxy(who, log)
	if err != nil {
		return nil, err
	}
	con, err := a.console(e, who, signIn != nil, log)
	if err != nil {
		return nil, err
	}
	behind := who.Handler(withMCP(api, tools), signIn, refuseIn(con))
	return &guarded{api: api, proxy: px, console: con, handler: px.Handler(con.Handler(behind))}, nil
}

// guarded is what a server serves.
type guarded struct {
	api     *httpapi.API
	proxy   *proxy.Proxy
	console *console.Console
	handler http.Handler
}

func (o *oidcConfig) signIn(who *auth.Authenticator, log *slog.Logger) (*auth.SignIn, error) {
	secret := ""
	switch {
	case o.ClientSecretEnv != "" && o.ClientSecretFile != "":
		return nil, onceward.Errorf(onceward.CodeConfigInvalid, "oidc: either client_secret_env or client_secret_file says where the secret is")
	case o.ClientSecretEnv != "":
		if secret = os.Getenv(o.ClientSecretEnv); secret == "" {
			return nil, onceward.Errorf(onceward.CodeConfigInvalid, "oidc: the variable %s is empty", o.ClientSecretEnv)
		}
	case o.ClientSecretFile != "":
		var err error
		if secret, err = readSecret(o.ClientSecretFile); err != nil {
			return nil, err
		}
	}
	return auth.NewSignIn(who, auth.OIDC{Issuer: o.Issuer, ClientID: o.ClientID, ClientSecret: secret, RedirectURL: o.RedirectURL, Scopes: o.Scopes, Log: log, Claims: o.Claims.claims()})
}

// bearer is the token that a command asks with; empty: none.
func (cfg *config) bearer() (string, error) {
	if cfg.Token != "" || cfg.TokenFile == "" {
		return cfg.Token, nil
	}
	return readSecret(cfg.TokenFile)
}

// secretBytesMax is the longest secret in a file.
const secretBytesMax = 4096

// othersRead says that somebody else than its owner can read or change a file;
// empty: nobody can.
func othersRead(name string, info fs.FileInfo) string {
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return fmt.Sprintf("others can read %s: its mode is %04o", name, info.Mode().Perm())
	}
	return ""
}

// secretText is how a file with a secret is read.
var secretText = keyText{op: "read secret", risk: "has what it holds"}

// readSecret reads a file that only its owner can read.
func readSecret(name string) (string, error) {
	text, err := secretText.readFile(name, secretBytesMax)
	if err != nil {
		return "", err
	}
	secret := strings.TrimSpace(text)
	if secret == "" {
		return "", secretText.refuse("the file "+name+" is empty", nil)
	}
	return secret, nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
