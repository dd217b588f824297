package main

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/contract"
	"github.com/onceward/onceward/examples"
	"github.com/onceward/onceward/internal/drill"
	"github.com/onceward/onceward/internal/simprovider"
	"github.com/onceward/onceward/internal/webserver"
	"github.com/onceward/onceward/store/postgres"
)

// drilledServer is a server process of a drill.
type drilledServer struct {
	*child
	url string
}

// URL implements drill.Process.
func (s drilledServer) URL() string { return s.url }

// Signal implements drill.Process.
func (s drilledServer) Signal(sig os.Signal) error { return s.cmd.Process.Signal(sig) }

// Done implements drill.Process.
func (s drilledServer) Done() <-chan struct{} { return s.done }

// End implements drill.Process.
func (s drilledServer) End() string { return s.wait() }

// Log implements drill.Process.
func (s drilledServer) Log() string { return s.tail() }

// launchServer starts this program as a server, under nobody's configuration: a
// drill must not depend on what is set for production.
func launchServer(ctx context.Context, l drill.Launch) (drill.Process, error) {
	cl := &client{http: httpClient(time.Second)}
	config := filepath.Join(filepath.Dir(l.Contracts), "server.yaml")
	if err := os.WriteFile(config, []byte("log_level: info\n"), 0o600); err != nil {
		return nil, err
	}
	c, err := startServer(ctx, cl, serverArgs{db: l.DB, contracts: l.Contracts, listen: anyAddress, crash: l.Crash, config: config, withParent: true})
	if err == nil {
		return drilledServer{child: c, url: cl.base}, nil
	}
	if c != nil {
		_ = c.cmd.Process.Kill()
		c.wait()
	}
	return nil, err
}

// drillLedger says where the ledgers of the scenarios are. A drill never uses
// the configured ledger: it writes what has to be thrown away.
func drillLedger(opts *drill.Options, db string) error {
	scheme, _, _ := strings.Cut(db, ":")
	switch {
	case db == "":
		opts.LedgerIs = "SQLite (two replicas: two processes on one file)"
		opts.Ledger = func(_ context.Context, dir string) (string, func() error, error) {
			return "sqlite:" + filepath.Join(dir, "ledger.db"), nil, nil
		}
	case scheme == "postgres" || scheme == "postgresql":
		opts.LedgerIs = "PostgreSQL (a schema for each scenario)"
		opts.Ledger = func(ctx context.Context, dir string) (string, func() error, error) {
			return postgres.Scratch(ctx, db, "onceward_drill_"+opts.RunID+"_"+filepath.Base(dir))
		}
	default:
		return usageError("--db is for PostgreSQL here (postgres://…); without it each scenario has a SQLite ledger of its own in a temporary folder")
	}
	return nil
}

// demoInputs are examples for the contracts of examples/sim that create something.
var demoInputs = map[string]string{
	"contacts.upsert": `{"external_id":"C-17","change_id":"ch-1","name":"Ada","email":"ada@example.com"}`,
	"fax.send":        `{"case_id":"F-17","to":"+4930123456","document":"Notice of termination"}`,
	"mail.send":       `{"case_id":"M-17","template":"received","to":"ada@example.com","subject":"We got it","body":"Thank you."}`,
	"payments.create": `{"order_id":"O-17","amount":4200,"currency":"EUR"}`,
	"tickets.create":  `{"source":"crm","event_id":"E-17","subject":"Printer on fire","body":"Smoke on floor 3","priority":"normal"}`,
}

// demoOrder is the order of the demonstration's report.
var demoOrder = []string{"tickets.create", "payments.create", "mail.send", "contacts.upsert", "fax.send"}

// demoURL stands for the provider that each scenario starts for itself.
const demoURL = "http://provider.invalid"

// demoLateness is how late the bundled provider is told to be.
const demoLateness = 1200 * time.Millisecond

func demoSubjects(opts *drill.Options, args []string, f *drillFlags) error {
	env := opts.Contracts.Env
	opts.Contracts.Env = func(name string) (string, bool) {
		if name == "SIM_URL" {
			return demoURL, true
		}
		if env == nil {
			return os.LookupEnv(name)
		}
		return env(name)
	}
	for _, name := range demoOrder {
		if len(args) == 1 && args[0] != name {
			continue
		}
		file := path.Join("sim", name+".yaml")
		data, err := examples.Sim.ReadFile(file)
		if err != nil {
			return err
		}
		tools, err := contract.Load(data, path.Join("examples", file), opts.Contracts)
		if err != nil {
			return err
		}
		opts.Subjects = append(opts.Subjects, drill.Subject{
			Tool: tools[0], Input: []byte(demoInputs[name]), Open: openSim, Scale: f.scale, AnswerWithin: time.Second,
			Lateness: drill.Lateness{Worst: demoLateness, Known: true},
		})
	}
	if len(opts.Subjects) == 0 {
		return &onceward.Error{Code: onceward.CodeToolNotFound, Message: fmt.Sprintf("the demonstration has no contract %q", args[0]), Hint: "there are " + strings.Join(demoOrder, ", ")}
	}
	return nil
}

// openSim starts a bundled provider with empty books.
func openSim(ctx context.Context) (drill.Sandbox, error) {
	l, err := webserver.Listen(ctx, "127.0.0.1:0", false)
	if err != nil {
		return drill.Sandbox{}, err
	}
	sim := simprovider.New(simprovider.Options{})
	sctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	served := make(chan struct{})
	go func() { _ = serveSim(sctx, sim, l); close(served) }()
	return drill.Sandbox{
		Origin: "http://" + l.Addr().String(),
		Count:  func() int { return sim.Summary().Count },
		Close:  func() { stop(); <-served },
	}, nil
}
