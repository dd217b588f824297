package contract

import (
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/onceward/onceward"
)

// secretHeaderWords are parts of header names that carry credentials.
var secretHeaderWords = []string{"authorization", "cookie", "token", "secret", "password", "api-key", "apikey", "access-key", "private-key", "credential"}

// secretQueryWords are query parameters that carry credentials.
var secretQueryWords = []string{"token", "secret", "password", "api_key", "apikey", "access_key", "signature="}

// secrets looks for credentials that do not come from ${secret.NAME}.
func (l *linter) secrets() {
	type place struct {
		headers *patterns
		request *requestTemplate
		url     pos
	}
	var places []place
	if r := l.spec.Request; r != nil {
		places = append(places, place{&r.Headers, l.t.request, r.URL.at})
	}
	if p := l.spec.Probe; p != nil {
		places = append(places, place{&p.Request.Headers, l.t.probe.request, p.Request.URL.at})
	}
	if s := l.spec.Source; s != nil {
		places = append(places, place{&s.Request.Headers, l.t.reread.request, s.Request.URL.at})
	}
	if a := l.spec.Audit; a != nil {
		places = append(places, place{&a.Request.Headers, l.t.audit.request, a.Request.URL.at})
	}
	for _, p := range places {
		for i := range p.headers.items {
			l.header(&p.headers.items[i], p.request)
		}
		l.url(p.request, p.url)
	}
}

func (l *linter) header(h *namedPattern, r *requestTemplate) {
	compiled := r.header(h.name)
	if compiled == nil || compiled.secret || !containsWord(strings.ToLower(h.name), secretHeaderWords) {
		return
	}
	if usesOperation(compiled.value.programs(), "provider_key", "id", "key") {
		return
	}
	l.find(SeverityError, h.at, "secret_in_clear",
		"the header "+h.name+" usually holds a credential; without ${secret.NAME} it is stored with every operation",
		"name it: ${secret.NAME}, from the environment variable NAME or the file that NAME_FILE names")
}

func (l *linter) url(r *requestTemplate, at pos) {
	for _, p := range r.url.query {
		if p.program == nil && containsWord(strings.ToLower(p.literal), secretQueryWords) {
			l.find(SeverityWarning, at, "secret_in_clear",
				"a query parameter looks like a credential: URLs are stored with every operation",
				"send it in a header, as ${secret.NAME}")
			break
		}
	}
	if secrets, _ := r.hasSecrets(); secrets && strings.HasPrefix(r.url.origin, "http://") && !loopback(r.url.host) {
		l.find(SeverityWarning, at, "cleartext", "a secret is sent over http://, where it can be read on the way", "use https://")
	}
}

func containsWord(s string, words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(s, word) })
}

func loopback(host string) bool {
	u, err := url.Parse("//" + host)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

func (l *linter) methods() {
	r := l.spec.Request
	if r == nil || l.t.mcp {
		return
	}
	reads := r.Method.value == "GET" || r.Method.value == "HEAD"
	switch effect := l.t.info.Policy.Effect; {
	case effect.Writes() && reads:
		l.find(SeverityWarning, r.Method.at, "method",
			"a write goes out as "+r.Method.value+", which caches and proxies may repeat or answer themselves", "use the method that the provider documents for the write")
	case effect == onceward.EffectRead && !reads:
		l.find(SeverityWarning, r.Method.at, "method",
			"a read goes out as "+r.Method.value+" and is repeated freely", "if the provider keeps anything, it is a write class; if it only works something out, it is compute")
	}
}

// answers asks whether the outcomes say enough.
func (l *linter) answers() {
	if !l.writes() {
		return
	}
	named := l.t.probe != nil && l.t.probe.reference != nil
	for i := range l.t.outcomes {
		o := &l.t.outcomes[i]
		named = named || o.reference != nil
		if o.verdict == onceward.VerdictInProgress && l.spec.ProviderKey == nil {
			l.find(SeverityWarning, l.spec.Outcomes[i].at, "in_progress_without_key",
				"the provider is asked again while it works, but it gets no key by which it could know the request",
				"declare provider_key, or call it unknown")
		}
	}
	if !named && l.t.request != nil {
		l.find(SeverityInfo, l.spec.at, "no_outcome_reference",
			"no rule reads the provider's name of the effect: a person who reviews has nothing to search for, and a second effect is not seen",
			"add a reference to the outcome that is done, such as '${response.json.id}'")
	}
	if k := l.spec.Condition; k != nil && k.By.value == "own_id" && !k.Exists.set {
		l.find(SeverityWarning, k.at, "exists_by_default",
			"only 412 is read as an object that exists already; most providers answer 409 or 422 to an ID that is taken, which stays unknown",
			"say in condition.exists how this provider answers, such as response.status == 409 && response.json.code == \"duplicate\"")
	}
	if l.spec.Automations.value {
		l.find(SeverityInfo, l.spec.Automations.at, "automations_repeat",
			"a repeated request leaves one object but runs the provider's automations again", "make them tolerate it: they are outside of what is guaranteed here")
	}
	if tail := l.t.info.Policy.ByteTail; tail > 0 {
		l.find(SeverityInfo, l.spec.at, "byte_tail",
			"nothing bounds how long bytes of a dead process may still travel here: "+formatDuration(tail)+" are added before an absence is believed",
			"run where TCP_USER_TIMEOUT exists (Linux), without a proxy in between")
	}
}
