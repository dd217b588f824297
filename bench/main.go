package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/webserver"
	"github.com/onceward/onceward/provider/httpcall"
	"github.com/onceward/onceward/store/postgres"
	"github.com/onceward/onceward/store/sqlite"
)

func main() {
	callers := flag.String("c", "1,16,64", "numbers of concurrent callers")
	seconds := flag.Duration("t", 3*time.Second, "time of each phase")
	dsn := flag.String("postgres", os.Getenv("ONCEWARD_TEST_POSTGRES"), "postgres:// URL; empty: SQLite only")
	binary := flag.String("binary", "", "onceward program to start over a grown ledger; empty: none")
	rows := flag.Int("rows", 1_000_000, "operations in the grown ledger")
	growth := flag.String("growth", "", "numbers of stored operations to measure at, ascending, such as 0,1000000; empty: none")
	slimmed := flag.Bool("slimmed", false, "measure growth also after what is stored was slimmed to tombstones")
	only := flag.String("only", "", "regular expression of the phases to run; empty: all")
	model := flag.Bool("model", false, "measure the constants of the capacity model, and print what it says beside what is measured; needs -postgres")
	profiles := flag.String("profile", "", "folder for a processor profile of each phase; empty: none")
	flag.Parse()
	s := &suite{seconds: *seconds, provider: httpcall.New(httpcall.Options{IdlePerHost: 512}), profiles: *profiles, model: *model, slimmed: *slimmed}
	if err := s.bench(context.Background(), *callers, *only, *dsn, *binary, *growth, *rows); err != nil {
		fmt.Fprintln(os.Stderr, "bench: "+err.Error())
		os.Exit(1)
	}
}

// suite is one run.
type suite struct {
	dir      string
	callers  []int
	sizes    []int // stored operations to measure at
	slimmed  bool  // and again as tombstones
	seconds  time.Duration
	only     *regexp.Regexp
	profiles string
	model    bool
	provider *httpcall.Client
	target   string
	host     string
	tools    []onceward.Tool
	each     int64 // operations that one call of the work does
	rows     []measured
}

