package store

import (
	"encoding/json"
	"slices"

	"github.com/onceward/onceward"
)

// scope is a token's, or a person's, scope as every dialect keeps it.
type scope struct {
	Roles   []string `json:"roles,omitempty"`
	Groups  []string `json:"groups,omitempty"`
	Tools   []string `json:"tools,omitempty"`
	Effects []string `json:"effects,omitempty"`
}

// EncodeScope turns a scope into bytes.
func EncodeScope(s onceward.Scope) []byte {
	b, err := json.Marshal(scopeOf(s))
	if err != nil {
		panic(err) // four lists of strings
	}
	return b
}

func scopeOf(s onceward.Scope) scope {
	wire := scope{Roles: strs(s.Roles), Groups: s.Groups, Tools: strs(s.Tools)}
	for _, c := range s.Effects {
		wire.Effects = append(wire.Effects, c.String())
	}
	return wire
}

// DecodeScope is the inverse of EncodeScope; CodeLedgerCorrupt if it cannot be
// read. A scope that lost its narrowing would be a wider one, so nothing is
// left out.
func DecodeScope(b []byte) (onceward.Scope, error) {
	var wire scope
	if json.Unmarshal(b, &wire) != nil || len(wire.Roles) == 0 {
		return onceward.Scope{}, corruptScope()
	}
	s := onceward.Scope{Roles: names[onceward.Role](wire.Roles), Groups: wire.Groups, Tools: names[onceward.ToolName](wire.Tools)}
	for _, name := range wire.Effects {
		c, err := onceward.ParseEffectClass(name)
		if err != nil {
			return onceward.Scope{}, corruptScope()
		}
		s.Effects = append(s.Effects, c)
	}
	return s, nil
}

func corruptScope() error {
	return &onceward.Error{Code: onceward.CodeLedgerCorrupt, Op: "read credentials", Message: "the scope of a credential cannot be read",
		Hint: "revoke it and issue another; the others are not affected"}
}

func strs[T ~string](in []T) []string { return names[string](in) }

func names[To, From ~string](in []From) []To {
	if in == nil {
		return nil
	}
	out := make([]To, len(in))
	for i, v := range in {
		out[i] = To(v)
	}
	return out
}

// CloneScope is a scope that shares nothing with the first.
func CloneScope(s onceward.Scope) onceward.Scope {
	return onceward.Scope{Roles: slices.Clone(s.Roles), Groups: slices.Clone(s.Groups), Tools: slices.Clone(s.Tools), Effects: slices.Clone(s.Effects)}
}

// TokenTaken refuses a new token whose ID there is already.
func TokenTaken() error {
	return &onceward.Error{Code: onceward.CodeWriteConflict, Op: "store token", Message: "there is a token with this ID", Hint: "issue it again"}
}

// rights is what a session keeps of its principal: the scope, and the token that
// it was begun with.
type rights struct {
	scope
	Token string `json:"token,omitempty"`
}

// EncodeRights turns what a session keeps of its principal into bytes.
func EncodeRights(p *onceward.Principal) []byte {
	b, err := json.Marshal(rights{scopeOf(onceward.Scope{Roles: p.Roles, Groups: p.Groups, Tools: p.Tools, Effects: p.Effects}), string(p.Credential.Token)})
	if err != nil {
		panic(err) // lists of strings, and a string
	}
	return b
}

// DecodeRights fills in what EncodeRights kept; CodeLedgerCorrupt if it cannot be read.
func DecodeRights(b []byte, p *onceward.Principal) error {
	s, err := DecodeScope(b)
	if err != nil {
		return err
	}
	var wire rights
	if json.Unmarshal(b, &wire) != nil {
		return corruptScope()
	}
	p.Roles, p.Groups, p.Tools, p.Effects = s.Roles, s.Groups, s.Tools, s.Effects
	p.Credential = onceward.Credential{Token: onceward.TokenID(wire.Token)}
	return nil
}
