package contract

import (
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/onceward/onceward"
)

// rules refuses combinations of fields that cannot mean what they say.
func (c *compiler) rules() {
	spec := &c.doc.Spec
	effect := spec.Effect.value
	class, _ := onceward.ParseEffectClass(effect) // another word is refused where it is decoded
	writes := class.Writes()
	c.classRules(effect, writes)
	c.keyShape()
	c.timeRules(writes)
	if a := &spec.Answer; a.KeepBytes.value > a.JudgeBytes.value {
		c.problem(a.KeepBytes.at, "spec.answer.keep_bytes", "more would be kept (%d bytes) than is read (%d bytes)", a.KeepBytes.value, a.JudgeBytes.value)
	}
	if j := &spec.Answer.JudgeBytes; j.value < 1 || j.value > judgeBytesMax {
		c.problem(j.at, "spec.answer.judge_bytes", "it is from 1 byte to %d", judgeBytesMax)
	}
	c.hosts()
	c.sandbox()
}

// judgeBytesMax bounds the memory that one answer may take.
const judgeBytesMax = 64 << 20

// classRules holds the effect class to what it needs.
func (c *compiler) classRules(effect string, writes bool) {
	spec := &c.doc.Spec
	remote := spec.Executor.value == "caller"
	switch {
	case effect == "keyed_write" && spec.ProviderKey == nil:
		c.problem(spec.Effect.at, "spec.effect", "a keyed write needs provider_key: how the provider takes its key, and for how long it remembers it")
	case effect == "conditional_write" && spec.Condition == nil && !remote:
		c.problem(spec.Effect.at, "spec.effect", "a conditional write needs condition: what makes it create at most one object")
	case effect == "probed_write" && spec.Probe == nil:
		c.problem(spec.Effect.at, "spec.effect", "a probed write needs probe: how to look the effect up")
	case effect == "probed_write" && !spec.Probe.Settle.set:
		c.problem(spec.Probe.at, "spec.probe.settle", "a probed write needs it: until then, not found is no proof")
	}
	only := func(given bool, at pos, field string, ok bool, why string) {
		if given && !ok {
			c.problem(at, field, "%s", why)
		}
	}
	reads := "the effect class says that nothing is written"
	if k := spec.Condition; k != nil {
		only(true, k.at, "spec.condition", effect == "conditional_write", "it is for a conditional write")
	}
	if p := spec.Probe; p != nil {
		only(true, p.at, "spec.probe", writes, reads)
	}
	if u := spec.Compensate; u != nil {
		only(true, u.at, "spec.compensate", writes, reads)
	}
	only(spec.Automations.set, spec.Automations.at, "spec.repeat_runs_automations", writes, reads)
	if spec.Conflict.set && (spec.Condition == nil || spec.Probe == nil) {
		c.problem(spec.Conflict.at, "spec.conflict", "look_up_then_compare needs condition and probe")
	} else if spec.Conflict.set && !spec.Probe.Ours.set {
		c.problem(spec.Conflict.at, "spec.conflict", "look_up_then_compare needs probe.ours: what makes the found object ours")
	}
}

// keyShape checks that a provider key can be made.
func (c *compiler) keyShape() {
	k := c.doc.Spec.ProviderKey
	if k == nil {
		return
	}
	format, err := onceward.ParseKeyFormat(k.Format.value)
	c.fault(k.Format.at, "spec.provider_key.format", err)
	c.tool.shape = onceward.KeyShape{Format: format, Max: k.Max.value, Exclusive: k.Exclusive.value}
	if _, err := onceward.ProviderKey(onceward.Identity{Tenant: "t", Tool: "t", Key: "k"}, 0, c.tool.shape); err != nil {
		c.problem(k.Max.at, "spec.provider_key.max", "%s", messageOf(err))
	}
	if k.WindowKind.value == "guaranteed" && (!k.Window.set || k.Window.value == 0 && !k.Window.forever) {
		c.problem(k.WindowKind.at, "spec.provider_key.window", "a guaranteed window needs its length")
	}
}

