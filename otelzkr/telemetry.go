package otelzkr

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/internal/metering"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// ScopeName is the name of the instrumentation scope of all metrics and spans.
const ScopeName = "github.com/zkrecipes/zkrecipes/otelzkr"

// Telemetry measures clients and makes spans of what they do. It is safe for
// concurrent use. Make it with New.
type Telemetry struct {
	meter   *metering.Meter
	spans   *spans
	reading metric.Registration
}

// Option changes what New makes. Of two that set the same thing, the later one
// counts.
type Option interface{ apply(*settings) }

type settings struct {
	meters  metric.MeterProvider
	tracers trace.TracerProvider
	lock    func(path string) string
}

type option func(*settings)

func (o option) apply(s *settings) { o(s) }

// WithMeterProvider sets where metrics go. The default is otel.GetMeterProvider.
func WithMeterProvider(p metric.MeterProvider) Option {
	return option(func(s *settings) { s.meters = p })
}

// WithTracerProvider sets where spans go. The default is otel.GetTracerProvider.
func WithTracerProvider(p trace.TracerProvider) Option {
	return option(func(s *settings) { s.tracers = p })
}

// WithLockAttribute adds the attribute zkr.lock to metrics of waits, holds and
// leases. of makes its value of the path of a lock or election; of a multi-lock it
// is given all paths, with commas between them. It is called often, and must return
// the same for the same path. It ought to have few values; those beyond the first
// hundred are "other". The default, also for nil, is no such attribute.
func WithLockAttribute(of func(path string) string) Option {
	return option(func(s *settings) { s.lock = of })
}

// New returns telemetry that nothing has been measured for yet. The error is that of
// a provider that cannot make an instrument.
func New(opts ...Option) (*Telemetry, error) {
	s := settings{meters: otel.GetMeterProvider(), tracers: otel.GetTracerProvider()}
	for _, o := range opts {
		o.apply(&s)
	}
	if s.meters == nil || s.tracers == nil {
		return nil, errors.New("otelzkr: nil provider")
	}
	meter := s.meters.Meter(ScopeName)
	told, err := newTold(meter, s.lock != nil)
	if err != nil {
		return nil, err
	}
	t := &Telemetry{
		meter: metering.New(told, s.lock),
		spans: newSpans(s.tracers.Tracer(ScopeName)),
	}
	if t.reading, err = observe(meter, t.meter); err != nil {
		return nil, err
	}
	return t, nil
}

// Trace returns what to give to recipes.WithTrace, for any number of clients. Use
// recipes.JoinTraces where there is another one.
func (t *Telemetry) Trace() recipes.Trace {
	return recipes.JoinTraces(t.meter.Trace(), t.spans.trace())
}

// Guard returns a guard that does what g does, and whose refusals are counted in
// zkr.stale_writes.refused.
func (t *Telemetry) Guard(g fence.Guard) fence.Guard { return t.meter.Guard(g) }

// Refused counts err there if it is a fence.ErrStale, and does nothing otherwise:
// for checks that no fence.Guard makes, such as those of sqlfence.Column, of
// statements of one's own, or of a service behind httpfence.
func (t *Telemetry) Refused(err error) { t.meter.Refused(err) }

// Close ends the reading of what is asked at each collection, such as
// zkr.lease.held. Spans of leases that are still held are never exported.
func (t *Telemetry) Close() error { return t.reading.Unregister() }

// observe has the metrics that are asked for read at each collection.
func observe(meter metric.Meter, m *metering.Meter) (metric.Registration, error) {
	asked, all, err := newAsked(meter, m.ByLock())
	if err != nil {
		return nil, err
	}
	return meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		m.Collect(func(of *metering.Metric, v float64, labels ...string) { asked[of](o, v, labels) })
		return nil
	}, all...)
}
