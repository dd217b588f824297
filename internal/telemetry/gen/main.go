// Command gen writes what is made from the tables of metrics and of alerts: the
// reference page, alert rules with their unit tests, the dashboard.
// It runs in the folder internal/telemetry, by go generate; a test compares the
// files with what it would write.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// generated are the files, by their path from internal/telemetry.
func generated() map[string][]byte {
	return map[string][]byte{
		"../../docs/reference/metrics.md":         metricsPage(),
		"../../deploy/prometheus/alerts.yml":      alertRules(),
		"../../deploy/prometheus/alerts_test.yml": alertTests(),
		"../../deploy/grafana/onceward.json":      dashboard(),
		"../../docs/operating/runbooks/README.md": runbookIndex(),
	}
}

func main() {
	for path, content := range generated() {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			fmt.Fprintf(os.Stderr, "gen: %v\n", err)
			os.Exit(1)
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			fmt.Fprintf(os.Stderr, "gen: %v\n", err)
			os.Exit(1)
		}
	}
}
