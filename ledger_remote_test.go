package onceward_test

import (
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
)

const token = "claim-token-of-the-first-performer"

func remote(effect onceward.EffectClass, edit ...func(*onceward.ToolInfo)) *oncewardtest.Tool {
	edit = append([]func(*onceward.ToolInfo){func(i *onceward.ToolInfo) { i.Policy.RemoteExecutor = true }}, edit...)
	return oncewardtest.NewTool("t.write", effect, edit...)
}

func (r *replica) tryClaim(input, token string) (*onceward.Grant, error) {
	return r.ledger.Claim(r.t.Context(), onceward.Intent{Principal: onceward.LocalPrincipal(), Tool: "t.write", Input: []byte(input)}, token)
}

func (r *replica) claim(token string) *onceward.Grant {
	r.t.Helper()
	g, err := r.tryClaim(`{"id":"a"}`, token)
	if err != nil {
		r.t.Fatal(err)
	}
	return g
}

func (r *replica) report(g *onceward.Grant, secret string, out onceward.RemoteOutcome) error {
	_, err := r.ledger.ReportOutcome(r.t.Context(), onceward.LocalPrincipal(), g.Attempt, secret, out)
	return err
}

var (
	remotelyDone = onceward.RemoteOutcome{Verdict: onceward.VerdictDone, Reference: "eff_1", Result: &onceward.Result{Status: 201, Body: []byte("eff_1"), BodyKept: true}}
	remotelyLost = onceward.RemoteOutcome{Verdict: onceward.VerdictUnknown, Failure: onceward.Failure{Class: onceward.ClassTimeout, Code: "deadline", Retryable: true}}
	remotelyNot  = onceward.RemoteOutcome{Verdict: onceward.VerdictNotDone, Failure: onceward.Failure{Class: onceward.ClassValidation, Code: "http_400"}}
)

