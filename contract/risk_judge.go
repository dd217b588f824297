package contract

import (
	"slices"
	"strings"
	"time"

	"github.com/onceward/onceward"
)

// judge says whether a field that differs widens risk, and why.
func judge(field string, old, next *Tool) (widens bool, why string) {
	if j, ok := judges[field]; ok {
		return j(old, next)
	}
	if slices.ContainsFunc(harmless, func(name string) bool { return field == name || strings.HasPrefix(field, name+".") }) {
		return false, "it risks no further effect"
	}
	return true, "it may permit more, and nobody can tell that it does not"
}

// harmless are the fields that widen nothing however they change: what is kept
// of answers, when people are asked and reminded, how long it is waited between
// attempts, and operations under contracts of their own.
var harmless = []string{
	"answer", "review", "approval.remind", "retry.backoff", "retry.recovery_window", "retry.evidence_within", "horizon", "probe.blind_spots", "probe.deadline",
	"provider_key.scope", "compensate", "audit", "sandbox.lateness",
}

type riskJudge func(old, next *Tool) (widens bool, why string)

// judges hold the fields of which it can be told.
var judges = map[string]riskJudge{
	"effect":     effectRisk,
	"on_unknown": onUnknownRisk,
	"hosts":      added("a host", func(t *Tool) []string { return t.info.Hosts }),
	"key":        always("requests that were one intention may be two, or two one"),
	"key_was":    removed("an earlier key rule", func(t *Tool) []string { return t.info.KeyWas }),
	"volatile":   added("a field that is not compared any more", func(t *Tool) []string { return t.doc.Spec.Volatile.values() }),

	"approval":                    goes("nobody is asked any more", "a person is asked", func(t *Tool) bool { return t.doc.Spec.Approval != nil }),
	"approval.when":               approvalWhenRisk,
	"approval.by":                 approversRisk,
	"approval.quorum":             lower("fewer people have to say yes", func(t *Tool) int { return t.info.Policy.Quorum }),
	"approval.separate_requester": turned("whoever asks may approve", "whoever asks may not approve", func(t *Tool) bool { return !t.info.Policy.SeparateRequester }),
	"approval.expires":            longer("an old yes holds longer", func(t *Tool) time.Duration { return t.info.Policy.ApprovalExpiry }),

	"probe":             goes("an unknown outcome cannot be looked up any more", "an unknown outcome can be looked up", func(t *Tool) bool { return t.doc.Spec.Probe != nil }),
	"probe.settle":      shorter("an effect that appears late is taken for none", func(t *Tool) time.Duration { return t.info.Policy.Settle }),
	"probe.consistency": turned("the look-up is trusted at once", "the look-up is trusted later", func(t *Tool) bool { return t.doc.Spec.Probe.Consistency.value == "fresh" }),
	"request.deadline":  shorter("an attempt is cut off sooner, and its outcome unknown more often", func(t *Tool) time.Duration { return t.info.Policy.Deadline }),
	"lease":             shorter("an attempt is given up sooner, and another may start", func(t *Tool) time.Duration { return t.info.Policy.Lease }),
	"retry.max_attempts": func(old, next *Tool) (bool, string) {
		return told(next.info.Policy.MaxAttempts > old.info.Policy.MaxAttempts, "it is tried more often", "it is tried less often")
	},

	"provider_key":             goes("the provider gets no key any more", "the provider gets a key", func(t *Tool) bool { return t.doc.Spec.ProviderKey != nil }),
	"provider_key.window":      windowRisk,
	"provider_key.window_kind": windowRisk,
	"conflict":                 turned("an object that exists is taken for ours", "an object that exists is compared", func(t *Tool) bool { return t.doc.Spec.Conflict.value == "" }),

	"keep.record":      shorter("records are kept shorter", func(t *Tool) time.Duration { return forever(t.info.KeepRecord) }),
	"keep.tombstone":   shorter("a key is forgotten sooner", func(t *Tool) time.Duration { return forever(t.info.KeepTombstone) }),
	"keep.input":       lessKept(func(t *Tool) onceward.Keep { return t.info.Policy.KeepInput }),
	"keep.result":      lessKept(func(t *Tool) onceward.Keep { return t.info.KeepResult }),
	"keep.subject":     always("whose data it is, and with whom it is shredded, changes"),
	"keep.retired_key": turned("a retired key makes a new effect", "a retired key is refused", func(t *Tool) bool { return t.info.Policy.KeyReusable }),

	"not_after":               longer("an older intention is still started", func(t *Tool) time.Duration { return forever(t.info.Policy.NotAfter) }),
	"rate":                    rateRisk,
	"serialize_by":            serializeRisk,
	"source":                  goes("a plan to replay does not read the record again", "a plan to replay reads the record again", func(t *Tool) bool { return t.doc.Spec.Source != nil }),
	"sandbox":                 cameRisk,
	"sandbox.hosts":           added("a host that drills write to", func(t *Tool) []string { return t.doc.Spec.Sandbox.Hosts.values() }),
	"repeat_runs_automations": turned("a repeat runs the provider's automations again", "a repeat runs no automations", func(t *Tool) bool { return t.doc.Spec.Automations.value }),
}

