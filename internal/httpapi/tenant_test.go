package httpapi

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

// rivals is a world in which one tenant has one of everything; whoever asks from
// then on has every role of another.
type rivals struct {
	*world
	names *strings.Replacer // {op}, {attempt}, ... for what the first tenant has
	none  *strings.Replacer // the same for what nobody has
}

func newRivals(t *testing.T) *rivals {
	w := triageWorld(t)
	op := w.settled(probed)
	grant := w.post("/v1/operations:claim", `{"tool":"`+remotely+`","input":{"id":"r1"},"key":"r1","claim_token":"`+strings.Repeat("t", 20)+`"}`).want(200)
	run := w.startRun("mail-1")
	decision := w.put(`{"run":"` + run + `","step":"classify","input":{"a":1},"output":{"category":"ticket"}}`).want(200).text("decision.id")
	token := w.post("/v1/tokens", `{"subject":"bot","roles":["caller"]}`).want(201).text("token.id")
	w.post("/v1/tools/"+unsafely+"/pause", `{"reason":"ours"}`).want(200)
	document := w.post("/v1/documents", `{"ours":1}`).want(201).text("sha256")
	event := w.deliver(`{"id":"e-1","kind":"unheard of"}`).want(200).text("events.0.id")
	w.handle()
	saga := w.post("/v1/sagas", oneStep).want(202).text("saga.id")
	bulk := w.post("/v1/replays", `{"reason":"the line is repaired"}`).want(202).text("replay.id")
	w.deadEvents("evt-1")
	hold := w.post("/v1/holds", `{"reason":"ours"}`).want(201).text("hold.id")
	flip := func(id string) string { // another ID of the same form
		last := "0"
		if strings.HasSuffix(id, "0") {
			last = "g"
		}
		b := []byte(id)
		b[len(b)-3] = last[0] // the last characters have unused bits
		return string(b)
	}
	attempt := grant.text("attempt.id")
	number := attempt[strings.LastIndex(attempt, "."):]
	w.who = &onceward.Principal{Tenant: "rival", Issuer: "token", Subject: "bot", Roles: onceward.AllRoles, Groups: []string{onceward.EveryGroup}}
	return &rivals{w,
		strings.NewReplacer("{op}", op, "{attempt}", attempt, "{secret}", grant.text("attempt.secret"), "{run}", run, "{decision}", decision, "{token}", token, "{document}", document, "{replay}", bulk, "{saga}", saga, "{event}", event, "{dead}", "evt-1", "{hold}", hold),
		strings.NewReplacer("{op}", flip(op), "{attempt}", flip(strings.TrimSuffix(attempt, number))+number, "{secret}", grant.text("attempt.secret"),
			"{run}", flip(run), "{decision}", flip(decision), "{token}", flip(token), "{document}", strings.Repeat("0", 64), "{replay}", flip(bulk), "{saga}", flip(saga), "{event}", flip(event), "{dead}", "evt-9", "{hold}", flip(hold))}
}

// trespass is a request for what another tenant has. code: it is answered as if
// there were nothing. Else holds says what must be true of the answer.
type trespass struct {
	target, body string
	code         onceward.Code
	holds        func(r *rivals, a *reply) bool
}

func empty(list string) func(*rivals, *reply) bool {
	return func(_ *rivals, a *reply) bool { return fmt.Sprint(a.at(list)) == "[]" }
}

// ownFresh is a request under a key that the other tenant used: an operation of its own.
func ownFresh(_ *rivals, a *reply) bool { return a.at("decision") == "fresh" }

