package storetest

import (
	"crypto/sha256"
	"time"

	"github.com/onceward/onceward"
)

var sessions = []situation{
	{"SessionIsReadBackAsItWasStored", sessionIsReadBack},
	{"SessionIsSeenForwardOnly", sessionIsSeen},
	{"DroppedSessionIsGoneForEveryReplica", sessionIsDropped},
	{"EndedSessionsAreRemovedInSteps", endedSessionsGo},
}

func (f *fixture) putSession(id string, ends time.Duration) onceward.Session {
	f.Helper()
	s := onceward.Session{
		Hash: sha256.Sum256([]byte(id)), Name: "Ada L.", CreatedAt: f.origin, EndsAt: f.origin.Add(ends), SeenAt: f.origin,
		Principal: onceward.Principal{Tenant: tenant, Issuer: "https://idp.test", Subject: id,
			Roles: []onceward.Role{onceward.RoleApprover}, Groups: []string{"finance", "on call"}},
	}
	f.must(f.Store.PutSession(f.ctx, s))
	return s
}

func (f *fixture) session(h onceward.SessionHash) *onceward.Session {
	f.Helper()
	s, err := f.other.LoadSession(f.ctx, h)
	f.must(err)
	return s
}

func sessionIsReadBack(f *fixture) {
	f.equal("a session that is not there", (*onceward.Session)(nil), f.session(onceward.SessionHash{1}))
	s := f.putSession("ada", time.Hour)
	f.putSession("bob", time.Hour)
	f.equal("the session", &s, f.session(s.Hash))
	narrow := onceward.Session{Hash: onceward.SessionHash{7}, CreatedAt: f.origin, EndsAt: f.origin.Add(time.Hour), SeenAt: f.origin,
		Principal: onceward.Principal{Tenant: tenant, Issuer: onceward.IssuerToken, Subject: "bot", Roles: []onceward.Role{onceward.RoleOperator}, Tools: []onceward.ToolName{tool},
			Effects: []onceward.EffectClass{onceward.EffectRead}, Credential: onceward.Credential{Token: "0123456789abcdef"}}}
	f.must(f.Store.PutSession(f.ctx, narrow))
	f.equal("a session that a token began", &narrow, f.session(narrow.Hash))
}

func sessionIsSeen(f *fixture) {
	s := f.putSession("ada", time.Hour)
	for _, c := range []struct{ at, want time.Duration }{{time.Minute, time.Minute}, {0, time.Minute}, {2 * time.Minute, 2 * time.Minute}} {
		f.must(f.Store.SeeSession(f.ctx, s.Hash, f.origin.Add(c.at)))
		s.SeenAt = f.origin.Add(c.want)
		f.equal("the session", &s, f.session(s.Hash))
	}
}

func sessionIsDropped(f *fixture) {
	s, other := f.putSession("ada", time.Hour), f.putSession("bob", time.Hour)
	for range 2 {
		f.must(f.Store.DropSession(f.ctx, s.Hash))
		f.equal("the dropped session", (*onceward.Session)(nil), f.session(s.Hash))
	}
	f.equal("the other session", &other, f.session(other.Hash))
}

func endedSessionsGo(f *fixture) {
	ended := []onceward.Session{f.putSession("a", time.Minute), f.putSession("b", time.Minute), f.putSession("c", time.Minute)}
	lives := f.putSession("d", time.Hour)
	left := func() (n int) {
		for _, s := range ended {
			if f.session(s.Hash) != nil {
				n++
			}
		}
		return n
	}
	f.must(f.Store.DropEndedSessions(f.ctx, f.origin.Add(2*time.Minute), 2))
	f.equal("ended sessions after a step of two", 1, left())
	f.must(f.Store.DropEndedSessions(f.ctx, f.origin.Add(2*time.Minute), 2))
	f.equal("ended sessions after another", 0, left())
	f.equal("the session that lives", &lives, f.session(lives.Hash))
}
