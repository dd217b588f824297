package main

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
)

const madeHere = "# Made by internal/telemetry/gen from its table of alerts; make generate writes it anew.\n"

// alertRules is deploy/prometheus/alerts.yml.
func alertRules() []byte {
	var b bytes.Buffer
	b.WriteString(madeHere + "groups:\n  - name: onceward\n    rules:\n")
	for _, a := range alerts {
		fmt.Fprintf(&b, "      - alert: %s\n        expr: |\n          %s\n", a.name, strings.ReplaceAll(a.expr, "\n", "\n          "))
		if a.wait != "" {
			fmt.Fprintf(&b, "        for: %s\n", a.wait)
		}
		fmt.Fprintf(&b, "        labels: {severity: %s}\n        annotations:\n          summary: %q\n          runbook: %q\n", a.severity, a.summary, a.runbook())
	}
	return b.Bytes()
}

func (a *alert) runbook() string { return "docs/operating/runbooks/" + a.page + ".md" }

// alertTests is deploy/prometheus/alerts_test.yml: each rule fires when it should,
// with its labels, and not when it should not.
func alertTests() []byte {
	var b bytes.Buffer
	b.WriteString(madeHere + "rule_files: [alerts.yml]\nevaluation_interval: 1m\ntests:\n")
	for _, a := range alerts {
		a.test(&b, a.fires, true)
		a.test(&b, a.quiet, false)
	}
	return b.Bytes()
}

func (a *alert) test(b *bytes.Buffer, given []series, fires bool) {
	b.WriteString("  - interval: 1m\n    input_series:\n")
	for _, s := range given {
		fmt.Fprintf(b, "      - {series: '%s', values: '%s'}\n", s.name, s.values)
	}
	fmt.Fprintf(b, "    alert_rule_test:\n      - alertname: %s\n        eval_time: 15m\n", a.name)
	if !fires {
		b.WriteString("        exp_alerts: []\n")
		return
	}
	labels := []string{"severity: " + a.severity}
	for _, name := range slices.Sorted(maps.Keys(a.labels)) {
		labels = append(labels, name+": "+a.labels[name])
	}
	fmt.Fprintf(b, "        exp_alerts:\n          - exp_labels: {%s}\n            exp_annotations: {summary: %q, runbook: %q}\n", strings.Join(labels, ", "), a.summary, a.runbook())
}

// runbookIndex is docs/operating/runbooks/README.md.
func runbookIndex() []byte {
	var b bytes.Buffer
	b.WriteString("<!-- Made by internal/telemetry/gen from its table of alerts; make generate writes it anew. -->\n# Runbooks\n\n" +
		"One page for each alert of `deploy/prometheus/alerts.yml`: what it means, what to look at, what to do.\n\n| alert | severity | says |\n| --- | --- | --- |\n")
	for _, a := range alerts {
		fmt.Fprintf(&b, "| [%s](%s.md) | %s | %s |\n", a.name, a.page, a.severity, a.summary)
	}
	return b.Bytes()
}
