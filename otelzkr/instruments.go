package otelzkr

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/zkrecipes/zkrecipes/internal/metering"
)

// prefix is that of the names of attributes.
const prefix = "zkr."

// attributes are those of a measurement, given the names of its labels.
func attributes(names, values []string) metric.MeasurementOption {
	kvs := make([]attribute.KeyValue, len(values))
	for i, v := range values {
		kvs[i] = attribute.String(prefix+names[i], v)
	}
	return metric.WithAttributeSet(attribute.NewSet(kvs...))
}

// told is the metering.Sink of a Telemetry.
type told struct {
	byLock     bool
	counters   map[*metering.Metric]metric.Int64Counter
	histograms map[*metering.Metric]metric.Float64Histogram
}

func newTold(meter metric.Meter, byLock bool) (told, error) {
	t := told{
		byLock:     byLock,
		counters:   make(map[*metering.Metric]metric.Int64Counter),
		histograms: make(map[*metering.Metric]metric.Float64Histogram),
	}
	for _, m := range metering.Told() {
		var err error
		switch m.Kind {
		case metering.Histogram:
			t.histograms[m], err = meter.Float64Histogram(m.Name, metric.WithUnit(m.Unit),
				metric.WithDescription(m.Help), metric.WithExplicitBucketBoundaries(m.Buckets...))
		default:
			t.counters[m], err = meter.Int64Counter(m.Name, metric.WithUnit(m.Unit), metric.WithDescription(m.Help))
		}
		if err != nil {
			return told{}, err
		}
	}
	return t, nil
}

// Count is metering.Sink's.
func (t told) Count(m *metering.Metric, n int, labels ...string) {
	t.counters[m].Add(context.Background(), int64(n), attributes(m.LabelNames(t.byLock), labels))
}

// Observe is metering.Sink's.
func (t told) Observe(m *metering.Metric, v float64, labels ...string) {
	t.histograms[m].Record(context.Background(), v, attributes(m.LabelNames(t.byLock), labels))
}

// asked tells an observer the value of a metric.
type asked map[*metering.Metric]func(o metric.Observer, v float64, labels []string)

func newAsked(meter metric.Meter, byLock bool) (asked, []metric.Observable, error) {
	by := make(asked)
	var all []metric.Observable
	for _, m := range metering.Asked() {
		names := m.LabelNames(byLock)
		unit, help := metric.WithUnit(m.Unit), metric.WithDescription(m.Help)
		if m.Kind == metering.UpDown {
			i, err := meter.Int64ObservableUpDownCounter(m.Name, unit, help)
			if err != nil {
				return nil, nil, err
			}
			by[m] = func(o metric.Observer, v float64, labels []string) {
				o.ObserveInt64(i, int64(v), attributes(names, labels))
			}
			all = append(all, i)
			continue
		}
		i, err := seconds(meter, m)
		if err != nil {
			return nil, nil, err
		}
		by[m] = func(o metric.Observer, v float64, labels []string) {
			o.ObserveFloat64(i, v, attributes(names, labels))
		}
		all = append(all, i)
	}
	return by, all, nil
}

func seconds(meter metric.Meter, m *metering.Metric) (metric.Float64Observable, error) {
	unit, help := metric.WithUnit(m.Unit), metric.WithDescription(m.Help)
	if m.Kind == metering.Counter {
		return meter.Float64ObservableCounter(m.Name, unit, help)
	}
	return meter.Float64ObservableGauge(m.Name, unit, help)
}