var trespasses = map[string]trespass{
	"POST /v1/operations":       {"/v1/operations", `{"tool":"` + probed + `","input":` + firstInput + `}`, "", ownFresh},
	"POST /v1/operations:batch": {"/v1/operations:batch", `{"operations":[{"tool":"` + once + `","input":` + firstInput + `}]}`, "", func(_ *rivals, a *reply) bool { return a.at("results.0.decision") == "fresh" }},
	"POST /v1/operations:claim": {"/v1/operations:claim", `{"tool":"` + remotely + `","input":{"id":"r1"},"key":"r1","claim_token":"` + strings.Repeat("t", 20) + `"}`, "",
		func(r *rivals, a *reply) bool {
			return a.at("decision") == "fresh" && a.at("attempt.secret") != r.names.Replace("{secret}")
		}},
	"POST /v1/attempts/{id}/heartbeat":              {"/v1/attempts/{attempt}/heartbeat", `{"secret":"{secret}"}`, "operation_not_found", nil},
	"POST /v1/attempts/{id}/outcome":                {"/v1/attempts/{attempt}/outcome", `{"secret":"{secret}","outcome":"unknown","error":{"class":"timeout","message":"m"}}`, "operation_not_found", nil},
	"GET /v1/operations":                            {"/v1/operations", "", "", empty("operations")},
	"GET /v1/operations/{id}":                       {"/v1/operations/{op}", "", "operation_not_found", nil},
	"POST /v1/operations/{id}/cancel":               {"/v1/operations/{op}/cancel", `{"reason":"mine"}`, "operation_not_found", nil},
	"POST /v1/operations/{id}/reconcile":            {"/v1/operations/{op}/reconcile", `{}`, "operation_not_found", nil},
	"POST /v1/operations/{id}/resolve":              {"/v1/operations/{op}/resolve", `{"outcome":"abandoned","reason":"mine"}`, "operation_not_found", nil},
	"POST /v1/operations/{id}/fork":                 {"/v1/operations/{op}/fork", `{"key":"k","reason":"mine"}`, "operation_not_found", nil},
	"GET /v1/operations/{id}/replay":                {"/v1/operations/{op}/replay", "", "operation_not_found", nil},
	"POST /v1/operations/{id}/replay":               {"/v1/operations/{op}/replay", `{"reason":"mine"}`, "operation_not_found", nil},
	"GET /v1/approvals":                             {"/v1/approvals", "", "", empty("approvals")},
	"GET /v1/operations/{id}/approval":              {"/v1/operations/{op}/approval", "", "operation_not_found", nil},
	"POST /v1/operations/{id}/approve":              {"/v1/operations/{op}/approve", `{"digest":"0000000000000000000000000000000000000000000000000000000000000001","contract_version":"v"}`, "operation_not_found", nil},
	"POST /v1/operations/{id}/reject":               {"/v1/operations/{op}/reject", `{"digest":"0000000000000000000000000000000000000000000000000000000000000001","reason":"mine"}`, "operation_not_found", nil},
	"POST /v1/operations/{id}/assign":               {"/v1/operations/{op}/assign", `{"to":"token:bot","reason":"mine"}`, "operation_not_found", nil},
	"POST /v1/documents":                            {"/v1/documents", `{"a":1}`, "", func(_ *rivals, a *reply) bool { return a.status == 201 }},
	"GET /v1/documents/{sha256}":                    {"/v1/documents/{document}", "", "document_not_found", nil},
	"GET /v1/holds":                                 {"/v1/holds", "", "", empty("holds")},
	"POST /v1/holds":                                {"/v1/holds", `{"reason":"mine"}`, "", func(_ *rivals, a *reply) bool { return a.status == 201 }},
	"POST /v1/holds/{id}/lift":                      {"/v1/holds/{hold}/lift", `{"reason":"mine"}`, "hold_not_found", nil},
	"GET /v1/keys":                                  {"/v1/keys", "", "", empty("data_keys")},
	"POST /v1/keys/rotate":                          {"/v1/keys/rotate", "", "keys_missing", nil},
	"POST /v1/subjects/shred":                       {"/v1/subjects/shred", `{"subject":"s","reason":"mine"}`, "keys_missing", nil},
	"GET /v1/reviews":                               {"/v1/reviews", "", "", func(r *rivals, a *reply) bool { return empty("reviews")(r, a) && empty("events")(r, a) }},
	"POST /v1/hooks/{source}":                       {"/v1/hooks/shop", `{"id":"e-1"}`, "signature_invalid", nil},
	"GET /v1/events":                                {"/v1/events", "", "", empty("events")},
	"GET /v1/events/{id}":                           {"/v1/events/{event}", "", "event_not_found", nil},
	"POST /v1/events/{id}/redrive":                  {"/v1/events/{event}/redrive", `{"reason":"mine"}`, "event_not_found", nil},
	"POST /v1/events/{id}/dismiss":                  {"/v1/events/{event}/dismiss", `{"reason":"mine"}`, "event_not_found", nil},
	"GET /v1/outbox/sinks":                          {"/v1/outbox/sinks", "", "forbidden", nil},
	"GET /v1/outbox/events":                         {"/v1/outbox/events", "", "", empty("events")},
	"POST /v1/outbox/redrive":                       {"/v1/outbox/redrive", `{"sink":"billing","event":"{dead}","reason":"mine"}`, "event_not_found", nil},
	"POST /v1/outbox/drop":                          {"/v1/outbox/drop", `{"sink":"billing","event":"{dead}","reason":"mine"}`, "event_not_found", nil},
	"GET /v1/operations/{id}/review":                {"/v1/operations/{op}/review", "", "operation_not_found", nil},
	"POST /v1/operations/{id}/take":                 {"/v1/operations/{op}/take", `{}`, "operation_not_found", nil},
	"POST /v1/operations/{id}/comment":              {"/v1/operations/{op}/comment", `{"text":"mine"}`, "operation_not_found", nil},
	"GET /v1/tools":                                 {"/v1/tools", "", "", func(_ *rivals, a *reply) bool { return !strings.Contains(a.raw, `"ours"`) }},
	"GET /v1/tools/{name}":                          {"/v1/tools/" + unsafely, "", "", func(_ *rivals, a *reply) bool { return !strings.Contains(a.raw, `"ours"`) }},
	"POST /v1/tools/{name}/call":                    {"/v1/tools/" + anew + "/call", firstInput, "", ownFresh},
	"POST /v1/tools/{name}/pause":                   {"/v1/tools/" + probed + "/pause", `{"reason":"mine"}`, "", func(r *rivals, _ *reply) bool { return !r.pausedForTheOthers(probed) }},
	"POST /v1/tools/{name}/resume":                  {"/v1/tools/" + unsafely + "/resume", `{}`, "", func(r *rivals, _ *reply) bool { return r.pausedForTheOthers(unsafely) }},
	"GET /v1/tools/{name}/versions":                 {"/v1/tools/" + probed + "/versions", "", "", tellsNothingOfOurs},
	"GET /v1/tools/{name}/versions/{version}":       {"/v1/tools/" + probed + "/versions/v1", "", "forbidden", nil},
	"POST /v1/tools/{name}/versions/{version}/sign": {"/v1/tools/" + probed + "/versions/v1/sign", `{"as":"business","reason":"mine"}`, "forbidden", nil},
	"GET /v1/switches":                              {"/v1/switches", "", "", func(_ *rivals, a *reply) bool { return !strings.Contains(a.raw, `"ours"`) }},
	"POST /v1/switches/stop":                        {"/v1/switches/stop", `{"scope":"tenant","reason":"mine"}`, "", func(r *rivals, _ *reply) bool { return !r.pausedForTheOthers(probed) }},
	"POST /v1/switches/resume":                      {"/v1/switches/resume", `{"scope":"tenant"}`, "", func(r *rivals, _ *reply) bool { return r.pausedForTheOthers(unsafely) }},
	"POST /v1/replays":                              {"/v1/replays", `{"reason":"the line is repaired"}`, "", func(r *rivals, a *reply) bool { return a.text("replay.id") != r.names.Replace("{replay}") }},
	"GET /v1/replays":                               {"/v1/replays", "", "", empty("replays")},
	"GET /v1/replays/{id}":                          {"/v1/replays/{replay}", "", "replay_not_found", nil},
	"POST /v1/replays/{id}/cancel":                  {"/v1/replays/{replay}/cancel", `{}`, "replay_not_found", nil},
	"POST /v1/tokens":                               {"/v1/tokens", `{"subject":"bot","roles":["caller"]}`, "", func(_ *rivals, a *reply) bool { return a.at("token.tenant") == "rival" }},
	"GET /v1/tokens":                                {"/v1/tokens", "", "", empty("tokens")},
	"DELETE /v1/tokens/{id}":                        {"/v1/tokens/{token}", "", "token_not_found", nil},
	"GET /v1/principal":                             {"/v1/principal", "", "", func(_ *rivals, a *reply) bool { return a.at("tenant") == "rival" }},
	"GET /v1/audit":                                 {"/v1/audit", "", "", tellsNothingOfOurs},
	"GET /metrics":                                  {"/metrics", "", "forbidden", nil},
	"GET /v1/audit/checkpoints":                     {"/v1/audit/checkpoints", "", "", empty("checkpoints")},
	"GET /v1/report":                                {"/v1/report", "", "", func(r *rivals, a *reply) bool { return tellsNothingOfOurs(r, a) && a.at("report.total.fresh") == 0.0 }},
	"POST /v1/sagas":                                {"/v1/sagas", oneStep, "", func(r *rivals, a *reply) bool { return a.text("saga.id") != r.names.Replace("{saga}") }},
	"GET /v1/sagas":                                 {"/v1/sagas", "", "", empty("sagas")},
	"GET /v1/sagas/{id}":                            {"/v1/sagas/{saga}", "", "saga_not_found", nil},
	"POST /v1/sagas/{id}/cancel":                    {"/v1/sagas/{saga}/cancel", `{}`, "saga_not_found", nil},
	"POST /v1/sagas/{id}/resolve":                   {"/v1/sagas/{saga}/resolve", `{"step":"look","outcome":"kept","reason":"r"}`, "saga_not_found", nil},
	"POST /v1/runs":                                 {"/v1/runs", `{"workflow":"support.triage","trigger_key":"mail-1"}`, "", func(r *rivals, a *reply) bool { return a.text("run.id") != r.names.Replace("{run}") }},
	"GET /v1/runs":                                  {"/v1/runs", "", "", empty("runs")},
	"GET /v1/runs/{id}":                             {"/v1/runs/{run}", "", "run_not_found", nil},
	"GET /v1/runs/{id}/resume":                      {"/v1/runs/{run}/resume", "", "run_not_found", nil},
	"POST /v1/runs/{id}/finish":                     {"/v1/runs/{run}/finish", `{"outcome":"failed"}`, "run_not_found", nil},
	"PUT /v1/decisions":                             {"/v1/decisions", `{"run":"{run}","step":"classify","input":{"a":1}}`, "run_not_found", nil},
	"GET /v1/decisions/{id}":                        {"/v1/decisions/{decision}", "", "decision_not_found", nil},
	"POST /v1/decisions/{id}/redecide":              {"/v1/decisions/{decision}/redecide", `{"reason":"mine"}`, "decision_not_found", nil},
}

