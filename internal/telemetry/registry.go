package telemetry

import (
	"net/http"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/onceward/onceward"
)

// scrapesMax is how many scrapes are answered at once; more are refused (503).
const scrapesMax = 4

// Registry is an [onceward.Meter] that is read as Prometheus text. Make one with
// NewRegistry.
type Registry struct {
	registry *prometheus.Registry
	counters map[onceward.Metric]*prometheus.CounterVec
	times    map[onceward.Metric]*prometheus.HistogramVec
	gauges   *gauges
}

var _ onceward.Meter = (*Registry)(nil)

// NewRegistry returns a meter with every metric of the table, and those of the
// process and of Go's runtime.
func NewRegistry(version string) *Registry {
	r := &Registry{registry: prometheus.NewRegistry(), counters: map[onceward.Metric]*prometheus.CounterVec{}, times: map[onceward.Metric]*prometheus.HistogramVec{},
		gauges: &gauges{series: map[onceward.Metric][]onceward.Sample{}, descs: map[onceward.Metric]*prometheus.Desc{}}}
	for _, m := range onceward.AllMetrics() {
		i := m.Info()
		switch i.Kind {
		case onceward.Counter:
			r.counters[m] = prometheus.NewCounterVec(prometheus.CounterOpts{Name: i.Name, Help: i.Help}, i.Labels)
			r.registry.MustRegister(r.counters[m])
			if len(i.Labels) == 0 {
				r.counters[m].WithLabelValues()
			}
		case onceward.Histogram:
			r.times[m] = prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: i.Name, Help: i.Help, Buckets: i.Buckets}, i.Labels)
			r.registry.MustRegister(r.times[m])
		case onceward.Gauge:
			r.gauges.descs[m] = prometheus.NewDesc(i.Name, i.Help, i.Labels, nil)
		}
	}
	r.registry.MustRegister(r.gauges, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	r.Set(onceward.MetricBuild, []onceward.Sample{{Labels: onceward.Labels{version}, Value: 1}})
	return r
}

// Add implements onceward.Meter.
func (r *Registry) Add(m onceward.Metric, n float64, l onceward.Labels) {
	if v := r.counters[m]; v != nil {
		v.WithLabelValues(l[:labels[m]]...).Add(n)
	}
}

// Record implements onceward.Meter.
func (r *Registry) Record(m onceward.Metric, value float64, l onceward.Labels) {
	if v := r.times[m]; v != nil {
		v.WithLabelValues(l[:labels[m]]...).Observe(value)
	}
}

// Set implements onceward.Meter.
func (r *Registry) Set(m onceward.Metric, samples []onceward.Sample) { r.gauges.set(m, samples) }

// OnScrape has f set gauges anew at each scrape. It must not wait for anybody.
func (r *Registry) OnScrape(f func(onceward.Meter)) {
	r.gauges.mu.Lock()
	defer r.gauges.mu.Unlock()
	r.gauges.hooks = append(r.gauges.hooks, func() { f(r) })
}

// Handler answers scrapes.
func (r *Registry) Handler() http.Handler {
	return promhttp.HandlerFor(r.registry, promhttp.HandlerOpts{MaxRequestsInFlight: scrapesMax})
}

// labels is how many labels each metric has.
var labels = func() []int {
	all := onceward.AllMetrics()
	n := make([]int, len(all))
	for i, m := range all {
		n[i] = len(m.Info().Labels)
	}
	return n
}()

// gauges collects what was set last, after the hooks have set it.
type gauges struct {
	mu     sync.Mutex
	hooks  []func()
	series map[onceward.Metric][]onceward.Sample
	descs  map[onceward.Metric]*prometheus.Desc
}

func (g *gauges) set(m onceward.Metric, samples []onceward.Sample) {
	merged := make([]onceward.Sample, 0, len(samples))
	at := make(map[onceward.Labels]int, len(samples))
	for _, s := range samples {
		if i, there := at[s.Labels]; there { // two series of one name are none to Prometheus
			merged[i].Value += s.Value
			continue
		}
		at[s.Labels] = len(merged)
		merged = append(merged, s)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.series[m] = merged
}

// Describe implements prometheus.Collector.
func (g *gauges) Describe(out chan<- *prometheus.Desc) {
	for _, d := range g.descs {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (g *gauges) Collect(out chan<- prometheus.Metric) {
	g.mu.Lock()
	hooks := g.hooks
	g.mu.Unlock()
	for _, hook := range hooks {
		hook()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for m, samples := range g.series {
		for i := range samples {
			out <- prometheus.MustNewConstMetric(g.descs[m], prometheus.GaugeValue, samples[i].Value, samples[i].Labels[:labels[m]]...)
		}
	}
}
