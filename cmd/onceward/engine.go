package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/committer"
	"github.com/onceward/onceward/contract"
	"github.com/onceward/onceward/internal/archive"
	"github.com/onceward/onceward/internal/crashpoint"
	"github.com/onceward/onceward/internal/mcpgateway"
	"github.com/onceward/onceward/internal/proxy"
	"github.com/onceward/onceward/internal/telemetry"
	"github.com/onceward/onceward/internal/witness"
	"github.com/onceward/onceward/provider/httpcall"
	"github.com/onceward/onceward/provider/mcpcall"
	"github.com/onceward/onceward/relay"
	"github.com/onceward/onceward/store/sealed"
	"github.com/onceward/onceward/worker"
)

// engine is a running ledger: store, group commit, contracts, background loops.
type engine struct {
	store    onceward.Store
	vault    *sealed.Store // the same: what encrypts
	group    *committer.Committer
	client   *httpcall.Client
	held     *proxy.Held          // what callers of upstreams sent along
	ups      []*contract.Upstream // in force
	upsTo    func([]*contract.Upstream)
	mcp      *mcpServers            // behind the gateway
	listed   atomic.Pointer[func()] // has the gateway look at its list of tools; nil: there is none
	tools    *onceward.Registry
	ledger   *onceward.Ledger
	log      *slog.Logger
	metrics  *telemetry.Registry
	tracer   *telemetry.Tracer // nil: nobody wants spans
	witness  *witness.File     // nil: there is none
	archive  *archive.Folder   // nil: nothing is exported before it is deleted
	stop     context.CancelFunc
	finished func()
	sinks    []relay.Publisher
}

// startEngine opens the ledger and puts the contracts in force. force lets a
// contract version that was superseded come back.
func startEngine(ctx context.Context, cfg config, force bool, log *slog.Logger) (*engine, error) {
	held := &proxy.Held{}
	set, err := loadContracts(cfg.Contracts, heldOptions(held))
	if err != nil {
		return nil, err
	}
	demanded, err := cfg.demandsSignOff()
	if err != nil {
		return nil, err
	}
	store, err := openStore(ctx, cfg.DB, true)
	if err != nil {
		return nil, err
	}
	metrics := telemetry.NewRegistry(versionText())
	vault, err := sealedStore(ctx, cfg, telemetry.Store(store, metrics))
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	store = vault
	e := &engine{store: store, vault: vault, log: log, held: held, metrics: metrics, group: committer.New(store, committer.Options{Meter: metrics}), client: httpcall.New(httpcall.Options{Version: versionText()})}
	e.mcp = &mcpServers{client: mcpcall.New(mcpcall.Options{Wire: e.client, Version: versionText(), Log: log, CheckOutput: contract.CheckOutput, Changed: e.listChanged})}
	e.tools = onceward.NewRegistry(store, contract.Compiler(heldOptions(held)))
	e.tools.SignOff(contract.Comparer(), demanded)
	e.tools.CompileWorkflows(contract.WorkflowCompiler(contractOptions()))
	e.tools.CompileEventSources(contract.SourceCompiler(contractOptions()))
	if err := e.start(ctx, cfg, set, force); err != nil {
		return nil, errors.Join(err, e.release())
	}
	return e, nil
}

