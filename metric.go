package onceward

import "slices"

// Metric is one thing that the engine counts or measures. AllMetrics lists them.
type Metric uint8

// The metrics. metrics.go says what each is, in which unit and by which labels.
const (
	MetricRequests Metric = iota
	MetricOperations
	MetricRepeated
	MetricAttemptsStarted
	MetricAttempts
	MetricDispatch
	MetricSettle
	MetricUnknownTime
	MetricProbes
	MetricWarnings
	MetricAlarms
	MetricUnsafeRetries
	MetricMonitor
	MetricBatch
	MetricStore
	MetricLoopSteps
	MetricQueue
	MetricRunning
	MetricStuck
	MetricWaiting
	MetricWaitingAge
	MetricOverdue
	MetricStopped
	MetricLedgerUp
	MetricBacklogAge
	MetricSagas
	MetricSagasAge
	MetricOutboxEvents
	MetricOutboxBehind
	MetricOutboxLag
	MetricOutboxAside
	MetricBuild
	metricsEnd
)

// MetricKind is how a metric's values are read.
type MetricKind uint8

// The kinds of metrics.
const (
	Counter   MetricKind = iota + 1 // only grows
	Gauge                           // goes up and down
	Histogram                       // counts of values up to given bounds
)

// String is the kind's name in Prometheus.
func (k MetricKind) String() string {
	switch k {
	case Counter:
		return "counter"
	case Gauge:
		return "gauge"
	case Histogram:
		return "histogram"
	}
	return "unknown"
}

// MetricInfo describes a metric.
type MetricInfo struct {
	Name    string // with its unit, as Prometheus wants it
	Kind    MetricKind
	Unit    string   // of one value: seconds, changes, operations
	Labels  []string // each has few values; none is a key, a tenant, a reference or a person
	Help    string   // one sentence
	Buckets []float64
}

// AllMetrics lists every metric in the order of the table.
func AllMetrics() []Metric {
	all := make([]Metric, metricsEnd)
	for i := range all {
		all[i] = Metric(i)
	}
	return all
}

// Info returns what the table says of the metric.
func (m Metric) Info() MetricInfo {
	i := metrics[m]
	i.Labels, i.Buckets = slices.Clone(i.Labels), slices.Clone(i.Buckets)
	return i
}

// LabelsMax is how many labels a metric has at most.
const LabelsMax = 3

// Labels are the values of a metric's labels, in the order of its table row;
// what is left over is empty.
type Labels [LabelsMax]string

// Sample is one series of a gauge.
type Sample struct {
	Labels Labels
	Value  float64
}

// Meter is told what the engine counts and measures. It is called on the path of
// every operation, by many goroutines at once: it must neither block nor fail.
type Meter interface {
	// Add counts n more. The metric is a counter.
	Add(m Metric, n float64, l Labels)
	// Record takes one value. The metric is a histogram.
	Record(m Metric, value float64, l Labels)
	// Set replaces every series of a gauge: one that is not among the samples is
	// gone.
	Set(m Metric, samples []Sample)
}

// NoMeter is a Meter that nobody reads.
type NoMeter struct{}

// Add implements Meter.
func (NoMeter) Add(Metric, float64, Labels) {}

// Record implements Meter.
func (NoMeter) Record(Metric, float64, Labels) {}

// Set implements Meter.
func (NoMeter) Set(Metric, []Sample) {}
