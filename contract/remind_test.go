package contract_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/contract"
)

const reminded = `
apiVersion: onceward/v1
kind: Tool
metadata: {name: payouts.send, owner: finance}
spec:
  effect: unsafe_write
  key: ['input.id']
  request: {method: POST, url: 'https://bank.test/payouts', json: {amount: '${input.amount}'}}
  approval:
    by: [leads]
    quorum: 2
    separate_requester: true
    expires: 24h
    remind:
      - {after: 1h, tool: chat.post, input: {text: 'Payout ${operation.key} waits', amount: '${input.amount}'}}
      - {before_expiry: 2h, tool: mail.send, input: {subject: 'Payout waits'}}
`

func TestRemindersAreRenderedAndTimed(t *testing.T) {
	t.Parallel()
	tools, err := contract.Load([]byte(reminded), "payouts.yaml", contract.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tool := tools[0]
	p := tool.Info().Policy
	if want := []time.Duration{time.Hour, 22 * time.Hour}; !slices.Equal(p.Reminders, want) || p.Quorum != 2 || !p.SeparateRequester || !slices.Equal(tool.Info().Approvers, []string{"leads"}) {
		t.Fatalf("reminders %v, quorum %d, separate %v, approvers %v", p.Reminders, p.Quorum, p.SeparateRequester, tool.Info().Approvers)
	}
	name, input, err := tool.Reminder(&onceward.Operation{Key: "p1", Input: []byte(`{"amount":5.50,"id":"p1"}`)}, 0)
	if err != nil || name != "chat.post" || string(input) != `{"text":"Payout p1 waits","amount":5.50}` {
		t.Fatalf("%s gets %s, %v", name, input, err)
	}
}

func TestReminderThatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	for old, wrong := range map[string]string{
		"after: 1h,":          "after: 1h, before_expiry: 1h,",
		"before_expiry: 2h, ": "",
		"after: 1h":           "after: 24h",
		"tool: chat.post":     "tool: payouts.send",
		"tool: mail.send":     "tool: Mail",
	} {
		if _, err := contract.Load([]byte(strings.Replace(reminded, old, wrong, 1)), "payouts.yaml", contract.Options{}); onceward.CodeOf(err) != onceward.CodeContractInvalid || !strings.Contains(err.Error(), "spec.approval.remind[") {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}
