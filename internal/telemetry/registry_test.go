package telemetry

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/onceward/onceward"
)

func scrape(t *testing.T, r *Registry) string {
	t.Helper()
	w := httptest.NewRecorder()
	r.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("the scrape is answered %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

// touched is a registry in which every metric of the table has a series.
func touched() *Registry {
	r := NewRegistry("test")
	l := onceward.Labels{"a", "b", "c"}
	for _, m := range onceward.AllMetrics() {
		switch m.Info().Kind {
		case onceward.Counter:
			r.Add(m, 2, l)
		case onceward.Histogram:
			r.Record(m, 3, l)
		case onceward.Gauge:
			r.Set(m, []onceward.Sample{{Labels: l, Value: 4}})
		}
	}
	return r
}

func TestEveryMetricOfTheTableIsScraped(t *testing.T) {
	t.Parallel()
	text := scrape(t, touched())
	for _, m := range onceward.AllMetrics() {
		i := m.Info()
		if !strings.Contains(text, "# TYPE "+i.Name+" "+i.Kind.String()+"\n") {
			t.Errorf("%s is not scraped as a %s", i.Name, i.Kind)
		}
	}
}

// What Prometheus expects of names: promtool check metrics says the same.
func TestNamesFollowTheConventions(t *testing.T) {
	t.Parallel()
	name := regexp.MustCompile(`^onceward_[a-z]+(_[a-z]+)*$`)
	seen := map[string]bool{}
	for _, m := range onceward.AllMetrics() {
		i := m.Info()
		switch {
		case !name.MatchString(i.Name) || seen[i.Name]:
			t.Errorf("%q is no name, or stands twice", i.Name)
		case (i.Kind == onceward.Counter) != strings.HasSuffix(i.Name, "_total"):
			t.Errorf("%s is a %s", i.Name, i.Kind)
		case i.Kind == onceward.Histogram && len(i.Buckets) == 0:
			t.Errorf("%s has no bounds", i.Name)
		case len(i.Labels) > onceward.LabelsMax || i.Help == "" || i.Unit == "":
			t.Errorf("%s: the row is not whole", i.Name)
		}
		seen[i.Name] = true
		for _, label := range i.Labels {
			switch label {
			case "tool", "decision", "code", "state", "kind", "outcome", "result", "reason", "answer", "call", "loop", "source", "age", "version", "sink":
			default:
				t.Errorf("%s has the label %s: is the number of its values bounded?", i.Name, label)
			}
		}
	}
}

func TestGaugeShowsOnlyWhatWasSetLast(t *testing.T) {
	t.Parallel()
	r := NewRegistry("test")
	r.OnScrape(func(m onceward.Meter) {
		m.Set(onceward.MetricStuck, []onceward.Sample{{Labels: onceward.Labels{"a", "due"}, Value: 1}, {Labels: onceward.Labels{"a", "due"}, Value: 2}})
	})
	r.Set(onceward.MetricStuck, []onceward.Sample{{Labels: onceward.Labels{"vanished", "due"}, Value: 1}})
	text := scrape(t, r)
	if !strings.Contains(text, `onceward_stuck_operations{source="due",tool="a"} 3`) || strings.Contains(text, "vanished") {
		t.Errorf("the scrape is\n%s", text)
	}
}

func TestScrapesAndMeasuringGoTogether(t *testing.T) {
	t.Parallel()
	r := NewRegistry("test")
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 200 {
				r.Add(onceward.MetricRequests, 1, onceward.Labels{"a", "fresh"})
				r.Set(onceward.MetricQueue, []onceward.Sample{{Value: 1}})
			}
		})
	}
	for range 10 {
		scrape(t, r)
	}
	all.Wait()
	if text := scrape(t, r); !strings.Contains(text, `onceward_requests_total{code="",decision="fresh",tool="a"} 800`) {
		t.Error("counts were lost")
	}
}