func (e *engine) start(ctx context.Context, cfg config, set inForce, force bool) error {
	auditor, err := newAuditor(cfg, e.store)
	if err != nil {
		return err
	}
	if err := checkSinks(cfg.Sinks); err != nil {
		return err
	}
	if err := e.activate(ctx, set, force); err != nil {
		return err
	}
	opts := onceward.Options{Store: e.store, Sealer: e.vault, Writer: e.group, Inbox: committer.NewInbox(e.store), Tools: e.tools, Provider: switchboard{http: e.client, mcp: e.mcp.client}, Log: e.log, Meter: e.metrics, CheckOutput: contract.CheckOutput, CrashPoint: crashpoint.FromEnv(), Emit: emitFor(cfg.Sinks)}
	if e.tracer, err = telemetry.NewTracer(ctx, versionText(), os.Getenv, e.log); err != nil {
		return err
	}
	if e.tracer != nil {
		opts.Tracer = e.tracer
	}
	if cfg.Keep.Export != "" {
		if e.archive, err = archive.Open(cfg.Keep.Export); err != nil {
			return err
		}
		opts.Exporter = e.archive
	}
	if e.witness, err = openWitness(cfg); err != nil {
		return err
	}
	if e.witness != nil {
		opts.Witness = e.witness
	}
	e.ledger, err = onceward.New(opts)
	if err != nil {
		return err
	}
	if err := e.ledger.Start(ctx); err != nil {
		return err
	}
	e.metrics.OnScrape(e.ledger.Gauges)
	e.metrics.OnScrape(e.group.Gauges)
	auditor.Actor = e.ledger.Owner()
	loops, stop := context.WithCancel(context.Background())
	due := worker.NewDue(e.ledger, e.store, e.log)
	clock := onceward.SystemClock{}
	all := []worker.Loop{due, worker.NewStranded(e.ledger), worker.NewSwitches(e.ledger), worker.NewRetire(e.ledger), worker.NewRuns(e.ledger, cfg.Keep.Runs), worker.NewDocuments(e.ledger, cfg.Keep.Documents), worker.NewOldReplays(e.ledger, cfg.Keep.Replays), worker.NewReplays(e.ledger), worker.NewSagas(e.ledger),
		worker.NewSeal(auditor), worker.NewTally(e.ledger), worker.NewBacklog(e.ledger, clock), worker.NewInbox(e.ledger), worker.NewInboxDrop(e.ledger)}
	if cfg.Monitor > 0 {
		all = append(all, worker.NewMonitor(e.ledger, cfg.Monitor))
	}
	relays, sinks, err := e.relays(cfg.Sinks)
	e.sinks, all = sinks, append(all, relays...)
	if err != nil {
		stop()
		return err
	}
	wait := worker.Start(loops, clock, e.log, worker.Metered(e.metrics, worker.Gated(e.ledger, all...)...)...)
	e.stop, e.finished = stop, func() { wait(); due.Wait() }
	return nil
}

// reload puts other contracts in force; operations that live keep theirs. If a
// file is broken, nothing changes.
func (e *engine) reload(ctx context.Context, paths []string, force bool) error {
	set, err := loadContracts(paths, heldOptions(e.held))
	if err != nil {
		return err
	}
	if err := e.activate(ctx, set, force); err != nil {
		return err
	}
	e.ledger.ContractsChanged()
	if e.upsTo != nil {
		e.upsTo(set.ups)
	}
	e.listChanged()
	return nil
}

// listChanged says that the list of tools may be another one.
func (e *engine) listChanged() {
	if look := e.listed.Load(); look != nil {
		(*look)()
	}
}

// announce has a gateway tell its clients of lists that change, until the engine
// stops.
func (e *engine) announce(lists *mcpgateway.Lists) {
	look := lists.Look
	e.listed.Store(&look)
	loop, end := context.WithCancel(context.Background())
	wait := worker.Start(loop, onceward.SystemClock{}, e.log, worker.Metered(e.metrics, lists)...)
	stop, finished := e.stop, e.finished
	e.stop = func() { end(); stop() }
	e.finished = func() { wait(); finished() }
}

// close drains: no new attempts, running ones end and record, up to the time
// given; what is cut off then is unknown and settled by whoever comes next.
func (e *engine) close(drain time.Duration) error {
	e.stop()
	ctx, cancel := context.WithTimeout(context.Background(), drain)
	defer cancel()
	err := e.ledger.Close(ctx)
	e.finished()
	// Why not ctx: where draining took all of its time, the counts are still there.
	last, done := context.WithTimeout(context.Background(), flushWait)
	defer done()
	err = errors.Join(err, e.ledger.FlushTallies(last))
	if e.tracer != nil {
		if err := e.tracer.Close(last); err != nil {
			e.log.Warn("the last spans were not sent", "error", err)
		}
	}
	return errors.Join(err, e.release())
}

// flushWait bounds the last writing of tallies.
const flushWait = 5 * time.Second

