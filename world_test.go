package onceward_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/committer"
	"github.com/onceward/onceward/internal/testledger"
	"github.com/onceward/onceward/oncewardtest"
	"github.com/onceward/onceward/store/memory"
	"github.com/onceward/onceward/store/postgres"
	"github.com/onceward/onceward/store/sqlite"
	"github.com/onceward/onceward/worker"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if err := ledgers.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
		os.Exit(code)
	}))
}

// ledgers are the schemas of an empty ledger.
var ledgers = testledger.NewPool()

// world is what the processes of a test share: a database, a provider, a clock
// that moves when told. The embedded replica is the process that the test
// speaks to unless it says otherwise.
type world struct {
	*replica
	clock    *oncewardtest.Clock // nil in real time
	local    onceward.Clock      // the same, or the system's
	ahead    atomic.Int64        // how far the database's clock is ahead of it
	provider *oncewardtest.Provider
	handle   func() onceward.Store // another handle on the database
	tools    []*oncewardtest.Tool  // every version that was ever in force
	beside   []onceward.Tool       // further contracts of the processes that start from now on
	broken   onceward.Code         // what a version is that none of these is; empty: CodeContractInvalid
}

// replica is one process: a ledger with its own handle on the database, and its
// background loops, stepped by hand.
type replica struct {
	t        testing.TB
	w        *world
	store    *oncewardtest.FaultyStore
	ledger   *onceward.Ledger
	due      *worker.Due
	stranded *worker.Stranded
	dead     atomic.Bool

	mu     sync.Mutex
	alarms []string
}

type worldOption func(*onceward.Options)

// database is a kind of store that the situations run on.
type database struct {
	name string
	open func(t testing.TB, now func() time.Time) (handle func() onceward.Store)
}

var (
	onMemory = database{"memory", func(_ testing.TB, now func() time.Time) func() onceward.Store {
		first := memory.New(memory.Options{Now: now})
		return func() onceward.Store { return first.Again() }
	}}
	onSQLite = database{"sqlite", func(t testing.TB, now func() time.Time) func() onceward.Store {
		return onSQLiteAt(filepath.Join(t.TempDir(), "ledger.db")).open(t, now)
	}}
	onPostgres = database{"postgres", func(t testing.TB, now func() time.Time) func() onceward.Store {
		return onPostgresAt(ledgers.Postgres(t)).open(t, now)
	}}
)

// onSQLiteAt is SQLite at a known place.
func onSQLiteAt(path string) database {
	return database{"sqlite", func(t testing.TB, now func() time.Time) func() onceward.Store {
		return func() onceward.Store { return opened(t)(sqlite.Open(t.Context(), path, sqlite.Options{Now: now})) }
	}}
}

// onPostgresAt is PostgreSQL at a known place.
func onPostgresAt(dsn string) database {
	return database{"postgres", func(t testing.TB, _ func() time.Time) func() onceward.Store {
		return func() onceward.Store { return opened(t)(postgres.Open(t.Context(), dsn, postgres.Options{})) }
	}}
}

func opened(t testing.TB) func(onceward.Store, error) onceward.Store {
	return func(s onceward.Store, err error) onceward.Store {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}

// onEachStore runs a situation on every store whose clock can be moved.
func onEachStore(t *testing.T, tool *oncewardtest.Tool, situation func(t *testing.T, w *world), opts ...worldOption) {
	t.Helper()
	for _, db := range []database{onMemory, onSQLite} {
		t.Run(db.name, func(t *testing.T) {
			t.Parallel()
			situation(t, newWorldOn(t, db, oncewardtest.NewClock(), tool, opts...))
		})
	}
}

// inRealTime runs a situation on every store, PostgreSQL included, under the
// system's clock: for what needs no time to pass.
func inRealTime(t *testing.T, tool *oncewardtest.Tool, situation func(t *testing.T, w *world), opts ...worldOption) {
	t.Helper()
	for _, db := range []database{onMemory, onSQLite, onPostgres} {
		t.Run(db.name, func(t *testing.T) {
			t.Parallel()
			situation(t, newWorldOn(t, db, nil, tool, opts...))
		})
	}
}

// newWorld opens one ledger with one tool in memory.
func newWorld(t testing.TB, tool *oncewardtest.Tool, opts ...worldOption) *world {
	t.Helper()
	return newWorldOn(t, onMemory, oncewardtest.NewClock(), tool, opts...)
}

func newWorldOn(t testing.TB, db database, clock *oncewardtest.Clock, tool *oncewardtest.Tool, opts ...worldOption) *world {
	t.Helper()
	w := &world{clock: clock, local: onceward.SystemClock{}}
	if clock != nil {
		w.local = clock
	}
	w.handle = db.open(t, func() time.Time { return w.local.Now().Add(time.Duration(w.ahead.Load())) })
	verifyAtTheEnd(t, w.handle())
	w.provider = oncewardtest.NewProvider(w.local)
	w.provider.HonoursKeys = tool.Info().Policy.Effect == onceward.EffectKeyedWrite
	w.replica = w.process(t, tool, opts...)
	return w
}

// verifyAtTheEnd holds every situation to the audit trail: whatever happened, each
// row and each timeline is as the journal says.
func verifyAtTheEnd(t testing.TB, s onceward.Store) {
	t.Cleanup(func() {
		v, err := onceward.VerifyAudit(context.Background(), s, nil)
		if err != nil {
			t.Errorf("verify audit trail: %v", err)
		} else if len(v.Faults) > 0 {
			t.Errorf("the audit trail is broken: %v", v.Faults)
		}
		if err := s.Close(); err != nil {
			t.Errorf("close store: %v", err)
		}
	})
}

// process starts another process on the world's database.
func (w *world) process(t testing.TB, tool *oncewardtest.Tool, opts ...worldOption) *replica {
	t.Helper()
	w.tools = append(w.tools, tool)
	inForce := append([]onceward.Tool{tool}, w.beside...)
	r := &replica{t: t, w: w, store: oncewardtest.NewFaultyStore(w.handle())}
	registry := onceward.NewRegistry(r.store, w.compile)
	if err := registry.Activate(t.Context(), inForce, false); err != nil {
		t.Fatal(err)
	}
	o := onceward.Options{Store: r.store, Tools: registry, Provider: w.provider, Clock: w.local, Alarm: r.alarm}
	for _, opt := range opts {
		opt(&o)
	}
	group := committer.New(r.store, committer.Options{Clock: o.Clock})
	if o.Writer == nil {
		o.Writer = group
	}
	l, err := onceward.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.close(group) })
	r.ledger, r.due, r.stranded = l, worker.NewDue(l, r.store, slog.New(slog.DiscardHandler)), worker.NewStranded(l)
	if err := l.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r
}

