package onceward_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
	"github.com/onceward/onceward/store/memory"
)

// versioned is a version of one tool; more attempts are more risk.
func versioned(version string, attempts int) *oncewardtest.Tool {
	return oncewardtest.NewTool("payouts.send", onceward.EffectProbedWrite, func(i *onceward.ToolInfo) {
		i.Version, i.Source, i.Policy.MaxAttempts = version, []byte(version), attempts
		i.BusinessOwner, i.TechnicalOwner = "finance", "tom"
	})
}

func moreAttempts(old, next onceward.Tool) []onceward.ContractDifference {
	was, is := old.Info().Policy.MaxAttempts, next.Info().Policy.MaxAttempts
	if was == is {
		return nil
	}
	return []onceward.ContractDifference{{Field: "retry.max_attempts", Was: fmt.Sprint(was), Is: fmt.Sprint(is), Widens: is > was, Why: "attempts"}}
}

// signers is a server with sign-off, the narrow version in force and the wide
// one loaded.
type signers struct {
	testing.TB
	store    onceward.Store
	versions map[string]*oncewardtest.Tool
}

func newSigners(t testing.TB) *signers {
	return &signers{t, memory.New(memory.Options{}), map[string]*oncewardtest.Tool{"narrow": versioned("narrow", 2), "tighter": versioned("tighter", 1), "wide": versioned("wide", 9), "widest": versioned("widest", 10)}}
}

func (s *signers) compile(_ onceward.ToolName, source []byte) (onceward.Tool, error) {
	return s.versions[string(source)], nil
}

// server starts one that is given the versions one after another.
func (s *signers) server(required bool, versions ...string) (*onceward.Registry, *onceward.Ledger) {
	s.Helper()
	r := onceward.NewRegistry(s.store, s.compile)
	r.SignOff(moreAttempts, required)
	for _, v := range versions {
		if err := r.Activate(s.Context(), []onceward.Tool{s.versions[v]}, false); err != nil {
			s.Fatal(err)
		}
	}
	l, err := onceward.New(onceward.Options{Store: s.store, Tools: r, Provider: oncewardtest.NewProvider(onceward.SystemClock{})})
	if err != nil {
		s.Fatal(err)
	}
	return r, l
}

func (s *signers) runs(r *onceward.Registry, version string) {
	s.Helper()
	if err := r.Refresh(s.Context()); err != nil {
		s.Fatal(err)
	}
	t, err := r.Active("payouts.send")
	if err != nil || t.Info().Version != version {
		s.Fatalf("in force is %v (%v), want %s", t, err, version)
	}
}

func signer(subject string, groups ...string) onceward.Principal {
	return onceward.Principal{Tenant: onceward.DefaultTenant, Issuer: "token", Subject: subject, Groups: groups, Roles: []onceward.Role{onceward.RoleApprover}}
}

func (s *signers) sign(l *onceward.Ledger, p onceward.Principal, version string, as onceward.SignAs) error {
	_, err := l.SignContract(s.Context(), p, "payouts.send", version, as, "it was agreed")
	return err
}

func (s *signers) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func TestVersionThatWidensWaitsForBothOwners(t *testing.T) {
	t.Parallel()
	s := newSigners(t)
	r, l := s.server(true, "narrow", "wide")
	s.runs(r, "narrow")
	if h := r.Held(); len(h) != 1 || h[0].Next.Info().Version != "wide" || len(h[0].Differences) != 1 {
		t.Fatalf("held is %+v", h)
	}
	s.must(s.sign(l, signer("fay", "finance"), "wide", onceward.SignBusiness))
	s.must(s.sign(l, signer("fay", "finance"), "wide", onceward.SignBusiness)) // the same yes again
	s.runs(r, "narrow")
	again, _ := s.server(true, "wide") // a restart with the same files
	s.runs(again, "narrow")
	s.must(s.sign(l, signer("tom"), "wide", onceward.SignTechnical))
	for _, replica := range []*onceward.Registry{r, again} {
		s.runs(replica, "wide")
		if h := replica.Held(); len(h) != 0 {
			t.Fatalf("still held: %+v", h)
		}
	}
	later, _ := s.server(true, "wide")
	s.runs(later, "wide")
	all, err := l.ContractHistory(t.Context(), signer("fay"), "payouts.send")
	if err != nil || len(all) != 2 || !all[0].Active || all[0].Against != "narrow" || len(all[0].Signed) != 2 || len(all[0].Differences) != 1 {
		t.Fatalf("the history is %+v (%v)", all, err)
	}
	wantCode(t, s.sign(l, signer("tom"), "wide", onceward.SignTechnical), onceward.CodeStateForbids)
}

