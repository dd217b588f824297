package storetest

import "github.com/onceward/onceward"

var noted = []situation{
	{"WhatIsWrittenAndItsAuditEventAreOneWrite", writesAreNoted},
	{"WhatChangesNothingIsNotNoted", losersAreNotNoted},
}

// notedWrites are all that can be written once with an event. A second time, by
// another and under another write token, it changes nothing.
func (f *fixture) notedWrites() map[string]func(s onceward.Store, e onceward.AuditEvent) error {
	r := f.newRun("noted")
	f.add(f.news("1", ""))
	f.hold("noted", "r")
	at := f.outbox(onceward.OutboxPlace{}, 10, 1)[0]
	f.takeStep(onceward.OutboxPlace{}, at.Place, func(s *onceward.SinkStep) {
		s.Sink, s.Aside = "noted", []onceward.SetAside{{Event: at, Tries: 9, Dead: true}}
	})
	return map[string]func(s onceward.Store, e onceward.AuditEvent) error{
		"run": func(s onceward.Store, e onceward.AuditEvent) error {
			again := r
			again.Token = token()
			_, _, err := s.PutRun(f.ctx, again, e)
			return err
		},
		"decision": func(s onceward.Store, e onceward.AuditEvent) error {
			_, _, err := s.PutDecision(f.ctx, f.newDecision(r.ID, "noted"), e)
			return err
		},
		"replay": func(s onceward.Store, e onceward.AuditEvent) error {
			_, _, err := s.PutBulkReplay(f.ctx, f.newBulkReplay("noted"), e)
			return err
		},
		"saga": func(s onceward.Store, e onceward.AuditEvent) error {
			_, _, err := s.PutSaga(f.ctx, f.newSaga("noted"), e)
			return err
		},
		"document": func(s onceward.Store, e onceward.AuditEvent) error {
			return s.PutDocument(f.ctx, f.document("noted"), e)
		},
		"hold": func(s onceward.Store, e onceward.AuditEvent) error {
			return s.PutHold(f.ctx, f.legalHold("hold_noted", 0), e)
		},
		"token": func(s onceward.Store, e onceward.AuditEvent) error {
			t := f.someToken(77)
			copy(t.Hash[:], e.ID[:]) // another secret each time
			if err := s.PutToken(f.ctx, t, e); !onceward.Is(err, onceward.CodeWriteConflict) {
				return err
			}
			return nil
		},
		"dead event": func(s onceward.Store, e onceward.AuditEvent) error {
			_, err := s.Redrive(f.ctx, tenant, "noted", "1", false, e)
			return err
		},
		"end of a token": func(s onceward.Store, e onceward.AuditEvent) error {
			t := f.someToken(78)
			if err := s.PutToken(f.ctx, t); err != nil && !onceward.Is(err, onceward.CodeWriteConflict) {
				return err
			}
			_, err := s.RevokeToken(f.ctx, tenant, t.ID, "local:operator", f.origin, e)
			return err
		},
	}
}

func writesAreNoted(f *fixture) {
	for what, write := range f.notedWrites() {
		e := someEvent(1)
		e.Subject = what
		before := len(f.subjects(onceward.AuditQuery{}))
		f.must(write(f.Store, e))
		if all := f.subjects(onceward.AuditQuery{}); len(all) != before+1 || all[before] != what {
			f.Errorf("after the %s the trail tells of %q", what, all)
		}
	}
	early, session := someEvent(2), someEvent(3)
	f.must(f.Store.PutEarlyApproval(f.ctx, f.early("noted", "oidc:ann"), early))
	f.must(f.Store.PutSession(f.ctx, onceward.Session{Hash: onceward.SessionHash{9}, Principal: onceward.LocalPrincipal(), CreatedAt: f.origin, EndsAt: f.origin, SeenAt: f.origin}, session))
	all := f.subjects(onceward.AuditQuery{})
	f.equal("the last events", []string{early.Subject, session.Subject}, all[len(all)-2:])
}

func losersAreNotNoted(f *fixture) {
	for what, write := range f.notedWrites() {
		f.must(write(f.Store, someEvent(1)))
		before := f.subjects(onceward.AuditQuery{})
		f.must(write(f.other, someEvent(2)))
		f.equal("the trail after the second "+what, before, f.subjects(onceward.AuditQuery{}))
	}
}
