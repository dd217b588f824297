package main

// alert is one alert rule with what its unit test feeds it.
type alert struct {
	name, expr, wait string // wait: how long it must hold
	severity         string // page: now, by a person; ticket: today
	summary          string
	page             string // docs/operating/runbooks/PAGE.md
	fires, quiet     []series
	labels           map[string]string // of the alert that fires, besides name and severity
}

// series is what Prometheus is given: a value a minute, in promtool's notation.
type series struct{ name, values string }

// alerts is the one table of alert rules. The rules, their unit tests and the
// index of runbooks are made from it.
var alerts = []alert{
	{
		name: "OncewardEffectMultiplied", severity: "page", page: "effect-multiplied",
		expr:    `max by (tool) (onceward_stopped_tools{reason="effect_multiplied"}) > 0`,
		summary: "An operation had more than one effect: its tool is paused",
		fires:   []series{{`onceward_stopped_tools{tool="pay",reason="effect_multiplied",instance="a"}`, "1+0x20"}},
		quiet:   []series{{`onceward_stopped_tools{tool="pay",reason="person",instance="a"}`, "1+0x20"}},
		labels:  map[string]string{"tool": "pay"},
	},
	{
		name: "OncewardEffectAfterCancel", severity: "page", page: "effect-after-cancel",
		expr: `sum by (tool) (increase(onceward_alarms_total{reason="effect_after_cancel"}[15m])) > 0
  or sum by (tool) (onceward_alarms_total{reason="effect_after_cancel"}) unless sum by (tool) (onceward_alarms_total{reason="effect_after_cancel"} offset 15m)`,
		summary: "A cancelled operation had its effect all the same",
		fires:   []series{{`onceward_alarms_total{tool="pay",reason="effect_after_cancel",instance="a"}`, "_x10 1+0x10"}},
		quiet:   []series{{`onceward_alarms_total{tool="pay",reason="review_overdue",instance="a"}`, "_x10 1+0x10"}},
		labels:  map[string]string{"tool": "pay"},
	},
	{
		name: "OncewardBypassSuspected", severity: "ticket", page: "bypass-suspected",
		expr: `sum by (tool) (increase(onceward_alarms_total{reason="bypass_suspected"}[15m])) > 0
  or sum by (tool) (onceward_alarms_total{reason="bypass_suspected"}) unless sum by (tool) (onceward_alarms_total{reason="bypass_suspected"} offset 15m)`,
		summary: "The provider has an object that no operation explains: somebody writes past the ledger",
		fires:   []series{{`onceward_alarms_total{tool="pay",reason="bypass_suspected",instance="a"}`, "_x10 1+0x10"}},
		quiet:   []series{{`onceward_alarms_total{tool="pay",reason="review_overdue",instance="a"}`, "_x10 1+0x10"}},
		labels:  map[string]string{"tool": "pay"},
	},
	{
		name: "OncewardStuck", severity: "page", page: "stuck", wait: "2m",
		expr:    `max by (tool, source) (onceward_stuck_operations) > 0`,
		summary: "Operations should go on and cannot",
		fires:   []series{{`onceward_stuck_operations{tool="pay",source="due",instance="a"}`, "0 0 3+0x18"}},
		quiet:   []series{{`onceward_stuck_operations{tool="pay",source="due",instance="a"}`, "0+0x13 3+0x6"}},
		labels:  map[string]string{"tool": "pay", "source": "due"},
	},
	{
		name: "OncewardLedgerAway", severity: "page", page: "ledger-away", wait: "1m",
		expr:    `min by (instance) (onceward_ledger_up) == 0`,
		summary: "A replica cannot reach the ledger: it refuses requests",
		fires:   []series{{`onceward_ledger_up{instance="a"}`, "1 1 0+0x18"}},
		quiet:   []series{{`onceward_ledger_up{instance="a"}`, "1+0x20"}},
		labels:  map[string]string{"instance": "a"},
	},
	{
		name: "OncewardUnknownOverdue", severity: "page", page: "unknown-overdue", wait: "5m",
		expr:    `max by (tool) (onceward_unknown_overdue_operations) > 0`,
		summary: "Outcomes are unknown for longer than their recovery window",
		fires:   []series{{`onceward_unknown_overdue_operations{tool="pay",instance="a"}`, "2+0x20"}},
		quiet:   []series{{`onceward_unknown_overdue_operations{tool="pay",instance="a"}`, "0+0x20"}},
		labels:  map[string]string{"tool": "pay"},
	},
	{
		name: "OncewardManyUnknown", severity: "ticket", page: "many-unknown",
		expr: `sum by (tool) (increase(onceward_attempts_total{outcome=~"unknown|lease_expired"}[15m]))
  / sum by (tool) (increase(onceward_attempts_total[15m])) > 0.05
  and sum by (tool) (increase(onceward_attempts_total[15m])) > 20`,
		summary: "More than one attempt in twenty ends unknown",
		fires: []series{{`onceward_attempts_total{tool="pay",outcome="done",instance="a"}`, "0+9x20"},
			{`onceward_attempts_total{tool="pay",outcome="unknown",instance="a"}`, "0+1x20"}},
		quiet: []series{{`onceward_attempts_total{tool="pay",outcome="done",instance="a"}`, "0+99x20"},
			{`onceward_attempts_total{tool="pay",outcome="unknown",instance="a"}`, "0+1x20"}},
		labels: map[string]string{"tool": "pay"},
	},
	{
		name: "OncewardReviewsWait", severity: "ticket", page: "reviews-wait",
		expr:    `max by (tool) (onceward_waiting_oldest_seconds{state="needs_review"}) > 86400`,
		summary: "An operation that needs a person's review is older than a day",
		fires:   []series{{`onceward_waiting_oldest_seconds{tool="pay",state="needs_review",instance="a"}`, "90000+60x20"}},
		quiet:   []series{{`onceward_waiting_oldest_seconds{tool="pay",state="outcome_unknown",instance="a"}`, "90000+60x20"}},
		labels:  map[string]string{"tool": "pay"},
	},
	{
		name: "OncewardApprovalsWait", severity: "ticket", page: "approvals-wait",
		expr:    `max by (tool) (onceward_waiting_oldest_seconds{state="awaiting_approval"}) > 86400`,
		summary: "An operation waits for its approval for more than a day",
		fires:   []series{{`onceward_waiting_oldest_seconds{tool="pay",state="awaiting_approval",instance="a"}`, "90000+60x20"}},
		quiet:   []series{{`onceward_waiting_oldest_seconds{tool="pay",state="awaiting_approval",instance="a"}`, "100+60x20"}},
		labels:  map[string]string{"tool": "pay"},
	},
	{
		name: "OncewardSagasWait", severity: "ticket", page: "sagas-wait",
		expr:    `max(onceward_sagas_oldest_seconds{state="needs_review"}) > 86400`,
		summary: "A saga that was started more than a day ago waits for a person",
		fires:   []series{{`onceward_sagas_oldest_seconds{state="needs_review",instance="a"}`, "90000+60x20"}},
		quiet:   []series{{`onceward_sagas_oldest_seconds{state="running",instance="a"}`, "90000+60x20"}},
		labels:  map[string]string{},
	},
	{
		name: "OncewardEventsDead", severity: "ticket", page: "events-dead",
		expr:    `max by (sink) (onceward_outbox_aside_events{state="dead"}) > 0`,
		summary: "A destination refused events for the last time: they and those of their keys wait for a person",
		fires:   []series{{`onceward_outbox_aside_events{sink="billing",state="dead",instance="a"}`, "1+0x20"}},
		quiet:   []series{{`onceward_outbox_aside_events{sink="billing",state="waiting",instance="a"}`, "1+0x20"}},
		labels:  map[string]string{"sink": "billing"},
	},
	{
		name: "OncewardUnsafeRetry", severity: "ticket", page: "unsafe-retry",
		expr: `sum by (tool) (increase(onceward_unsafe_retries_total{answer="confirmed"}[15m])) > 0
  or sum by (tool) (onceward_unsafe_retries_total{answer="confirmed"}) unless sum by (tool) (onceward_unsafe_retries_total{answer="confirmed"} offset 15m)`,
		summary: "A person had an attempt repeated that may have had its effect",
		fires:   []series{{`onceward_unsafe_retries_total{tool="pay",answer="confirmed",instance="a"}`, "_x10 1+0x10"}},
		quiet:   []series{{`onceward_unsafe_retries_total{tool="pay",answer="refused",instance="a"}`, "_x10 1+0x10"}},
		labels:  map[string]string{"tool": "pay"},
	},
	{
		name: "OncewardKeyConflicts", severity: "ticket", page: "key-conflicts",
		expr:    `sum by (tool) (increase(onceward_requests_total{code="key_reused"}[15m])) > 10`,
		summary: "Callers use one key for different inputs",
		fires:   []series{{`onceward_requests_total{tool="pay",decision="blocked",code="key_reused",instance="a"}`, "0+2x20"}},
		quiet:   []series{{`onceward_requests_total{tool="pay",decision="blocked",code="invalid_input",instance="a"}`, "0+2x20"}},
		labels:  map[string]string{"tool": "pay"},
	},
	{
		name: "OncewardCredentialRefused", severity: "page", page: "credential-refused",
		expr:    `max by (tool) (onceward_stopped_tools{reason="auth"}) > 0`,
		summary: "The provider refused our credential: the tool is paused",
		fires:   []series{{`onceward_stopped_tools{tool="pay",reason="auth",instance="a"}`, "1+0x20"}},
		quiet:   []series{{`onceward_stopped_tools{tool="pay",reason="person",instance="a"}`, "1+0x20"}},
		labels:  map[string]string{"tool": "pay"},
	},
	{
		name: "OncewardCommitsQueue", severity: "page", page: "commits-queue", wait: "1m",
		expr:    `max by (instance) (onceward_commit_queue_changes) > 1000`,
		summary: "The database takes commits more slowly than they come",
		fires:   []series{{`onceward_commit_queue_changes{instance="a"}`, "2000+0x20"}},
		quiet:   []series{{`onceward_commit_queue_changes{instance="a"}`, "20+0x20"}},
		labels:  map[string]string{"instance": "a"},
	},
	{
		name: "OncewardLoopFails", severity: "ticket", page: "loop-fails", wait: "5m",
		expr: `sum by (instance, loop) (increase(onceward_loop_steps_total{result="failed"}[5m])) > 0
  unless sum by (instance, loop) (increase(onceward_loop_steps_total{result!="failed"}[5m])) > 0`,
		summary: "A background loop does nothing but fail",
		fires:   []series{{`onceward_loop_steps_total{loop="due",result="failed",instance="a"}`, "0+50x20"}},
		quiet: []series{{`onceward_loop_steps_total{loop="due",result="failed",instance="a"}`, "0+1x20"},
			{`onceward_loop_steps_total{loop="due",result="idle",instance="a"}`, "0+50x20"}},
		labels: map[string]string{"instance": "a", "loop": "due"},
	},
}