func (e *engine) release() error {
	e.group.Close()
	e.mcp.client.Close()
	e.client.Close()
	err := errors.Join(closePublishers(e.sinks), e.store.Close())
	if e.witness != nil {
		err = errors.Join(err, e.witness.Close())
	}
	if e.archive != nil {
		err = errors.Join(err, e.archive.Close())
	}
	return err
}

// inForce is what files and folders of contracts put in force.
type inForce struct {
	tools   []onceward.Tool
	flows   []onceward.Workflow
	ups     []*contract.Upstream
	sources []onceward.EventSource
	servers []*contract.MCPServer
}

func (e *engine) activate(ctx context.Context, set inForce, force bool) error {
	if err := e.tools.Activate(ctx, set.tools, force); err != nil {
		return err
	}
	e.mcp.serve(set.servers)
	e.tellHeld()
	e.ups = set.ups
	if err := e.tools.ActivateWorkflows(ctx, set.flows, force); err != nil {
		return err
	}
	return e.tools.ActivateEventSources(ctx, set.sources, force)
}

// loadContracts loads files and folders; every fault of every file is named.
func loadContracts(paths []string, opts contract.Options) (out inForce, err error) {
	if len(paths) == 0 {
		return out, nil
	}
	set, err := contract.LoadDir(paths, opts)
	if err != nil {
		return out, err
	}
	for _, t := range set.Tools() {
		out.tools = append(out.tools, t)
	}
	out.servers = set.MCPServers()
	for _, w := range set.Workflows() {
		out.flows = append(out.flows, w)
	}
	out.ups = set.Upstreams()
	for _, s := range set.EventSources() {
		out.sources = append(out.sources, s)
	}
	return out, nil
}

// heldOptions load the tools of upstreams with what their callers sent along.
func heldOptions(held *proxy.Held) contract.Options {
	opts := contractOptions()
	opts.Held = held
	return opts
}

func contractOptions() contract.Options {
	tail := httpcall.ByteTail()
	if tail == 0 {
		tail = contract.NoByteTail
	}
	return contract.Options{ByteTail: tail}
}

// newAuditor seals, signs and keeps the trail as the configuration says.
func newAuditor(cfg config, s onceward.Store) (*onceward.Auditor, error) {
	key, err := auditSigner(cfg.Audit.Key)
	if err != nil {
		return nil, err
	}
	if cfg.Keep.Audit < 0 || cfg.Keep.Audit > 0 && cfg.Keep.Audit < keepAuditMin {
		return nil, &onceward.Error{Code: onceward.CodeConfigInvalid, Op: "read configuration", Message: "keep.audit is shorter than " + keepAuditMin.String(), Hint: "0 keeps the audit trail for ever; the EU AI Act asks deployers for six months of logs at least"}
	}
	for _, k := range []struct {
		name, hint string
		keep, min  time.Duration
	}{
		{"keep.runs", "0 keeps runs for ever; a duplicate of their event can arrive as long as its sender retries", cfg.Keep.Runs, keepRunsMin},
		{"keep.documents", "0 keeps documents for ever", cfg.Keep.Documents, onceward.DocumentsKeepMin},
		{"keep.replays", "0 keeps bulk replays for ever; the key of one that was dropped starts another", cfg.Keep.Replays, keepReplaysMin},
	} {
		if k.keep < 0 || k.keep > 0 && k.keep < k.min {
			return nil, &onceward.Error{Code: onceward.CodeConfigInvalid, Op: "read configuration", Message: k.name + " is shorter than " + k.min.String(), Hint: k.hint}
		}
	}
	return &onceward.Auditor{Store: s, Now: s.Now, Key: key, Keep: cfg.Keep.Audit}, nil
}

// keepAuditMin is the shortest time for which the trail can be kept.
const keepAuditMin = 24 * time.Hour

// keepRunsMin is the shortest time for which a finished run can be kept.
const keepRunsMin = 24 * time.Hour

// keepReplaysMin is the shortest time for which a bulk replay can be kept.
const keepReplaysMin = 24 * time.Hour