// tellsNothingOfOurs looks for names, reasons and people of the first tenant.
func tellsNothingOfOurs(r *rivals, a *reply) bool {
	for _, ours := range []string{r.names.Replace("{op}"), r.names.Replace("{run}"), r.names.Replace("{token}"), r.names.Replace("{document}"), `"ours"`, "local:operator"} {
		if strings.Contains(a.raw, ours) {
			return false
		}
	}
	return true
}

// pausedForTheOthers looks as the first tenant.
func (r *rivals) pausedForTheOthers(tool string) bool {
	who := r.who
	defer func() { r.who = who }()
	r.who = nil
	_, paused := r.get("/v1/tools/" + tool).want(200).find("tool.paused")
	return paused
}

func TestEveryRouteKeepsTenantsApart(t *testing.T) {
	t.Parallel()
	for i := range routes {
		route := &routes[i]
		name := route.Method + " " + route.Path
		if route.public() {
			continue
		}
		t.Run(route.Name, func(t *testing.T) {
			t.Parallel()
			try, ok := trespasses[name]
			if !ok {
				t.Fatalf("%s has no line in the table: what does it tell another tenant?", name)
			}
			r := newRivals(t)
			r.TB = t
			a := r.do(route.Method, r.names.Replace(try.target), r.names.Replace(try.body))
			switch {
			case try.code == "forbidden" || try.code == "signature_invalid" || try.code == "keys_missing": // whatever there is, or is not
				a.want(Status(try.code), "code", try.code)
			case try.code != "":
				a.want(404, "code", try.code)
				// What is not there at all is answered in the same words.
				b := r.do(route.Method, r.none.Replace(try.target), r.none.Replace(try.body)).want(404)
				if x, y := blank(a, r.names), blank(b, r.none); x != y {
					t.Errorf("the answers tell that there is something:\n%s\n%s", x, y)
				}
			case a.status >= 300 || !try.holds(r, a):
				t.Errorf("%s answers another tenant with %d:\n%s", name, a.status, a.raw)
			}
			r.untouched()
		})
	}
	if len(trespasses) != len(routes)-3 {
		t.Errorf("the table has %d lines for %d routes", len(trespasses), len(routes)-3)
	}
}

