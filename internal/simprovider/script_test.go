package simprovider

import (
	"fmt"
	"strings"
	"testing"
)

func (s *site) statuses(n int, reference string) string {
	s.t.Helper()
	var seen []string
	for range n {
		seen = append(seen, fmt.Sprint(s.do("POST", "/tickets", ticketBody(reference)).status))
	}
	return strings.Join(seen, " ")
}

func TestScriptGivesFaultsInOrderAndIsThenUsedUp(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	s.must(201, "POST", "/faults", `{"system":"tickets","match":{"reference":"e1"},
		"faults":["error_after_commit;status=502",{"fault":"none"},{"fault":"rate_limited","retry_after":3}]}`)
	if got := s.statuses(1, "e2"); got != "201" {
		t.Errorf("another reference got %s", got)
	}
	s.must(200, "GET", "/tickets?external_id=e1", "") // a lookup uses up no write's fault
	if got := s.statuses(2, "e1"); got != "502 201" {
		t.Errorf("got %s", got)
	}
	if items := s.items("/faults"); len(items) != 1 || items[0].(map[string]any)["done"] != 2.0 {
		t.Errorf("under way: %v", items)
	}
	if got := s.statuses(2, "e1"); got != "429 201" {
		t.Errorf("got %s", got)
	}
	if items := s.items("/faults"); len(items) != 0 {
		t.Errorf("left: %v", items)
	}
	faults := s.report("e1").Items[0].Faults
	if faults["error_after_commit"] != 1 || faults["none"] != 1 || faults["rate_limited"] != 1 {
		t.Errorf("counted faults: %v", faults)
	}
}

func TestScriptStartsAtTheNthMatch(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	s.must(201, "POST", "/faults", `{"match":{"nth":3},"faults":["forbidden","unauthorized"]}`)
	if got := s.statuses(5, "e1"); got != "201 201 403 401 201" {
		t.Errorf("got %s", got)
	}
}

func TestScriptForReadsLeavesWritesAlone(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	s.must(201, "POST", "/faults", `{"system":"tickets","match":{"on":"read"},"faults":["error_before_commit;status=503"]}`)
	s.must(201, "POST", "/tickets", ticketBody("e1"))
	s.must(503, "GET", "/tickets?external_id=e1", "")
	s.must(200, "GET", "/tickets?external_id=e1", "")
	if row := s.report("e1").Items[0]; row.Reads != 2 || row.Requests != 1 {
		t.Errorf("row: %+v", row)
	}
}

func TestScriptBySystemActionAndAlias(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	s.must(201, "POST", "/faults", `{"system":"mail","faults":["error_before_commit"]}`)
	s.must(201, "POST", "/faults", `{"system":"payments","match":{"action":"refund"},"faults":["forbidden"]}`)
	s.must(201, "POST", "/faults", `{"match":{"reference":"k9","on":"any"},"faults":["unauthorized"]}`)
	s.must(201, "POST", "/payments", paymentBody("o1"), "Idempotency-Key", "k1")
	s.must(403, "POST", "/payments/P-1/refund", "", "Idempotency-Key", "k2")
	s.must(401, "POST", "/payments", paymentBody("o1"), "Idempotency-Key", "k9")
}

func TestHeaderGoesBeforeScriptAndScriptBeforeRate(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	s.must(201, "POST", "/faults", `{"rate":{"forbidden":1}}`)
	s.must(201, "POST", "/faults", `{"rate":{"in_progress":1}}`) // behind a rate that always strikes
	s.must(201, "POST", "/faults", `{"faults":["unauthorized"]}`)
	s.must(429, "POST", "/tickets", ticketBody("e1"), FaultHeader, "rate_limited")
	if got := s.statuses(2, "e1"); got != "401 403" {
		t.Errorf("got %s", got)
	}
	s.must(204, "DELETE", "/faults", "")
	if got := s.statuses(1, "e1"); got != "201" {
		t.Errorf("after clearing: %s", got)
	}
}

func TestWrongTokenUsesUpNoFault(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Token: "one"})
	s.must(201, "POST", "/faults", `{"faults":["forbidden"]}`)
	s.must(401, "POST", "/tickets", ticketBody("e1"))
	s.must(403, "POST", "/tickets", ticketBody("e1"), "Authorization", "Bearer one")
}

func TestRateIsRepeatableWhateverTheOrder(t *testing.T) {
	t.Parallel()
	run := func(seed string, references []string) (map[string]string, int) {
		s := start(t, Options{})
		s.must(201, "POST", "/faults", `{"system":"tickets","seed":`+seed+`,"rate":{"forbidden":0.2,"error_after_commit;status=503":0.2}}`)
		seen, bad := map[string]string{}, 0
		for _, reference := range references {
			seen[reference] = s.statuses(4, reference)
			bad += 4 - strings.Count(seen[reference], "201")
		}
		return seen, bad
	}
	var forward, backward []string
	for i := range 50 {
		forward = append(forward, fmt.Sprint("e", i))
		backward = append(backward, fmt.Sprint("e", 49-i))
	}
	first, bad := run("7", forward)
	second, _ := run("7", backward)
	third, _ := run("8", forward)
	if fmt.Sprint(first) != fmt.Sprint(second) {
		t.Error("the order of arrival changed the draws")
	}
	if fmt.Sprint(first) == fmt.Sprint(third) {
		t.Error("the seed changes nothing")
	}
	mixed := 0 // references whose requests did not all end alike
	for _, statuses := range first {
		if strings.Count(statuses, statuses[:3]) < 4 {
			mixed++
		}
	}
	if mixed < 25 {
		t.Errorf("only %d of 50 references saw different draws: %v", mixed, first)
	}
	if bad < 50 || bad > 110 {
		t.Errorf("%d of 200 requests went wrong, want about 80", bad)
	}
}

func TestMisspelledFaultIsRefused(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	for _, body := range []string{
		`{"faults":["drop_after_comit"]}`,
		`{"faults":[{"fault":"slow","dely":"1s"}]}`,
		`{"faults":[{"fault":"slow","delay":"soon"}]}`,
		`{"faults":[{"fault":"slow","delay":"-1s"}]}`,
		`{"faults":[{"fault":"forbidden","status":500}]}`,
		`{"faults":["error_after_commit;status=404"]}`,
		`{"faults":["redirect;status=200"]}`,
		`{"faults":["slow;at=noon"]}`,
		`{"faults":["drop_after_commit;how=gently"]}`,
		`{"faults":["rate_limited;form=roman"]}`,
		`{"faults":["rate_limited;retry_after=-1"]}`,
		`{"faults":["slow;delay"]}`,
		`{"faults":["slow;colour=red"]}`,
		`{"faults":["slow"],"rate":{"hang":0.1}}`,
		`{"rate":{"hang":1.1}}`,
		`{"rate":{"hang":0.6,"slow":0.6}}`,
		`{"rate":{"hang":0.1},"match":{"nth":2}}`,
		`{"faults":["slow"],"match":{"nth":-1}}`,
		`{"faults":["slow"],"match":{"on":"tuesday"}}`,
		`{"faults":["slow"],"system":"telex"}`,
		`{"faults":["slow"],"matches":{}}`,
		`{}`, ``, `[]`,
	} {
		if g := s.must(400, "POST", "/faults", body); g.code(t) != "bad_faults" {
			t.Errorf("%s: %s", body, g.body)
		}
	}
	if code := s.must(400, "POST", "/tickets", ticketBody("e1"), FaultHeader, "drop").code(t); code != "bad_fault" {
		t.Errorf("header: %q", code)
	}
	s.wantCount("e1", 0, 0)
}
