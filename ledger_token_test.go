package onceward_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
)

var callerScope = onceward.Scope{Roles: []onceward.Role{onceward.RoleCaller}}

// issue makes a token as the local operator.
func (r *replica) issue(scope onceward.Scope, lifetime time.Duration) (*onceward.Token, string) {
	r.t.Helper()
	tok, secret, err := r.ledger.IssueToken(r.t.Context(), onceward.LocalPrincipal(), onceward.TokenRequest{Subject: "bot", Scope: scope, Lifetime: lifetime})
	if err != nil {
		r.t.Fatal(err)
	}
	return tok, secret
}

// holds wants that the token is taken, or refused as unauthenticated.
func (r *replica) holds(secret string, want bool) {
	r.t.Helper()
	p, err := r.ledger.Authenticate(r.t.Context(), secret)
	if want && (err != nil || p.String() != "token:bot") || !want && !onceward.Is(err, onceward.CodeUnauthenticated) {
		r.t.Fatalf("the token makes %v (%v), want that it holds: %v", p, err, want)
	}
}

func tickets() *oncewardtest.Tool {
	return oncewardtest.NewTool("t.write", onceward.EffectProbedWrite)
}

func TestTokenMakesThePrincipalThatItWasIssuedFor(t *testing.T) {
	t.Parallel()
	onEachStore(t, tickets(), func(t *testing.T, w *world) {
		scope := onceward.Scope{Roles: []onceward.Role{onceward.RoleOperator, onceward.RoleCaller}, Groups: []string{"finance"},
			Tools: []onceward.ToolName{"tickets.create"}, Effects: []onceward.EffectClass{onceward.EffectProbedWrite}}
		_, secret := w.issue(scope, 0)
		p, err := w.ledger.Authenticate(t.Context(), secret)
		want := onceward.Principal{Tenant: onceward.DefaultTenant, Issuer: "token", Subject: "bot", Groups: scope.Groups, Tools: scope.Tools, Effects: scope.Effects,
			Roles: []onceward.Role{onceward.RoleCaller, onceward.RoleOperator}}
		if err != nil || fmt.Sprint(p) != fmt.Sprint(want) || !slices.Equal(p.Tools, want.Tools) {
			t.Errorf("the token makes %#v (%v), want %#v", p, err, want)
		}
	})
}

func TestForgedTokenIsRefusedWithoutAWordAboutWhy(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tickets())
	tok, secret := w.issue(callerScope, 0)
	_, other := w.issue(callerScope, 0)
	_, half, _ := strings.Cut(other[3:], "_")
	flipped := []byte(secret)
	flipped[30] = "01"[(flipped[30]+1)%2]
	if string(flipped) == secret {
		flipped[30] = 'v'
	}
	for name, forged := range map[string]string{
		"empty": "", "prefix": "ow_", "ID alone": "ow_" + string(tok.ID), "no secret": "ow_" + string(tok.ID) + "_", "one character less": secret[:len(secret)-1],
		"one character more": secret + "0", "very long": secret + strings.Repeat("0", 1<<20), "one character wrong": string(flipped), "upper case": strings.ToUpper(secret),
		"another's secret": "ow_" + string(tok.ID) + "_" + half, "unknown ID": "ow_0000000000000000_" + half, "with a blank": " " + secret[1:], "line end": secret[:71] + "\n",
		"hash for secret": "ow_" + string(tok.ID) + "_" + fmt.Sprintf("%x", tok.Hash)[:52], "NUL": strings.Repeat("\x00", 72), "of another product": "ghp_" + secret[4:],
	} {
		_, err := w.ledger.Authenticate(t.Context(), forged)
		if !onceward.Is(err, onceward.CodeUnauthenticated) {
			t.Errorf("%s: %v", name, err)
		} else if strings.Contains(err.Error(), half[:8]) || strings.Contains(err.Error(), secret[20:28]) {
			t.Errorf("%s: the refusal repeats what was sent: %v", name, err)
		}
	}
	w.holds(secret, true)
}

