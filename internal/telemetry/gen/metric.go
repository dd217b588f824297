package main

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/onceward/onceward"
)

const metricsIntro = `<!-- Made by internal/telemetry/gen from the table in metrics.go; make generate writes it anew. -->
# Metrics

` + "`GET /metrics`" + ` answers with Prometheus text. It needs the role operator or auditor of the server's own tenant; a
loopback server without tokens asks for nothing. ` + "`--metrics-listen`" + ` serves the same, and nothing else, on an address of
its own to whoever reaches it. How to watch with them: [operating/metrics.md](../operating/metrics.md).

Labels have few values: tools, states, decisions, codes. No label is a key, a tenant, a reference or a person. Counters
and histograms are of one process. Gauges of the backlog are the ledger's own count, equal on every replica but for
the moment of counting: take their maximum, not their sum. The process and Go's runtime are measured under their usual
names (` + "`process_`, `go_`" + `).

| metric | type | unit | labels | meaning |
| --- | --- | --- | --- | --- |
`

// metricsPage is docs/reference/metrics.md.
func metricsPage() []byte {
	var b bytes.Buffer
	b.WriteString(metricsIntro)
	var buckets strings.Builder
	for _, m := range onceward.AllMetrics() {
		i := m.Info()
		names := "-"
		if len(i.Labels) > 0 {
			names = "`" + strings.Join(i.Labels, "`, `") + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", i.Name, i.Kind, i.Unit, names, i.Help)
		if i.Kind == onceward.Histogram {
			fmt.Fprintf(&buckets, "- `%s`: %s\n", i.Name, bounds(i.Buckets))
		}
	}
	b.WriteString("\n## Bounds of the histograms\n\n" + buckets.String())
	return b.Bytes()
}

func bounds(values []float64) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = strconv.FormatFloat(v, 'g', -1, 64)
	}
	return strings.Join(words, ", ")
}
