package metering

import "strings"

// Kind is what becomes of a metric's values.
type Kind int

// Kinds of metrics.
const (
	Counter   Kind = iota // a sum that only grows
	UpDown                // a sum that grows and shrinks
	Gauge                 // what is now
	Histogram             // how values are spread
)

// Metric is one metric. Its name is OpenTelemetry's; PrometheusName makes the other
// one of it.
type Metric struct {
	Name    string
	Kind    Kind
	Unit    string // of UCUM: "s", or what is counted, in braces
	Help    string
	Labels  []string // in the order of their values, without LabelLock
	ByLock  bool     // has LabelLock, behind the others, where that is wanted
	Buckets []float64
}

// LabelLock is the label with what the user makes of a lock's path.
const LabelLock = "lock"

// LabelNames returns the names of the labels in the order of their values.
func (m *Metric) LabelNames(byLock bool) []string {
	if !byLock || !m.ByLock {
		return m.Labels
	}
	return append(append([]string(nil), m.Labels...), LabelLock)
}

// PrometheusName returns the name by Prometheus's rules, which is also what
// OpenTelemetry's exporters to Prometheus make of it: underscores, the unit in
// full, and _total behind what only grows.
func (m *Metric) PrometheusName() string {
	name := strings.ReplaceAll(m.Name, ".", "_")
	if m.Unit == "s" {
		name += "_seconds"
	}
	if m.Kind == Counter {
		name += "_total"
	}
	return name
}

// The metrics that are told as things happen.
var (
	WaitDuration = &Metric{
		Name: "zkr.wait.duration", Kind: Histogram, Unit: "s",
		Help:   "How long calls took until they had a lease, or had none, by what came of them.",
		Labels: []string{"kind", "outcome"}, ByLock: true,
		Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 3600},
	}
	HoldDuration = &Metric{
		Name: "zkr.hold.duration", Kind: Histogram, Unit: "s",
		Help:   "How long leases were held that have ended, by how they did.",
		Labels: []string{"kind", "outcome"}, ByLock: true,
		Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5, 10, 60, 300, 1800, 3600, 21600, 86400},
	}
	LeaseLost = &Metric{
		Name: "zkr.lease.lost", Kind: Counter, Unit: "{lease}",
		Help:   "Leases that ended without having been released.",
		Labels: []string{"kind", "cause"}, ByLock: true,
	}
	RenewalDuration = &Metric{
		Name: "zkr.renewal.duration", Kind: Histogram, Unit: "s",
		Help:    "How long renewals of leases took: one committed write each.",
		Labels:  []string{"outcome"},
		Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
	}
	TimerLateness = &Metric{
		Name: "zkr.timer.lateness", Kind: Histogram, Unit: "s",
		Help:    "How late the timer of leases was: for so long the process was paused, or got no processor.",
		Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, .75, 1, 1.5, 2, 3, 4, 6, 8, 12, 16, 30, 60},
	}
	SessionEnded = &Metric{
		Name: "zkr.session.ended", Kind: Counter, Unit: "{session}",
		Help:   "Sessions that are over: lost, or closed by their client.",
		Labels: []string{"outcome"},
	}
	StaleRefused = &Metric{
		Name: "zkr.stale_writes.refused", Kind: Counter, Unit: "{write}",
		Help:   "Writes that a guard refused as stale, by why.",
		Labels: []string{"reason"},
	}
	Cleanups = &Metric{
		Name: "zkr.cleanups", Kind: Counter, Unit: "{znode}",
		Help:   "Znodes that were deleted in the background, those of released leases included, or given up on.",
		Labels: []string{"outcome"},
	}
	Overruns = &Metric{
		Name: "zkr.overruns", Kind: Counter, Unit: "{term}",
		Help:   "Functions of leaders that went on after their context had ended.",
		ByLock: true,
	}
	Strangers = &Metric{
		Name: "zkr.strangers", Kind: Counter, Unit: "{znode}",
		Help: "Znodes seen that are no contenders and make Curator peers wait for ever.",
	}
)

// The metrics that are asked for.
var (
	WaitActive = &Metric{
		Name: "zkr.wait.active", Kind: UpDown, Unit: "{call}",
		Help:   "Calls that wait for a lease.",
		Labels: []string{"kind"}, ByLock: true,
	}
	WaitLongest = &Metric{
		Name: "zkr.wait.longest", Kind: Gauge, Unit: "s",
		Help:   "For how long the call has waited that has waited longest.",
		Labels: []string{"kind"}, ByLock: true,
	}
	LeaseHeld = &Metric{
		Name: "zkr.lease.held", Kind: UpDown, Unit: "{lease}",
		Help:   "Leases that are held.",
		Labels: []string{"kind"}, ByLock: true,
	}
	LeaseRemaining = &Metric{
		Name: "zkr.lease.remaining", Kind: Gauge, Unit: "s",
		Help:   "How long the lease holds, of those held, that ends first if nothing extends it.",
		ByLock: true,
	}
	SessionOpen = &Metric{
		Name: "zkr.session.open", Kind: UpDown, Unit: "{session}",
		Help:   "Sessions, by their state.",
		Labels: []string{"state"},
	}
	SessionTimeout = &Metric{
		Name: "zkr.session.timeout", Kind: Gauge, Unit: "s",
		Help: "The session timeout that the servers granted, the smallest where they differ.",
	}
	SessionSuspended = &Metric{
		Name: "zkr.session.suspended", Kind: Counter, Unit: "s",
		Help: "How long sessions were in doubt, for want of a connection.",
	}
	PauseLongest = &Metric{
		Name: "zkr.pause.longest", Kind: Gauge, Unit: "s",
		Help: "The longest pause of the process since it began, by the timer of leases: what to choose the session timeout by.",
	}
)

// Told returns the metrics that a Sink is told of.
func Told() []*Metric {
	return []*Metric{
		WaitDuration, HoldDuration, LeaseLost, RenewalDuration, TimerLateness,
		SessionEnded, StaleRefused, Cleanups, Overruns, Strangers,
	}
}

// Asked returns the metrics that Meter.Collect tells.
func Asked() []*Metric {
	return []*Metric{
		WaitActive, WaitLongest, LeaseHeld, LeaseRemaining,
		SessionOpen, SessionTimeout, SessionSuspended, PauseLongest,
	}
}
