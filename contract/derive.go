package contract

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/onceward/onceward"
)

// Derivation says how a copy of a contract differs from it.
type Derivation struct {
	Origins   map[string]string        // scheme://host[:port] of a request → where it goes to instead
	Durations map[string]time.Duration // by field: "spec.probe.settle"
	Without   []string                 // fields that are left out: "spec.approval"
}

// Derive writes a copy of the contract with the same name, key rules and
// templates, and so with the same keys and bytes for each input, that goes
// elsewhere and waits otherwise. spec.hosts becomes what Origins leads to. The
// copy is a contract document; Load reads it.
func (t *Tool) Derive(d Derivation) ([]byte, error) {
	root, err := t.source()
	if err != nil {
		return nil, err
	}
	var hosts []*node
	for _, origin := range t.Origins() {
		if to := d.Origins[origin]; to != "" {
			_, host, _ := strings.Cut(to, "://")
			hosts = append(hosts, &node{kind: nodeText, text: host})
		}
	}
	for _, field := range []string{"spec.request.url", "spec.probe.request.url", "spec.source.request.url", "spec.audit.request.url"} {
		if err := t.moveURL(root, field, d.Origins); err != nil {
			return nil, fmt.Errorf("derive contract %s: %s: %w", t.info.Name, field, err)
		}
	}
	if len(hosts) > 0 {
		setField(root, "spec.hosts", &node{kind: nodeList, items: hosts})
	}
	for field, v := range d.Durations {
		setField(root, field, &node{kind: nodeText, text: v.String()})
	}
	for _, field := range d.Without {
		setField(root, field, nil)
	}
	return append(root.appendJSON(nil), '\n'), nil
}

// source reads the document again.
func (t *Tool) source() (*node, error) {
	root, problems := readYAML(t.file, rawDocument{text: t.info.Source, line: 1})
	if len(problems) > 0 {
		return nil, problems.err()
	}
	return root, nil
}

// FieldLine is the line in File at which a field stands ("spec.outcomes[1]"), or
// the innermost field around it that does; found says which.
func (t *Tool) FieldLine(field string) (line int, found bool) {
	root, err := t.source()
	if err != nil {
		return t.Line(), false
	}
	shift := t.doc.at.line - root.at.line
	at, line := root, root.at.line
	for _, step := range strings.Split(strings.NewReplacer("[", ".", "]", "").Replace(field), ".") {
		i := slices.IndexFunc(at.members, func(m member) bool { return m.name == step })
		next := at.follow([]string{step})
		if next == at {
			return line + shift, false
		}
		at, line = next, next.at.line
		if i >= 0 {
			// follow does not tell where the name stands, which is where a reader looks.
			line = lineOfMember(root, next, line)
		}
	}
	return line + shift, true
}

// lineOfMember is the line of the name whose value n is.
func lineOfMember(root, n *node, otherwise int) int {
	for i := range root.members {
		if root.members[i].value == n {
			return root.members[i].at.line
		}
		if line := lineOfMember(root.members[i].value, n, 0); line > 0 {
			return line
		}
	}
	for _, item := range root.items {
		if line := lineOfMember(item, n, 0); line > 0 {
			return line
		}
	}
	return otherwise
}

// moveURL changes the origin of one URL template.
func (t *Tool) moveURL(root *node, field string, origins map[string]string) error {
	n := root.follow(strings.Split(field, "."))
	if n.kind != nodeText {
		return nil
	}
	head, rest, err := t.splitURL(n.text)
	if err != nil {
		return err
	}
	scheme, behind, _ := strings.Cut(head, "://")
	end := strings.IndexAny(behind, "/?#")
	if end < 0 {
		end = len(behind)
	}
	origin := scheme + "://" + strings.ToLower(behind[:end])
	to, ok := origins[origin]
	if !ok {
		return onceward.Errorf(onceward.CodeInternal, "nothing is said about %s", origin)
	}
	moved := to + strings.ReplaceAll(behind[end:], "${", "$${") + rest
	setField(root, field, &node{kind: nodeText, text: moved})
	return nil
}

// splitURL writes the head of a URL template out, to behind its host.
func (t *Tool) splitURL(src string) (head, rest string, err error) {
	for rest = src; rest != ""; {
		if _, behind, ok := strings.Cut(head, "://"); ok && strings.ContainsAny(behind, "/?#") {
			break
		}
		start := strings.Index(rest, "${")
		if start != 0 {
			if start < 0 {
				start = len(rest)
			}
			head, rest = head+rest[:start], rest[start:]
			continue
		}
		expr, tail, ok := cutExpression(rest[2:])
		if !ok {
			return "", "", fmt.Errorf("a ${ has no closing }")
		}
		p, err := compile(expr, scopeRequest, nil)
		if err != nil {
			return "", "", err
		}
		if !p.uses.static() {
			break
		}
		value, err := p.text(&variables{env: t.env})
		if err != nil {
			return "", "", err
		}
		if strings.HasPrefix(tail, "/") { // as foldURL does
			value = strings.TrimSuffix(value, "/")
		}
		head, rest = head+value, tail
	}
	return head, rest, nil
}

// setField puts a value at a place of the document, and the mappings around it
// where they are missing; nil takes the field out.
func setField(root *node, field string, value *node) {
	steps := strings.Split(field, ".")
	at := root
	for _, step := range steps[:len(steps)-1] {
		next := at.member(step)
		if next == nil {
			if value == nil {
				return
			}
			next = &node{kind: nodeMap}
			at.members = append(at.members, member{name: step, value: next})
		}
		at = next
	}
	last := steps[len(steps)-1]
	i := slices.IndexFunc(at.members, func(m member) bool { return m.name == last })
	switch {
	case value == nil && i >= 0:
		at.members = slices.Delete(at.members, i, i+1)
	case value == nil:
	case i >= 0:
		at.members[i].value = value
	default:
		at.members = append(at.members, member{name: last, value: value})
	}
}

// LooksLate reports whether the look-up lags behind what was written.
func (t *Tool) LooksLate() bool {
	p := t.doc.Spec.Probe
	return p != nil && p.Consistency.value == "lag"
}
