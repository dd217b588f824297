package contract

import (
	"slices"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// secretMap shows secrets to CEL. It reads one when it is asked for.
type secretMap struct {
	traits.Mapper // nil: only look-ups by a literal name get past the loader
	names         []string
	lookup        func(name string) (string, error)
}

// Type is a CEL map.
func (m secretMap) Type() ref.Type { return types.MapType }

// Value is nothing: secrets are not listed.
func (m secretMap) Value() any { return nil }

// Contains reports whether the contract names the secret.
func (m secretMap) Contains(key ref.Val) ref.Val {
	name, ok := key.(types.String)
	return types.Bool(ok && slices.Contains(m.names, string(name)))
}

// Find reads a secret. What went wrong is said without its value.
func (m secretMap) Find(key ref.Val) (ref.Val, bool) {
	name, ok := key.(types.String)
	if !ok || !slices.Contains(m.names, string(name)) {
		return nil, false
	}
	value, err := m.lookup(string(name))
	if err != nil {
		return refusal("secret %s cannot be read", string(name)), true
	}
	if err := usableSecret(value); err != nil {
		return refusal("secret %s cannot be used: %v", string(name), err), true
	}
	return types.String(value), true
}

// Get is Find, with an error where nothing is found.
func (m secretMap) Get(key ref.Val) ref.Val {
	if v, found := m.Find(key); found {
		return v
	}
	return refusal("there is no such secret")
}