// blank is an answer without the IDs that the request named itself.
func blank(a *reply, names *strings.Replacer) string {
	for _, name := range []string{"{op}", "{run}", "{decision}", "{token}", "{replay}", "{attempt}", "{event}"} {
		id, _, _ := strings.Cut(names.Replace(name), ".") // an attempt's operation
		a.raw = strings.ReplaceAll(a.raw, id, name)
	}
	return a.raw
}

// untouched wants what the first tenant has to be as it was.
func (r *rivals) untouched() {
	r.Helper()
	r.who = nil
	r.get(r.names.Replace("/v1/operations/{op}")).want(200, "operation.state", "succeeded", "operation.cancel_requested", false)
	r.get("/v1/tokens").want(200, "tokens.0.id", r.names.Replace("{token}")).lacks("tokens.0.revoked_at")
	r.post(r.names.Replace("/v1/attempts/{attempt}/heartbeat"), r.names.Replace(`{"secret":"{secret}"}`)).want(200)
	r.get(r.names.Replace("/v1/runs/{run}")).want(200, "run.state", "open")
	r.get(r.names.Replace("/v1/events/{event}")).want(200, "event.state", "unmapped")
	r.get("/v1/outbox/events").want(200, "events.0.event", "evt-1", "events.0.dead", true)
}

