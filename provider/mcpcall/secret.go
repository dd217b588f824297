package mcpcall

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const (
	redacted  = "[redacted]"
	secretMin = 8 // shorter values are not looked for: they would hit by chance
)

// secrets are the credentials that a command was given, as they are and as they
// stand in JSON. It hands none of them back.
//
// Why here: over HTTP the provider that sends the request does it.
type secrets [][]byte

// secretsOf collects the values of the named variables. Of one that has a scheme
// before the credential ("Bearer …"), the credential alone is one too.
func secretsOf(env, names []string) secrets {
	var all secrets
	for _, field := range env {
		name, value, _ := strings.Cut(field, "=")
		if !slices.Contains(names, name) {
			continue
		}
		all = all.with(value)
		if _, credential, found := strings.Cut(value, " "); found {
			all = all.with(strings.TrimSpace(credential))
		}
	}
	return all
}

func (s secrets) with(value string) secrets {
	if len(value) < secretMin {
		return s
	}
	s = append(s, []byte(value))
	for _, html := range []bool{false, true} { // encoders differ in what they escape
		var text bytes.Buffer
		enc := json.NewEncoder(&text)
		enc.SetEscapeHTML(html)
		if enc.Encode(value) == nil {
			s = append(s, text.Bytes()[1:text.Len()-2]) // without quotes and line end
		}
	}
	return s
}

func (s secrets) scrub(text []byte) []byte {
	for _, secret := range s {
		if bytes.Contains(text, secret) {
			text = bytes.ReplaceAll(text, secret, []byte(redacted))
		}
	}
	return text
}

// scrubMessage takes the secrets out of what a command says.
func (s secrets) scrubMessage(m jsonrpc.Message) {
	switch m := m.(type) {
	case *jsonrpc.Request:
		m.Params = s.scrub(m.Params)
	case *jsonrpc.Response:
		m.Result = s.scrub(m.Result)
		var refusal *jsonrpc.Error
		if len(s) > 0 && errors.As(m.Error, &refusal) {
			clean := *refusal
			clean.Message, clean.Data = string(s.scrub([]byte(clean.Message))), s.scrub(clean.Data)
			m.Error = &clean
		}
	}
}
