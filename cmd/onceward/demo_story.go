package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/onceward/onceward"
)

// play plays the scenes in order.
func (d *demo) play(ctx context.Context) error {
	for _, scene := range []func(context.Context) error{d.tenAtOnce, d.lostAnswer, d.crash, d.otherInput, d.nobodyKnows} {
		if err := scene(ctx); err != nil {
			return err
		}
	}
	return nil
}

func ticket(event string) string {
	return fmt.Sprintf(`{"source":"demo","event_id":%q,"subject":"Printer on fire","body":"Smoke on floor 3"}`, event)
}

func (d *demo) tenAtOnce(ctx context.Context) error {
	d.say("1. The same event arrives ten times at once.")
	var wg sync.WaitGroup
	errs := make([]error, 10)
	for i := range errs {
		wg.Go(func() { _, errs[i] = d.call(ctx, "tickets.create", ticket("ten-at-once")) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	a, err := d.settled(ctx, "tickets.create", ticket("ten-at-once"))
	if err != nil {
		return err
	}
	return d.row(ctx, "same event, ten times at once", 11, a, "demo/ten-at-once", 1, "succeeded", "the answer")
}

func (d *demo) lostAnswer(ctx context.Context) error {
	d.say("2. The provider opens the ticket, and its answer is lost. The caller tries again.")
	if err := d.fault(ctx, "tickets", "demo/lost-answer", "drop_after_commit"); err != nil {
		return err
	}
	for range 2 {
		a, err := d.call(ctx, "tickets.create", ticket("lost-answer"), "wait", "0s")
		if err != nil {
			return err
		}
		d.say("   answered: %s, %s", a.Decision, a.Operation.State)
	}
	a, err := d.settled(ctx, "tickets.create", ticket("lost-answer"))
	if err != nil {
		return err
	}
	return d.row(ctx, "answer lost after the effect", 3, a, "demo/lost-answer", 1, "succeeded", "looking the ticket up")
}

func (d *demo) crash(ctx context.Context) error {
	d.say("3. The server is killed (SIGKILL) after the provider took the payment, before it is recorded.")
	if err := d.child.stop(); err != nil {
		return err
	}
	if err := d.start(ctx, "dispatch.after_response"); err != nil {
		return err
	}
	const order = `{"order_id":"crash-1","amount":4200,"currency":"EUR"}`
	if _, err := d.call(ctx, "payments.create", order); err == nil {
		return errors.New("the server survived its crash point")
	}
	state := d.child.wait()
	d.say("   the process is gone (%s); it starts again on the same ledger", state)
	if !strings.Contains(state, "killed") {
		return fmt.Errorf("the server ended otherwise: %s", state)
	}
	if err := d.start(ctx, ""); err != nil {
		return err
	}
	a, err := d.call(ctx, "payments.create", order, "wait", "0s")
	if err != nil {
		return err
	}
	d.say("   asked again: %s, %s", a.Decision, a.Operation.State)
	if a, err = d.settled(ctx, "payments.create", order); err != nil {
		return err
	}
	return d.row(ctx, "process killed after the effect", 3, a, "crash-1", 1, "succeeded", "sending again under the provider's key")
}

func (d *demo) otherInput(ctx context.Context) error {
	d.say("4. The same order again, with another amount.")
	_, err := d.call(ctx, "payments.create", `{"order_id":"crash-1","amount":9900,"currency":"EUR"}`)
	if !onceward.Is(err, onceward.CodeKeyReused) {
		return fmt.Errorf("want it refused as %s, got: %w", onceward.CodeKeyReused, err)
	}
	d.say("   refused: %s", err)
	a, err := d.settled(ctx, "payments.create", `{"order_id":"crash-1","amount":4200,"currency":"EUR"}`)
	if err != nil {
		return err
	}
	return d.row(ctx, "same key, another amount", 2, a, "crash-1", 1, "succeeded", "refused: key_reused")
}

func (d *demo) nobodyKnows(ctx context.Context) error {
	d.say("5. A fax: no key, nothing to look up, and the answer is lost. Nobody sends it again.")
	const fax = `{"case_id":"fax-1","to":"+4930123456","document":"Notice of termination"}`
	if err := d.fault(ctx, "fax", "fax-1", "drop_after_commit"); err != nil {
		return err
	}
	for range 2 {
		if _, err := d.call(ctx, "fax.send", fax, "wait", "0s"); err != nil {
			return err
		}
	}
	a, err := d.settled(ctx, "fax.send", fax)
	if err != nil {
		return err
	}
	return d.row(ctx, "a write that nobody can look up", 3, a, "fax-1", 1, "needs_review", "a person (waiting)")
}

// call makes one delivery of an intention.
func (d *demo) call(ctx context.Context, tool, input string, query ...string) (answerView, error) {
	q := url.Values{}
	for i := 0; i+1 < len(query); i += 2 {
		q.Set(query[i], query[i+1])
	}
	rep, err := d.client.do(ctx, "POST", "/v1/tools/"+tool+"/call?"+q.Encode(), json.RawMessage(input))
	if err != nil {
		return answerView{}, err
	}
	var a answerView
	return a, json.Unmarshal(rep.body, &a)
}

// settleWait is how long a scene may take to come to its end.
const settleWait = 50 * time.Second

// settled delivers once more and waits for the end.
func (d *demo) settled(ctx context.Context, tool, input string) (answerView, error) {
	a, err := d.call(ctx, tool, input, "wait", settleWait.String())
	if err != nil {
		return a, err
	}
	rep, err := d.client.do(ctx, "GET", "/v1/operations/"+a.Operation.ID, nil)
	if err != nil {
		return a, err
	}
	decision := a.Decision
	err = json.Unmarshal(rep.body, &a)
	a.Decision = decision
	return a, err
}

// row asks the provider how many effects there are, and notes the scene.
func (d *demo) row(ctx context.Context, scene string, deliveries int, a answerView, reference string, want int, state, settled string) error {
	provider := client{base: d.sim, http: d.client.http, other: true}
	rep, err := provider.do(ctx, http.MethodGet, "/effects?reference="+url.QueryEscape(reference), nil)
	if err != nil {
		return err
	}
	var count struct {
		Count int `json:"count"`
	}
	if err := json.Unmarshal(rep.body, &count); err != nil {
		return err
	}
	d.rows = append(d.rows, demoRow{scene, deliveries, a.Operation.Attempts, count.Count, want, a.Operation.State, state, settled})
	d.say("   %s, %d effect\n", a.Operation.State, count.Count)
	return nil
}

// fault makes the provider's next write under a reference go wrong.
func (d *demo) fault(ctx context.Context, system, reference, name string) error {
	provider := client{base: d.sim, http: d.client.http, other: true}
	_, err := provider.do(ctx, http.MethodPost, "/faults", map[string]any{
		"system": system, "match": map[string]any{"reference": reference}, "faults": []map[string]any{{"fault": name}},
	})
	return err
}

func (d *demo) table() {
	w := newTable(d.out, "SCENE", "DELIVERIES", "ATTEMPTS", "EFFECTS", "STATE", "SETTLED BY", "")
	for _, r := range d.rows {
		mark := ""
		if !r.right() {
			mark = fmt.Sprintf("WRONG: want %d, %s", r.Want, r.WantState)
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%s\t%s\t%s\n", r.Scene, r.Deliveries, r.Attempts, r.Effects, r.State, r.Settled, mark)
	}
	_ = w.Flush()
}
