package simprovider

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// behaviour is what one fault does.
type behaviour struct {
	name        string
	params      []string // besides delay, which all understand
	statusClass int      // first digit of an allowed status parameter
	doc         string
	run         func(d *delivery)
}

// delayDefault is how long late_commit and slow take when no delay is given.
const delayDefault = time.Second

// behaviours is the whole list; the index page is made from it.
var behaviours = []behaviour{
	{name: FaultNone, doc: "nothing goes wrong", run: func(d *delivery) { d.answer(d.execute()) }},

	{name: "drop_before_commit", params: []string{"how"},
		doc: "no effect; the connection is closed without an answer (how=fin, or reset)",
		run: func(d *delivery) { d.release(); d.drop(d.fault.How, "fin") }},
	{name: "drop_after_commit", params: []string{"how"},
		doc: "effect; the connection is reset without an answer (how=reset, or fin)",
		run: func(d *delivery) { d.execute(); d.drop(d.fault.How, "reset") }},
	{name: "late_commit", params: []string{"how"},
		doc: "the connection is closed now, the effect appears after delay (default 1s)",
		run: commitLate},
	{name: "hang",
		doc: "accepted and never answered; no effect; ends when the client goes away",
		run: hang},
	{name: "slow", params: []string{"at"},
		doc: "the answer takes delay (default 1s), which passes after the commit (at=after) or before it (at=before)",
		run: slow},

	{name: "error_before_commit", params: []string{"status"}, statusClass: 5,
		doc: "no effect; status=500 (or another 5xx)",
		run: func(d *delivery) { d.release(); d.answer(serverError(d.fault.status(http.StatusInternalServerError))) }},
	{name: "error_after_commit", params: []string{"status"}, statusClass: 5,
		doc: "effect; status=500 (or another 5xx)",
		run: func(d *delivery) { d.execute(); d.answer(serverError(d.fault.status(http.StatusInternalServerError))) }},
	{name: "cut_body",
		doc: "effect; the answer breaks off in the middle of its body",
		run: cutBody},
	{name: "not_json",
		doc: "effect; the right status with a page of HTML",
		run: func(d *delivery) { d.answer(htmlPage(d.execute())) }},

	{name: "rate_limited", params: []string{"retry_after", "form"},
		doc: "no effect; 429 with Retry-After (retry_after=1; form=seconds, or date)",
		run: func(d *delivery) { d.release(); d.answer(d.rateLimited()) }},
	{name: "unauthorized",
		doc: "no effect; 401",
		run: func(d *delivery) { d.release(); d.answer(unauthorized()) }},
	{name: "forbidden",
		doc: "no effect; 403",
		run: func(d *delivery) {
			d.release()
			d.answer(refusal(http.StatusForbidden, "forbidden", "this credential may not do that"))
		}},
	{name: "redirect", params: []string{"status", "location"}, statusClass: 3,
		doc: "no effect; status=307 (or another 3xx) to location (default: the same path again)",
		run: func(d *delivery) { d.release(); d.answer(d.redirect()) }},
	{name: "in_progress",
		doc: "no effect; 409 idempotency_in_progress",
		run: func(d *delivery) { d.release(); d.answer(keyInProgress()) }},

	{name: "duplicate_delivery",
		doc: "the effect is committed twice, whatever key or condition was sent: a provider that breaks its word",
		run: commitTwice},
	{name: "stale_read",
		doc: "a lookup answers as if there were nothing yet (an index that lags); on a write, nothing goes wrong",
		run: func(d *delivery) {
			if d.req.write {
				d.answer(d.execute())
				return
			}
			d.answer(d.req.stale)
		}},
}

func findBehaviour(name string) (behaviour, bool) {
	for _, b := range behaviours {
		if b.name == name {
			return b, true
		}
	}
	return behaviour{}, false
}

func faultNames() []string {
	names := make([]string, len(behaviours))
	for i, b := range behaviours {
		names[i] = b.name
	}
	return names
}

// deliver waits where the fault says so and then lets it strike.
func deliver(d *delivery) {
	name := d.fault.Name
	if name == "" {
		name = FaultNone
	}
	b, _ := findBehaviour(name) // names were checked when they came in
	if name != "slow" && name != "late_commit" && !d.s.wait(time.Duration(d.fault.Delay)) {
		d.drop("fin", "")
		return
	}
	b.run(d)
}

func slow(d *delivery) {
	length := d.fault.delay(delayDefault)
	if d.fault.At == "before" {
		if !d.s.wait(length) {
			d.drop("fin", "")
			return
		}
		d.answer(d.execute())
		return
	}
	ans := d.execute()
	if !d.s.wait(length) {
		d.drop("fin", "")
		return
	}
	d.answer(ans)
}

func hang(d *delivery) {
	select {
	case <-d.r.Context().Done():
	case <-d.s.closing:
	}
	d.drop("fin", "")
}

func cutBody(d *delivery) {
	ans := d.execute()
	d.said = fmt.Sprintf("%d cut", ans.status)
	ans.sendPart(d.w, ans.body[:len(ans.body)/2])
	// Less was written than promised, so net/http closes the connection.
}

func commitTwice(d *delivery) {
	ans := d.execute()
	if d.req.write {
		d.s.perform(d.req, &hold{}, d.fault.Name)
	}
	d.answer(ans)
}

func htmlPage(ans answer) answer {
	ans.body = []byte("<!doctype html><title>OK</title><p>Your request was accepted.\n")
	return ans.with("Content-Type", "text/html; charset=utf-8")
}

func serverError(status int) answer {
	return refusal(status, "server_error", http.StatusText(status))
}

func (d *delivery) rateLimited() answer {
	seconds := max(d.fault.RetryAfter, 1)
	value := strconv.Itoa(seconds)
	if d.fault.Form == "date" {
		// Why: an HTTP date has whole seconds, so it is rounded up.
		at := d.s.clock.Now().Add(time.Duration(seconds)*time.Second + time.Second - 1)
		value = at.UTC().Format(http.TimeFormat)
	}
	return refusal(http.StatusTooManyRequests, "rate_limited", "too many requests").with("Retry-After", value)
}

func (d *delivery) redirect() answer {
	location := d.fault.Location
	if location == "" {
		location = d.r.URL.RequestURI()
	}
	return answer{status: d.fault.status(http.StatusTemporaryRedirect), header: map[string]string{"Location": location}}
}
