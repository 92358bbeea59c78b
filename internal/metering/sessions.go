package metering

import (
	"time"

	"github.com/zkrecipes/zkrecipes/recipes"
)

func (m *Meter) sessionState(e recipes.SessionEvent) {
	switch e.State {
	case recipes.Lost:
		m.sink.Count(SessionEnded, 1, "lost")
	case recipes.Closed:
		m.sink.Count(SessionEnded, 1, "closed")
	}
	of := sessionOf{e.Client, e.Session}
	now := m.clock()
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.sessions[of]; s.suspended {
		m.suspended += now - s.since
	}
	if e.State == recipes.Lost || e.State == recipes.Closed {
		delete(m.sessions, of)
		return
	}
	m.sessions[of] = session{e.State == recipes.Suspended, now}
}

// suspendedFor returns for how long sessions were suspended, until now. m.mu is
// held.
func (m *Meter) suspendedFor(now time.Duration) time.Duration {
	total := m.suspended
	for _, s := range m.sessions {
		if s.suspended {
			total += now - s.since
		}
	}
	return total
}

// clients returns those that have sessions.
func (m *Meter) clients() map[*recipes.Client]struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	clients := make(map[*recipes.Client]struct{})
	for s := range m.sessions {
		clients[s.client] = struct{}{}
	}
	return clients
}
