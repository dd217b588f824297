package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/faultproxy"
	"github.com/onceward/onceward/internal/linear"
	"github.com/onceward/onceward/internal/proctest"
	"github.com/onceward/onceward/internal/simprovider"
	"github.com/onceward/onceward/internal/testdb"
)

// proof is how long the histories of claims are (make prove: longer).
var proof = flag.Duration("proof", 12*time.Second, "how long clients claim while replicas and connections are struck")

// Limits of a client in a history.
const (
	askWait     = 300 * time.Millisecond // how long a claim waits for its end
	answerLimit = 3 * time.Second        // after it the answer is lost
	keysAtOnce  = 5                      // keys that clients meet at
	keysLife    = 40                     // requests; then come others, as a history of few requests is checked fast
)

// claimants are clients of three replicas, each of which reaches the one
// PostgreSQL through a proxy of its own.
type claimants struct {
	*testing.T
	provider *proctest.Provider
	servers  []*proctest.Server
	proxies  []*faultproxy.Proxy
	history  linear.History
	seed     uint64
	requests atomic.Int64
}

func newClaimants(t *testing.T, dsn string) *claimants {
	t.Helper()
	proctest.Binary(t)
	c := &claimants{T: t, provider: proctest.NewProvider(t), seed: uint64(time.Now().UnixNano())}
	t.Logf("seed %d", c.seed)
	// Some writes are slow, some are refused, some are lost: operations live for
	// a while, and some of those that are cancelled have no effect.
	rates := map[string]float64{"slow;delay=300ms": .2, "rate_limited": .15, "drop_before_commit": .05, "drop_after_commit": .05}
	if _, err := c.provider.AddFaults(simprovider.Script{System: "payments", Rate: rates, Seed: c.seed}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		proxy, through := proxied(t, dsn)
		s := simServer(t, through, c.provider)
		s.Start("")
		c.servers, c.proxies = append(c.servers, s), append(c.proxies, proxy)
	}
	return c
}

// proxied puts a proxy before the database of a DSN.
func proxied(t *testing.T, dsn string) (*faultproxy.Proxy, string) {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	proxy, err := faultproxy.Start(u.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() })
	u.Host = proxy.Addr()
	return proxy, u.String()
}

// order is the audit reference of a key's payment, and the key.
func (c *claimants) order(r *rand.Rand) string {
	return fmt.Sprintf("l%d-%d", c.requests.Add(1)/keysLife, r.IntN(keysAtOnce))
}

func operationURL(s *proctest.Server, order string) string {
	key := onceward.Key(fmt.Sprintf("[%q]", order))
	return s.URL() + "/v1/operations/" + onceward.NewOperationID(onceward.DefaultTenant, "payments.create", key).String()
}

// run lets one client ask until the time is over.
func (c *claimants) run(ctx context.Context, client int) {
	r := rand.New(rand.NewPCG(c.seed, uint64(100+client)))
	for ctx.Err() == nil {
		s, order := c.servers[r.IntN(len(c.servers))], c.order(r)
		pause(c.T, time.Duration(r.IntN(20))*time.Millisecond)
		switch n := r.IntN(100); {
		case n < 70:
			amount := 100
			if n < 12 {
				amount = 200
			}
			c.claim(client, s, order, amount)
		case n < 92:
			c.look(client, s, order)
		default:
			c.cancel(client, s, order)
		}
	}
}

func (c *claimants) claim(client int, s *proctest.Server, order string, amount int) {
	ctx, done := context.WithTimeout(c.Context(), answerLimit)
	defer done()
	q := c.history.Begin(client, linear.Call{Kind: linear.Claim, Key: order, Input: fmt.Sprint(amount)})
	a, err := s.Call(ctx, "payments.create", fmt.Sprintf(`{"order_id":%q,"amount":%d,"currency":"EUR"}`, order, amount), askWait)
	result := c.sort(a, err)
	switch {
	case result == linear.Seen && a.Decision == "fresh":
		result = linear.Made
	case result == linear.Seen && a.Operation.Cancel:
		result = linear.JoinedOrMade
	case result == linear.Seen:
		result = linear.Joined
	case a.Status == 422 && a.Code == "key_reused":
		result = linear.OtherInput
	}
	q.EndClaim(linear.Answer{Result: result}, c.answer(a, err))
}

func (c *claimants) look(client int, s *proctest.Server, order string) proctest.Answer {
	ctx, done := context.WithTimeout(c.Context(), answerLimit)
	defer done()
	q := c.history.Begin(client, linear.Call{Kind: linear.Read, Key: order})
	a, err := proctest.Ask(ctx, "GET", operationURL(s, order), "")
	q.End(c.answer(a, err))
	return a
}

func (c *claimants) cancel(client int, s *proctest.Server, order string) {
	ctx, done := context.WithTimeout(c.Context(), answerLimit)
	defer done()
	q := c.history.Begin(client, linear.Call{Kind: linear.Cancel, Key: order})
	a, err := proctest.Ask(ctx, "POST", operationURL(s, order)+"/cancel", `{"reason":"a wish"}`)
	q.End(c.answer(a, err))
}

// answer is what a client saw of the operation.
func (c *claimants) answer(a proctest.Answer, err error) linear.Answer {
	return linear.Answer{Result: c.sort(a, err), State: a.Operation.State, Reference: a.Operation.Reference, Cancel: a.Operation.Cancel}
}