func (s *suite) bench(ctx context.Context, callers, only, dsn, binary, growth string, rows int) error {
	var err error
	if s.callers, err = numbers(callers); err != nil {
		return fmt.Errorf("-c: %w", err)
	}
	if s.sizes, err = numbers(growth); err != nil {
		return fmt.Errorf("-growth: %w", err)
	}
	if s.only, err = regexp.Compile(only); err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	if s.profiles != "" {
		if err := os.MkdirAll(s.profiles, 0o700); err != nil {
			return err
		}
	}
	if s.dir, err = os.MkdirTemp("", "onceward-bench-"); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(s.dir) }()
	srv, _ := newTarget()
	defer srv.Close()
	u, err := url.Parse(srv.URL)
	if err != nil {
		return err
	}
	s.target, s.host = srv.URL, u.Host
	if s.tools, err = loadTools(s.target); err != nil {
		return err
	}
	if s.model {
		fmt.Printf("%s, %s/%s, %d processors, phases of %s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), s.seconds)
		return s.modelled(ctx, dsn)
	}
	fmt.Printf("%s, %s/%s, %d processors, phases of %s\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), s.seconds)
	fmt.Println("| what | callers | ops/s | p50 | p99 | commits/op | flushes/op | WAL B/op | CPU µs/op | RSS MiB |")
	fmt.Println("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
	if err := s.diskSyncs(ctx); err != nil {
		return err
	}
	if err := s.unguarded(ctx); err != nil {
		return err
	}
	if err := s.onSQLite(ctx); err != nil {
		return err
	}
	if dsn != "" {
		if err := s.onPostgres(ctx, dsn); err != nil {
			return err
		}
	}
	if binary == "" {
		return nil
	}
	return s.onBinary(ctx, binary, rows)
}

// numbers reads a list of numbers; empty: none.
func numbers(list string) (all []int, err error) {
	for item := range strings.SplitSeq(list, ",") {
		if item == "" {
			continue
		}
		n, err := strconv.Atoi(item)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, nil
}

// phase measures and prints one row.
func (s *suite) phase(ctx context.Context, name string, callers int, w work, g *guarded, wal func() int64) error {
	if !s.only.MatchString(name) {
		return nil
	}
	commits, before := int64(0), int64(0)
	if g != nil {
		commits = g.store.commits.Load()
	}
	if wal != nil {
		before = wal()
	}
	stop, err := s.profile(name, callers)
	if err != nil {
		return err
	}
	flushed, counted := flushes()
	m := run(ctx, name, callers, s.seconds, w)
	m.scale(max(s.each, 1))
	if err := stop(); err != nil {
		return err
	}
	if m.err != nil {
		return fmt.Errorf("%s with %d callers: %w", name, callers, m.err)
	}
	perOp, flushesPerOp, bytes, memory := "", "", "", ""
	if counted {
		after, _ := flushes()
		flushesPerOp = fmt.Sprintf("%.3f", float64(after-flushed)/float64(m.ops))
	}
	if mib, err := resident(os.Getpid()); err == nil {
		memory = fmt.Sprintf("%.0f", mib)
	}
	if g != nil {
		perOp = fmt.Sprintf("%.3f", float64(g.store.commits.Load()-commits)/float64(m.ops))
	}
	if wal != nil {
		bytes = strconv.FormatInt((wal()-before)/m.ops, 10)
	}
	fmt.Printf("| %s | %d | %.0f | %s | %s | %s | %s | %s | %.0f | %s |\n",
		name, callers, m.rate, short(m.p50), short(m.p99), perOp, flushesPerOp, bytes, float64(m.cpu)/1e3, memory)
	s.rows = append(s.rows, m)
	return nil
}

// serving is phase for work that a server does: the process collects its garbage
// as onceward serve does.
func (s *suite) serving(ctx context.Context, name string, callers int, w work, g *guarded, wal func() int64) error {
	defer webserver.CollectLess()()
	return s.phase(ctx, name, callers, w, g, wal)
}

// batches is phase for work that does several operations at once. The latencies
// are those of a batch.
func (s *suite) batches(ctx context.Context, name string, size int, w work, wal func() int64) error {
	s.each = int64(size)
	defer func() { s.each = 1 }()
	return s.phase(ctx, name, 1, w, nil, wal)
}

// profile starts a processor profile of a phase, if one is asked for.
func (s *suite) profile(name string, callers int) (stop func() error, err error) {
	if s.profiles == "" {
		return func() error { return nil }, nil
	}
	name = strings.NewReplacer(" ", "-", ",", "").Replace(name)
	f, err := os.Create(filepath.Join(s.profiles, fmt.Sprintf("%s-%d.cpu", name, callers)))
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return f.Close()
	}, nil
}

func short(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d)/1e6) }

func (s *suite) unguarded(ctx context.Context) error {
	proxy := newProxy(s.provider, s.target, s.host)
	defer proxy.Close()
	for _, c := range s.callers {
		if err := s.phase(ctx, "bare request", c, bare(s.provider, s.target, s.host), nil, nil); err != nil {
			return err
		}
		if err := s.serving(ctx, "proxy without a ledger", c, overHTTP(s.provider, proxy.URL, "p", 201), nil, nil); err != nil {
			return err
		}
	}
	return nil
}