func TestTokenEndsWhenItSays(t *testing.T) {
	t.Parallel()
	onEachStore(t, tickets(), func(_ *testing.T, w *world) {
		_, secret := w.issue(callerScope, time.Hour)
		w.clock.Advance(time.Hour - time.Second)
		w.holds(secret, true)
		w.clock.Advance(time.Second)
		w.holds(secret, false)
	})
}

func TestRevocationIsInEffectEverywhereWithinASecond(t *testing.T) {
	t.Parallel()
	onEachStore(t, tickets(), func(t *testing.T, w *world) {
		tok, secret := w.issue(callerScope, 0)
		other := w.another()
		w.holds(secret, true)
		other.holds(secret, true)
		if _, err := w.ledger.RevokeToken(t.Context(), onceward.LocalPrincipal(), tok.ID); err != nil {
			t.Fatal(err)
		}
		w.holds(secret, false) // at once where it was revoked
		w.clock.Advance(onceward.TokenCacheTime)
		other.holds(secret, false)
	})
}

func TestTokenIsReadOnceASecondHoweverManyPresentIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tickets())
	_, secret := w.issue(callerScope, 0)
	w.holds(secret, true)
	w.store.GoAway() // what was read within the second needs no ledger
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { w.holds(secret, true) })
	}
	all.Wait()
	w.clock.Advance(onceward.TokenCacheTime)
	if _, err := w.ledger.Authenticate(t.Context(), secret); !onceward.Is(err, onceward.CodeLedgerUnavailable) {
		t.Errorf("without a ledger: %v", err)
	}
	w.store.ComeBack()
	w.holds(secret, true)
}

func TestNobodyIssuesMoreThanHeHas(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tickets())
	role := func(rs ...onceward.Role) []onceward.Role { return rs }
	admin := onceward.Principal{Tenant: "acme", Issuer: "token", Subject: "admin", Roles: role(onceward.RoleAdmin, onceward.RoleCaller), Groups: []string{"finance"},
		Tools: []onceward.ToolName{"tickets.create", "fax.send"}, Effects: []onceward.EffectClass{onceward.EffectRead, onceward.EffectProbedWrite}}
	fits := onceward.Scope{Roles: role(onceward.RoleCaller), Groups: []string{"finance"}, Tools: []onceward.ToolName{"fax.send"}, Effects: []onceward.EffectClass{onceward.EffectRead}}
	for name, c := range map[string]struct {
		edit func(by *onceward.Principal, s *onceward.Scope)
		want onceward.Code
	}{
		"what fits": {func(*onceward.Principal, *onceward.Scope) {}, ""},
		"his own rights": {func(by *onceward.Principal, s *onceward.Scope) {
			*s = onceward.Scope{Roles: by.Roles, Groups: by.Groups, Tools: by.Tools, Effects: by.Effects}
		}, ""},
		"a role more": {func(_ *onceward.Principal, s *onceward.Scope) {
			s.Roles = role(onceward.RoleCaller, onceward.RoleApprover)
		}, "forbidden"},
		"another's group": {func(_ *onceward.Principal, s *onceward.Scope) { s.Groups = []string{"finance", "board"} }, "forbidden"},
		"every group":     {func(_ *onceward.Principal, s *onceward.Scope) { s.Groups = []string{onceward.EveryGroup} }, "forbidden"},
		"another tool":    {func(_ *onceward.Principal, s *onceward.Scope) { s.Tools = []onceward.ToolName{"fax.send", "pay.out"} }, "forbidden"},
		"every tool":      {func(_ *onceward.Principal, s *onceward.Scope) { s.Tools = nil }, "forbidden"},
		"another effect class": {func(_ *onceward.Principal, s *onceward.Scope) {
			s.Effects = append(s.Effects, onceward.EffectUnsafeWrite)
		}, "forbidden"},
		"every effect class": {func(_ *onceward.Principal, s *onceward.Scope) { s.Effects = nil }, "forbidden"},
		"as a caller":        {func(by *onceward.Principal, _ *onceward.Scope) { by.Roles = role(onceward.RoleCaller) }, "forbidden"},
		"as everything but admin": {func(by *onceward.Principal, _ *onceward.Scope) {
			by.Roles = role("caller", "operator", "auditor", "approver")
		}, "forbidden"},
		"no role":                 {func(_ *onceward.Principal, s *onceward.Scope) { s.Roles = nil }, "invalid_request"},
		"a role that is none":     {func(_ *onceward.Principal, s *onceward.Scope) { s.Roles = role("root") }, "invalid_request"},
		"a group with a line end": {func(_ *onceward.Principal, s *onceward.Scope) { s.Groups = []string{"finance\nboard"} }, "invalid_request"},
	} {
		by, scope := admin, fits
		scope.Effects = slices.Clone(fits.Effects)
		c.edit(&by, &scope)
		tok, _, err := w.ledger.IssueToken(t.Context(), by, onceward.TokenRequest{Subject: "bot", Scope: scope})
		if onceward.CodeOf(err) != c.want {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if err == nil && tok.Tenant != "acme" {
			t.Errorf("%s: the token is of tenant %s", name, tok.Tenant)
		}
	}
}

