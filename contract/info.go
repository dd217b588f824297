package contract

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"

	"github.com/onceward/onceward"
)

// versionLength is the length of a contract version, in hexadecimal digits.
const versionLength = 12

// info fills in what the ledger has to know.
func (c *compiler) info(root *node, text []byte) {
	if len(c.problems) > 0 {
		return
	}
	spec, m := &c.doc.Spec, &c.doc.Metadata
	version, err := versionOf(m.Name.value, root.member("spec"))
	c.fault(spec.at, "spec", err)
	info := &onceward.ToolInfo{
		Name: onceward.ToolName(m.Name.value), Version: version, Description: m.Description.value,
		BusinessOwner: m.Owners.business(), TechnicalOwner: m.Owners.technical(),
		Hosts: c.tool.hosts, InputSchema: c.tool.schema.json, Source: slices.Clone(text),
		KeepBytes: spec.Answer.KeepBytes.value, JudgeBytes: spec.Answer.JudgeBytes.value,
		Horizon:    spec.Horizon.value,
		KeepRecord: spec.Keep.Record.value, KeepTombstone: spec.Keep.Tombstone.value,
		KeepResult: keepOf(spec.Keep.Result.value),
	}
	if spec.Key.set {
		info.KeyRule = spec.Key.rule()
	}
	for i := range spec.KeyWas.items {
		info.KeyWas = append(info.KeyWas, spec.KeyWas.items[i].rule())
	}
	if spec.Approval != nil {
		info.Approvers = spec.Approval.By.values()
	}
	if spec.Probe != nil {
		info.BlindSpots = spec.Probe.BlindSpots.value
	}
	if c.tool.mcp {
		info.MCP = onceward.MCPTool{Server: c.tool.request.url.host, Tool: c.tool.request.url.constantSegment()}
	}
	info.Policy = c.policy()
	info.Policy.KeepResult = info.KeepResult
	info.Policy.ReviewWithin = spec.Review.Within.value
	info.Policy.ReviewTeam = cmp.Or(spec.Review.Team.value, info.TechnicalOwner, info.BusinessOwner)
	info.KeyFromCaller = !spec.Key.set && info.Policy.Effect.Writes()
	c.tool.info = info
	slices.Sort(c.tool.names.env)
	slices.Sort(c.tool.names.secrets)
}

// versionOf is the hash of what a contract means: comments, order and spelling
// make no difference.
func versionOf(name string, spec *node) (string, error) {
	document := appendJSONText([]byte(`{"name":`), name)
	document = append(spec.appendJSON(append(document, `,"spec":`...)), '}')
	canonical, err := onceward.Canonicalize(document)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:])[:versionLength], nil
}

func keepOf(word string) onceward.Keep {
	switch word {
	case "redacted":
		return onceward.KeepRedacted
	case "digest":
		return onceward.KeepDigest
	case "encrypted":
		return onceward.KeepEncrypted
	}
	return onceward.KeepFull
}

// policy is what the state machine has to know.
func (c *compiler) policy() onceward.Policy {
	spec := &c.doc.Spec
	effect, err := onceward.ParseEffectClass(spec.Effect.value)
	c.fault(spec.Effect.at, "spec.effect", err)
	p := onceward.Policy{
		Effect: effect, HasProbe: spec.Probe != nil, RemoteExecutor: spec.Executor.value == "caller",
		Deadline: c.deadline(), Lease: c.lease(), ByteTail: c.opts.ByteTail, KeyWindow: keyWindow(spec.ProviderKey),
		MaxAttempts: spec.Retry.MaxAttempts.value, BackoffInitial: spec.Retry.Backoff.Initial.value, BackoffMax: spec.Retry.Backoff.Max.value,
		RecoveryWindow: spec.Retry.RecoveryWindow.value, EvidenceWithin: spec.Retry.EvidenceWithin.value, NotAfter: spec.NotAfter.value,
		KeyReusable: spec.Keep.RetiredKey.value == "reuse", KeepInput: keepOf(spec.Keep.Input.value), Rate: spec.Rate.value,
	}
	if spec.OnUnknown.value == "abandon" {
		p.OnUnknown = onceward.OnUnknownAbandon
	}
	if spec.Probe != nil {
		p.Settle, p.ProbeDeadline = spec.Probe.Settle.value, spec.Probe.Deadline.value
	}
	if spec.Approval != nil {
		p.ApprovalExpiry = spec.Approval.Expires.value
		for i := range spec.Approval.Remind {
			p.Reminders = append(p.Reminders, spec.Approval.Remind[i].when(spec.Approval.Expires.value))
		}
		p.Quorum, p.SeparateRequester = spec.Approval.Quorum.value, spec.Approval.Separate.value
	}
	return p
}

// keyWindow is how long the provider surely remembers a key. What it does not
// promise is no time at all: a re-send would rest on luck.
func keyWindow(k *providerKey) time.Duration {
	switch {
	case k == nil:
		return 0
	case k.WindowKind.value == "object_lifetime", k.WindowKind.value == "guaranteed" && k.Window.forever:
		return onceward.KeyWindowForever
	case k.WindowKind.value == "guaranteed":
		return k.Window.value
	}
	return 0
}