// another starts a second process with the contract that came last.
func (w *world) another(opts ...worldOption) *replica {
	return w.process(w.t, w.tools[len(w.tools)-1], opts...)
}

// restart goes on with a new process; the old one is gone with all that it knew.
func (w *world) restart(opts ...worldOption) {
	w.replica.kill()
	w.replica = w.another(opts...)
}

func (w *world) compile(_ onceward.ToolName, source []byte) (onceward.Tool, error) {
	for _, t := range w.tools {
		if bytes.Equal(t.Info().Source, source) {
			return t, nil
		}
	}
	return nil, onceward.Errorf(cmp.Or(w.broken, onceward.CodeContractInvalid), "no such contract")
}

// stopWait bounds how long a test's process may take to end what it works on.
const stopWait = 5 * time.Second

func (r *replica) close(group *committer.Committer) {
	ctx, cancel := context.WithTimeout(context.Background(), stopWait)
	defer cancel()
	if r.dead.Load() {
		cancel()
	}
	_ = r.ledger.Close(ctx)
	group.Close()
	if err := r.store.Close(); err != nil {
		r.t.Errorf("close store: %v", err)
	}
}

func (r *replica) alarm(_ *onceward.Operation, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.alarms = append(r.alarms, reason)
}

// kill ends the process for the others: nothing of it reaches the database any
// more. What it has on the wire stays there.
func (r *replica) kill() {
	r.dead.Store(true)
	r.store.GoAway()
}

// crash starts a process that dies when it comes to the crash point, and lets it
// submit the input.
func (w *world) crash(point, input string) {
	w.t.Helper()
	w.doomed(point).dieOf(input)
}

// dieOf submits the input in a process that is doomed to die of it.
func (r *replica) dieOf(input string) {
	r.t.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = r.submit(input)
	}()
	await(r.t, ended, "the crash")
	r.ledger.WaitIdle()
	if !r.dead.Load() {
		r.t.Fatal("the process never came to its crash point")
	}
}

// doomed starts a process that dies when it comes to the crash point: whoever
// comes there, or to a later one, goes no step further.
func (w *world) doomed(point string, opts ...worldOption) *replica {
	var r *replica
	r = w.another(append(opts, func(o *onceward.Options) {
		o.CrashPoint = func(name string) {
			if name == point {
				r.kill()
			}
			if r.dead.Load() {
				runtime.Goexit()
			}
		}
	})...)
	return r
}

// mute is a provider that an attempt never comes to: the process stands still
// before its first byte, until it ends.
type mute struct{ onceward.Provider }

func (mute) Send(ctx context.Context, _ *onceward.Request, _ onceward.SendOptions) onceward.Evidence {
	<-ctx.Done()
	runtime.Goexit()
	return onceward.Evidence{}
}

func silent(o *onceward.Options) { o.Provider = mute{o.Provider} }

// leave claims n operations, k0 and so on, and kills the process.
func (r *replica) leave(n int) []*onceward.Operation {
	r.t.Helper()
	left := make([]*onceward.Operation, n)
	var all sync.WaitGroup
	for i := range left {
		all.Go(func() {
			a, err := r.submit(fmt.Sprintf(`{"id":"k%d"}`, i))
			if err != nil {
				r.t.Error(err)
				return
			}
			left[i] = a.Operation
		})
	}
	all.Wait()
	r.kill()
	return left
}