// The answer to a claim is lost, and it is asked for again, at another process
// too: the same token gets the same attempt. Nobody else gets one.
func TestAClaimAskedForAgainIsTheSameAttempt(t *testing.T) {
	t.Parallel()
	inRealTime(t, remote(onceward.EffectUnsafeWrite), func(t *testing.T, w *world) {
		processes := []*replica{w.replica, w.another()}
		grants := make([]*onceward.Grant, 20)
		var all sync.WaitGroup
		for i := range grants {
			all.Go(func() {
				var err error
				if grants[i], err = processes[i%2].tryClaim(`{"id":"a"}`, token); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		for _, g := range grants {
			if g == nil || g.Secret == "" || g.Secret != grants[0].Secret || g.Attempt != grants[0].Attempt || g.Attempt.Number != 1 {
				t.Fatalf("a claim got %+v", g)
			}
		}
		if other := w.claim("claim-token-of-somebody-else"); other.Secret != "" || other.Operation.State != onceward.StateEffectPending {
			t.Fatalf("another performer got %+v", other)
		}
		_, err := w.tryClaim(`{"id":"a","n":2}`, token)
		wantCode(t, err, onceward.CodeKeyReused)
		_, err = w.tryClaim(`{"id":"a"}`, "short")
		wantCode(t, err, onceward.CodeInvalidRequest)
		_, err = w.submit(`{"id":"a"}`)
		wantCode(t, err, onceward.CodeInvalidRequest) // its caller performs it
	})
}

func TestAReportedEffectIsTheAnswerOfEveryLaterClaim(t *testing.T) {
	t.Parallel()
	inRealTime(t, remote(onceward.EffectUnsafeWrite), func(t *testing.T, w *world) {
		g := w.claim(token)
		for range 2 { // the answer to the first report is lost
			wantCode(t, w.report(g, g.Secret, remotelyDone), "")
		}
		for _, again := range []*onceward.Grant{w.claim(token), w.another().claim("claim-token-of-somebody-else")} {
			if again.Secret != "" || again.Decision != onceward.DecisionReplayed || again.Operation.Reference != "eff_1" || string(again.Operation.Result.Body) != "eff_1" {
				t.Fatalf("a later claim got %+v", again)
			}
		}
		if op := w.get(g.Operation.ID); op.Version != 2 {
			t.Fatalf("the repeated report was recorded again: version %d", op.Version)
		}
	})
}

func TestAWrongSecretChangesNothing(t *testing.T) {
	t.Parallel()
	inRealTime(t, remote(onceward.EffectUnsafeWrite), func(t *testing.T, w *world) {
		g := w.claim(token)
		for _, secret := range []string{"", "guessed", g.Secret[:len(g.Secret)-1], token} {
			wantCode(t, w.report(g, secret, remotelyDone), onceward.CodeAttemptNotFound)
			_, err := w.ledger.Heartbeat(t.Context(), onceward.LocalPrincipal(), g.Attempt, secret)
			wantCode(t, err, onceward.CodeAttemptNotFound)
		}
		_, err := w.ledger.ReportOutcome(t.Context(), caller("other", "eve"), g.Attempt, g.Secret, remotelyDone)
		wantCode(t, err, onceward.CodeOperationNotFound)
		absent := *g
		absent.Attempt.Number = 2
		wantCode(t, w.report(&absent, g.Secret, remotelyDone), onceward.CodeAttemptNotFound)
		if op := w.get(g.Operation.ID); op.State != onceward.StateEffectPending || op.Version != 1 {
			t.Fatalf("it is %s at version %d", op.State, op.Version)
		}
	})
}

// Heartbeats keep the lease; silence past it is unknown. Whoever lost it is told
// to stop, and what it reports later settles its own attempt only.
func TestARemotePerformerThatFallsSilentIsUnknown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		effect onceward.EffectClass
		late   onceward.RemoteOutcome
		silent onceward.State // after the silence
		end    onceward.State // after the late report
	}{
		{"UnsafeDone", onceward.EffectUnsafeWrite, remotelyDone, onceward.StateNeedsReview, onceward.StateNeedsReview}, // a person decides, with this evidence
		{"KeyedDone", onceward.EffectKeyedWrite, remotelyDone, onceward.StateReady, onceward.StateSucceeded},
		{"KeyedRefused", onceward.EffectKeyedWrite, remotelyNot, onceward.StateReady, onceward.StateReady},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			onEachStore(t, remote(c.effect), func(t *testing.T, w *world) {
				g := w.claim(token)
				for range 10 {
					w.pass(4 * time.Second)
					until, err := w.ledger.Heartbeat(t.Context(), onceward.LocalPrincipal(), g.Attempt, g.Secret)
					if err != nil || !until.Equal(w.clock.Now().Add(5*time.Second)) {
						t.Fatalf("the lease is prolonged until %s, %v", until, err)
					}
				}
				w.pass(4 * time.Second)
				if op := w.get(g.Operation.ID); op.State != onceward.StateEffectPending {
					t.Fatalf("inside its lease it is %s", op.State)
				}
				w.clock.Advance(time.Second + time.Millisecond)
				_, err := w.ledger.Heartbeat(t.Context(), onceward.LocalPrincipal(), g.Attempt, g.Secret)
				wantCode(t, err, onceward.CodeFenceLost) // though nobody has noticed yet
				w.work()
				if op := w.get(g.Operation.ID); op.State != onceward.StateOutcomeUnknown && op.State != onceward.StateNeedsReview {
					t.Fatalf("past its lease it is %s", op.State)
				}
				w.pass(5 * time.Second)
				if op := w.get(g.Operation.ID); op.State != c.silent {
					t.Fatalf("after the silence it is %s, want %s\n%s", op.State, c.silent, w.timeline(op))
				}
				_, err = w.ledger.Heartbeat(t.Context(), onceward.LocalPrincipal(), g.Attempt, g.Secret)
				if !onceward.Is(err, onceward.CodeFenceLost) && !onceward.Is(err, onceward.CodeStateForbids) {
					t.Fatalf("a late heartbeat is told %v", err)
				}
				wantCode(t, w.report(g, g.Secret, c.late), "")
				op := w.get(g.Operation.ID)
				if op.State != c.end || c.late.Reference != op.Reference {
					t.Fatalf("after the late report it is %s with reference %q, want %s\n%s", op.State, op.Reference, c.end, w.timeline(op))
				}
				w.wantWrites(0) // nobody here performs it
			})
		})
	}
}

// The first performer of a keyed write fell silent; the class allows the same
// key again, so the next claim gets a new attempt. The first one's late word
// takes nothing away from it.
func TestANewPerformerMayFollowASilentOneWhereTheClassAllowsIt(t *testing.T) {
	t.Parallel()
	onEachStore(t, remote(onceward.EffectKeyedWrite), func(t *testing.T, w *world) {
		first := w.claim(token)
		w.passSlowly(40*time.Second, time.Second) // until this process, which has just begun, believes a clock that ends a lease
		second := w.another().claim("claim-token-of-the-second-performer")
		if second.Secret == "" || second.Attempt.Number != 2 || second.Secret == first.Secret || second.Operation.ProviderKey != first.Operation.ProviderKey {
			t.Fatalf("the second performer got %+v", second)
		}
		wantCode(t, w.report(first, first.Secret, remotelyNot), "")
		if op := w.get(first.Operation.ID); op.State != onceward.StateEffectPending || op.Attempt() != 2 {
			t.Fatalf("the first one's word made it %s", op.State)
		}
		wantCode(t, w.report(second, second.Secret, remotelyDone), "")
		op := w.get(first.Operation.ID)
		if op.State != onceward.StateSucceeded || op.Reference != "eff_1" {
			t.Fatalf("it is %s with reference %q\n%s", op.State, op.Reference, w.timeline(op))
		}
	})
}