// timeRules compares durations with each other.
func (c *compiler) timeRules(writes bool) {
	spec := &c.doc.Spec
	deadline, lease := c.deadline(), c.lease()
	at := spec.Lease.at
	if spec.Request != nil && !spec.Lease.set {
		at = spec.Request.at
	}
	if lease <= deadline {
		c.problem(at, "spec.lease", "the lease (%s) is not longer than the deadline of the request (%s): the attempt would lose it while it waits for the answer", lease, deadline)
	}
	if spec.Request != nil && deadline <= 0 {
		c.problem(spec.Request.Deadline.at, "spec.request.deadline", "it is longer than 0s")
	}
	if p := spec.Probe; p != nil && p.Deadline.value <= 0 {
		c.problem(p.Deadline.at, "spec.probe.deadline", "it is longer than 0s")
	}
	b := &spec.Retry.Backoff
	if b.Initial.value <= 0 || b.Initial.value > b.Max.value {
		c.problem(b.Initial.at, "spec.retry.backoff", "initial (%s) is longer than 0s and not longer than max (%s)", b.Initial.value, b.Max.value)
	}
	if spec.NotAfter.set && spec.NotAfter.value <= 0 {
		c.problem(spec.NotAfter.at, "spec.not_after", "it is longer than 0s; leave it out for no limit")
	}
	for _, k := range []struct {
		s     *span
		field string
	}{{&spec.Keep.Record, "record"}, {&spec.Keep.Tombstone, "tombstone"}} {
		if k.s.value <= 0 && !k.s.forever {
			c.problem(k.s.at, "spec.keep."+k.field, "it is longer than 0s, or forever")
		}
	}
	if writes && spec.Horizon.value <= 0 {
		c.problem(spec.Horizon.at, "spec.horizon", "it is longer than 0s")
	}
}

// remoteDeadline is the deadline of a write that the caller performs, as far as
// its lease leaves room for it: the caller renews the lease by heartbeats.
const remoteDeadline = 10 * time.Second

func (c *compiler) deadline() time.Duration {
	if r := c.doc.Spec.Request; r != nil {
		return r.Deadline.value
	}
	if l := c.doc.Spec.Lease; l.set {
		return min(remoteDeadline, l.value/2)
	}
	return remoteDeadline
}

// lease is the contract's, or 2 × deadline + 5 s.
func (c *compiler) lease() time.Duration {
	if l := c.doc.Spec.Lease; l.set {
		return l.value
	}
	return 2*c.deadline() + 5*time.Second
}

// hosts checks the allow-list, or takes it from the URLs.
func (c *compiler) hosts() {
	spec := &c.doc.Spec
	var named []string
	for i := range spec.Hosts.items {
		h := &spec.Hosts.items[i]
		host := strings.ToLower(h.value)
		if err := checkHost(host); err != nil {
			c.problem(h.at, "spec.hosts", "it is a host or host:port, such as api.example.com or 127.0.0.1:8080")
			continue
		}
		addOnce(&named, host)
	}
	for _, used := range c.requests() {
		if used.template == nil || used.template.url == nil {
			continue
		}
		host := used.template.url.host
		switch {
		case !spec.Hosts.set:
			addOnce(&c.tool.hosts, host)
		case !hostListed(host, used.template.url.origin, named):
			c.problem(used.at, used.template.field+".url", "its host %s is not in spec.hosts", host)
		}
	}
	if spec.Hosts.set {
		c.tool.hosts = named
	}
}

// usedRequest is a request of the contract with its place.
type usedRequest struct {
	template *requestTemplate
	at       pos
}

func (c *compiler) requests() []usedRequest {
	spec, t := &c.doc.Spec, c.tool
	var list []usedRequest
	if t.request != nil {
		list = append(list, usedRequest{t.request, spec.Request.URL.at})
	}
	if t.probe != nil {
		list = append(list, usedRequest{t.probe.request, spec.Probe.Request.URL.at})
	}
	if t.reread != nil {
		list = append(list, usedRequest{t.reread.request, spec.Source.Request.URL.at})
	}
	if t.audit != nil {
		list = append(list, usedRequest{t.audit.request, spec.Audit.Request.URL.at})
	}
	return list
}

// hostListed reports whether a URL's host is on the list: as it stands, without
// its port, or with the port that its scheme implies.
func hostListed(host, origin string, list []string) bool {
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = host, strconv.Itoa(80)
		if strings.HasPrefix(origin, "https://") {
			port = strconv.Itoa(443)
		}
	}
	return slices.Contains(list, host) || slices.Contains(list, name) || slices.Contains(list, net.JoinHostPort(strings.Trim(name, "[]"), port))
}
