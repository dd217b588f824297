package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/contract"
	"github.com/onceward/onceward/internal/auth"
	"github.com/onceward/onceward/internal/console"
	"github.com/onceward/onceward/internal/httpapi"
)

// consoleConfig is the member console of the configuration file.
type consoleConfig struct {
	Drill string `yaml:"drill"` // result of onceward drill --json, shown with each tool; read anew each time
}

// console is the web console in front of the API.
func (a *access) console(e *engine, who *auth.Authenticator, oidc bool, log *slog.Logger) (*console.Console, error) {
	opts := console.Options{Ledger: e.ledger, Authenticate: who.Authenticate, Sessions: who, Status: httpapi.Status, Lint: lintForConsole, Log: log,
		Secure: a.certificate != nil || a.cfg.Proxied}
	if oidc {
		opts.SignInAt = "/auth/login"
	}
	if path := a.cfg.Console.Drill; path != "" {
		opts.Drill = func() (*console.Drill, error) { return drillForConsole(path) }
	}
	return console.New(opts)
}

// lintForConsole is what the linter says of a contract in force.
func lintForConsole(t onceward.Tool) []console.Finding {
	c, ok := t.(*contract.Tool)
	if !ok {
		return nil
	}
	var out []console.Finding
	for _, f := range contract.Lint(c) {
		out = append(out, console.Finding{Severity: string(f.Severity), Rule: f.Rule, Message: f.Message, Fix: f.Fix, Line: f.Line})
	}
	return out
}

func drillForConsole(path string) (*console.Drill, error) {
	text, err := readDrill(path)
	if err != nil {
		return nil, &onceward.Error{Code: onceward.CodeConfigInvalid, Op: "read drill results", Message: "console.drill holds no result of onceward drill --json", Err: err}
	}
	var d console.Drill
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, &onceward.Error{Code: onceward.CodeConfigInvalid, Op: "read drill results", Message: "console.drill holds no result of onceward drill --json", Err: err}
	}
	return &d, nil
}

// refuseIn refuses browsers with a page, and programs with a problem.
func refuseIn(con *console.Console) func(http.ResponseWriter, *http.Request, error) {
	return func(w http.ResponseWriter, req *http.Request, err error) {
		if strings.Contains(req.Header.Get("Accept"), "text/html") {
			con.Refuse(w, req, err)
			return
		}
		httpapi.WriteProblem(w, req, err)
	}
}

// follow keeps the console's open pages up to date until stop, or the context's end.
func (g *guarded) follow(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { g.console.Run(ctx); close(done) }()
	return func() { cancel(); <-done }
}