func TestTokenIsIssuedListedAndRevokedOverTheAPI(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.who = &onceward.Principal{Tenant: "default", Issuer: "token", Subject: "admin", Roles: []onceward.Role{"admin", "caller"}}
	issued := w.post("/v1/tokens", `{"subject":"crm","roles":["caller"],"tools":["`+probed+`"],"effects":["probed_write"],"note":"nightly","lifetime":"1h"}`).
		want(201, "token.subject", "crm", "token.created_by", "token:admin", "token.tools.0", probed, "token.effects.0", "probed_write")
	secret, id := issued.text("secret"), issued.text("token.id")
	if p, err := w.ledger.Authenticate(t.Context(), secret); err != nil || p.String() != "token:crm" {
		t.Errorf("the secret makes %v (%v)", p, err)
	}
	list := w.get("/v1/tokens").want(200, "tokens.0.id", id, "tokens.0.note", "nightly")
	if strings.Contains(list.raw, secret[20:]) || strings.Contains(list.raw, "hash") || strings.Contains(w.log.String(), secret[20:]) {
		t.Error("the secret is told a second time")
	}
	for _, c := range []struct {
		body string
		code string
	}{
		{`{"subject":"crm","roles":["operator"]}`, "forbidden"},
		{`{"subject":"crm","roles":["root"]}`, "invalid_request"},
		{`{"subject":"crm","roles":[]}`, "invalid_request"},
		{`{"subject":"","roles":["caller"]}`, "invalid_request"},
		{`{"subject":"crm","roles":["caller"],"effects":["none"]}`, "invalid_request"},
		{`{"subject":"crm","roles":["caller"],"tools":["No Tool"]}`, "invalid_request"},
		{`{"subject":"crm","roles":["caller"],"lifetime":"0s"}`, "invalid_request"},
		{`{"subject":"crm","roles":["caller"],"lifetime":"8785h"}`, "invalid_request"},
		{`{"subject":"crm","roles":["caller"],"tenant":"rival"}`, "invalid_request"},
	} {
		if got := w.post("/v1/tokens", c.body).text("code"); got != c.code {
			t.Errorf("%s: %s, want %s", c.body, got, c.code)
		}
	}
	w.do("DELETE", "/v1/tokens/"+id, "").want(200, "token.revoked_by", "token:admin")
	w.clock.Advance(time.Minute)
	w.do("DELETE", "/v1/tokens/"+id, "").want(200, "token.revoked_by", "token:admin")
	if _, err := w.ledger.Authenticate(t.Context(), secret); !onceward.Is(err, onceward.CodeUnauthenticated) {
		t.Errorf("the revoked token: %v", err)
	}
	w.do("DELETE", "/v1/tokens/x", "").want(400, "code", "invalid_request")
}
