package httpapi

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

// auditor reads as somebody who may read and do nothing else.
func (w *world) auditor() *world {
	w.who = &onceward.Principal{Tenant: "default", Issuer: "token", Subject: "auditor", Roles: []onceward.Role{onceward.RoleAuditor}}
	return w
}

func TestAuditTellsWhoDidWhatAndWhy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	op := w.settled(probed)
	w.post("/v1/tools/"+probed+"/pause", `{"reason":"the provider is down"}`).want(200)
	w.post("/v1/tools/"+probed+"/resume", ``).want(200)
	token := w.post("/v1/tokens", `{"subject":"bot","roles":["caller"],"note":"nightly"}`).want(201)
	a := w.auditor().get("/v1/audit").want(200).lacks("next")
	if strings.Contains(a.raw, token.text("secret")) || strings.Contains(a.raw, strings.Split(token.text("secret"), "_")[2]) {
		t.Error("the trail tells a secret")
	}
	lines := map[string]string{}
	for i := range a.at("events").([]any) {
		at := func(name string) string {
			v, _ := a.find(fmt.Sprintf("events.%d.%s", i, name))
			s, _ := v.(string)
			return s
		}
		lines[at("action")+" "+at("subject")] = at("actor") + "|" + at("reason")
	}
	for line, want := range map[string]string{
		"became_effect_pending " + op:            "local:operator|",
		"tool_paused " + probed:                  "local:operator|the provider is down",
		"tool_resumed " + probed:                 "local:operator|",
		"token_issued " + token.text("token.id"): "local:operator|nightly",
		"contract_in_force " + probed:            "server|",
	} {
		if lines[line] != want {
			t.Errorf("%q: %q, want %q in %v", line, lines[line], want, lines)
		}
	}
}

func TestAuditIsReadInPagesThatMissNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 5 {
		w.clock.Advance(time.Second)
		w.post("/v1/tools/"+probed+"/pause", fmt.Sprintf(`{"reason":"r%d"}`, i)).want(200)
	}
	w.auditor()
	whole := len(w.get("/v1/audit").want(200).at("events").([]any))
	seen, after := 0, ""
	for page := 0; page == 0 || after != ""; page++ {
		target := "/v1/audit?limit=2"
		if after != "" {
			target += "&after=" + after
		}
		a := w.get(target).want(200)
		seen += len(a.at("events").([]any))
		after = ""
		if next, ok := a.find("next"); ok {
			after = next.(string)
		}
		if page > whole {
			t.Fatal("the pages have no end")
		}
	}
	if seen != whole {
		t.Errorf("the pages have %d lines, the whole %d", seen, whole)
	}
	since := w.clock.Now().Add(-1500 * time.Millisecond).UTC().Format(time.RFC3339Nano)
	if a := w.get("/v1/audit?from=" + url.QueryEscape(since)).want(200); len(a.at("events").([]any)) != 2 {
		t.Errorf("since %s there are: %s", since, a.raw)
	}
	for _, q := range []string{"after=x", "limit=0", "limit=501", "from=yesterday", "to=x"} {
		w.get("/v1/audit?" + q).want(400)
	}
}

func TestReportCountsAnswersByToolAndTeam(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.settled(probed)
	body := `{"tool":"` + probed + `","input":` + firstInput + `}`
	w.post("/v1/operations", body).want(200, "decision", "replayed")
	w.post("/v1/operations", body).want(200, "decision", "replayed")
	w.post("/v1/operations", `{"tool":"no.such","input":{}}`).want(404)
	a := w.auditor().get("/v1/report").want(200, "report.total.fresh", 1.0, "report.total.replayed", 2.0, "report.total.blocked", 1.0)
	found := false
	for i := range a.at("report.tools").([]any) {
		if tool := fmt.Sprintf("report.tools.%d", i); a.at(tool+".tool") == probed {
			found = a.at(tool+".answered.replayed") == 2.0 && a.at(tool+".effect") == "probed_write"
		}
	}
	if !found {
		t.Errorf("the tool's line is not right: %s", a.raw)
	}
	w.get("/v1/report?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z").want(400, "code", "invalid_request")
}

func TestReportTellsWhatWaitsAndHowLongItTook(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.reviewed()
	w.who = nil
	w.get("/v1/report").want(200, "report.reviews.began", 1.0, "report.reviews.ended", 0.0, "report.reviews.waiting", 1.0, "report.unknowns.began", 1.0)
	w.clock.Advance(3 * time.Hour)
	w.post("/v1/operations/"+id+"/resolve", `{"outcome":"succeeded","reference":"fax-7","reason":"seen there"}`).want(200)
	a := w.get("/v1/report").want(200, "report.reviews.ended", 1.0, "report.reviews.waiting", 0.0, "report.events.resolved", 1.0)
	if d, err := time.ParseDuration(a.text("report.reviews.longest")); err != nil || d < 3*time.Hour || d > 4*time.Hour {
		t.Errorf("the review took %s (%v)", a.text("report.reviews.longest"), err)
	}
	found := false
	for i := range w.auditor().get("/v1/audit").want(200).at("events").([]any) {
		line := w.get("/v1/audit")
		at := fmt.Sprintf("events.%d.", i)
		found = found || line.at(at+"action") == "resolved" && line.at(at+"actor") == "local:operator" && line.at(at+"reason") == "seen there"
	}
	if !found {
		t.Error("the trail does not tell who settled it, and why")
	}
}