func TestARemoteUnknownWithALookUpIsLookedUp(t *testing.T) {
	t.Parallel()
	onEachStore(t, remote(onceward.EffectProbedWrite), func(t *testing.T, w *world) {
		g := w.claim(token)
		wantCode(t, w.report(g, g.Secret, remotelyLost), "")
		w.passSlowly(6*time.Second, time.Second) // absent past settle: the next claim may perform it
		if op := w.get(g.Operation.ID); op.State != onceward.StateReady || op.OpenAttempts() != 0 || w.provider.Probes() == 0 {
			t.Fatalf("it is %s with %d open attempts after %d look-ups", op.State, op.OpenAttempts(), w.provider.Probes())
		}
		if again := w.claim("claim-token-of-the-second-performer"); again.Attempt.Number != 2 {
			t.Fatalf("the next claim got %+v", again)
		}
	})
}

// A key that may be used anew is claimed anew by its performer too.
func TestARetiredRemoteKeyIsClaimedAnew(t *testing.T) {
	t.Parallel()
	for name, mayBe := range map[string]bool{"Reusable": true, "Refused": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tool := remote(onceward.EffectUnsafeWrite, keptForADay, func(i *onceward.ToolInfo) { i.Policy.KeyReusable = mayBe })
			onEachStore(t, tool, func(t *testing.T, w *world) {
				first := w.claim(token)
				wantCode(t, w.report(first, first.Secret, remotelyDone), "")
				w.clock.Advance(2 * kept)
				if n := w.retire(); n != 1 {
					t.Fatalf("%d records were slimmed", n)
				}
				again, err := w.tryClaim(`{"id":"a"}`, "claim-token-of-the-second-performer")
				if !mayBe {
					wantCode(t, err, onceward.CodeKeyRetired)
					return
				}
				if err != nil || again.Secret == "" || again.Operation.Generation != 1 || again.Operation.ProviderKey == first.Operation.ProviderKey {
					t.Fatalf("the second use got %+v, %v", again, err)
				}
				wantCode(t, w.report(first, first.Secret, remotelyDone), onceward.CodeAttemptNotFound) // an attempt of the first use
			})
		})
	}
}

// The performer of a remote attempt reports "not done". The provider may have
// seen the key all the same: its window counts from that attempt, not from the
// next one.
func TestARemoteRefusalCountsForTheKeyWindow(t *testing.T) {
	t.Parallel()
	tool := oncewardtest.NewTool("t.write", onceward.EffectKeyedWrite, func(i *onceward.ToolInfo) {
		i.Policy.RemoteExecutor, i.Policy.KeyWindow, i.Policy.BackoffInitial, i.Policy.BackoffMax = true, 10*time.Minute, 0, 0
	})
	onEachStore(t, tool, func(t *testing.T, w *world) {
		claim := func(token string) *onceward.Grant {
			t.Helper()
			g, err := w.ledger.Claim(t.Context(), onceward.Intent{Principal: onceward.LocalPrincipal(), Tool: "t.write", Input: []byte(`{"id":"a"}`)}, token)
			if err != nil {
				t.Fatal(err)
			}
			return g
		}
		report := func(g *onceward.Grant, v onceward.Verdict) {
			t.Helper()
			failure := onceward.Failure{Class: onceward.ClassUnavailable, Code: "http_503", Retryable: true}
			if _, err := w.ledger.ReportOutcome(t.Context(), onceward.LocalPrincipal(), g.Attempt, g.Secret, onceward.RemoteOutcome{Verdict: v, Failure: failure}); err != nil {
				t.Fatal(err)
			}
		}
		report(claim("first-claim-token"), onceward.VerdictNotDone)
		w.clock.Advance(8 * time.Minute)
		second := claim("second-claim-token")
		if second.Secret == "" {
			t.Fatalf("the second attempt did not start: %s", second.Operation.State)
		}
		report(second, onceward.VerdictUnknown)
		w.pass(2 * time.Minute) // ten minutes after the first send, two after the second
		if op := w.get(second.Operation.ID); op.State != onceward.StateNeedsReview {
			t.Fatalf("past the provider's window the operation is %s, want a person to be asked", op.State)
		}
	})
}
