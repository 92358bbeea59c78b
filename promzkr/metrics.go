package promzkr

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/internal/metering"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// Metrics measures clients, and is a prometheus.Collector to register. It is safe
// for concurrent use. Make it with New; it needs no end.
type Metrics struct {
	meter *metering.Meter
	told  told
	asked map[*metering.Metric]*prometheus.Desc
}

// Option changes what New makes. Of two that set the same thing, the later one
// counts.
type Option interface{ apply(*settings) }

type settings struct {
	lockLabel func(path string) string
}

type option func(*settings)

func (o option) apply(s *settings) { o(s) }

// WithLockLabel adds the label lock to metrics of waits, holds and leases. of makes
// its value of the path of a lock or election; of a multi-lock it is given all
// paths, with commas between them. It is called often, and must return the same for
// the same path. It ought to have few values: each makes about a hundred time series.
// Values beyond the first hundred are "other". The default, also for nil, is no such
// label.
func WithLockLabel(of func(path string) string) Option {
	return option(func(s *settings) { s.lockLabel = of })
}

// New returns metrics that nothing has been measured for yet. For labels that are
// the same on all of them, register them by prometheus.WrapRegistererWith.
func New(opts ...Option) *Metrics {
	var s settings
	for _, o := range opts {
		o.apply(&s)
	}
	m := &Metrics{
		told:  newTold(s.lockLabel != nil),
		asked: make(map[*metering.Metric]*prometheus.Desc),
	}
	for _, a := range metering.Asked() {
		m.asked[a] = prometheus.NewDesc(a.PrometheusName(), a.Help, a.LabelNames(s.lockLabel != nil), nil)
	}
	m.meter = metering.New(m.told, s.lockLabel)
	return m
}

// Trace returns what to give to recipes.WithTrace, for any number of clients. Use
// recipes.JoinTraces where there is another one.
func (m *Metrics) Trace() recipes.Trace { return m.meter.Trace() }

// Guard returns a guard that does what g does, and whose refusals are counted in
// zkr_stale_writes_refused_total.
func (m *Metrics) Guard(g fence.Guard) fence.Guard { return m.meter.Guard(g) }

// Refused counts err there if it is a fence.ErrStale, and does nothing otherwise:
// for checks that no fence.Guard makes, such as those of sqlfence.Column, of
// statements of one's own, or of a service behind httpfence.
func (m *Metrics) Refused(err error) { m.meter.Refused(err) }

// Describe is prometheus.Collector's.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, c := range m.told.all() {
		c.Describe(ch)
	}
	for _, d := range m.asked {
		ch <- d
	}
}

// Collect is prometheus.Collector's. It asks each lease that is held, which takes about
// a microsecond for each.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	for _, c := range m.told.all() {
		c.Collect(ch)
	}
	m.meter.Collect(func(of *metering.Metric, v float64, labels ...string) {
		t := prometheus.GaugeValue
		if of.Kind == metering.Counter {
			t = prometheus.CounterValue
		}
		ch <- prometheus.MustNewConstMetric(m.asked[of], t, v, labels...)
	})
}
