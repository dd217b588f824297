package contract

import (
	"fmt"
	"strings"
	"testing"

	"github.com/onceward/onceward"
)

// riskBase is a contract with most fields; each case changes one line of it.
const riskBase = `  effect: keyed_write
  input: {type: object}
  key: [input.id]
  key_was: [[input.a], [input.b]]
  volatile: [note]
  provider_key: {in: header, window: 24h, window_kind: guaranteed}
  request: {method: POST, url: '${env.API_URL}/x', json: {a: '${input.id}'}, deadline: 10s}
  lease: 30s
  outcomes: [{when: response.status == 409, is: done}]
  probe: {request: {url: '${env.API_URL}/y'}, found: '${response.json}', settle: 30s, blind_spots: some}
  retry: {max_attempts: 3, backoff: {initial: 1s}}
  on_unknown: review
  not_after: 1h
  keep: {record: 30d, tombstone: 60d, input: redacted, result: full, retired_key: refuse}
  approval: {when: input.amount > 10, by: [leads, finance], quorum: 2, separate_requester: true, expires: 4h}
  rate: 10/1m
  serialize_by: input.account
  hosts: [api.example.com, spare.example.com]
  answer: {keep_bytes: 1KiB}
`

func TestWhatWidensRiskAndWhatDoesNot(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		field, from, to string
		widens          bool
	}{
		{"effect", "effect: keyed_write", "effect: unsafe_write", true},
		{"on_unknown", "on_unknown: review", "on_unknown: abandon", true},
		{"approval", "  approval: {when: input.amount > 10, by: [leads, finance], quorum: 2, separate_requester: true, expires: 4h}\n", "", true},
		{"approval.when", "when: input.amount > 10", "when: input.amount > 1000", true},
		{"approval.when", "when: input.amount > 10", "when: 'true'", false},
		{"approval.by", "by: [leads, finance]", "by: [leads]", false},
		{"approval.by", "by: [leads, finance]", "by: [leads, finance, interns]", true},
		{"approval.by", "by: [leads, finance], ", "", true},
		{"approval.quorum", "quorum: 2", "quorum: 1", true},
		{"approval.quorum", "quorum: 2", "quorum: 3", false},
		{"approval.separate_requester", "separate_requester: true", "separate_requester: false", true},
		{"approval.expires", "expires: 4h", "expires: 5h", true},
		{"approval.expires", "expires: 4h", "expires: 1h", false},
		{"hosts", "spare.example.com]", "spare.example.com, more.example.com]", true},
		{"hosts", ", spare.example.com]", "]", false},
		{"probe.settle", "settle: 30s", "settle: 10s", true},
		{"probe.settle", "settle: 30s", "settle: 1m", false},
		{"probe.found", "found: '${response.json}'", "found: '${response.json.items}'", true},
		{"probe.blind_spots", "blind_spots: some", "blind_spots: others", false},
		{"request.deadline", "deadline: 10s", "deadline: 5s", true},
		{"request.deadline", "deadline: 10s", "deadline: 12s", false},
		{"request.url", "url: '${env.API_URL}/x'", "url: '${env.API_URL}/z'", true},
		{"request.json", "json: {a: '${input.id}'}", "json: {a: '${input.id}', b: 2}", true},
		{"lease", "lease: 30s", "lease: 20s", true},
		{"lease", "lease: 30s", "lease: 40s", false},
		{"outcomes", "is: done", "is: not_done", true},
		{"retry.max_attempts", "max_attempts: 3", "max_attempts: 4", true},
		{"retry.max_attempts", "max_attempts: 3", "max_attempts: 2", false},
		{"retry.max_attempts", "max_attempts: 3, ", "", true},
		{"retry.backoff.initial", "initial: 1s", "initial: 2s", false},
		{"key", "key: [input.id]", "key: [input.id, input.b]", true},
		{"key_was", "key_was: [[input.a], [input.b]]", "key_was: [[input.a]]", true},
		{"key_was", "key_was: [[input.a], [input.b]]", "key_was: [[input.a], [input.b], [input.c]]", false},
		{"volatile", "volatile: [note]", "volatile: [note, amount]", true},
		{"volatile", "  volatile: [note]\n", "", false},
		{"keep.record", "record: 30d", "record: 10d", true},
		{"keep.record", "record: 30d", "record: forever", false},
		{"keep.tombstone", "tombstone: 60d", "tombstone: forever", false},
		{"keep.input", "input: redacted", "input: digest", true},
		{"keep.input", "input: redacted", "input: full", false},
		{"keep.retired_key", "retired_key: refuse", "retired_key: reuse", true},
		{"not_after", "not_after: 1h", "not_after: 2h", true},
		{"not_after", "  not_after: 1h\n", "", true},
		{"not_after", "not_after: 1h", "not_after: 30m", false},
		{"rate", "rate: 10/1m", "rate: 10/30s", true},
		{"rate", "rate: 10/1m", "rate: 20/3m", false},
		{"rate", "  rate: 10/1m\n", "", true},
		{"provider_key.window", "window: 24h", "window: 48h", true},
		{"provider_key.window", "window: 24h", "window: 12h", false},
		{"serialize_by", "  serialize_by: input.account\n", "", true},
		{"input", "input: {type: object}", "input: {type: object, maxProperties: 9}", true},
		{"answer.keep_bytes", "keep_bytes: 1KiB", "keep_bytes: 2KiB", false},
		{"sandbox", "  answer:", "  sandbox: {hosts: [test.example.com]}\n  answer:", true},
	} {
		t.Run(fmt.Sprintf("%s to %q", c.field, c.to), func(t *testing.T) {
			t.Parallel()
			changed := strings.Replace(riskBase, c.from, c.to, 1)
			if changed == riskBase {
				t.Fatalf("%q changes nothing", c.from)
			}
			all := Differences(loadSpec(t, riskBase), loadSpec(t, changed))
			if len(all) != 1 || all[0].Field != c.field || all[0].Widens != c.widens || all[0].Why == "" {
				t.Fatalf("got %+v, want %s alone, widens %t", all, c.field, c.widens)
			}
			back := Differences(loadSpec(t, changed), loadSpec(t, riskBase))
			if len(back) != 1 || back[0].Was != all[0].Is || back[0].Is != all[0].Was {
				t.Fatalf("the way back is %+v", back)
			}
		})
	}
}

