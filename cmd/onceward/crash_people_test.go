package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/crashpoint"
	"github.com/onceward/onceward/internal/proctest"
	"github.com/onceward/onceward/internal/simprovider"
)

// A fax that waits for a yes, its reminder, and one that fails at the first try.
const peopleContracts = `apiVersion: onceward/v1
kind: Tool
metadata: {name: fax.approved, owner: legal, description: A fax that a person approves}
spec:
  effect: unsafe_write
  key: [input.id]
  request: {method: POST, url: '${env.SIM_URL}/fax', json: {to: '+49301234567', document: d, reference: '${input.id}'}}
  outcomes: [{when: 'response.status == 200', is: done}]
  approval: {expires: 1h, remind: [{after: 1s, tool: ticket.note, input: {id: '${operation.id}'}}]}
---
apiVersion: onceward/v1
kind: Tool
metadata: {name: ticket.note, owner: legal, description: A ticket that reminds}
spec:
  effect: probed_write
  key: [input.id]
  request: {method: POST, url: '${env.SIM_URL}/tickets', json: {title: reminder, external_id: '${operation.provider_key}', audit_reference: '${input.id}'}}
  outcomes: [{when: 'response.status == 201', is: done, reference: '${response.json.id}'}]
  probe:
    request: {url: '${env.SIM_URL}/tickets?external_id=${operation.provider_key}'}
    found: '${response.json.items}'
    reference: '${item.id}'
    settle: 1s
---
apiVersion: onceward/v1
kind: Tool
metadata: {name: fax.note, owner: legal, description: A fax that asks for nothing}
spec:
  effect: unsafe_write
  key: [input.id]
  request: {method: POST, url: '${env.SIM_URL}/fax', json: {to: '+49301234567', document: d, reference: '${input.id}'}}
  outcomes:
    - {when: 'response.status == 429', is: not_done, class: rate_limited}
    - {when: 'response.status == 200', is: done}
  retry: {max_attempts: 1}
`

// TestAServerThatDiesAmongPeopleAsksRemindsAndReplaysOnce really kills the server
// where it records a yes, a reminder, or a step of a bulk replay.
func TestAServerThatDiesAmongPeopleAsksRemindsAndReplaysOnce(t *testing.T) {
	t.Parallel()
	proctest.Binary(t)
	stories := map[string]func(*people, string){
		"approve.before_commit": (*people).approve, "remind.before_commit": (*people).remind,
		"bulk.after_choice": (*people).replay, "bulk.before_commit": (*people).replay,
	}
	for _, point := range crashpoint.All {
		switch family, _, _ := strings.Cut(point, "."); family {
		case "claim", "dispatch", "record", "probe", "inbox", "saga", "relay", "export":
			continue // TestACrashAtEveryPointLosesAndDoublesNothing, crash_inbox_test.go, crash_saga_test.go, sink_test.go and testdata/script/retention.txtar
		}
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			story := stories[point]
			if story == nil {
				t.Fatalf("nobody dies at %s", point)
			}
			story(newPeople(t), point)
		})
	}
}

type people struct {
	t        *testing.T
	provider *proctest.Provider
	srv      *proctest.Server
}

func newPeople(t *testing.T) *people {
	provider := proctest.NewProvider(t)
	file := filepath.Join(t.TempDir(), "people.yaml")
	if err := os.WriteFile(file, []byte(peopleContracts), 0o600); err != nil {
		t.Fatal(err)
	}
	return &people{t: t, provider: provider, srv: proctest.NewServer(t, sqliteLedger(t), []string{file}, "SIM_URL="+provider.URL)}
}

// approve: the yes is lost with the server, is given again, and is spent once.
func (p *people) approve(point string) {
	p.srv.Start(point)
	id := p.call("fax.approved", "awaiting_approval")
	p.sayYes(id)
	p.srv.AwaitDeath(point)
	p.srv.Start("")
	p.until(id, "awaiting_approval")
	p.sayYes(id)
	p.until(id, "succeeded")
	p.effects("a", 1)
}

