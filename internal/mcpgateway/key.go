package mcpgateway

import (
	"net/http"

	"github.com/onceward/onceward"
)

// Headers that a client's configuration may carry, beside the members of _meta
// with our prefix: key, run, correlation_id.
const (
	keyHeader         = "Idempotency-Key"
	runHeader         = "Onceward-Run"
	correlationHeader = "Onceward-Correlation-Id"
)

// intent is what the call asks for. Its key is, in this order: what the
// contract derives from the arguments; the caller's; the digest of the material
// arguments within a run. The IDs of messages, sessions and a model's calls are
// never looked at: they are new whenever something is repeated.
func (c *call) intent(tool onceward.Tool, o *offer) (*onceward.Intent, error) {
	in := &onceward.Intent{Principal: c.who, Tool: tool.Info().Name, Input: c.arguments(), Wait: c.opts.AnswerWithin}
	if o.input != nil {
		in.Input = o.input(in.Input)
	}
	var err error
	if in.CallerKey, err = c.callerKey(); err != nil {
		return nil, err
	}
	if in.Run, err = c.label("run", runHeader); err != nil {
		return nil, err
	}
	if in.CorrelationID, err = c.label("correlation_id", correlationHeader); err != nil {
		return nil, err
	}
	if s, ok := c.meta["traceparent"].(string); ok && len(s) <= onceward.LabelBytesMax {
		in.TraceParent = s
	}
	if in.CallerKey == "" && tool.Info().KeyFromCaller {
		in.CallerKey, err = c.digestKey(tool, in)
	}
	return in, err
}

// callerKey reads the caller's key; empty: there is none.
func (c *call) callerKey() (onceward.Key, error) {
	var inMeta, inHeader onceward.Key
	if v, given := c.meta[MetaPrefix+"key"]; given {
		s, ok := v.(string)
		if !ok {
			return "", onceward.Errorf(onceward.CodeKeyInvalid, "the key in _meta is no text")
		}
		var err error
		if inMeta, err = onceward.ValidateCallerKey(s); err != nil {
			return "", err
		}
	}
	if lines := c.header[http.CanonicalHeaderKey(keyHeader)]; len(lines) > 0 {
		var err error
		if inHeader, err = onceward.ParseCallerKey(lines); err != nil {
			return "", err
		}
	}
	switch {
	case inMeta != "" && inHeader != "" && inMeta != inHeader:
		return "", onceward.Errorf(onceward.CodeKeyAmbiguous, "the key in _meta and the one in the header differ")
	case inMeta != "":
		return inMeta, nil
	}
	return inHeader, nil
}

// digestKey is a key of what the call would do, within its run and for its
// caller alone. Volatile fields are not in it.
func (c *call) digestKey(tool onceward.Tool, in *onceward.Intent) (onceward.Key, error) {
	if in.Run == "" {
		return "", &onceward.Error{Code: onceward.CodeKeyMissing, Op: "derive key",
			Message: "the contract of " + string(in.Tool) + " has no key rule, and the call brings neither a key nor a run",
			Hint:    "this is for whoever set the client up, not for a model: send the header " + runHeader + " or _meta " + MetaPrefix + "run, equal for all that handles one business event; or add key: to the contract"}
	}
	digest, _, err := tool.MaterialDigest(in.Input, onceward.OperationID{})
	if err != nil {
		return "", err
	}
	return onceward.DeriveKey([]string{"run", in.Run, in.Principal.String(), digest.String()})
}

// label reads a text from _meta, else from a header.
func (c *call) label(name, header string) (string, error) {
	s := c.header.Get(header)
	if v, given := c.meta[MetaPrefix+name]; given {
		text, ok := v.(string)
		if !ok {
			return "", onceward.Errorf(onceward.CodeInvalidRequest, "%s in _meta is no text", name)
		}
		s = text
	}
	return s, onceward.CheckLabel(name, s)
}
