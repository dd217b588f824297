package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/onceward/onceward/internal/httpapi"
)

// seed plays on, so that the console of a demonstration that stays up has a story
// in it: a day's work of an agent, an unknown outcome, a review and an approval
// that wait. It returns the token with which a person signs in.
func (d *demo) seed(ctx context.Context) (person string, err error) {
	d.say("An agent works on, so that there is something to look at ...")
	if person, err = d.issue(ctx, "you", []string{"caller", "approver", "operator", "auditor", "admin"}, "support-leads"); err != nil {
		return "", err
	}
	agent, err := d.issue(ctx, "agent", []string{"caller"})
	if err != nil {
		return "", err
	}
	asks := &demo{out: d.out, sim: d.sim, client: &client{base: d.client.base, http: d.client.http, token: agent}}
	for i := range 12 {
		event := fmt.Sprintf("parcel-%d", 4700+i)
		if i == 5 {
			if err := d.fault(ctx, "tickets", "shop/"+event, "drop_after_commit"); err != nil {
				return "", err
			}
		}
		input := fmt.Sprintf(`{"source":"shop","event_id":%q,"subject":"Parcel %d did not arrive","body":"The customer waits since Monday."}`, event, 4700+i)
		for range 1 + i%3 {
			if _, err := asks.call(ctx, "tickets.create", input, "wait", "0s", "correlation_id", event); err != nil {
				return "", err
			}
		}
		if i%4 == 1 {
			if _, err := asks.call(ctx, "payments.create", fmt.Sprintf(`{"order_id":%q,"amount":%d,"currency":"EUR"}`, event, 1900+i*100), "correlation_id", event); err != nil {
				return "", err
			}
		}
	}
	// Unknown until its attempts are used up: each request is lost on its way.
	for range 5 {
		if err := d.fault(ctx, "payments", "order-911", "drop_before_commit"); err != nil {
			return "", err
		}
	}
	if _, err := asks.call(ctx, "payments.create", `{"order_id":"order-911","amount":8900,"currency":"EUR"}`, "wait", "0s"); err != nil {
		return "", err
	}
	_, err = asks.call(ctx, "tickets.create", `{"source":"shop","event_id":"urgent-1","subject":"Smoke on floor 3","body":"Somebody has to look now.","priority":"urgent"}`, "wait", "0s")
	return person, err
}

// issue makes a token. The first one closes the server for whoever has none.
func (d *demo) issue(ctx context.Context, subject string, roles []string, groups ...string) (string, error) {
	asked := map[string]any{"subject": subject, "roles": roles, "note": "of the demonstration", "lifetime": "24h"}
	if len(groups) > 0 {
		asked["groups"] = groups
	}
	rep, err := d.client.do(ctx, "POST", "/v1/tokens", asked)
	if err != nil {
		return "", err
	}
	var issued httpapi.IssuedToken
	if err := json.Unmarshal(rep.body, &issued); err != nil {
		return "", err
	}
	if d.client.token == "" {
		d.client.token = issued.Secret
	}
	return issued.Secret, nil
}

func (d *demo) whatNext(person string) {
	d.say(`
The console is at  %[1]s
Sign in with       %[3]s

A review and an approval wait for you there, and an outcome that is unknown at first. The server stays up until you
press Ctrl-C. Programs ask it with the same token:

  curl -s %[1]s/v1/operations?state=needs_review -H 'Authorization: Bearer %[3]s'
  curl -s %[2]s/effects/summary
`, d.client.base, d.sim, person)
}