func TestNothingDiffersWhereTheMeaningIsOne(t *testing.T) {
	t.Parallel()
	lines := strings.SplitAfter(riskBase, "\n")
	other := "  # a remark\n" + strings.Join(append(lines[1:len(lines)-1:len(lines)-1], lines[0]), "")
	spelt := strings.Replace(other, "retry: {max_attempts: 3, backoff: {initial: 1s}}", "retry: {max_attempts: 3}", 1)
	if all := Differences(loadSpec(t, riskBase), loadSpec(t, spelt)); len(all) != 0 {
		t.Fatalf("order, remarks and defaults differ: %+v", all)
	}
}

func TestOtherOwnersWidenAndFirstOnesDoNot(t *testing.T) {
	t.Parallel()
	with := func(owner string) *Tool {
		return mustLoad(t, strings.Replace(testHead, ", owner: us", owner, 1)+riskBase)
	}
	all := Differences(with(", business_owner: us"), with(", business_owner: them, technical_owner: it"))
	want := []onceward.ContractDifference{
		{Field: "metadata.business_owner", Was: "us", Is: "them", Widens: true, Why: all[0].Why},
		{Field: "metadata.technical_owner", Is: "it", Why: all[1].Why},
	}
	if len(all) != 2 || all[0] != want[0] || all[1] != want[1] {
		t.Fatalf("got %+v", all)
	}
}

// A class that promises more is a risk too: what was never repeated is then.
func TestAnEffectClassWidensEitherWay(t *testing.T) {
	t.Parallel()
	of := func(class string) *Tool {
		return loadSpec(t, "  effect: "+class+"\n  key: [input.id]\n  request: {method: POST, url: '${env.API_URL}/x'}\n")
	}
	for _, c := range []struct {
		was, is string
		widens  bool
	}{{"read", "compute", false}, {"read", "unsafe_write", true}, {"unsafe_write", "read", true}} {
		all := Differences(of(c.was), of(c.is))
		if len(all) == 0 || all[0].Field != "effect" || all[0].Widens != c.widens {
			t.Errorf("%s to %s: %+v, want widens %t", c.was, c.is, all, c.widens)
		}
	}
}
