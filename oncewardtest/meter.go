package oncewardtest

import (
	"sync"

	"github.com/onceward/onceward"
)

// Meter remembers what the engine measured. The zero value is ready; it is safe
// for concurrent use.
type Meter struct {
	mu     sync.Mutex
	counts map[onceward.Metric]map[onceward.Labels]float64
}

var _ onceward.Meter = (*Meter)(nil)

func (m *Meter) series(k onceward.Metric) map[onceward.Labels]float64 {
	if m.counts == nil {
		m.counts = map[onceward.Metric]map[onceward.Labels]float64{}
	}
	if m.counts[k] == nil {
		m.counts[k] = map[onceward.Labels]float64{}
	}
	return m.counts[k]
}

// Add implements onceward.Meter.
func (m *Meter) Add(k onceward.Metric, n float64, l onceward.Labels) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.series(k)[l] += n
}

// Record implements onceward.Meter: it counts the values.
func (m *Meter) Record(k onceward.Metric, _ float64, l onceward.Labels) { m.Add(k, 1, l) }

// Set implements onceward.Meter.
func (m *Meter) Set(k onceward.Metric, samples []onceward.Sample) {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.series(k))
	for _, s := range samples {
		m.series(k)[s.Labels] += s.Value
	}
}

// Value is a counter's or gauge's value, or how many values a histogram took.
func (m *Meter) Value(k onceward.Metric, labels ...string) float64 {
	var l onceward.Labels
	copy(l[:], labels)
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.series(k)[l]
}
