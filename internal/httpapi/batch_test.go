package httpapi

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/onceward/onceward/oncewardtest"
)

func TestKeyThatRepeatsInABatchIsOneOperationWithEqualAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	item := `{"tool":"tickets.create","input":{"id":"k","n":1}}`
	r := w.post("/v1/operations:batch", `{"operations":[`+strings.Repeat(item+",", 9)+`{"tool":"tickets.create","input":{"n":1.0,"id":"k"}}]}`).want(200, "results.0.decision", "fresh")
	for i := range 10 {
		at := fmt.Sprintf("results.%d.", i)
		r.want(200, at+"status", 200)
		if !reflect.DeepEqual(r.at(at+"operation"), r.at("results.0.operation")) {
			t.Errorf("item %d got another operation than item 0", i)
		}
	}
	if w.provider.Writes() != 1 {
		t.Errorf("%d writes, want 1", w.provider.Writes())
	}
}

func TestBatchAnswersInOrderAndEachAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.provider.HonoursKeys = true
	old := w.settled(probed)
	w.provider.Script(oncewardtest.FaultInvalid)
	r := w.post("/v1/operations:batch", `{"wait":"10s","operations":[
		{"tool":"tickets.create","input":`+firstInput+`},
		{"tool":"tickets.create","input":`+otherInput+`},
		{"tool":"payouts.send","input":{"id":"p"},"wait":"0s"},
		{"tool":"fax.send","input":{"id":"f"}}]}`)
	r.want(200, "results.0.status", 200, "results.0.decision", "replayed", "results.0.operation.id", old,
		"results.1.status", 422, "results.1.decision", "blocked", "results.1.problem.code", "key_reused",
		"results.2.status", 202, "results.2.decision", "fresh", "results.2.operation.state", "awaiting_approval",
		"results.3.status", 424, "results.3.decision", "fresh", "results.3.problem.operation.state", "failed")
	r.lacks("results.0.problem", "results.1.operation", "results.2.problem", "results.3.operation", "results.4")
}
