package oncewardtest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/onceward/onceward"
)

// Tool is a contract without YAML: its key is the caller's, or the input member
// "id"; its volatile member is "text"; it talks to a Provider of this package.
type Tool struct {
	info onceward.ToolInfo
	// KeyMember names the input member that is the key, in place of "id".
	KeyMember string
	// KeyWas names the members that were the key under earlier rules.
	KeyWas []string
	// Volatile names the volatile members, in place of "text".
	Volatile []string
	// SerializeBy names the input member whose value is the resource that one
	// operation at a time works on; empty: none.
	SerializeBy string
	// Subject names the input member that says whose data it is, where it is kept
	// encrypted; empty: the tenant's.
	Subject string
	// NeedsApproval makes every operation wait for a person's yes.
	NeedsApproval bool
	// RemindBy names the tool that reminds of open questions. Its input is the
	// operation's ID as "id", and the reminder's number.
	RemindBy onceward.ToolName
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
	key, aliases := t.keys(in, canonical)
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
		Approval: t.NeedsApproval, SerialKey: member(canonical, t.SerializeBy), Subject: member(canonical, t.Subject), Key: key, Aliases: aliases, Digest: digest, Prints: prints, Input: canonical, ProviderKey: pk,
		Request: &onceward.Request{Method: "POST", URL: "https://provider.test/effects", Body: canonical, Header: []onceward.HeaderField{{Name: "Idempotency-Key", Value: pk}}},
	}, nil
}

// keys derives the key and those of earlier rules. A fork has one key.
func (t *Tool) keys(in *onceward.Intent, input []byte) (key onceward.Key, aliases []onceward.Key) {
	if in.ForkKey != "" {
		return in.ForkKey, nil
	}
	var members map[string]any
	if json.Unmarshal(input, &members) != nil {
		return in.CallerKey, nil
	}
	text := func(name string) onceward.Key {
		s, _ := members[name].(string)
		return onceward.Key(s)
	}
	if key = text(cmp.Or(t.KeyMember, "id")); key == "" {
		key = in.CallerKey
	}
	for _, name := range t.KeyWas {
		if was := text(name); was != "" && was != key {
			aliases = append(aliases, was)
		}
	}
	return key, aliases
}

// member is the text of a member of an input; empty where none is named.
func member(input []byte, name string) string {
	var members map[string]any
	if name == "" || json.Unmarshal(input, &members) != nil {
		return ""
	}
	return fmt.Sprint(members[name])
}

// MaterialDigest implements onceward.Tool.
func (t *Tool) MaterialDigest(input []byte, id onceward.OperationID) (onceward.Digest, []onceward.FieldPrint, error) {
	n, err := onceward.ParseJSON(input)
	if err != nil {
		return onceward.Digest{}, nil, err
	}
	names := t.Volatile
	if names == nil {
		names = []string{"text"}
	}
	volatile := make([]onceward.Path, len(names))
	for i, name := range names {
		if volatile[i], err = onceward.ParsePath(name); err != nil {
			return onceward.Digest{}, nil, err
		}
	}
	return onceward.MaterialDigest(t.info.Name, n.AppendWithout(nil, volatile)), onceward.FieldPrints(id, n, volatile), nil
}

// Secrets implements onceward.Tool.
func (t *Tool) Secrets(*onceward.Operation) ([]onceward.HeaderField, error) { return nil, nil }

// Judge implements onceward.Tool: 2xx done, 409 in progress, 422 unknown where
// a key is honoured, else 4xx not done; everything else unknown.
func (t *Tool) Judge(_ *onceward.Operation, ev *onceward.Evidence) onceward.Judgement {
	failed := func(c onceward.ErrorClass, retryable bool) onceward.Failure {
		return onceward.Failure{Class: c, Code: fmt.Sprintf("http_%d", ev.Status), Retryable: retryable}
	}
	j := onceward.Judgement{Verdict: onceward.VerdictNotDone, RetryAfter: retryAfter(ev)}
	switch {
	case ev.Reach.NothingSent():
		j.Failure = onceward.Failure{Class: ev.ErrorClass, Code: ev.ErrorCode, Message: ev.ErrorText, Retryable: true}
	case ev.Status/100 == 2:
		j.Verdict, j.Reference = onceward.VerdictDone, string(bytes.TrimSpace(ev.Body))
	case ev.Status == 401:
		j.Failure = failed(onceward.ClassAuth, true)
	case ev.Status == 409:
		j.Verdict, j.Failure = onceward.VerdictInProgress, failed(onceward.ClassConflict, true)
	case ev.Status == 422 && t.info.Policy.Effect == onceward.EffectKeyedWrite:
		j.Verdict, j.Failure = onceward.VerdictUnknown, failed(onceward.ClassConflict, false)
	case ev.Status == 429:
		j.Failure = failed(onceward.ClassRateLimited, true)
	case ev.Status/100 == 4:
		j.Failure = failed(onceward.ClassValidation, false)
	case ev.Status != 0:
		j.Verdict, j.Failure = onceward.VerdictUnknown, failed(onceward.ClassUnavailable, true)
	default:
		j.Verdict = onceward.VerdictUnknown
		j.Failure = onceward.Failure{Class: ev.ErrorClass, Code: ev.ErrorCode, Message: ev.ErrorText, Retryable: true}
	}
	return j
}

func retryAfter(ev *onceward.Evidence) time.Duration {
	for _, h := range ev.Header {
		if s, err := strconv.Atoi(h.Value); h.Name == "Retry-After" && err == nil {
			return time.Duration(s) * time.Second
		}
	}
	return 0
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

// Reminder implements onceward.Reminding.
func (t *Tool) Reminder(op *onceward.Operation, n int) (onceward.ToolName, []byte, error) {
	if t.RemindBy == "" {
		return "", nil, onceward.Errorf(onceward.CodeContractInvalid, "nobody reminds")
	}
	return t.RemindBy, fmt.Appendf(nil, `{"id":"%s","number":%d}`, op.ID, n), nil
}
