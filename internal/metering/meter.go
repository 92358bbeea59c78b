package metering

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// Sink is told measurements, with the values of their metric's labels: that of
// LabelLock is among them if Meter.ByLock. It is safe for concurrent use.
type Sink interface {
	Count(m *Metric, n int, labels ...string)
	Observe(m *Metric, v float64, labels ...string)
}

// Meter measures what the clients do that its Trace is given to. It is safe for
// concurrent use.
type Meter struct {
	sink  Sink
	locks locks
	clock recipes.Clock

	mu        sync.Mutex
	groups    map[group]struct{}    // that leases were asked for in
	calls     map[uint64]call       // for leases, under way
	sessions  map[sessionOf]session // that are not over
	suspended time.Duration         // of sessions that went on since, or ended
	longest   time.Duration         // pause
}

// group is what calls and leases are counted by.
type group struct{ kind, lock string }

type call struct {
	group
	since time.Duration
}

// sessionOf tells sessions apart: their ids are unique in one ensemble.
type sessionOf struct {
	client *recipes.Client
	id     int64
}

type session struct {
	suspended bool
	since     time.Duration // the state
}

// New returns a meter that tells sink. lock makes the label of a lock's path; with
// nil there is none.
func New(sink Sink, lock func(path string) string) *Meter {
	m := &Meter{
		sink:     sink,
		locks:    locks{of: lock, seen: make(map[string]struct{})},
		clock:    recipes.MonotonicClock(),
		groups:   make(map[group]struct{}),
		calls:    make(map[uint64]call),
		sessions: make(map[sessionOf]session),
	}
	// What has not happened yet is told as 0, so that its first time shows as a
	// growth.
	for _, how := range []string{"lost", "closed"} {
		sink.Count(SessionEnded, 0, how)
	}
	for _, reason := range staleReasons {
		sink.Count(StaleRefused, 0, reason)
	}
	for _, outcome := range []string{"ok", "failed"} {
		sink.Count(Cleanups, 0, outcome)
	}
	sink.Count(Strangers, 0)
	if lock == nil {
		sink.Count(Overruns, 0)
	}
	return m
}

// ByLock reports whether there is a LabelLock.
func (m *Meter) ByLock() bool { return m.locks.of != nil }

// Trace returns what to give to clients, to any number of them.
func (m *Meter) Trace() recipes.Trace {
	return recipes.Trace{
		AcquireStart: m.acquireStart,
		AcquireDone:  m.acquireDone,
		SessionState: m.sessionState,
		Renewed: func(e recipes.RenewalEvent) {
			m.sink.Observe(RenewalDuration, e.Took.Seconds(), succeeded(e.Err))
		},
		Granted:  func(e recipes.LeaseEvent) { m.group(e.Lease.Kind(), e.Path) },
		Lost:     m.lost,
		Released: m.released,
		CleanedUp: func(e recipes.CleanupEvent) {
			m.sink.Count(Cleanups, 1, succeeded(e.Err))
		},
		Overrun:    func(e recipes.OverrunEvent) { m.sink.Count(Overruns, 1, m.with(m.locks.label(e.Path))...) },
		Stranger:   func(recipes.StrangerEvent) { m.sink.Count(Strangers, 1) },
		TimerFired: m.timerFired,
	}
}

// Guard returns a guard that does what g does, and whose refusals are counted.
func (m *Meter) Guard(g fence.Guard) fence.Guard {
	return fence.OnStale(g, func(_ context.Context, e *fence.StaleError) { m.Refused(e) })
}

// Refused counts an error if it is a fence.ErrStale.
func (m *Meter) Refused(err error) {
	var stale *fence.StaleError
	switch {
	case errors.As(err, &stale):
		m.sink.Count(StaleRefused, 1, staleReason(stale))
	case errors.Is(err, fence.ErrStale):
		m.sink.Count(StaleRefused, 1, "superseded")
	}
}

// with returns the values of labels, the lock's where there is such a label.
func (m *Meter) with(lock string, labels ...string) []string {
	if m.ByLock() {
		return append(labels, lock)
	}
	return labels
}

// group returns the group of a lease, and begins to count in it.
func (m *Meter) group(kind recipes.Kind, path string) group {
	g := group{KindWord(kind), m.locks.label(path)}
	m.mu.Lock()
	_, known := m.groups[g]
	m.groups[g] = struct{}{}
	m.mu.Unlock()
	if known {
		return g
	}
	for _, cause := range causes() {
		m.sink.Count(LeaseLost, 0, m.with(g.lock, g.kind, cause)...)
	}
	if m.ByLock() && g.kind == string(recipes.KindCandidate) {
		m.sink.Count(Overruns, 0, g.lock)
	}
	return g
}

func (m *Meter) acquireStart(_ context.Context, e recipes.AcquireEvent) {
	c := call{m.group(e.Kind, e.Path), m.clock()}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls[e.Call] = c
}

func (m *Meter) acquireDone(_ context.Context, e recipes.AcquireEvent) {
	m.mu.Lock()
	g := m.calls[e.Call].group
	delete(m.calls, e.Call)
	m.mu.Unlock()
	m.sink.Observe(WaitDuration, e.Took.Seconds(), m.with(g.lock, g.kind, WaitOutcome(e.Err))...)
}

func (m *Meter) released(e recipes.LeaseEvent) {
	g := m.group(e.Lease.Kind(), e.Path)
	m.sink.Observe(HoldDuration, e.Held.Seconds(), m.with(g.lock, g.kind, "released")...)
}

func (m *Meter) lost(e recipes.LeaseEvent) {
	g := m.group(e.Lease.Kind(), e.Path)
	m.sink.Observe(HoldDuration, e.Held.Seconds(), m.with(g.lock, g.kind, "lost")...)
	var lost *recipes.LostError
	if errors.As(e.Err, &lost) {
		m.sink.Count(LeaseLost, 1, m.with(g.lock, g.kind, string(lost.Loss()))...)
	}
}

func (m *Meter) timerFired(e recipes.TimerEvent) {
	m.sink.Observe(TimerLateness, e.Late.Seconds())
	m.mu.Lock()
	defer m.mu.Unlock()
	m.longest = max(m.longest, e.Late)
}
