package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/telemetry"
	"github.com/onceward/onceward/internal/testneed"
)

const deploy = "../../../deploy"

// promtool runs Prometheus' own tool in a folder.
func promtool(t *testing.T, dir string, args ...string) {
	t.Helper()
	bin, err := exec.LookPath("promtool")
	if err != nil {
		testneed.Missing(t, "promtool is not installed: apt-get install prometheus")
	}
	cmd := exec.CommandContext(t.Context(), bin, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func TestEachAlertFiresWhenItShouldAndNotWhenItShouldNot(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(deploy, "prometheus")
	promtool(t, dir, "check", "rules", "alerts.yml")
	promtool(t, dir, "test", "rules", "alerts_test.yml")
}

var (
	selector = regexp.MustCompile(`(onceward_[a-z_]+)(\{[^}]*\})?`)
	matcher  = regexp.MustCompile(`([a-z_]+)(?:=~|!~|!=|=)"`)
)

// A rule about a metric or a label that nobody exports never fires.
func TestAlertsAskForMetricsAndLabelsThatThereAre(t *testing.T) {
	t.Parallel()
	labels := map[string][]string{}
	for _, m := range onceward.AllMetrics() {
		labels[m.Info().Name] = m.Info().Labels
	}
	for _, a := range alerts {
		texts := []string{a.expr}
		for _, s := range slices.Concat(a.fires, a.quiet) {
			texts = append(texts, s.name)
		}
		for _, text := range texts {
			for _, found := range selector.FindAllStringSubmatch(text, -1) {
				known, there := labels[found[1]]
				if !there {
					t.Errorf("%s asks for %s, which is no metric", a.name, found[1])
				}
				for _, l := range matcher.FindAllStringSubmatch(found[2], -1) {
					if l[1] != "instance" && !slices.Contains(known, l[1]) {
						t.Errorf("%s asks for the label %s of %s", a.name, l[1], found[1])
					}
				}
			}
		}
	}
}

func TestEachAlertHasARunbookAndNoRunbookIsLeftOver(t *testing.T) {
	t.Parallel()
	pages := []string{"README.md"}
	for _, a := range alerts {
		text, err := os.ReadFile(filepath.Join("../../..", a.runbook()))
		if err != nil || !strings.HasPrefix(string(text), "# "+a.name+"\n") || !strings.Contains(string(text), "\n## Do\n") {
			t.Errorf("%s has no whole page %s (%v)", a.name, a.runbook(), err)
		}
		pages = append(pages, a.page+".md")
	}
	files, err := os.ReadDir("../../../docs/operating/runbooks")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !slices.Contains(pages, f.Name()) {
			t.Errorf("%s is no alert's page", f.Name())
		}
	}
}

// Every panel's query is evaluated by Prometheus over what our own exporter says,
// growing as in a server that works.
func TestEachPanelShowsSomethingOfARealScrape(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var rules, tests strings.Builder
	rules.WriteString("groups:\n  - name: panels\n    rules:\n")
	tests.WriteString("rule_files: [rules.yml]\nevaluation_interval: 1m\ntests:\n  - interval: 1m\n    input_series:\n")
	for _, line := range strings.Split(exposition(t), "\n") {
		if name, value, found := strings.Cut(line, " "); found && strings.HasPrefix(line, "onceward_") {
			fmt.Fprintf(&tests, "      - {series: '%s', values: '%s+%sx20'}\n", name, value, value)
		}
	}
	tests.WriteString("    promql_expr_test:\n")
	for n, m := range onceward.AllMetrics() {
		i := m.Info()
		fmt.Fprintf(&rules, "      - {record: 'panel:%d', expr: '%s'}\n", n, query(&i))
		fmt.Fprintf(&tests, "      - {expr: 'count(panel:%d >= 0) > bool 0', eval_time: 15m, exp_samples: [{labels: '{}', value: 1}]}\n", n)
	}
	for name, text := range map[string]string{"rules.yml": rules.String(), "tests.yml": tests.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	promtool(t, dir, "test", "rules", "tests.yml")
}

// exposition is a scrape in which every metric has a series.
func exposition(t *testing.T) string {
	t.Helper()
	r := telemetry.NewRegistry("test")
	l := onceward.Labels{"a", "b", "c"}
	for _, m := range onceward.AllMetrics() {
		switch m.Info().Kind {
		case onceward.Counter:
			r.Add(m, 2, l)
		case onceward.Histogram:
			r.Record(m, 0.3, l)
		case onceward.Gauge:
			r.Set(m, []onceward.Sample{{Labels: l, Value: 4}})
		}
	}
	w := httptest.NewRecorder()
	r.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	return w.Body.String()
}
