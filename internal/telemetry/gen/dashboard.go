package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/onceward/onceward"
)

// query is the question that a panel asks of a metric.
func query(i *onceward.MetricInfo) string {
	by := ""
	if len(i.Labels) > 0 {
		by = "by (" + strings.Join(i.Labels, ", ") + ") "
	}
	switch i.Kind {
	case onceward.Counter:
		return fmt.Sprintf("sum %s(rate(%s[5m]))", by, i.Name)
	case onceward.Histogram:
		return fmt.Sprintf("histogram_quantile(0.99, sum by (%s) (rate(%s_bucket[5m])))", strings.Join(append([]string{"le"}, i.Labels...), ", "), i.Name)
	case onceward.Gauge:
	}
	return fmt.Sprintf("max %s(%s)", by, i.Name)
}

// legend names a series by its labels.
func legend(i *onceward.MetricInfo) string {
	var parts []string
	for _, l := range i.Labels {
		parts = append(parts, "{{"+l+"}}")
	}
	return strings.Join(parts, " ")
}

// grafanaUnit is the unit's name in Grafana.
func grafanaUnit(i *onceward.MetricInfo) string {
	switch {
	case i.Unit == "seconds":
		return "s"
	case i.Kind == onceward.Counter:
		return "ops"
	}
	return "short"
}

// Sizes of a panel on Grafana's grid of 24 columns.
const (
	panelWidth  = 12
	panelHeight = 8
)

// dashboard is deploy/grafana/onceward.json: a panel for each metric, in the
// order of the table.
func dashboard() []byte {
	source := map[string]any{"type": "prometheus", "uid": "${source}"}
	var panels []any
	for n, m := range onceward.AllMetrics() {
		i := m.Info()
		title := strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(i.Name, "onceward_"), "_total"), "_", " ")
		if i.Kind == onceward.Histogram {
			title += " (p99)"
		}
		panels = append(panels, map[string]any{
			"id": n + 1, "type": "timeseries", "title": title, "description": i.Help, "datasource": source,
			"gridPos":     map[string]any{"x": n % 2 * panelWidth, "y": n / 2 * panelHeight, "w": panelWidth, "h": panelHeight},
			"fieldConfig": map[string]any{"defaults": map[string]any{"unit": grafanaUnit(&i), "min": 0}, "overrides": []any{}},
			"targets":     []any{map[string]any{"refId": "A", "datasource": source, "expr": query(&i), "legendFormat": legend(&i)}},
		})
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(map[string]any{
		"title": "Onceward", "uid": "onceward", "tags": []string{"onceward"}, "schemaVersion": 39, "editable": true, "refresh": "30s",
		"time":       map[string]any{"from": "now-6h", "to": "now"},
		"templating": map[string]any{"list": []any{map[string]any{"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus"}}},
		"panels":     panels,
	})
	if err != nil {
		panic(err) // it is made of maps, strings and numbers
	}
	return b.Bytes()
}
