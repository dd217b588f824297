package contract

import (
	"strings"
	"time"
)

// Sandbox is what a contract says about the place at which it may be drilled.
type Sandbox struct {
	Hosts    []string      // host or host:port, lower case
	Lateness time.Duration // how late the provider's effects can appear there and in production; 0: not said
}

// Sandbox returns the contract's sandbox; ok is false if it names none.
func (t *Tool) Sandbox() (box Sandbox, ok bool) {
	s := t.doc.Spec.Sandbox
	if s == nil {
		return Sandbox{}, false
	}
	box.Lateness = s.Lateness.value
	for _, h := range s.Hosts.values() {
		box.Hosts = append(box.Hosts, strings.ToLower(h))
	}
	return box, true
}

// Strangers lists the hosts that the contract's requests go to and that are no
// sandbox by its own word.
func (t *Tool) Strangers() []string {
	box, _ := t.Sandbox()
	var strangers []string
	for _, r := range t.requestTemplates() {
		if !hostListed(r.url.host, r.url.origin, box.Hosts) {
			addOnce(&strangers, r.url.host)
		}
	}
	return strangers
}

// Origins lists where the contract's requests go to: scheme://host[:port].
func (t *Tool) Origins() []string {
	var origins []string
	for _, r := range t.requestTemplates() {
		addOnce(&origins, r.url.origin)
	}
	return origins
}

// requestTemplates are all requests of the contract.
func (t *Tool) requestTemplates() []*requestTemplate {
	var list []*requestTemplate
	if t.request != nil {
		list = append(list, t.request)
	}
	if t.probe != nil {
		list = append(list, t.probe.request)
	}
	if t.reread != nil {
		list = append(list, t.reread.request)
	}
	if t.audit != nil {
		list = append(list, t.audit.request)
	}
	return list
}

// sandbox checks the block.
func (c *compiler) sandbox() {
	s := c.doc.Spec.Sandbox
	if s == nil {
		return
	}
	if len(s.Hosts.items) == 0 {
		c.problem(s.Hosts.at, "spec.sandbox.hosts", "it names no host")
	}
	for i := range s.Hosts.items {
		h := &s.Hosts.items[i]
		if checkHost(strings.ToLower(h.value)) != nil {
			c.problem(h.at, "spec.sandbox.hosts", "it is a host or host:port, such as sandbox.example.com or 127.0.0.1:8080")
		}
	}
}

// sandbox compares what the contract says of its sandbox with the rest of it.
func (l *linter) sandbox() {
	s := l.spec.Sandbox
	if s == nil {
		return
	}
	if p := l.spec.Probe; p != nil && s.Lateness.value > p.Settle.value {
		at := p.Settle.at
		if !p.Settle.set {
			at = p.at
		}
		l.find(SeverityError, at, "settle_below_lateness",
			"an effect may appear "+formatDuration(s.Lateness.value)+" late, but after "+formatDuration(p.Settle.value)+" its absence is believed: a retry would make a second one",
			"make probe.settle at least sandbox.lateness")
	}
	if !l.spec.Hosts.set {
		return
	}
	for i := range s.Hosts.items {
		h := &s.Hosts.items[i]
		host := strings.ToLower(h.value)
		if name, _, _ := strings.Cut(host, ":"); !hostListed(host, "https://", l.t.hosts) && !hostListed(name, "https://", l.t.hosts) {
			l.find(SeverityWarning, h.at, "sandbox_not_allowed",
				"the sandbox "+h.value+" is not in spec.hosts: a contract that goes there does not load",
				"add it to hosts, or leave hosts out")
		}
	}
}
