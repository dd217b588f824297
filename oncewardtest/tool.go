package oncewardtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	"github.com/onceward/onceward"
)

// Tool is a contract without YAML: its key is the caller's, or the input member
// "id"; its volatile member is "text"; it talks to a Provider of this package.
type Tool struct {
	info onceward.ToolInfo
	// SerializeBy names the input member whose value is the resource that one
	// operation at a time works on; empty: none.
	SerializeBy string
}

// NewTool returns a tool of the effect class with short, usable times. Edit
// changes the rest.
func NewTool(name onceward.ToolName, effect onceward.EffectClass, edit ...func(*onceward.ToolInfo)) *Tool {
	t := &Tool{info: onceward.ToolInfo{
		Name: name, Version: "v1", Hosts: []string{"provider.test"}, Source: []byte("name: " + string(name)), KeepResult: onceward.KeepFull,
		Policy: onceward.Policy{
			Effect: effect, HasProbe: effect == onceward.EffectProbedWrite, Deadline: time.Second, ProbeDeadline: time.Second, Lease: 5 * time.Second,
			Settle: 2 * time.Second, MaxAttempts: 5, BackoffInitial: time.Second, BackoffMax: time.Minute, RecoveryWindow: time.Hour,
		},
	}}
	if effect == onceward.EffectKeyedWrite {
		t.info.Policy.KeyWindow = 24 * time.Hour
	}
	for _, e := range edit {
		e(&t.info)
	}
	return t
}

// Info implements onceward.Tool.
func (t *Tool) Info() *onceward.ToolInfo { return &t.info }

// Prepare implements onceward.Tool.
func (t *Tool) Prepare(in *onceward.Intent, gen onceward.Generation) (*onceward.Prepared, error) {
	canonical, err := onceward.Canonicalize(in.Input)
	if err != nil {
		return nil, err
	}
	key := in.CallerKey
	var fields struct{ ID string }
	if err := json.Unmarshal(canonical, &fields); err == nil && fields.ID != "" {
		key = onceward.Key(fields.ID)
	}
	if in.ForkKey != "" {
		key = in.ForkKey
	}
	if key == "" {
		return nil, onceward.Errorf(onceward.CodeKeyMissing, "no key")
	}
	id := onceward.Identity{Tenant: in.Principal.Tenant, Tool: t.info.Name, Key: key}
	pk, err := onceward.ProviderKey(id, gen, onceward.KeyShape{Format: onceward.KeyHex, Max: 64})
	if err != nil {
		return nil, err
	}
	digest, prints, err := t.MaterialDigest(canonical, id.OperationID())
	if err != nil {
		return nil, err
	}
	return &onceward.Prepared{
		SerialKey: t.serialKey(canonical), Key: key, Digest: digest, Prints: prints, Input: canonical, ProviderKey: pk,
		Request: &onceward.Request{Method: "POST", URL: "https://provider.test/effects", Body: canonical, Header: []onceward.HeaderField{{Name: "Idempotency-Key", Value: pk}}},
	}, nil
}

func (t *Tool) serialKey(input []byte) string {
	var members map[string]any
	if t.SerializeBy == "" || json.Unmarshal(input, &members) != nil {
		return ""
	}
	return fmt.Sprint(members[t.SerializeBy])
}

// MaterialDigest implements onceward.Tool.
func (t *Tool) MaterialDigest(input []byte, id onceward.OperationID) (onceward.Digest, []onceward.FieldPrint, error) {
	n, err := onceward.ParseJSON(input)
	if err != nil {
		return onceward.Digest{}, nil, err
	}
	text, err := onceward.ParsePath("text")
	if err != nil {
		return onceward.Digest{}, nil, err
	}
	volatile := []onceward.Path{text}
	return onceward.MaterialDigest(t.info.Name, n.AppendWithout(nil, volatile)), onceward.FieldPrints(id, n, volatile), nil
}

// Secrets implements onceward.Tool.
func (t *Tool) Secrets(*onceward.Operation) ([]onceward.HeaderField, error) { return nil, nil }

// Judge implements onceward.Tool: 2xx done, 4xx not done, everything else unknown.
func (t *Tool) Judge(_ *onceward.Operation, ev *onceward.Evidence) onceward.Judgement {
	f := onceward.Failure{Class: ev.ErrorClass, Code: ev.ErrorCode, Message: ev.ErrorText, Retryable: true}
	switch {
	case ev.Reach.NothingSent():
		return onceward.Judgement{Verdict: onceward.VerdictNotDone, Failure: f}
	case ev.Status/100 == 2:
		return onceward.Judgement{Verdict: onceward.VerdictDone, Reference: string(bytes.TrimSpace(ev.Body))}
	case ev.Status == 401:
		return onceward.Judgement{Verdict: onceward.VerdictNotDone, Failure: onceward.Failure{Class: onceward.ClassAuth, Code: "http_401", Retryable: true}}
	case ev.Status == 429:
		return onceward.Judgement{Verdict: onceward.VerdictNotDone, Failure: onceward.Failure{Class: onceward.ClassRateLimited, Code: "http_429", Retryable: true}}
	case ev.Status/100 == 4:
		return onceward.Judgement{Verdict: onceward.VerdictNotDone, Failure: onceward.Failure{Class: onceward.ClassValidation, Code: fmt.Sprintf("http_%d", ev.Status)}}
	}
	return onceward.Judgement{Verdict: onceward.VerdictUnknown, Failure: f}
}

// ProbeRequest implements onceward.Tool.
func (t *Tool) ProbeRequest(op *onceward.Operation) (*onceward.Request, error) {
	return &onceward.Request{Method: "GET", URL: "https://provider.test/effects?key=" + url.QueryEscape(op.ProviderKey)}, nil
}

// JudgeProbe implements onceward.Tool: the body lists references, one a line.
func (t *Tool) JudgeProbe(_ *onceward.Operation, ev *onceward.Evidence) onceward.ProbeJudgement {
	if ev.Status != 200 {
		return onceward.ProbeJudgement{Failure: onceward.Failure{Class: onceward.ClassUnavailable, Code: "probe_failed", Retryable: true}}
	}
	j := onceward.ProbeJudgement{Conclusive: true}
	for line := range bytes.Lines(ev.Body) {
		j.Found = append(j.Found, onceward.FoundEffect{Reference: string(bytes.TrimSpace(line)), Ours: true})
	}
	return j
}
