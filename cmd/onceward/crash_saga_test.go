package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/proctest"
)

// TestAServerThatDiesInASagaUndoesEachStepOnce really kills the server (SIGKILL)
// before and after a step's claim, before a move is recorded, and before and after
// a compensation's claim. The third step of the saga is refused, so that the two
// before it are undone.
func TestAServerThatDiesInASagaUndoesEachStepOnce(t *testing.T) {
	t.Parallel()
	atPointsOf(t, "saga", func(t *testing.T, kind, db, point string) {
		if kind == "sqlite" {
			point += ":2" // at the second step
		}
		dieInSaga(t, db, point)
	})
}

// sagaSteps: two payments that are refunded, and one of an amount that its contract
// refuses.
const sagaSteps = `[
 {"name":"first","tool":"payments.create","input":{"order_id":"s-1","amount":100,"currency":"EUR"}},
 {"name":"second","tool":"payments.create","input":{"order_id":"s-2","amount":100,"currency":"EUR"}},
 {"name":"third","tool":"payments.create","input":{"order_id":"s-3","amount":-1,"currency":"EUR"}}]`

// reference is the provider's name of an operation's effect.
func (p *people) reference(id string) string {
	p.t.Helper()
	var a struct {
		Operation struct{ Reference, State string }
	}
	if err := json.Unmarshal([]byte(p.read("/v1/operations/"+id)), &a); err != nil || a.Operation.State != "compensated" {
		p.t.Fatalf("the operation is %+v, %v", a, err)
	}
	return a.Operation.Reference
}

func dieInSaga(t *testing.T, db, point string) {
	provider := proctest.NewProvider(t)
	srv := simServer(t, db, provider)
	srv.Start(point)
	p := &people{t: t, provider: provider, srv: srv}
	body := fmt.Sprintf(`{"name":"orders.place","key":"s","steps":%s}`, sagaSteps)
	_, err := proctest.Ask(t.Context(), http.MethodPost, srv.URL()+"/v1/sagas", body)
	t.Logf("the saga was asked for: %v", err) // its answer may be lost with the server
	srv.AwaitDeath(point)
	srv.Start("")
	if a, err := proctest.Ask(t.Context(), http.MethodPost, srv.URL()+"/v1/sagas", body); err != nil || a.Status/100 != 2 {
		t.Fatalf("started again it is answered %+v, %v", a, err)
	}
	var page struct {
		Sagas []struct {
			State, Words string
			Steps        []struct{ Operation string }
		}
	}
	becomes(t, "the saga is compensated", settleMax+30*time.Second, func() bool {
		if err := json.Unmarshal([]byte(p.read("/v1/sagas")), &page); err != nil {
			t.Fatal(err)
		}
		return len(page.Sagas) == 1 && page.Sagas[0].State == "compensated"
	})
	for i, reference := range []string{"s-1", "s-2"} {
		p.effects(reference, 1)
		p.effects(p.reference(page.Sagas[0].Steps[i].Operation)+"/compensation", 1)
	}
	p.effects("s-3", 0) // it was refused
}
