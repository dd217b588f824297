package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/proctest"
	"github.com/onceward/onceward/internal/simprovider"
	"github.com/onceward/onceward/internal/testdb"
)

// storm is callers that repeat themselves against servers that die, at a
// provider that fails in every way it can.
type storm struct {
	t        *testing.T
	provider *proctest.Provider
	servers  []*proctest.Server
	seed     uint64
	keys     int // of each tool
	mu       sync.Mutex
	last     map[string]proctest.Operation // by audit reference
}

// write is one intention of the storm.
type write struct {
	tool, input, reference string
	oneEffect              bool // the class promises one; else at most one
}

const stormKeys = 40

// writesOf are the writes of a number, one of each tool.
func writesOf(i int) []write {
	return []write{
		{"tickets.create", fmt.Sprintf(`{"source":"storm","event_id":"e%d","subject":"s"}`, i), fmt.Sprintf("storm/e%d", i), true},
		{"payments.create", fmt.Sprintf(`{"order_id":"o%d","amount":%d,"currency":"EUR"}`, i, 100+i), fmt.Sprintf("o%d", i), true},
		{"mail.send", fmt.Sprintf(`{"case_id":"m%d","template":"received","to":"a@example.org","subject":"s","body":"b"}`, i), fmt.Sprintf("m%d/received", i), true},
		{"contacts.upsert", fmt.Sprintf(`{"external_id":"c%d","change_id":"1","name":"n"}`, i), fmt.Sprintf("c%d/1", i), true},
		{"fax.send", fmt.Sprintf(`{"case_id":"f%d","to":"+49301234567","document":"d%d"}`, i, i), fmt.Sprintf("f%d", i), false},
	}
}

func (s *storm) writes() []write {
	var ws []write
	for i := range s.keys {
		ws = append(ws, writesOf(i)...)
	}
	rand.New(rand.NewPCG(s.seed, 1)).Shuffle(len(ws), func(i, j int) { ws[i], ws[j] = ws[j], ws[i] })
	return ws
}

// faults makes about a third of all writes go wrong.
func (s *storm) faults() {
	rates := map[string]float64{
		"drop_before_commit": .06, "drop_after_commit": .08, "late_commit;delay=1s": .04, "error_after_commit": .05,
		"error_before_commit": .03, "cut_body": .03, "rate_limited": .03, "slow;delay=300ms": .05,
	}
	for _, system := range []string{"tickets", "payments", "mail", "contacts", "fax"} {
		if _, err := s.provider.AddFaults(simprovider.Script{System: system, Rate: rates, Seed: s.seed}); err != nil {
			s.t.Fatal(err)
		}
	}
}

// callers deliver every write again and again, to any server, until it is final.
func (s *storm) callers(ctx context.Context) *sync.WaitGroup {
	work := make(chan write)
	var wg sync.WaitGroup
	for range 12 {
		wg.Go(func() {
			for w := range work {
				s.deliver(ctx, w)
			}
		})
	}
	wg.Go(func() {
		defer close(work)
		for _, w := range s.writes() {
			for range 2 { // at least two deliveries of each
				select {
				case work <- w:
				case <-ctx.Done():
					return
				}
			}
		}
	})
	return &wg
}

func (s *storm) deliver(ctx context.Context, w write) {
	for i := 0; ctx.Err() == nil; i++ {
		acknowledged := s.acknowledged(w)
		a, err := s.servers[(i+len(w.reference))%len(s.servers)].Call(ctx, w.tool, w.input, time.Second)
		if err != nil || a.Status == 503 {
			select {
			case <-time.After(20 * time.Millisecond): // the server is gone for a moment
			case <-ctx.Done():
			}
			continue
		}
		if a.Status != 200 && a.Status != 202 && a.Status != 424 {
			s.t.Errorf("%s %s: status %d %s %s", w.tool, w.reference, a.Status, a.Code, a.Detail)
			return
		}
		if a.Operation.Final() {
			s.keep(w, a, acknowledged)
			return
		}
	}
}

// acknowledged is the answer about a write that a caller has got before.
func (s *storm) acknowledged(w write) proctest.Operation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last[w.reference]
}

// keep notes an answer that is final. What was acknowledged before it was asked
// for is still known, and what succeeded stays as it was, whatever happens to
// servers and ledger.
func (s *storm) keep(w write, a proctest.Answer, before proctest.Operation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if before.ID != "" && a.Decision == "fresh" || before.State == "succeeded" && a.Operation != before {
		s.t.Errorf("%s %s was acknowledged as %+v and is answered %s with %+v", w.tool, w.reference, before, a.Decision, a.Operation)
	}
	s.last[w.reference] = a.Operation
}

