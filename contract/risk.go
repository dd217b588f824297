package contract

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/onceward/onceward"
)

// differenceBytesMax is how much is shown of a value that differs.
const differenceBytesMax = 512

// Differences lists in what a version of a contract differs from an older one,
// by field. What holds by default is compared as if it stood in the file.
//
// Why a field that nothing is said of widens: an expression, a template or a
// schema that is another one may permit more, and nobody can tell that it does
// not. The same goes for fields that the language gets later.
func Differences(old, next *Tool) []onceward.ContractDifference {
	was, is := old.fields(), next.fields()
	names := maps.Clone(was)
	maps.Copy(names, is)
	var all []onceward.ContractDifference
	whole := ""
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if was[name] == is[name] || whole != "" && strings.HasPrefix(name, whole) {
			continue
		}
		if groupCame(was, is, name) {
			whole = name + "."
		}
		widens, why := judge(name, old, next)
		all = append(all, onceward.ContractDifference{Field: name, Was: shown(was[name]), Is: shown(is[name]), Widens: widens, Why: why})
	}
	return append(all, ownerDifferences(old, next)...)
}

// Comparer is Differences for the ledger.
func Comparer() onceward.Comparer {
	return func(old, next onceward.Tool) []onceward.ContractDifference {
		o, fine := old.(*Tool)
		n, too := next.(*Tool)
		if !fine || !too {
			return []onceward.ContractDifference{{Field: "spec", Widens: true, Why: "one of them is no contract of this language, and nobody can tell in what they differ"}}
		}
		return Differences(o, n)
	}
}

// none is the value of a group that a contract has not.
const none = "none"

// groupCame reports whether a group stands in one of the versions only: it is
// one difference then, whatever stands in it.
func groupCame(was, is map[string]string, name string) bool {
	return (was[name] == none) != (is[name] == none) && mayLack(name)
}

// optional are the groups that a contract need not have.
var optional = []string{"provider_key", "condition", "request", "probe", "approval", "compensate", "source", "audit", "sandbox"}

func mayLack(group string) bool { return slices.Contains(optional, group) }

// fields are the contract's fields as they hold: values with their defaults, and
// whatever else stands in the file, as JSON.
func (t *Tool) fields() map[string]string {
	all := map[string]string{}
	settings := map[string]bool{}
	for _, s := range t.Settings() {
		all[s.Field], settings[s.Field] = s.Value, true
		for group := s.Field; strings.Contains(group, "."); {
			group = group[:strings.LastIndex(group, ".")]
			settings[group] = true
		}
	}
	for name, value := range t.written() {
		parts, group := map[string]json.RawMessage{}, mayLack(name) || settings[name]
		if group && json.Unmarshal(value, &parts) == nil {
			if mayLack(name) {
				all[name] = string(value)
			}
			for part, value := range parts {
				if field := joinField(name, part); !settings[field] {
					all[field] = string(value)
				}
			}
			continue
		}
		if !settings[name] {
			all[name] = string(value)
		}
	}
	for name := range all {
		if group, _, inside := strings.Cut(name, "."); inside && mayLack(group) {
			delete(all, group) // its parts say it
		}
	}
	for _, group := range optional {
		if all[group] == "" && !hasPart(all, group) {
			all[group] = none
		}
	}
	return all
}

func hasPart(all map[string]string, group string) bool {
	for name := range all {
		if strings.HasPrefix(name, group+".") {
			return true
		}
	}
	return false
}

// written is the file's spec: each member as JSON, in one order of names.
func (t *Tool) written() map[string]json.RawMessage {
	docs := splitDocuments(t.info.Source)
	if len(docs) != 1 {
		return nil
	}
	root, problems := readYAML(t.file, docs[0])
	if len(problems) > 0 {
		return nil
	}
	canonical, err := onceward.Canonicalize(root.member("spec").appendJSON(nil))
	if err != nil {
		return nil
	}
	members := map[string]json.RawMessage{}
	dec := json.NewDecoder(bytes.NewReader(canonical))
	if dec.Decode(&members) != nil {
		return nil
	}
	return members
}

// shown is a value for people to read.
func shown(value string) string {
	if len(value) <= differenceBytesMax {
		return value
	}
	cut := differenceBytesMax
	for !utf8.RuneStart(value[cut]) {
		cut--
	}
	return value[:cut] + "…"
}

// ownerDifferences are those of the people who have to say yes to what widens.
func ownerDifferences(old, next *Tool) []onceward.ContractDifference {
	var all []onceward.ContractDifference
	for _, d := range []onceward.ContractDifference{
		{Field: "metadata.business_owner", Was: old.info.BusinessOwner, Is: next.info.BusinessOwner},
		{Field: "metadata.technical_owner", Was: old.info.TechnicalOwner, Is: next.info.TechnicalOwner},
	} {
		if d.Was == d.Is {
			continue
		}
		if d.Widens, d.Why = d.Was != "", "an owner is named where there was none"; d.Widens {
			d.Why = "somebody else says yes to the next version"
		}
		all = append(all, d)
	}
	return all
}
