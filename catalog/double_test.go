package catalog

import (
	"context"
	"encoding/json"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/contract"
)

// fault is what the double does with one write.
type fault int

const (
	faultNone         fault = iota
	faultAnswerLost         // the effect happens, no answer comes
	faultRequestLost        // nothing arrives, no answer comes
	faultErrorAfter         // the effect happens, the answer is 500
	faultLate               // no answer; the effect shows a second before settle is over
	faultLateInWindow       // the same, two minutes later
)

// effect is something that the double did.
type effect struct {
	id, mark  string
	visibleAt time.Time
}

// answer is a stored answer under a key.
type answer struct {
	status int
	body   string
	since  time.Time
	id     string
}

// double is a provider that is made from a contract's facts, and is no better
// than they say: a key counts where the contract says that it is sent, for as long
// as the provider promises, and not at all where it promises nothing; a look-up
// that lags shows an effect a second before settle is over.
type double struct {
	tool   *contract.Tool
	sample sample
	clock  onceward.Clock

	settle, window time.Duration
	class          string
	set            map[string]string // what is in force in the contract, by field

	mu      sync.Mutex
	script  []fault
	effects []effect
	known   map[string]answer // by key, or by what a conditional write names
	late    []lateRequest
	writes  int
}

type lateRequest struct {
	at, sent time.Time
	req      onceward.Request
}

func newDouble(tool *contract.Tool, s sample, clock onceward.Clock) *double {
	d := &double{tool: tool, sample: s, clock: clock, known: map[string]answer{}, set: map[string]string{}}
	for _, setting := range tool.Settings() {
		d.set[setting.Field] = setting.Value
	}
	p := tool.Info().Policy
	d.settle, d.window, d.class = p.Settle, p.KeyWindow, p.Effect.String()
	return d
}