func TestWhoMayNotSign(t *testing.T) {
	t.Parallel()
	s := newSigners(t)
	r, l := s.server(true, "narrow", "wide")
	fay, both := signer("fay", "finance"), signer("tom", "finance")
	s.must(s.sign(l, both, "wide", onceward.SignBusiness))
	stranger, otherTenant, noRole := signer("eve", "sales"), signer("tom"), signer("tom")
	otherTenant.Tenant, noRole.Roles = "rival", []onceward.Role{onceward.RoleAdmin}
	byOIDC := signer("tom")
	byOIDC.Issuer = "https://id.example.com"
	for name, p := range map[string]onceward.Principal{"one person twice": both, "one person by another way": byOIDC, "a stranger": stranger, "the other owner": fay, "another tenant's": otherTenant, "no approver": noRole} {
		if err := s.sign(l, p, "wide", onceward.SignTechnical); onceward.CodeOf(err) != onceward.CodeForbidden {
			t.Errorf("%s: %v, want forbidden", name, err)
		}
	}
	wantCode(t, s.sign(l, fay, "wide", onceward.SignBusiness), onceward.CodeStateForbids)
	_, err := l.SignContract(t.Context(), fay, "payouts.send", "wide", onceward.SignBusiness, " ")
	wantCode(t, err, onceward.CodeEvidenceRequired)
	wantCode(t, s.sign(l, fay, "narrow", onceward.SignBusiness), onceward.CodeStateForbids)
	s.runs(r, "narrow")
}

func TestVersionThatDoesNotWidenNeedsNobody(t *testing.T) {
	t.Parallel()
	s := newSigners(t)
	r, _ := s.server(true, "narrow", "tighter")
	s.runs(r, "tighter")
}

func TestWithoutTheDemandNothingWaits(t *testing.T) {
	t.Parallel()
	s := newSigners(t)
	r, _ := s.server(false, "narrow", "wide")
	s.runs(r, "wide")
}

// What was signed in place of one version says nothing about a third.
func TestSignaturesDoNotCountInPlaceOfAnotherVersion(t *testing.T) {
	t.Parallel()
	s := newSigners(t)
	_, l := s.server(true, "narrow", "wide")
	s.must(s.sign(l, signer("fay", "finance"), "wide", onceward.SignBusiness))
	other, _ := s.server(true, "tighter")
	s.runs(other, "tighter")
	wantCode(t, s.sign(l, signer("tom"), "wide", onceward.SignTechnical), onceward.CodeStateForbids)
	wantCode(t, onceward.NewRegistry(s.store, s.compile).Activate(t.Context(), []onceward.Tool{s.versions["wide"]}, false), onceward.CodeContractSuperseded)
	r, l := s.server(true)
	s.must(r.Activate(t.Context(), []onceward.Tool{s.versions["wide"]}, true)) // by force it is proposed, no more
	s.must(s.sign(l, signer("tom"), "wide", onceward.SignTechnical))
	s.runs(r, "tighter")
}

// overtaken lets another server do something between the comparison of a version
// and its activation.
type overtaken struct {
	onceward.Store
	before func()
}

func (o *overtaken) Activate(ctx context.Context, c onceward.ContractVersion, force bool, notes ...onceward.AuditEvent) error {
	if o.before != nil {
		before := o.before
		o.before = nil
		before()
	}
	return o.Store.Activate(ctx, c, force, notes...)
}

func TestVersionIsComparedAnewWithWhatCameInForceMeanwhile(t *testing.T) {
	t.Parallel()
	s := newSigners(t)
	s.server(true, "wide")
	store := &overtaken{Store: s.store, before: func() { s.server(true, "tighter") }}
	r := onceward.NewRegistry(store, s.compile)
	r.SignOff(moreAttempts, true)
	s.must(r.Activate(t.Context(), []onceward.Tool{s.versions["narrow"]}, false)) // risks less than wide, and more than tighter
	s.runs(r, "tighter")
	if h, waits := r.HeldVersion("payouts.send"); !waits || h.InForce.Info().Version != "tighter" {
		t.Fatalf("held is %+v (%v), want narrow in place of tighter", h, waits)
	}
}