// ask submits an input without waiting for more than what is running now.
func (r *replica) ask(input string, edit ...func(*onceward.Intent)) *onceward.Answer {
	r.t.Helper()
	a, err := r.try(input, edit...)
	if err != nil {
		r.t.Fatalf("submit %s: %v", input, err)
	}
	return a
}

// try is ask for what may be refused.
func (r *replica) try(input string, edit ...func(*onceward.Intent)) (*onceward.Answer, error) {
	a, err := r.submit(input, edit...)
	if err != nil {
		return nil, err
	}
	r.quiet()
	a.Operation = r.get(a.Operation.ID)
	return a, nil
}

// submit asks and waits for nothing.
func (r *replica) submit(input string, edit ...func(*onceward.Intent)) (*onceward.Answer, error) {
	in := onceward.Intent{Principal: onceward.LocalPrincipal(), Tool: "t.write", Input: []byte(input)}
	for _, e := range edit {
		e(&in)
	}
	return r.ledger.Submit(r.t.Context(), in)
}

func waiting(d time.Duration) func(*onceward.Intent) {
	return func(in *onceward.Intent) { in.Wait = d }
}

// quiet waits until no attempt of the process is running.
func (r *replica) quiet() {
	r.due.Wait()
	r.ledger.WaitIdle()
}

func (r *replica) get(id onceward.OperationID) *onceward.Operation {
	r.t.Helper()
	op, err := r.ledger.Get(r.t.Context(), onceward.LocalPrincipal(), id, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	return op
}

// pass moves the clock on and lets the process's loops do all that has come due.
func (r *replica) pass(d time.Duration) {
	r.t.Helper()
	r.w.clock.Advance(d)
	r.work()
}

// passSlowly lets the time pass in steps, as it does.
func (r *replica) passSlowly(d, step time.Duration) {
	r.t.Helper()
	for ; d > 0; d -= step {
		r.pass(min(d, step))
	}
}

// step steps the process's loops n times, and waits for no attempt.
func (r *replica) step(n int) {
	r.t.Helper()
	for range n {
		if _, err := r.stranded.Step(r.t.Context()); err != nil {
			r.t.Fatal(err)
		}
		if _, err := r.due.Step(r.t.Context()); err != nil {
			r.t.Fatal(err)
		}
		r.due.Wait()
	}
}

// work steps the process's loops until they come to rest.
func (r *replica) work() {
	r.t.Helper()
	for range 1000 {
		more, err := r.stranded.Step(r.t.Context())
		if err != nil {
			r.t.Fatal(err)
		}
		worked, err := r.due.Step(r.t.Context())
		if err != nil {
			r.t.Fatal(err)
		}
		r.quiet()
		if !worked && !more {
			return
		}
	}
	r.t.Fatal("the loops never come to rest")
}

// want fails the test unless the operation is in the state, and the provider
// has so many effects in all.
func (r *replica) want(op *onceward.Operation, s onceward.State, effects int) {
	r.t.Helper()
	op = r.get(op.ID)
	if op.State != s || r.w.provider.Effects() != effects {
		r.t.Fatalf("operation is %s with %d effects, want %s with %d\n%s", op.State, r.w.provider.Effects(), s, effects, r.timeline(op))
	}
}

func (r *replica) wantWrites(n int) {
	r.t.Helper()
	if got := r.w.provider.Writes(); got != n {
		r.t.Fatalf("%d writes reached the provider, want %d", got, n)
	}
}

func (r *replica) timeline(op *onceward.Operation) string {
	records, err := r.ledger.Timeline(r.t.Context(), onceward.LocalPrincipal(), op.ID)
	if err != nil {
		return err.Error()
	}
	out := ""
	for _, e := range records {
		out += fmt.Sprintf("  v%d %s %s -> %s attempt %d %s %s\n", e.Version, e.Event, e.From, e.To, e.Attempt, e.Reference, e.Reason)
	}
	return out
}

// recorded reports whether the operation's timeline has an event of that name.
func (r *replica) recorded(op *onceward.Operation, event string) bool {
	r.t.Helper()
	records, err := r.ledger.Timeline(r.t.Context(), onceward.LocalPrincipal(), op.ID)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, e := range records {
		if e.Event == event {
			return true
		}
	}
	return false
}

// patience is how long a test waits for what has to come at once, before it
// fails instead of hanging.
const patience = 20 * time.Second

func await[T any](t testing.TB, ch <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(patience):
		t.Fatalf("it never came: %s", what)
		panic("unreachable")
	}
}

// held waits until the provider keeps a write waiting.
// sending asks for an effect, and holds the provider's answer to it.
func (w *world) sending(input string) (*onceward.Answer, *oncewardtest.Held) {
	w.t.Helper()
	slow := w.provider.HoldAnswer()
	a, err := w.submit(input)
	if err != nil {
		w.t.Fatal(err)
	}
	held(w.t, slow)
	return a, slow
}

func held(t testing.TB, h *oncewardtest.Held) {
	t.Helper()
	await(t, h.Reached(), "the write that is to be held")
}

func wantCode(t testing.TB, err error, code onceward.Code) {
	t.Helper()
	if onceward.CodeOf(err) != code {
		t.Fatalf("got %q (%v), want %q", onceward.CodeOf(err), err, code)
	}
}
