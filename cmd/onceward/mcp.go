package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/auth"
	"github.com/onceward/onceward/internal/httpapi"
	"github.com/onceward/onceward/internal/mcpgateway"
)

// mcpConfig is the member mcp of the configuration file.
type mcpConfig struct {
	AnswerWithin time.Duration `yaml:"answer_within"`
	Trusted      []string      `yaml:"trusted"` // principals, issuer:subject
	OAuth        *oauthConfig  `yaml:"oauth"`
}

// oauthConfig is the authorization server whose access tokens are taken.
type oauthConfig struct {
	Issuer   string                     `yaml:"issuer"`
	Resource string                     `yaml:"resource"`
	Scopes   map[string][]onceward.Role `yaml:"scopes"`
	Claims   claimsConfig               `yaml:",inline"`
}

func (o *oauthConfig) accessTokens(log *slog.Logger) (*auth.AccessTokens, error) {
	return auth.NewAccessTokens(auth.Access{Issuer: o.Issuer, Resource: o.Resource, Scopes: o.Scopes, Log: log, Claims: o.Claims.claims()})
}

// newMCP serves tools to the one client that starts the program.
func newMCP() *cobra.Command {
	c := &cobra.Command{
		Use: "mcp", Short: "Serve the contracts as MCP tools on standard input and output", Args: cobra.NoArgs,
		Long: "For clients that start their servers themselves: whoever starts it is the local principal. It opens the\n" +
			"ledger itself, so that restarts, and other servers on the same PostgreSQL, know what was done. onceward\n" +
			"serve has the same tools at /mcp.",
		Example: "  onceward mcp --contracts ./contracts",
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := loadConfig(c)
			if err != nil {
				return err
			}
			return serveMCP(c.Context(), c, cfg)
		},
	}
	c.AddCommand(newMCPDefinitions())
	dbFlag(c)
	keysFlags(c)
	contractsFlag(c)
	c.Flags().Duration("drain", defaultDrain, "how long running attempts may take to end (ONCEWARD_DRAIN)")
	c.Flags().String("log-level", "warn", "debug, info, warn or error; the log goes to standard error (ONCEWARD_LOG_LEVEL)")
	return c
}

func serveMCP(ctx context.Context, c *cobra.Command, cfg config) error {
	if !c.Flags().Changed("log-level") {
		cfg.LogLevel = "warn"
	}
	log, err := newLog(c, cfg.LogLevel)
	if err != nil {
		return err
	}
	e, err := startEngine(ctx, cfg, false, log)
	if err != nil {
		return err
	}
	g, err := cfg.gateway(e.ledger, e.mcp, e.client.Relay(), log, nil)
	if err != nil {
		return errors.Join(err, e.close(cfg.Drain))
	}
	e.announce(g.Lists())
	err = g.ServeStream(ctx, io.NopCloser(c.InOrStdin()), nopCloser{c.OutOrStdout()}, onceward.LocalPrincipal())
	if errors.Is(err, context.Canceled) || errors.Is(err, io.EOF) {
		err = nil // the client is done, or we were told to go
	}
	return errors.Join(err, e.close(cfg.Drain))
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// gateway is what serves tools, as the configuration says.
func (cfg *config) gateway(l *onceward.Ledger, servers *mcpServers, onward mcpgateway.Onward, log *slog.Logger, who func(*http.Request) (onceward.Principal, error)) (*mcpgateway.Gateway, error) {
	opts := mcpgateway.Options{Ledger: l, Upstreams: servers, Onward: onward, Log: log, Authenticate: who, Refuse: httpapi.WriteProblem, Version: versionText(), AnswerWithin: cfg.MCP.AnswerWithin,
		Trusts: func(p onceward.Principal) bool { return slices.Contains(cfg.MCP.Trusted, p.String()) }}
	if o := cfg.MCP.OAuth; o != nil && who != nil {
		tokens, err := o.accessTokens(log)
		if err != nil {
			return nil, err
		}
		opts.Authenticate = tokens.Authenticate(who)
		opts.OAuth = &mcpgateway.OAuth{Issuer: tokens.Issuer(), Resource: tokens.Resource(), Scopes: tokens.Scopes(), CallerScopes: tokens.ScopesFor(onceward.RoleCaller)}
	}
	return mcpgateway.New(opts)
}

// withMCP serves the gateway's paths in front of another handler.
func withMCP(next http.Handler, g *mcpgateway.Gateway) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch path := req.URL.Path; {
		case path == mcpgateway.Path || strings.HasPrefix(path, mcpgateway.Path+"/"):
			g.ServeHTTP(w, req)
		case path == mcpgateway.MetadataPath || strings.HasPrefix(path, mcpgateway.MetadataPath+mcpgateway.Path):
			g.Metadata(w, req)
		default:
			next.ServeHTTP(w, req)
		}
	})
}