func (s *suite) onSQLite(ctx context.Context) error {
	hand, done, err := handSQLite(filepath.Join(s.dir, "hand.db"), bare(s.provider, s.target, s.host))
	if err != nil {
		return err
	}
	offset := int64(0)
	for _, c := range s.callers {
		offset += 1 << 32
		base := offset
		if err := s.phase(ctx, "hand-written, SQLite", c, func(ctx context.Context, n int64) error { return hand(ctx, base+n) }, nil, nil); err != nil {
			return err
		}
	}
	done()
	store, err := sqlite.Open(ctx, filepath.Join(s.dir, "ledger.db"), sqlite.Options{})
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	if err := s.onStore(ctx, "SQLite", store, nil); err != nil {
		return err
	}
	if err := s.ledgerAlone(ctx, "SQLite", store, nil); err != nil {
		return err
	}
	if len(s.sizes) == 0 {
		return nil
	}
	grown, err := sqlite.Open(ctx, filepath.Join(s.dir, "growth.db"), sqlite.Options{})
	if err != nil {
		return err
	}
	return errors.Join(s.growth(ctx, "SQLite", grown, nil), grown.Close())
}

func (s *suite) onPostgres(ctx context.Context, dsn string) error {
	schema, wal, drop, err := benchSchema(ctx, dsn)
	if err != nil {
		return err
	}
	defer drop()
	byHand, _, dropHand, err := benchSchema(ctx, dsn) // a ledger takes no schema that holds other tables
	if err != nil {
		return err
	}
	defer dropHand()
	hand, done, err := handPostgres(ctx, byHand, bare(s.provider, s.target, s.host))
	if err != nil {
		return err
	}
	offset := int64(0)
	for _, c := range s.callers {
		offset += 1 << 32
		base := offset
		if err := s.phase(ctx, "hand-written, PostgreSQL", c, func(ctx context.Context, n int64) error { return hand(ctx, base+n) }, nil, wal); err != nil {
			return err
		}
	}
	done()
	if err := s.pgbench(ctx, byHand); err != nil {
		return err
	}
	store, err := postgres.Open(ctx, schema, postgres.Options{})
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	if err := s.onStore(ctx, "PostgreSQL", store, wal); err != nil {
		return err
	}
	if err := s.ledgerAlone(ctx, "PostgreSQL", store, wal); err != nil {
		return err
	}
	if err := s.ledgersAlone(ctx, schema, store, wal); err != nil {
		return err
	}
	if err := s.replicas(ctx, schema, wal); err != nil {
		return err
	}
	return s.growth(ctx, "PostgreSQL", store, wal)
}

// onStore measures library and server, fresh and duplicate, over one store.
func (s *suite) onStore(ctx context.Context, name string, store onceward.Store, wal func() int64) error {
	g, err := newGuarded(ctx, store, s.provider, s.tools)
	if err != nil {
		return err
	}
	defer g.stop()
	for _, c := range s.callers {
		lib, srv := fmt.Sprintf("l%d-", c), fmt.Sprintf("s%d-", c)
		fresh, again := g.submit(plainTool, lib, onceward.DecisionFresh), g.submit(plainTool, lib, onceward.DecisionReplayed)
		if err := g.submit(plainTool, lib+"m-done-", onceward.DecisionFresh)(ctx, 0); err != nil {
			return err
		}
		over := overHTTP(s.provider, g.url(), srv, 200)
		phases := []struct {
			do   func(ctx context.Context, name string, callers int, w work, g *guarded, wal func() int64) error
			what string
			w    work
			wal  func() int64
		}{
			{s.phase, "library, fresh", fresh, wal}, {s.phase, "library, duplicate", s.oneOf(again), nil},
			{s.phase, "library, one in ten a duplicate", g.mostlyFresh(lib + "m-"), wal},
			{s.phase, "library, one answer in three lost", g.submit(lossyTool, lib, onceward.DecisionFresh), wal},
			{s.serving, "server, fresh", over, wal}, {s.serving, "server, duplicate", s.oneOf(over), nil},
		}
		for _, p := range phases {
			if err := p.do(ctx, p.what+", "+name, c, p.w, g, p.wal); err != nil {
				return err
			}
		}
	}
	return nil
}

// oneOf asks for keys of the phase before it, again and again.
func (s *suite) oneOf(w work) work {
	return func(ctx context.Context, n int64) error { return w(ctx, n%min(100, s.rows[len(s.rows)-1].ops)+1) }
}