func told(widens bool, wider, tighter string) (bool, string) {
	if widens {
		return true, wider
	}
	return false, tighter
}

func always(why string) riskJudge { return func(_, _ *Tool) (bool, string) { return true, why } }

// turned judges a switch by whether it is in its riskier position now.
func turned(wider, tighter string, risky func(*Tool) bool) riskJudge {
	return func(_, next *Tool) (bool, string) { return told(risky(next), wider, tighter) }
}

// goes judges a group that protects: it stands in one of the two only.
func goes(wider, tighter string, stands func(*Tool) bool) riskJudge {
	return func(_, next *Tool) (bool, string) { return told(!stands(next), wider, tighter) }
}

func cameRisk(_, next *Tool) (bool, string) {
	return told(next.doc.Spec.Sandbox != nil, "drills may write there", "drills write nowhere")
}

func longer(wider string, get func(*Tool) time.Duration) riskJudge {
	return func(old, next *Tool) (bool, string) { return told(get(next) > get(old), wider, "it is shorter") }
}

func shorter(wider string, get func(*Tool) time.Duration) riskJudge {
	return func(old, next *Tool) (bool, string) { return told(get(next) < get(old), wider, "it is longer") }
}

func lower(wider string, get func(*Tool) int) riskJudge {
	return func(old, next *Tool) (bool, string) { return told(get(next) < get(old), wider, "it is more") }
}

// forever reads a time of which 0 is no end.
func forever(d time.Duration) time.Duration {
	if d == 0 {
		return onceward.KeyWindowForever
	}
	return d
}

func added(what string, get func(*Tool) []string) riskJudge {
	return func(old, next *Tool) (bool, string) {
		return told(more(get(old), get(next)), what+" came", "none came")
	}
}

func removed(what string, get func(*Tool) []string) riskJudge {
	return func(old, next *Tool) (bool, string) {
		return told(more(get(next), get(old)), what+" is gone", "none is gone")
	}
}

// more reports whether b has what a has not.
func more(a, b []string) bool {
	return slices.ContainsFunc(b, func(s string) bool { return !slices.Contains(a, s) })
}

// effectRisk: a class that promises less is a risk, and so is one that promises
// more, on the provider's word alone: a write is repeated then that was not.
func effectRisk(old, next *Tool) (bool, string) {
	was, is := old.info.Policy.Effect, next.info.Policy.Effect
	switch {
	case !was.Writes() && !is.Writes():
		return false, "nothing is written"
	case !was.Writes():
		return true, "it writes now"
	case !is.Writes():
		return true, "it counts as writing nothing, and is repeated freely"
	case is > was:
		return true, "the provider offers less against a second effect"
	}
	return true, "the provider is trusted with more, and it may be sent again by itself"
}

func onUnknownRisk(_, next *Tool) (bool, string) {
	return told(next.info.Policy.OnUnknown == onceward.OnUnknownAbandon, "nobody settles what stays unknown", "a person settles what stays unknown")
}

func approvalWhenRisk(_, next *Tool) (bool, string) {
	return told(next.doc.Spec.Approval.When.value != "true", "a person may be asked less often, and nobody can tell that not", "a person is always asked")
}

// approversRisk: no group at all is every approver.
func approversRisk(old, next *Tool) (bool, string) {
	was, is := old.info.Approvers, next.info.Approvers
	return told(len(was) > 0 && (len(is) == 0 || more(was, is)), "other people may say yes", "fewer people may say yes")
}

func windowRisk(old, next *Tool) (bool, string) {
	return told(next.info.Policy.KeyWindow > old.info.Policy.KeyWindow, "the provider is trusted longer to know a key", "the provider is trusted no longer to know a key")
}

func lessKept(get func(*Tool) onceward.Keep) riskJudge {
	return func(old, next *Tool) (bool, string) {
		was, is := get(old), get(next)
		if was == onceward.KeepEncrypted && is == onceward.KeepFull {
			return true, "it is stored in clear"
		}
		if is == onceward.KeepEncrypted {
			return false, "it is encrypted"
		}
		return told(is > was || was == onceward.KeepEncrypted, "less is kept as evidence", "more is kept")
	}
}

func rateRisk(old, next *Tool) (bool, string) {
	was, is := old.info.Policy.Rate, next.info.Policy.Rate
	faster := is.Count == 0 || was.Count > 0 && float64(is.Count)*float64(was.Per) > float64(was.Count)*float64(is.Per)
	return told(faster, "attempts start more often", "attempts start less often")
}

func serializeRisk(old, _ *Tool) (bool, string) {
	return told(old.doc.Spec.SerializeBy.value != "", "operations that ran one at a time may run side by side", "operations run one at a time")
}