// sort takes an answer at its word; docs/reference/errors.md says what a code
// promises.
func (c *claimants) sort(a proctest.Answer, err error) linear.Result {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return linear.Nothing // nobody was there to hear it
	case err != nil || a.Code == "may_be_recorded" || a.Code == "canceled":
		return linear.Unknown
	case a.Operation.ID != "":
		return linear.Seen
	case a.Status == 404:
		return linear.Absent
	case a.Status == 503 && (a.Code == "ledger_unavailable" || a.Code == "overloaded"):
		return linear.Nothing
	case a.Status == 409 && a.Code == "state_forbids":
		return linear.TooLate
	case a.Code != "key_reused":
		c.Errorf("a client was answered %d %s %s", a.Status, a.Code, a.Detail)
	}
	return linear.Unknown
}

// strike does something to a replica or to its way to the database, and leaves
// both whole.
func (c *claimants) strike(r *rand.Rand, i int) error {
	server, proxy := c.servers[i], c.proxies[i]
	moment := func() { pause(c.T, time.Duration(50+r.IntN(700))*time.Millisecond) }
	switch r.IntN(8) {
	case 0:
		return kill(c.T, r, server)
	case 1: // longer than an answer may take, shorter than a lease
		server.Signal(syscall.SIGSTOP)
		moment()
		server.Signal(syscall.SIGCONT)
	case 2: // all connections; the new ones break somewhere in an answer
		for range 4 {
			proxy.Next(faultproxy.Fault{Kind: faultproxy.Reset, On: faultproxy.ToClient, After: int64(600 + r.IntN(6000))})
		}
		proxy.ResetAll()
	case 3: // the same, in a request
		for range 4 {
			proxy.Next(faultproxy.Fault{Kind: faultproxy.Cut, On: faultproxy.ToServer, After: int64(600 + r.IntN(9000))})
		}
		proxy.ResetAll()
	case 4: // a network that stalls, and goes on
		proxy.Partition()
		moment()
		proxy.Heal()
	case 5, 6: // what was asked for is done, and nobody hears of it
		proxy.PartitionAnswers()
		pause(c.T, time.Duration(20+r.IntN(200))*time.Millisecond)
		proxy.ResetAll()
		proxy.Heal()
	case 7: // a network that stalls, and does not go on
		proxy.Partition()
		moment()
		proxy.ResetAll()
		proxy.Heal()
	}
	return nil
}

// rage strikes at random replicas until the time is over.
func (c *claimants) rage(ctx context.Context) (strikes int) {
	r := rand.New(rand.NewPCG(c.seed, 2))
	for ; ctx.Err() == nil; strikes++ {
		pause(c.T, time.Duration(20+r.IntN(150))*time.Millisecond)
		if err := c.strike(r, r.IntN(len(c.servers))); err != nil {
			c.Error(err)
		}
	}
	return strikes
}

// settle reads every key until it has ended, with the faults over, and counts
// what happened at the provider.
func (c *claimants) settle() (ended map[string]int) {
	ended = map[string]int{}
	var mu sync.Mutex
	var readers sync.WaitGroup
	for generation := range c.requests.Load()/keysLife + 1 {
		readers.Go(func() {
			for n := range keysAtOnce {
				order := fmt.Sprintf("l%d-%d", generation, n)
				state := c.end(order)
				mu.Lock()
				ended[state]++
				mu.Unlock()
				effects, want := c.provider.Effects(order).Count, 0
				if state == "succeeded" {
					want = 1
				}
				if effects != want {
					c.Errorf("%s is %s with %d effects", order, state, effects)
				}
			}
		})
	}
	readers.Wait()
	return ended
}

// end is how a key's operation ended; "" if nobody took the key.
func (c *claimants) end(order string) string {
	for until := time.Now().Add(3 * time.Minute); time.Now().Before(until); pause(c.T, 50*time.Millisecond) {
		a := c.look(0, c.servers[len(order)%len(c.servers)], order)
		if a.Status == 404 || a.Operation.Final() {
			return a.Operation.State
		}
	}
	c.Errorf("%s does not end", order)
	return "not ended"
}

// judge checks the history, and the checker with a copy that tells of a second
// claim that made the same operation.
func (c *claimants) judge() {
	dir := c.TempDir()
	if kept, err := os.MkdirTemp("", "onceward-history-"); err == nil {
		defer func() {
			if !c.Failed() {
				_ = os.RemoveAll(kept)
			}
		}()
		dir = kept
	}
	if err := c.history.Check(2*time.Minute, filepath.Join(dir, "history.html")); err != nil {
		c.Error(err)
	}
	spoilt, ok := c.history.Spoil(func(_ linear.Call, a *linear.Answer) bool {
		hit := a.Result == linear.Joined
		if hit {
			a.Result = linear.Made
		}
		return hit
	})
	if !ok || spoilt.Check(time.Minute, "") == nil {
		c.Error("the checker accepts two claims that made one operation")
	}
}

func TestClaimsAreLinearizableWhileReplicasAndConnectionsBreak(t *testing.T) {
	t.Parallel()
	c := newClaimants(t, testdb.Postgres(t))
	ctx, cancel := context.WithTimeout(t.Context(), *proof)
	defer cancel()
	var clients sync.WaitGroup
	for client := range 12 {
		clients.Go(func() { c.run(ctx, client) })
	}
	strikes := c.rage(ctx)
	clients.Wait()
	ended := c.settle()
	c.judge()
	t.Logf("%d requests under %d strikes: %d made, %d joined, %d of another input, %d refused, %d unknown; ended %v", c.history.Len(), strikes,
		c.history.Count(linear.Made), c.history.Count(linear.Joined)+c.history.Count(linear.JoinedOrMade), c.history.Count(linear.OtherInput), c.history.Count(linear.Nothing), c.history.Count(linear.Unknown), ended)
	if c.history.Count(linear.Made) < 5 || c.history.Count(linear.Joined) < 20 || c.history.Count(linear.Unknown) == 0 {
		t.Error("hardly anything happened")
	}
}
