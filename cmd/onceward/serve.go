package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/notify"
	"github.com/onceward/onceward/internal/webserver"
)

func newServe() *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use: "serve", Short: "Run the server", Args: cobra.NoArgs,
		Long: "Serves the HTTP API, and the console at /. Beyond loopback it wants credentials demanded (--auth\n" +
			"required, or oidc in the configuration) and TLS. SIGHUP loads contracts and certificate anew: operations that live keep\n" +
			"theirs, and a broken file changes nothing. SIGTERM drains: running attempts end and are recorded.\n" +
			"Under systemd (Type=notify) it says when it is ready, that it lives (WatchdogSec), and when it drains.",
		Example: "  onceward serve --contracts ./contracts\n  onceward serve --db postgres://onceward@localhost/onceward --contracts ./contracts",
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := loadConfig(c)
			if err != nil {
				return err
			}
			return serve(c.Context(), c, cfg, force)
		},
	}
	dbFlag(c)
	witnessFlag(c)
	keysFlags(c)
	contractsFlag(c)
	f := c.Flags()
	f.String("listen", defaultListen, "address to listen on; beyond loopback with --auth required and TLS only (ONCEWARD_LISTEN)")
	accessFlags(f)
	f.Duration("drain", defaultDrain, "how long running attempts may take to end (ONCEWARD_DRAIN)")
	f.String("audit-key", "", "Ed25519 key that signs the audit trail: env:NAME or file:PATH (ONCEWARD_AUDIT_KEY)")
	f.Duration("keep-audit", 0, "how long the audit trail is kept; 0: for ever (ONCEWARD_KEEP_AUDIT)")
	f.Duration("keep-documents", 0, "how long an uploaded or linked document is kept that no kept operation names; 0: for ever (ONCEWARD_KEEP_DOCUMENTS)")
	f.Duration("keep-replays", 0, "how long a bulk replay that ended is kept; 0: for ever (ONCEWARD_KEEP_REPLAYS)")
	f.Duration("keep-runs", 0, "how long a finished run is kept, and its decisions; 0: for ever (ONCEWARD_KEEP_RUNS)")
	f.String("export", "", "folder that records and tombstones are written to before they are deleted (ONCEWARD_EXPORT)")
	f.String("sign-off", signOffOff, "off, or required: a contract that widens risk waits for both owners' yes (ONCEWARD_SIGN_OFF)")
	f.Duration("monitor", defaultMonitor, "how often at most one succeeded operation is looked up to count its effects; 0: never (ONCEWARD_MONITOR)")
	f.String("metrics-listen", "", "a further address that serves /metrics only, to whoever reaches it (ONCEWARD_METRICS_LISTEN)")
	f.String("log-level", "info", "debug, info, warn or error (ONCEWARD_LOG_LEVEL)")
	f.BoolVar(&force, "reactivate", false, "put contract versions in force again that were superseded")
	return c
}

func serve(ctx context.Context, c *cobra.Command, cfg config, force bool) error {
	webserver.CollectLess()
	log, err := newLog(c, cfg.LogLevel)
	if err != nil {
		return err
	}
	a, err := cfg.access()
	if err != nil {
		return err
	}
	l, err := webserver.Listen(ctx, cfg.Listen, a.open)
	if err != nil {
		return err
	}
	e, err := startEngine(ctx, cfg, force, log)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	g, err := a.guarded(e, log)
	if err != nil {
		return errors.Join(err, l.Close(), e.close(cfg.Drain))
	}
	srv, err := a.servers(ctx, e, g, l, log)
	if err != nil {
		return errors.Join(err, l.Close(), e.close(cfg.Drain))
	}
	log.Info("serving", "address", a.scheme()+l.Addr().String(), "contracts", len(e.ledger.Tools()), "replica", e.ledger.Owner(), "version", versionText())
	stopMetrics, err := serveMetrics(ctx, cfg.Metrics, e.metrics.Handler(), log)
	if err != nil {
		return errors.Join(err, l.Close(), e.close(cfg.Drain))
	}
	defer stopMetrics()
	stopReload := e.reloadOnHangup(ctx, cfg.Contracts, force, a.reload)
	defer stopReload()
	stopConsole := g.follow(ctx)
	defer stopConsole()
	served := srv.serve()
	stopTelling := e.tellManager(ctx, a.scheme()+l.Addr().String())
	defer stopTelling()
	select {
	case err = <-served:
	case <-ctx.Done():
		log.Info("draining", "at_most", cfg.Drain.String())
		g.api.Drain()
		g.console.Drain()
		e.ledger.Drain()
		err = drain(srv, e.ledger, cfg.Drain)
	}
	stopConsole()
	return errors.Join(err, e.close(cfg.Drain))
}

// drain lets requests that are under way be answered: with their end if that
// comes in three quarters of the time, then with what is known.
func drain(srv servers, l *onceward.Ledger, within time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	last := time.AfterFunc(within*3/4, l.LetGo)
	defer last.Stop()
	err := srv.shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("requests that were still under way after %s were cut off: their operations are settled by whoever comes next", within)
	}
	return err
}

// tellManager tells the service manager, if there is one, that the server is ready
// and then that it lives, until stop; and once the context ends, that it drains.
func (e *engine) tellManager(ctx context.Context, address string) (stop func()) {
	m, err := notify.Open(os.Getenv, os.Getpid())
	if err == nil {
		err = m.Ready("serving on " + address)
	}
	if err != nil {
		e.log.Warn("the service manager is not told", "error", err)
	}
	living, cancel := context.WithCancel(context.WithoutCancel(ctx)) // a drain is life, too
	var telling sync.WaitGroup
	telling.Go(func() { m.Watch(living, e.alive) })
	stopping := context.AfterFunc(ctx, func() { _ = m.Stopping() })
	return func() {
		stopping()
		cancel()
		telling.Wait()
		m.Close()
	}
}

// alive reports whether the process can do anything: the locks of its contracts
// are free and its goroutines run. A ledger that cannot be reached is no reason:
// starting anew would not mend it.
func (e *engine) alive(context.Context) bool {
	e.ledger.Tools() // hangs where they do
	return true
}

// reloadOnHangup loads the contracts and the certificate anew at each SIGHUP.
func (e *engine) reloadOnHangup(ctx context.Context, paths []string, force bool, certificate func() error) (stop func()) {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range hup {
			if err := certificate(); err != nil {
				e.log.Error("certificate not reloaded: the one in use stays", "error", err)
			}
			if err := e.reload(ctx, paths, force); err != nil {
				e.log.Error("contracts not reloaded: those in force stay", "error", err)
				continue
			}
			e.log.Info("contracts reloaded", "contracts", len(e.ledger.Tools()))
		}
	}()
	return func() { signal.Stop(hup); close(hup); <-done }
}

func newLog(c *cobra.Command, level string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, &onceward.Error{Code: onceward.CodeConfigInvalid, Op: "read configuration", Message: fmt.Sprintf("log level %q is not known", level), Hint: "use debug, info, warn or error"}
	}
	return slog.New(slog.NewJSONHandler(c.ErrOrStderr(), &slog.HandlerOptions{Level: l})), nil
}