// Send implements onceward.Provider.
func (d *double) Send(_ context.Context, req *onceward.Request, opts onceward.SendOptions) onceward.Evidence {
	now := d.clock.Now()
	ev := onceward.Evidence{StartedAt: now, EndedAt: now}
	if opts.Write && opts.BeforeWrite != nil {
		if err := opts.BeforeWrite(); err != nil {
			ev.ErrorClass, ev.ErrorCode = onceward.ClassConnection, "stopped"
			return ev
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.arrive(now)
	if !opts.Write {
		ev.Reach, ev.LastByteAt = onceward.ReachFirstByte, now
		ev.Status, ev.Body = d.look(req, now)
		return ev
	}
	d.writes++
	f := faultNone
	if len(d.script) > 0 {
		f, d.script = d.script[0], d.script[1:]
	}
	ev.Reach, ev.LastByteAt = onceward.ReachBodyWritten, now
	switch f {
	case faultNone:
		ev.Reach = onceward.ReachFirstByte
		ev.Status, ev.Body = d.write(req, now, now)
	case faultErrorAfter:
		ev.Reach = onceward.ReachFirstByte
		ev.Status, ev.Body = 500, []byte(`{}`)
		d.write(req, now, now)
		if k, ok := d.known[d.identity(req)]; ok && d.set["provider_key.on_repeat"] == "replay_errors_too" {
			k.status, k.body = 500, `{}`
			d.known[d.identity(req)] = k
		}
	case faultAnswerLost:
		d.write(req, now, now)
	case faultLate:
		at := now.Add(max(d.settle-time.Second, 0))
		if d.lags() { // what settle is for: under way for a half of it, and not to be seen for the other
			at = now.Add(d.settle / 2)
		}
		d.late = append(d.late, lateRequest{at, now, *req})
	case faultLateInWindow:
		d.late = append(d.late, lateRequest{now.Add(2 * time.Minute), now, *req})
	case faultRequestLost:
	}
	if ev.Status == 0 {
		ev.ErrorClass, ev.ErrorCode, ev.ErrorText = onceward.ClassConnection, "reset", "the connection was reset"
	} else {
		ev.Header = d.sample.header(d.id(len(d.effects)))
	}
	return ev
}

// arrive lets the requests arrive whose time has come.
func (d *double) arrive(now time.Time) {
	var rest []lateRequest
	for _, l := range d.late {
		if l.at.After(now) {
			rest = append(rest, l)
			continue
		}
		d.write(&l.req, l.at, l.sent)
	}
	d.late = rest
}

// lags reports whether a look-up shows effects late.
func (d *double) lags() bool { return d.set["probe.consistency"] == "lag" }

// write performs a request that was sent at one time and arrives at another, as
// the contract's facts allow.
func (d *double) write(req *onceward.Request, at, sent time.Time) (int, []byte) {
	identity := d.identity(req)
	if k, ok := d.known[identity]; ok && identity != "" && (d.class == "conditional_write" || at.Before(k.since.Add(d.window))) {
		return d.again(k)
	}
	e := effect{id: d.id(len(d.effects) + 1), mark: d.mark(text(req)), visibleAt: at}
	if d.lags() {
		e.visibleAt = sent.Add(max(d.settle-time.Second, 0))
	}
	d.effects = append(d.effects, e)
	body := d.fill(d.sample.created, e)
	if identity != "" {
		d.known[identity] = answer{status: d.sample.status, body: body, since: at, id: e.id}
	}
	return d.sample.status, []byte(body)
}

// again answers a request that is known.
func (d *double) again(k answer) (int, []byte) {
	if d.sample.existsStatus != 0 {
		return d.sample.existsStatus, []byte(d.sample.exists)
	}
	return k.status, []byte(k.body)
}

// identity is by what the double knows a request again; empty: it does not.
func (d *double) identity(req *onceward.Request) string {
	switch d.class {
	case "conditional_write":
		if d.set["condition.by"] == "if_none_match" && header(req, "If-None-Match") != "*" {
			return ""
		}
		if mark := d.mark(text(req)); mark != "" {
			return mark
		}
		return text(req)
	case "keyed_write":
		return d.keyOf(req)
	}
	return "" // what is not promised is not there
}

// keyOf reads the provider key from the place at which the contract says it is.
func (d *double) keyOf(req *onceward.Request) string {
	name := d.set["provider_key.name"]
	switch d.set["provider_key.in"] {
	case "header":
		return header(req, name)
	case "query":
		u, err := url.Parse(req.URL)
		if err != nil {
			return ""
		}
		return u.Query().Get(name)
	case "json":
		var body map[string]any
		if json.Unmarshal(req.Body, &body) != nil {
			return ""
		}
		key, _ := body[name].(string)
		return key
	}
	return d.mark(string(req.Body))
}

// look answers a look-up: by the mark that it names, or with all there is.
func (d *double) look(req *onceward.Request, now time.Time) (int, []byte) {
	asked := d.mark(text(req))
	var items []string
	for _, e := range d.effects {
		if !e.visibleAt.After(now) && (asked == "" || e.mark == asked) {
			items = append(items, d.fill(d.sample.item, e))
		}
	}
	switch {
	case d.sample.list != "":
		return 200, []byte(strings.ReplaceAll(d.sample.list, "$ITEMS", strings.Join(items, ",")))
	case len(items) == 0:
		return 404, []byte(`{}`)
	}
	return 200, []byte(items[0])
}

func (d *double) id(n int) string { return strconv.Itoa(1000 + n) }

func (d *double) fill(s string, e effect) string {
	return strings.NewReplacer("$ID", e.id, "$KEY", e.mark).Replace(s)
}

// marks are the forms of a provider key.
var marks = map[string]*regexp.Regexp{
	"hex":       regexp.MustCompile(`\b[0-9a-f]{32}\b`),
	"base32hex": regexp.MustCompile(`\b[0-9a-v]{20,26}\b`),
	"uuid4":     regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\b`),
}

// mark finds the operation's mark in a text.
func (d *double) mark(s string) string {
	format := d.set["provider_key.format"]
	if format == "" {
		format = "hex"
	}
	return marks[format].FindString(s)
}

func header(req *onceward.Request, name string) string {
	for _, h := range req.Header {
		if strings.EqualFold(h.Name, name) {
			return h.Value
		}
	}
	return ""
}

// text is a request's address and body.
func text(req *onceward.Request) string {
	address, err := url.QueryUnescape(req.URL)
	if err != nil {
		address = req.URL
	}
	body := string(req.Body)
	if form, err := url.QueryUnescape(body); err == nil {
		body = form
	}
	return address + "\n" + body
}

// count is how many effects there are, whether or not a look-up shows them yet.
func (d *double) count() (effects, writes int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.effects), d.writes
}