// judge compares what the ledger says with the provider's own books.
func (s *storm) judge() {
	states := map[string]int{}
	for _, w := range s.writes() {
		op, answered := s.last[w.reference]
		effects := s.provider.Effects(w.reference).Count
		switch {
		case !answered:
			s.t.Errorf("%s %s was lost: no answer", w.tool, w.reference)
		case effects > 1:
			s.t.Errorf("%s %s has %d effects, state %s after %d attempts", w.tool, w.reference, effects, op.State, op.Attempts)
		case op.State == "succeeded" && effects != 1:
			s.t.Errorf("%s %s succeeded with %d effects", w.tool, w.reference, effects)
		case (op.State == "failed" || op.State == "cancelled") && effects != 0:
			s.t.Errorf("%s %s is %s with %d effects", w.tool, w.reference, op.State, effects)
		case w.oneEffect && op.State != "succeeded" && op.State != "needs_review" && op.State != "failed":
			s.t.Errorf("%s %s ended as %s", w.tool, w.reference, op.State)
		}
		states[w.tool+" "+op.State]++
	}
	s.t.Logf("seed %d: %v", s.seed, states)
	if states["tickets.create succeeded"] < s.keys*9/10 || states["payments.create succeeded"] < s.keys*9/10 {
		s.t.Errorf("hardly anything succeeded: %v", states)
	}
}

func newStorm(t *testing.T, db func(i int) string, replicas int) *storm {
	t.Helper()
	proctest.Binary(t)
	s := &storm{t: t, provider: proctest.NewProvider(t), seed: uint64(time.Now().UnixNano()), keys: stormKeys, last: map[string]proctest.Operation{}}
	for i := range replicas {
		srv := simServer(t, db(i), s.provider)
		srv.Start("")
		s.servers = append(s.servers, srv)
	}
	s.faults()
	return s
}

// strike does something to a server that it does not expect.
type strike func(*testing.T, *rand.Rand, *proctest.Server) error

// pause lets real processes run for a while: how long is what the seed draws.
func pause(t testing.TB, d time.Duration) {
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
}

// becomes asks until it is so.
func becomes(t testing.TB, what string, within time.Duration, so func() bool) {
	t.Helper()
	for end := time.Now().Add(within); !so(); pause(t, 50*time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

// rage strikes at random servers, and leaves every one of them running.
func (s *storm) rage(strikes int, hit strike) {
	r := rand.New(rand.NewPCG(s.seed, 2))
	for range strikes {
		pause(s.t, time.Duration(100+r.IntN(400))*time.Millisecond) // the moment of a strike is what is drawn
		if err := hit(s.t, r, s.servers[r.IntN(len(s.servers))]); err != nil {
			s.t.Error(err)
			return
		}
	}
}

func kill(_ *testing.T, _ *rand.Rand, srv *proctest.Server) error {
	srv.Kill()
	return srv.TryStart("")
}

// freeze stops a process for longer or shorter than a lease.
func freeze(t *testing.T, r *rand.Rand, srv *proctest.Server) error {
	srv.Signal(syscall.SIGSTOP)
	pause(t, time.Duration(200+r.IntN(7000))*time.Millisecond)
	srv.Signal(syscall.SIGCONT)
	return nil
}

func (s *storm) run(strikes int, hit strike) {
	ctx, cancel := context.WithTimeout(s.t.Context(), 4*time.Minute)
	defer cancel()
	done := s.callers(ctx)
	s.rage(strikes, hit)
	done.Wait()
	s.judge()
}

func sqliteFile(t *testing.T) func(int) string {
	file := filepath.Join(t.TempDir(), "ledger.db")
	return func(int) string { return "sqlite:" + file }
}

func onePostgres(t *testing.T) func(int) string {
	dsn := testdb.Postgres(t)
	return func(int) string { return dsn }
}

func TestTwentyKillsUnderLoadOnSQLiteLoseAndDoubleNothing(t *testing.T) {
	t.Parallel()
	newStorm(t, sqliteFile(t), 1).run(20, kill)
}

func TestTwentyKillsUnderLoadOnThreeReplicasLoseAndDoubleNothing(t *testing.T) {
	t.Parallel()
	newStorm(t, onePostgres(t), 3).run(20, kill)
}

func TestStoppedAndContinuedProcessesOnSQLiteLoseAndDoubleNothing(t *testing.T) {
	t.Parallel()
	newStorm(t, sqliteFile(t), 2).run(5, freeze)
}

func TestStoppedAndContinuedReplicasLoseAndDoubleNothing(t *testing.T) {
	t.Parallel()
	newStorm(t, onePostgres(t), 3).run(6, freeze)
}