func TestTokenThatHoldsTooLongIsNotIssued(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tickets())
	for lifetime, ok := range map[time.Duration]bool{
		time.Minute: true, onceward.TokenLifetimeMax: true, time.Minute - 1: false, -time.Hour: false, onceward.TokenLifetimeMax + 1: false,
	} {
		_, _, err := w.ledger.IssueToken(t.Context(), onceward.LocalPrincipal(), onceward.TokenRequest{Subject: "bot", Scope: callerScope, Lifetime: lifetime})
		if (err == nil) != ok {
			t.Errorf("a lifetime of %s: %v", lifetime, err)
		}
	}
	tok, _ := w.issue(callerScope, 0)
	if got := tok.ExpiresAt.Sub(tok.CreatedAt); got != onceward.TokenLifetime {
		t.Errorf("a token that nobody bounded holds %s", got)
	}
}

func TestLastUseIsNotedOnceAnHour(t *testing.T) {
	t.Parallel()
	onEachStore(t, tickets(), func(t *testing.T, w *world) {
		tok, secret := w.issue(callerScope, 0)
		used := func() time.Time {
			t.Helper()
			got, err := w.store.LoadToken(t.Context(), tok.ID)
			if err != nil {
				t.Fatal(err)
			}
			return got.LastUsedAt
		}
		if !used().IsZero() {
			t.Errorf("a new token was used at %s", used())
		}
		w.holds(secret, true)
		first := used()
		if hour := w.ledger.Now().Truncate(time.Hour); !first.Equal(hour) {
			t.Errorf("it was used at %s, want %s", first, hour)
		}
		w.store.GoReadOnly() // within the hour, nothing is written
		w.holds(secret, true)
		w.clock.Advance(time.Hour)
		w.holds(secret, true) // and a ledger that takes no writes refuses nobody
		w.store.ComeBack()
		w.clock.Advance(time.Hour)
		w.holds(secret, true)
		if got := used(); !got.Equal(first.Add(2 * time.Hour)) {
			t.Errorf("it was used at %s, want %s", got, first.Add(2*time.Hour))
		}
	})
}

func TestTokenThatIsRevokedTwiceEndsOnceInTheTrail(t *testing.T) {
	t.Parallel()
	onEachStore(t, tickets(), func(t *testing.T, w *world) {
		tok, _ := w.issue(callerScope, 0)
		for range 2 {
			if _, err := w.ledger.RevokeToken(t.Context(), onceward.LocalPrincipal(), tok.ID); err != nil {
				t.Fatal(err)
			}
			w.clock.Advance(time.Second)
		}
		page, err := w.ledger.Audit(t.Context(), onceward.LocalPrincipal(), onceward.AuditFilter{Limit: onceward.MaxPage})
		if err != nil {
			t.Fatal(err)
		}
		revoked := 0
		for _, line := range page.Lines {
			if line.Action == onceward.AuditTokenRevoked && line.Subject == string(tok.ID) {
				revoked++
			}
		}
		if revoked != 1 {
			t.Errorf("the trail tells of %d revocations", revoked)
		}
	})
}

