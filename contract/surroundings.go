package contract

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// missing is a variable or a secret that a load with stand-ins did not find, or
// could not use.
type missing struct {
	rule, name, reason string
	at                 pos
}

// The rules under which lint shows what is missing.
const (
	ruleVariable = "variable_missing"
	ruleSecret   = "secret_unusable"
)

// The stand-ins for variables, by where the first URL that reads them does so.
// A number is a text as well, so that it does almost everywhere.
const (
	standInHost = "stand-in.invalid"
	standInPort = "443"
	standInText = "1"
)

// admit looks up what a compiled expression takes from the surroundings.
func (c *compiler) admit(p *program) error {
	for _, name := range p.uses.env {
		value, ok := c.opts.Env(name)
		if !ok {
			if !c.opts.StandIns {
				return fmt.Errorf("the environment variable %s is not set", name)
			}
			value = c.standIn(name)
			c.miss(ruleVariable, name, "the environment variable "+name+" is not set here")
		}
		c.values[name] = value
		addOnce(&c.tool.names.env, name)
	}
	for _, name := range p.uses.secret {
		if err := c.checkSecret(name); err != nil {
			if !c.opts.StandIns {
				return err
			}
			c.miss(ruleSecret, name, err.Error())
		}
		addOnce(&c.tool.names.secrets, name)
	}
	return nil
}

// checkSecret looks a secret up and says, without its value, why it cannot be used.
func (c *compiler) checkSecret(name string) error {
	value, err := c.opts.Secrets(name)
	switch {
	case err != nil:
		return fmt.Errorf("the secret %s is not there: %w", name, err)
	case usableSecret(value) == nil:
		return nil
	case value == "":
		return fmt.Errorf("the secret %s is empty: set it, or leave the header out", name)
	}
	return fmt.Errorf("the secret %s holds a line break or another control character: store its value alone, on one line", name)
}

// usableSecret refuses what would make another header than the contract means:
// an empty value, and more than one line.
func usableSecret(value string) error {
	if value == "" {
		return errors.New("it is empty")
	}
	if !headerText(value) {
		return errors.New("it holds a line break or another control character")
	}
	return nil
}

// miss notes what is missing, once.
func (c *compiler) miss(rule, name, reason string) {
	if !slices.ContainsFunc(c.tool.missing, func(m missing) bool { return m.rule == rule && m.name == name }) {
		c.tool.missing = append(c.tool.missing, missing{rule: rule, name: name, reason: reason})
	}
}

// placeMissing finds where each missing name is read first.
func (c *compiler) placeMissing(root *node) {
	for i := range c.tool.missing {
		m := &c.tool.missing[i]
		word := "env"
		if m.rule == ruleSecret {
			word = "secret"
		}
		named := regexp.MustCompile(`\b` + word + `\.` + regexp.QuoteMeta(m.name) + `\b`)
		if n := firstText(root, named); n != nil {
			m.at = n.at
		}
	}
}

// firstText is the first text of a document that matches; nil if none does.
func firstText(n *node, match *regexp.Regexp) *node {
	if n == nil {
		return nil
	}
	if n.kind == nodeText && match.MatchString(n.text) {
		return n
	}
	for _, item := range n.items {
		if found := firstText(item, match); found != nil {
			return found
		}
	}
	for i := range n.members {
		if found := firstText(n.members[i].value, match); found != nil {
			return found
		}
	}
	return nil
}

var envName = regexp.MustCompile(`\benv\.(\w+)`)

// standIn is a value for a missing variable with which the rest can be checked.
func (c *compiler) standIn(name string) string {
	spec := &c.doc.Spec
	var urls []string
	if spec.Request != nil {
		urls = append(urls, spec.Request.URL.value)
	}
	if spec.Probe != nil {
		urls = append(urls, spec.Probe.Request.URL.value)
	}
	if spec.Source != nil {
		urls = append(urls, spec.Source.Request.URL.value)
	}
	if spec.Audit != nil {
		urls = append(urls, spec.Audit.Request.URL.value)
	}
	host := standInHost
	if len(spec.Hosts.items) > 0 {
		host = spec.Hosts.items[0].value // else every URL would be off the list
	}
	for _, url := range urls {
		for _, m := range envName.FindAllStringSubmatchIndex(url, -1) {
			if url[m[2]:m[3]] == name {
				return standInAt(url[:max(0, strings.LastIndex(url[:m[0]], "${"))], host)
			}
		}
	}
	return standInText
}

// standInAt is a value that may follow the beginning of a URL.
func standInAt(before, host string) string {
	scheme, authority, found := strings.Cut(before, "://")
	switch {
	case before == "":
		return "https://" + host
	case found && authority == "" && !strings.Contains(scheme, "/"):
		return host
	case found && !strings.Contains(authority, "/") && strings.HasSuffix(authority, ":"):
		return standInPort
	}
	return standInText
}

// surroundings reports what is missing where the contract is checked.
func (l *linter) surroundings() {
	for _, m := range l.t.missing {
		switch m.rule {
		case ruleVariable:
			l.find(SeverityWarning, m.at, m.rule, m.reason+"; where it is missing, the contract is not served", "set "+m.name+" where the contract is served")
		case ruleSecret:
			l.find(SeverityWarning, m.at, m.rule, m.reason+"; where it is so, the contract is not served", "set "+m.name+", or "+m.name+"_FILE, where the contract is served")
		}
	}
}
