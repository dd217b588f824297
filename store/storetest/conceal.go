package storetest

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/onceward/onceward"
)

// concealed are the situations of a store that encrypts rows beside the
// operations; plain is a handle on the same database that does not.
var concealed = []struct {
	name string
	test func(f *fixture, plain onceward.Store)
}{
	{"NothingSecretIsInTheDatabase", nothingSecretBeneath},
	{"RowsInClearAreReadAndEncryptedWhenTheyAreWrittenAgain", clearRowsAreRead},
	{"ShreddedRowsAreTheirMarkAndTheirDigestsHold", shreddedRows},
}

// secretWord stands in everything that is encrypted.
const secretWord = "zanzibar"

// secrets is a row of each kind.
type secrets struct {
	run      onceward.Run
	decision onceward.StepDecision
	saga     onceward.Saga
	event    onceward.InboxEvent
	document onceward.Document
	early    onceward.EarlyApproval
}

func (f *fixture) secrets(subject onceward.SubjectID) secrets {
	word, sure := []byte(`{"word":"`+secretWord+`"}`), 0.7
	whose := onceward.Concealed{Subject: subject}
	s := secrets{saga: f.newSaga("k"), document: f.document(secretWord), early: f.early("k", "local:ann"), event: f.event("k")}
	s.run = f.newRun("t", func(r *onceward.Run) {
		r.Input, r.Reason, r.InputDigest, r.Concealed = word, secretWord, onceward.Digest{7, 7, 7, 7}, whose
	})
	s.decision = f.newDecision(s.run.ID, "assess", func(d *onceward.StepDecision) {
		v := &d.Versions[0]
		v.Output, v.Schema, v.Reason, v.Confidence, v.InputDigest, v.PinnedAt, d.Concealed = word, word, secretWord, &sure, onceward.Digest{6, 6, 6, 6}, f.origin, whose
	})
	s.saga.Steps[0].Input, s.saga.Steps[0].Why, s.saga.Steps[0].Undo = word, secretWord, &onceward.SagaUndo{Tool: tool, Input: word}
	s.saga.Cause, s.saga.Note, s.saga.Digest, s.saga.Concealed = secretWord, secretWord, onceward.Digest{5, 5, 5, 5}, whose
	s.event.Body, s.event.ContentType, s.event.Header = word, secretWord, []onceward.HeaderField{{Name: "X-Word", Value: secretWord}}
	s.document.MediaType, s.document.Concealed = "text/"+secretWord, whose
	s.early.Reason, s.early.Digest = secretWord, onceward.Digest{4, 4, 4, 4}
	return s
}

// putOn stores one of each.
func (s *secrets) putOn(f *fixture, to onceward.Store) {
	f.Helper()
	_, _, err := to.PutRun(f.ctx, s.run)
	f.must(err)
	_, _, err = to.PutDecision(f.ctx, s.decision)
	f.must(err)
	_, _, err = to.PutSaga(f.ctx, s.saga)
	f.must(err)
	_, err = to.PutEvents(f.ctx, []onceward.InboxEvent{s.event})
	f.must(err)
	f.must(to.PutDocument(f.ctx, s.document))
	f.must(to.PutEarlyApproval(f.ctx, s.early))
}

// readFrom reads them again.
func (s *secrets) readFrom(f *fixture, from onceward.Store) (got secrets) {
	f.Helper()
	run, err := from.LoadRun(f.ctx, s.run.ID)
	f.must(err)
	decision, err := from.LoadDecision(f.ctx, s.decision.ID)
	f.must(err)
	saga, err := from.LoadSaga(f.ctx, s.saga.ID)
	f.must(err)
	event, err := from.LoadEvent(f.ctx, s.event.ID)
	f.must(err)
	document, err := from.LoadDocument(f.ctx, tenant, s.document.Digest)
	f.must(err)
	early, err := from.EarlyApprovals(f.ctx, s.early.Operation)
	f.must(err)
	return secrets{*run, *decision, *saga, *event, *document, early[0]}
}

// same fails the test unless these are the rows that were put.
func (s *secrets) same(f *fixture, got secrets) {
	f.Helper()
	f.equal("the run", s.run, got.run)
	f.equal("the decision", s.decision, got.decision)
	f.equal("the saga", s.saga, got.saga)
	f.equal("the event", s.event, got.event)
	f.equal("the document", s.document, got.document)
	f.equal("the early approval", s.early, got.early)
}

