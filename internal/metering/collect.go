package metering

import (
	"time"

	"github.com/zkrecipes/zkrecipes/recipes"
)

// Put is told what a metric's value is now.
type Put func(m *Metric, v float64, labels ...string)

// Collect tells the metrics that are Asked.
func (m *Meter) Collect(put Put) {
	m.collectLeases(put)
	m.collectCalls(put)
	m.collectSessions(put)
}

// collectLeases asks the leases themselves: those that are late are lost by that.
// No lock is held, since that may be told to the Trace.
func (m *Meter) collectLeases(put Put) {
	held := make(map[group]int)
	remaining := make(map[string]time.Duration) // by lock
	var timeout time.Duration
	for c := range m.clients() {
		for _, s := range c.Sessions() {
			if t := s.Timeout(); timeout == 0 || t < timeout {
				timeout = t
			}
			m.collectHeld(s, held, remaining)
		}
	}
	m.mu.Lock()
	for g := range m.groups {
		held[g] += 0 // those of which none is held
	}
	m.mu.Unlock()
	for g, n := range held {
		put(LeaseHeld, float64(n), m.with(g.lock, g.kind)...)
	}
	for lock, left := range remaining {
		put(LeaseRemaining, left.Seconds(), m.with(lock)...)
	}
	if timeout > 0 {
		put(SessionTimeout, timeout.Seconds())
	}
}

func (m *Meter) collectHeld(s *recipes.Session, held map[group]int, remaining map[string]time.Duration) {
	for _, l := range s.Leases() {
		left := l.Remaining()
		if left == 0 {
			continue
		}
		lock := m.locks.label(l.Path())
		held[group{KindWord(l.Kind()), lock}]++
		if least, ok := remaining[lock]; !ok || left < least {
			remaining[lock] = left
		}
	}
}

func (m *Meter) collectCalls(put Put) {
	now := m.clock()
	m.mu.Lock()
	waiting := make(map[group]int)
	longest := make(map[group]time.Duration)
	for g := range m.groups {
		waiting[g] = 0
	}
	for _, c := range m.calls {
		waiting[c.group]++
		longest[c.group] = max(longest[c.group], now-c.since)
	}
	m.mu.Unlock()
	for g, n := range waiting {
		put(WaitActive, float64(n), m.with(g.lock, g.kind)...)
		put(WaitLongest, longest[g].Seconds(), m.with(g.lock, g.kind)...)
	}
}

func (m *Meter) collectSessions(put Put) {
	now := m.clock()
	m.mu.Lock()
	in := map[bool]int{}
	for _, s := range m.sessions {
		in[s.suspended]++
	}
	suspended, longest := m.suspendedFor(now), m.longest
	m.mu.Unlock()
	put(SessionOpen, float64(in[false]), recipes.Connected.String())
	put(SessionOpen, float64(in[true]), recipes.Suspended.String())
	put(SessionSuspended, suspended.Seconds())
	put(PauseLongest, longest.Seconds())
}
