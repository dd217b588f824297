package storetest

import (
	"sync/atomic"
	"time"

	"github.com/onceward/onceward"
)

var signings = []situation{
	{"ProposedVersionWaitsBesideTheOneInForce", proposedVersion},
	{"ProposingAgainChangesNothing", proposedAgain},
	{"ProposalTakesBackTheOneBefore", newerProposal},
	{"ProposedVersionBecomesActive", proposedBecomesActive},
	{"AnotherVersionInForceEndsAProposal", proposalOvertaken},
	{"SigningIsOncePerCapacityAndPerson", signingOnce},
	{"RacingSignersOneWins", racingSigners},
	{"VersionsAreListedNewestFirst", versionsListed},
}

func (f *fixture) propose(name string, force bool) error {
	return f.Store.Propose(f.ctx, f.version(name), force)
}

func proposedVersion(f *fixture) {
	f.must(f.Store.Activate(f.ctx, f.version("one"), false))
	f.must(f.propose("two", false))
	want := f.version("two")
	want.Serial, want.Proposed = 2, true
	f.equal("the proposed version", want, f.contract("two"))
	f.equal("the one in force", true, f.contract("one").Active)
	active, err := f.other.ActiveContracts(f.ctx)
	f.must(err)
	f.equal("how many are in force", 1, len(active))
}

func proposedAgain(f *fixture) {
	f.must(f.Store.Activate(f.ctx, f.version("one"), false))
	f.must(f.propose("two", false))
	before := f.contract("two")
	f.must(f.propose("two", false))
	f.must(f.propose("two", true))
	f.must(f.propose("one", true))
	f.equal("the proposed version", before, f.contract("two"))
	f.equal("the one in force", true, f.contract("one").Active)
}

func newerProposal(f *fixture) {
	f.must(f.Store.Activate(f.ctx, f.version("one"), false))
	f.must(f.propose("two", false))
	f.must(f.propose("three", false))
	f.equal("whether the older one is proposed", false, f.contract("two").Proposed)
	f.code("the older one", f.propose("two", false), onceward.CodeContractSuperseded)
	f.code("the older one in force", f.Store.Activate(f.ctx, f.version("two"), false), onceward.CodeContractSuperseded)
	f.must(f.propose("two", true))
	two, three := f.contract("two"), f.contract("three")
	if !two.Proposed || three.Proposed || two.Serial <= three.Serial {
		f.Errorf("proposed by force: %+v, and before it %+v", two, three)
	}
}

func proposedBecomesActive(f *fixture) {
	f.must(f.Store.Activate(f.ctx, f.version("one"), false))
	f.must(f.propose("two", false))
	f.must(f.other.Activate(f.ctx, f.version("two"), false))
	one, two := f.contract("one"), f.contract("two")
	if one.Active || !two.Active || two.Proposed {
		f.Errorf("in force is %+v, and before it %+v", two, one)
	}
}

func proposalOvertaken(f *fixture) {
	f.must(f.Store.Activate(f.ctx, f.version("one"), false))
	f.must(f.propose("two", false))
	f.must(f.Store.Activate(f.ctx, f.version("three"), false))
	f.equal("whether it is proposed", false, f.contract("two").Proposed)
	f.code("the overtaken one", f.other.Activate(f.ctx, f.version("two"), false), onceward.CodeContractSuperseded)
	f.equal("the one in force", true, f.contract("three").Active)
}

func (f *fixture) signing(as onceward.SignAs, actor string) onceward.ContractSigning {
	return onceward.ContractSigning{Tool: tool, Version: "two", Against: "one", As: as, Actor: actor, Reason: "wanted", At: f.origin}
}

func (f *fixture) sign(s onceward.ContractSigning, want bool) {
	f.Helper()
	applied, err := f.Store.PutSigning(f.ctx, s)
	f.must(err)
	f.equal("whether the signing was applied", want, applied)
}

func signingOnce(f *fixture) {
	first := f.signing(onceward.SignBusiness, "token:ana")
	f.sign(first, true)
	f.sign(first, false)
	f.sign(f.signing(onceward.SignBusiness, "token:ben"), false)
	f.sign(f.signing(onceward.SignTechnical, "token:ana"), false)
	second := f.signing(onceward.SignTechnical, "token:ben")
	second.At = f.origin.Add(time.Second)
	f.sign(second, true)
	elsewhere := f.signing(onceward.SignTechnical, "token:ana")
	elsewhere.Against, elsewhere.At = "zero", f.origin.Add(time.Minute)
	f.sign(elsewhere, true)
	all, err := f.other.Signings(f.ctx, tool, "two")
	f.must(err)
	f.equal("the signings", []onceward.ContractSigning{first, second, elsewhere}, all)
	none, err := f.other.Signings(f.ctx, tool, "one")
	f.must(err)
	f.equal("the signings of another version", 0, len(none))
}

func racingSigners(f *fixture) {
	var won atomic.Int32
	race(4, func(i int) {
		s := f.Store
		if i%2 == 1 {
			s = f.other
		}
		applied, err := s.PutSigning(f.ctx, f.signing(onceward.SignBusiness, "token:"+string(rune('a'+i))))
		if err != nil {
			f.Errorf("signer %d: %v", i, err)
		}
		if applied {
			won.Add(1)
		}
	})
	f.equal("the signers that won", int32(1), won.Load())
}

func versionsListed(f *fixture) {
	f.must(f.Store.Activate(f.ctx, f.version("one"), false))
	f.must(f.Store.Activate(f.ctx, f.version("two"), false))
	f.must(f.propose("three", false))
	names := func(limit int) (out []string) {
		all, err := f.other.ContractVersions(f.ctx, tool, limit)
		f.must(err)
		for _, c := range all {
			out = append(out, c.Version)
			f.equal("the source of "+c.Version, 0, len(c.Source))
			f.equal("whether "+c.Version+" is in force", c.Version == "two", c.Active)
			f.equal("whether "+c.Version+" is proposed", c.Version == "three", c.Proposed)
			f.equal("when "+c.Version+" came", f.origin, c.CreatedAt)
		}
		return out
	}
	f.equal("the versions", []string{"three", "two", "one"}, names(10))
	f.equal("the newest", []string{"three", "two"}, names(2))
	f.equal("those of another tool", 0, len(func() []onceward.ContractVersion {
		all, _ := f.other.ContractVersions(f.ctx, "mail.send", 9)
		return all
	}()))
}