func nothingSecretBeneath(f *fixture, plain onceward.Store) {
	s := f.secrets("")
	s.putOn(f, f.Store)
	s.same(f, s.readFrom(f, f.other))
	runs, err := f.other.ListRuns(f.ctx, onceward.RunFilter{Tenant: tenant, Limit: 10})
	f.must(err)
	bare := s.run
	bare.Input = nil
	f.equal("the listed run", []*onceward.Run{&bare}, runs)
	sagas, err := f.other.ListSagas(f.ctx, onceward.SagaFilter{Tenant: tenant, Limit: 10})
	f.must(err)
	f.equal("the listed saga", []*onceward.Saga{&s.saga}, sagas)
	decisions, err := f.other.ListDecisions(f.ctx, s.run.ID, 10)
	f.must(err)
	f.equal("the listed decision", []*onceward.StepDecision{&s.decision}, decisions)
	taken, err := f.other.TakeEvents(f.ctx, 10, time.Minute)
	f.must(err)
	if len(taken) != 1 || !bytes.Equal(taken[0].Body, s.event.Body) || taken[0].ContentType != secretWord {
		f.Fatalf("taken are %+v", taken)
	}

	below := s.readFrom(f, plain)
	text := fmt.Sprintf("%+v %s %s %s %s", below, below.run.Input, below.decision.Versions[0].Output, below.saga.Steps[0].Input, below.event.Body)
	if strings.Contains(text, secretWord) || bytes.Contains(below.document.Body, []byte(secretWord)) {
		f.Fatalf("the database has %s", text)
	}
	for what, d := range map[string]onceward.Digest{"run": below.run.InputDigest, "decision": below.decision.Versions[0].InputDigest, "saga": below.saga.Digest, "early approval": below.early.Digest} {
		for _, known := range []onceward.Digest{s.run.InputDigest, s.decision.Versions[0].InputDigest, s.saga.Digest, s.early.Digest} {
			if d == known {
				f.Errorf("the database has the digest of the %s in clear", what)
			}
		}
	}
}

func clearRowsAreRead(f *fixture, plain onceward.Store) {
	s := f.secrets("")
	s.putOn(f, plain)
	s.same(f, s.readFrom(f, f.other))
	s.run = finished(s.run, f.origin)
	s.run.Reason = secretWord
	s.decision = moved(s.decision, func(d *onceward.StepDecision) { d.Versions[0].Model = "m-2" })
	s.saga.Revision, s.saga.Token, s.saga.CorrelationID = 2, token(), "again"
	f.putRun(s.run)
	f.putDecision(s.decision)
	f.putSaga(s.saga)
	s.event = afterwards(s.event)
	f.equal("whether the event was written", []bool{true}, f.set(s.event))
	s.same(f, s.readFrom(f, f.other))
	below := s.readFrom(f, plain)
	if below.run.Reason != "" || below.decision.Versions[0].Output != nil || below.saga.Steps[0].Input != nil {
		f.Fatalf("what was written again is in clear: %+v", below)
	}
}

func shreddedRows(f *fixture, _ onceward.Store) {
	keys, ok := f.Store.(onceward.Sealer)
	if !ok {
		f.Fatal("the store has no keys")
	}
	ann, err := keys.Name(f.ctx, tenant, "ann")
	f.must(err)
	s := f.secrets(ann)
	s.putOn(f, f.Store)
	s.same(f, s.readFrom(f, f.other))
	ids, err := keys.CloseSubject(f.ctx, tenant, ann)
	f.must(err)
	n, err := keys.Shred(f.ctx, ids)
	f.must(err)
	f.equal("the keys that are shredded", 1, n)

	gone := s
	lost := onceward.Concealed{Subject: ann, Shredded: true}
	gone.run.Input, gone.run.Reason, gone.run.Concealed = nil, "", lost
	gone.decision.Versions = []onceward.DecisionVersion{s.decision.Versions[0]}
	v := &gone.decision.Versions[0]
	v.Output, v.Schema, v.Reason, v.Confidence, gone.decision.Concealed = nil, nil, "", nil, lost
	gone.saga = s.saga.Clone()
	gone.saga.Steps[0].Input, gone.saga.Steps[0].Why, gone.saga.Steps[0].Undo = nil, "", &onceward.SagaUndo{Tool: tool}
	gone.saga.Cause, gone.saga.Note, gone.saga.Concealed = "", "", lost
	gone.document.Body, gone.document.MediaType, gone.document.Concealed = []byte{}, onceward.SealedDocumentMediaType, lost
	gone.same(f, s.readFrom(f, f.Again(f.T)))

	// What is written later shows that it was shredded, and nothing else.
	read := s.readFrom(f, f.Store)
	next := finished(read.run, f.origin)
	next.Reason = secretWord
	_, applied, err := f.Store.PutRun(f.ctx, next)
	f.must(err)
	f.equal("whether it was applied", true, applied)
	next.Reason = ""
	f.equal("the finished run", next, s.readFrom(f, f.Again(f.T)).run)
}
