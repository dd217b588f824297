//go:build clients

package clients_test

import (
	"net"
	"path/filepath"
	"testing"

	"github.com/onceward/onceward/internal/faultproxy"
	"github.com/onceward/onceward/internal/proctest"
)

// sdks is the program with both upstreams before the books.
type sdks struct {
	*books
	server *proctest.Server
	stripe string // the address of the Stripe upstream's own
}

func newSDKs(t *testing.T) *sdks {
	t.Helper()
	s := &sdks{books: newBooks(t), stripe: proctest.FreeAddress(t)}
	contracts := upstreams(t, "127.0.0.1:8731", s.stripe, "settle: 10s", "settle: 1s",
		"      effect: ", "      deadline: 2s\n      lease: 5s\n      effect: ")
	url := "http://" + s.faults.Addr()
	s.server = proctest.NewServer(t, "sqlite:"+filepath.Join(t.TempDir(), "ledger.db"), []string{contracts}, "STRIPE_URL="+url, "GITHUB_URL="+url, "GITHUB_TOKEN=ghp_of_the_contract")
	return s
}

type charged struct{ ID, Again, Order string }

func (s *sdks) charge(t *testing.T, order string) (c charged, err error) {
	t.Helper()
	host, port, _ := net.SplitHostPort(s.stripe)
	err = tryRun(t, &c, []string{"STRIPE_HOST=" + host, "STRIPE_PORT=" + port, "ORDER=" + order}, "node", "stripe.mjs")
	return c, err
}

type opened struct{ Number, Again, Listed int }

func (s *sdks) issue(t *testing.T, ticket string) (o opened, err error) {
	t.Helper()
	err = tryRun(t, &o, []string{"GITHUB_BASE=" + s.server.URL() + "/proxy/github", "TICKET=" + ticket}, "node", "octokit.mjs")
	return o, err
}

func (s *sdks) check(t *testing.T, charges, issues int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.charges) != charges || len(s.issues) != issues {
		t.Errorf("%d charges and %d issues, want %d and %d", len(s.charges), len(s.issues), charges, issues)
	}
}

func TestStripesSDKGetsItsAnswerAndThereIsOneCharge(t *testing.T) {
	t.Parallel()
	s := newSDKs(t)
	s.server.Start("")
	for i, fault := range []faultproxy.Fault{{}, {Kind: faultproxy.Reset, On: faultproxy.ToClient}, {Kind: faultproxy.Cut, On: faultproxy.ToClient, After: 30}} {
		order := "order-" + string(rune('a'+i))
		s.faults.ResetAll()
		s.faults.Next(fault)
		c, err := s.charge(t, order)
		if err != nil {
			t.Fatal(err)
		}
		if c.ID == "" || c.ID != c.Again || c.Order != order {
			t.Errorf("%s: %+v", order, c)
		}
		s.check(t, i+1, 0)
	}
	if !s.auth["Bearer sk_test_of_the_caller"] || len(s.auth) != 1 {
		t.Errorf("the provider saw the credentials %v", s.auth)
	}
}

func TestOctokitGetsItsAnswerAndThereIsOneIssue(t *testing.T) {
	t.Parallel()
	s := newSDKs(t)
	s.server.Start("")
	for i, fault := range []faultproxy.Fault{{}, {Kind: faultproxy.Reset, On: faultproxy.ToClient}} {
		s.faults.ResetAll()
		s.faults.Next(fault)
		o, err := s.issue(t, "t-"+string(rune('a'+i)))
		if err != nil {
			t.Fatal(err)
		}
		if o.Number != i+1 || o.Again != o.Number || o.Listed != i+1 {
			t.Errorf("%+v", o)
		}
		s.check(t, 0, i+1)
	}
}

// TestAKillOnTheWayLeavesOneEffect kills the program where the SDK's write has
// left, starts it again, and lets the SDK's own retries find it.
func TestAKillOnTheWayLeavesOneEffect(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"claim.after_commit", "dispatch.after_send", "dispatch.after_response", "record.before_commit", "record.after_commit"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			s := newSDKs(t)
			s.server.Start(point)
			died := make(chan error, 1)
			go func() {
				s.server.Wait()
				died <- s.server.TryStart("")
			}()
			c, err := s.charge(t, "order-1")
			if again := <-died; again != nil {
				t.Fatal(again)
			}
			if err != nil { // the SDK's retries were spent before the program was back
				if c, err = s.charge(t, "order-1"); err != nil {
					t.Fatal(err)
				}
			}
			if c.ID != "ch_1" || c.Again != "ch_1" {
				t.Errorf("%+v", c)
			}
			s.check(t, 1, 0)
		})
	}
}
