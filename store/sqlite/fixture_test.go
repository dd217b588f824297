package sqlite_test

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

func wantCode(t testing.TB, what string, err error, want onceward.Code) {
	t.Helper()
	if got := onceward.CodeOf(err); got != want {
		t.Errorf("%s gives %q (%v), want %q", what, got, err, want)
	}
}

func newToken() (t onceward.WriteToken) {
	rand.Read(t[:])
	return t
}

// claim is an operation as a caller's first request stores it.
func claim(key string) onceward.Operation {
	now := time.Now().UTC().Truncate(time.Microsecond)
	op := onceward.Operation{
		Tenant: "default", Tool: "tickets.create", Key: onceward.Key(key), Contract: "3f9a1c0b5d7e2468", Effect: onceward.EffectProbedWrite,
		Digest: onceward.Digest{1}, State: onceward.StateEffectPending, Version: 1, Token: newToken(), Actor: "local:operator",
		CreatedAt: now, UpdatedAt: now, IntentAt: now, ProviderKey: "ow_0123456789abcdefghijklmnop",
		Prints: []onceward.FieldPrint{{Path: "source", Top: true}, {Path: "event_id", Top: true}},
		Input:  []byte(`{"body":"and a body of some words","event_id":"` + key + `","source":"zendesk","subject":"a short subject"}`),
		Request: &onceward.Request{
			Method: "POST", URL: "http://tickets.test/api/tickets", Header: []onceward.HeaderField{{Name: "Content-Type", Value: "application/json"}},
			Body: []byte(`{"title":"a short subject","text":"and a body of some words","external_id":"ow_0123456789abcdefghijklmnop"}`),
		},
		Attempts: []onceward.Attempt{{
			Number: 1, Owner: "replica-7f3a9c2e11d04b58", Status: onceward.StatusRunning, StartedAt: now, LeaseUntil: now.Add(25 * time.Second),
		}},
	}
	op.ID = onceward.NewOperationID(op.Tenant, op.Tool, op.Key)
	return op
}

// done is the claim with its outcome.
func done(op onceward.Operation) onceward.Operation {
	now := time.Now().UTC().Truncate(time.Microsecond)
	after := op.Clone()
	after.Version++
	after.Token = newToken()
	after.State, after.Reference, after.Request = onceward.StateSucceeded, "tkt_00001042", nil
	after.UpdatedAt, after.CompletedAt = now, now
	after.Result = &onceward.Result{Status: 201, BodyKept: true, Body: []byte(`{"id":"tkt_00001042","ok":true,"status":"open"}`)}
	a := &after.Attempts[0]
	a.Status, a.Settler, a.EndedAt, a.LastByteAt, a.Reach = onceward.StatusDone, onceward.SettledByAnswer, now, now, onceward.ReachFirstByte
	a.Reference = after.Reference
	return after
}