func TestTokenOfAnotherTenantIsNeitherSeenNorRevoked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tickets())
	tok, secret := w.issue(callerScope, 0)
	foreign := onceward.LocalPrincipal()
	foreign.Tenant = "globex"
	if _, err := w.ledger.RevokeToken(t.Context(), foreign, tok.ID); !onceward.Is(err, onceward.CodeTokenNotFound) {
		t.Errorf("revoking it: %v", err)
	}
	if all, err := w.ledger.ListTokens(t.Context(), foreign, "", 10); err != nil || len(all) > 0 {
		t.Errorf("the list has %v (%v)", all, err)
	}
	w.holds(secret, true)
}

func TestLedgerWithATokenAsksForOneEvenAfterItsRevocation(t *testing.T) {
	t.Parallel()
	onEachStore(t, tickets(), func(t *testing.T, w *world) {
		asks := func(r *replica, want bool) {
			t.Helper()
			if got, err := r.ledger.AnyToken(t.Context()); err != nil || got != want {
				t.Fatalf("there is a token: %v (%v), want %v", got, err, want)
			}
		}
		other := w.another()
		asks(w.replica, false)
		asks(other, false)
		tok, _ := w.issue(callerScope, 0)
		asks(w.replica, true)
		w.clock.Advance(onceward.TokenCacheTime)
		asks(other, true)
		if _, err := w.ledger.RevokeToken(t.Context(), onceward.LocalPrincipal(), tok.ID); err != nil {
			t.Fatal(err)
		}
		asks(w.another(), true)
		w.store.GoAway()
		asks(w.replica, true)
	})
}

func TestOutageOpensNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tickets())
	w.store.GoAway()
	if yes, err := w.ledger.AnyToken(t.Context()); yes || !onceward.Is(err, onceward.CodeLedgerUnavailable) {
		t.Errorf("there is a token: %v (%v), want ledger_unavailable", yes, err)
	}
}