// remind: the reminder was made, or is made again under its key, and is one.
func (p *people) remind(point string) {
	p.srv.Start(point)
	id := p.call("fax.approved", "awaiting_approval")
	p.srv.AwaitDeath(point)
	p.srv.Start("")
	becomes(p.t, "the reminder is recorded", settleMax, func() bool { return strings.Contains(p.read("/v1/operations/"+id), "approval_reminded") })
	becomes(p.t, "the reminder has an end", settleMax, func() bool {
		return strings.Contains(p.read("/v1/operations?tool=ticket.note&limit=10"), `"state":"succeeded"`)
	})
	p.effects(id, 1)
	p.sayYes(id)
	p.until(id, "succeeded")
	p.effects("a", 1)
}

// replay: a bulk replay goes on where it was, and tries each operation once more.
func (p *people) replay(point string) {
	if _, err := p.provider.AddFaults(simprovider.Script{System: "fax", Faults: []simprovider.Fault{{Name: "rate_limited"}}}); err != nil {
		p.t.Fatal(err)
	}
	p.srv.Start(point)
	id := p.call("fax.note", "failed")
	_, err := proctest.Ask(p.t.Context(), http.MethodPost, p.srv.URL()+"/v1/replays", `{"reason":"the provider is back"}`)
	p.t.Logf("the replay was asked for: %v", err) // its answer may be lost with the server
	p.srv.AwaitDeath(point)
	p.srv.Start("")
	if point == "bulk.after_choice" {
		p.until(id, "succeeded")
		p.effects("a", 1)
		return
	}
	// The replay has been started: the kill may have met its write on the way, of
	// which nobody can know then.
	if p.until(id, "succeeded", "needs_review") == "succeeded" {
		p.effects("a", 1)
	} else if n := p.provider.Effects("a").Count; n > 1 {
		p.t.Errorf("%d faxes were sent", n)
	}
}

func (p *people) call(tool, state string) string {
	p.t.Helper()
	a, err := p.srv.Call(p.t.Context(), tool, `{"id":"a"}`, 0)
	if err != nil {
		p.t.Fatal(err)
	}
	p.until(a.Operation.ID, state)
	return a.Operation.ID
}

func (p *people) sayYes(id string) {
	p.t.Helper()
	var shown struct {
		Operation struct {
			Digest          string `json:"digest"`
			ContractVersion string `json:"contract_version"`
		} `json:"operation"`
	}
	if err := json.Unmarshal([]byte(p.read("/v1/operations/"+id)), &shown); err != nil {
		p.t.Fatal(err)
	}
	body := fmt.Sprintf(`{"digest":%q,"contract_version":%q}`, shown.Operation.Digest, shown.Operation.ContractVersion)
	a, err := proctest.Ask(p.t.Context(), http.MethodPost, p.srv.URL()+"/v1/operations/"+id+"/approve", body)
	if err == nil && a.Status >= 400 {
		p.t.Fatalf("the yes is refused: %d %s %s", a.Status, a.Code, a.Detail)
	}
}

func (p *people) read(path string) string {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.srv.URL()+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var body json.RawMessage
	if err := json.NewDecoder(res.Body).Decode(&body); err != nil {
		p.t.Fatal(err)
	}
	return string(body)
}

// settleMax is how long a story may take: what a dead server had taken on is
// free again after at most two minutes.
const settleMax = 4 * time.Minute

// until waits for one of some states, and returns it.
func (p *people) until(id string, states ...string) string {
	p.t.Helper()
	last := ""
	for until := time.Now().Add(settleMax); time.Now().Before(until); {
		a, err := proctest.Ask(p.t.Context(), http.MethodGet, p.srv.URL()+"/v1/operations/"+id+"?wait=1s", "")
		if err != nil {
			p.t.Fatal(err)
		}
		if last = a.Operation.State; slices.Contains(states, last) {
			return last
		}
	}
	p.t.Fatalf("it is %s, want %s", last, states)
	return ""
}

func (p *people) effects(reference string, want int) {
	p.t.Helper()
	if got := p.provider.Effects(reference); got.Count != want {
		p.t.Errorf("%d effects of %s in %d requests, want %d", got.Count, reference, got.Requests, want)
	}
}
