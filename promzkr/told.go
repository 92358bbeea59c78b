package promzkr

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/zkrecipes/zkrecipes/internal/metering"
)

// told is the metering.Sink of a Metrics.
type told struct {
	counters   map[*metering.Metric]*prometheus.CounterVec
	histograms map[*metering.Metric]*prometheus.HistogramVec
}

func newTold(byLock bool) told {
	t := told{
		counters:   make(map[*metering.Metric]*prometheus.CounterVec),
		histograms: make(map[*metering.Metric]*prometheus.HistogramVec),
	}
	for _, m := range metering.Told() {
		switch m.Kind {
		case metering.Histogram:
			t.histograms[m] = prometheus.NewHistogramVec(prometheus.HistogramOpts{
				Name: m.PrometheusName(), Help: m.Help, Buckets: m.Buckets,
			}, m.LabelNames(byLock))
		default:
			t.counters[m] = prometheus.NewCounterVec(prometheus.CounterOpts{
				Name: m.PrometheusName(), Help: m.Help,
			}, m.LabelNames(byLock))
		}
	}
	return t
}

// Count is metering.Sink's.
func (t told) Count(m *metering.Metric, n int, labels ...string) {
	t.counters[m].WithLabelValues(labels...).Add(float64(n))
}

// Observe is metering.Sink's.
func (t told) Observe(m *metering.Metric, v float64, labels ...string) {
	t.histograms[m].WithLabelValues(labels...).Observe(v)
}

func (t told) all() []prometheus.Collector {
	var all []prometheus.Collector
	for _, c := range t.counters {
		all = append(all, c)
	}
	for _, h := range t.histograms {
		all = append(all, h)
	}
	return all
}