func TestSecretOfATokenIsInNoStoreAndNoLog(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	w := newWorld(t, tickets(), func(o *onceward.Options) {
		o.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	tok, secret := w.issue(callerScope, 0)
	w.store.GoReadOnly()
	w.holds(secret, true) // its use cannot be noted, which is logged
	stored, err := w.store.LoadToken(t.Context(), tok.ID)
	if err != nil || log.Len() == 0 {
		t.Fatalf("stored %v (%v), log %q", stored, err, log.String())
	}
	for _, text := range []string{log.String(), fmt.Sprintf("%+v", *stored), fmt.Sprintf("%+v", *tok)} {
		if strings.Contains(text, secret[20:]) {
			t.Errorf("the secret stands in %s", text)
		}
	}
}

func TestNarrowedTokenActsOnItsToolsOnly(t *testing.T) {
	t.Parallel()
	onEachStore(t, tickets(), func(t *testing.T, w *world) {
		op := w.ask(`{"id":"a"}`).Operation
		ctx := t.Context()
		for name, edit := range map[string]func(*onceward.Principal){
			"another tool":         func(p *onceward.Principal) { p.Tools = []onceward.ToolName{"fax.send"} },
			"another effect class": func(p *onceward.Principal) { p.Effects = []onceward.EffectClass{onceward.EffectRead} },
		} {
			p := onceward.LocalPrincipal()
			edit(&p)
			in := onceward.Intent{Principal: p, Tool: op.Tool, Input: []byte(`{"id":"b"}`)}
			l := w.ledger
			for act, err := range map[string]error{
				"submit":     second(l.Submit(ctx, in)),
				"batch":      l.SubmitBatch(ctx, []onceward.Intent{in})[0].Err,
				"claim":      second(l.Claim(ctx, in, strings.Repeat("t", onceward.ClaimTokenMin))),
				"fork":       second(l.Fork(ctx, p, op.ID, "again", "wanted", nil, 0)),
				"cancel":     second(l.Cancel(ctx, p, op.ID, "why")),
				"resolve":    second(l.Resolve(ctx, p, op.ID, onceward.Resolved{Outcome: onceward.ResolvedAbandoned, Reason: "why"})),
				"reconcile":  second(l.Reconcile(ctx, p, op.ID)),
				"plan":       second(l.PlanReplay(ctx, p, op.ID)),
				"replay":     second(l.Replay(ctx, p, op.ID, "why", "")),
				"prove":      second(l.Prove(ctx, p, op.ID, "ref", "callback")),
				"pause":      l.PauseTool(ctx, p, op.Tool, "why"),
				"pause all":  l.PauseTool(ctx, p, "", "why"),
				"resume":     second(l.ResumeTool(ctx, p, op.Tool)),
				"resume all": second(l.ResumeTool(ctx, p, "")),
			} {
				if !onceward.Is(err, onceward.CodeForbidden) || !strings.Contains(err.Error(), "the credentials are not for") {
					t.Errorf("narrowed to %s, %s: %v", name, act, err)
				}
			}
			if _, err := l.Get(ctx, p, op.ID, 0); err != nil {
				t.Errorf("narrowed to %s, its state is not to be read: %v", name, err)
			}
		}
		w.wantWrites(1)
	})
}

func second[T any](_ T, err error) error { return err }

func TestWhoSignedInStaysSoUntilOneOfItsEnds(t *testing.T) {
	t.Parallel()
	ada := onceward.Principal{Tenant: "acme", Issuer: "https://idp.test", Subject: "ada", Roles: []onceward.Role{onceward.RoleApprover}, Groups: []string{"finance"}}
	for name, c := range map[string]struct {
		wait  []time.Duration // between looks
		lives bool
	}{
		"at once":                   {[]time.Duration{0}, true},
		"nearly idle":               {[]time.Duration{onceward.SessionIdle}, true},
		"idle":                      {[]time.Duration{onceward.SessionIdle + time.Minute}, false},
		"used all the time":         {slices.Repeat([]time.Duration{50 * time.Minute}, 9), true},
		"used past its longest end": {slices.Repeat([]time.Duration{48 * time.Minute}, 10), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEachStore(t, tickets(), func(t *testing.T, w *world) {
				id, _, err := w.ledger.SignIn(t.Context(), ada, "Ada")
				if err != nil {
					t.Fatal(err)
				}
				var s *onceward.Session
				for _, d := range c.wait {
					w.clock.Advance(d)
					s, err = w.ledger.Session(t.Context(), id)
				}
				if c.lives && (err != nil || fmt.Sprint(s.Principal) != fmt.Sprint(ada)) || !c.lives && !onceward.Is(err, onceward.CodeUnauthenticated) {
					t.Errorf("the session is %v (%v), want that it lives: %v", s, err, c.lives)
				}
			})
		})
	}
}

func TestSigningOutEndsTheSessionEverywhereAtOnce(t *testing.T) {
	t.Parallel()
	onEachStore(t, tickets(), func(t *testing.T, w *world) {
		ctx := context.Background()
		id, _, err := w.ledger.SignIn(ctx, onceward.Principal{Tenant: "acme", Issuer: "i", Subject: "ada", Roles: []onceward.Role{onceward.RoleApprover}}, "")
		if err != nil {
			t.Fatal(err)
		}
		other := w.another()
		if _, err := other.ledger.Session(ctx, id); err != nil {
			t.Fatal(err)
		}
		if err := w.ledger.SignOut(ctx, id); err != nil {
			t.Fatal(err)
		}
		for _, r := range []*replica{w.replica, other} {
			if _, err := r.ledger.Session(ctx, id); !onceward.Is(err, onceward.CodeUnauthenticated) {
				t.Errorf("after signing out: %v", err)
			}
		}
	})
}

func TestWhoHasNoRoleIsNotSignedIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tickets())
	if _, _, err := w.ledger.SignIn(t.Context(), onceward.Principal{Tenant: "acme", Issuer: "i", Subject: "eve"}, ""); !onceward.Is(err, onceward.CodeForbidden) {
		t.Errorf("signing in: %v", err)
	}
}
