package zktest

import (
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/jute"
)

// An EventMatch says which watch events an event hook is for. Zero fields
// match everything.
type EventMatch struct {
	Type    EventType
	Path    string // a pattern as of path.Match
	Session int64  // whose event it is
	Skip    int    // so many matching events pass first
	_       struct{}
}

func (m EventMatch) String() string {
	return fmt.Sprintf("{%v %s session %#x after %d}", m.Type, m.Path, m.Session, m.Skip)
}

// An EventHook keeps or delays one watch event. Like a Hook it has its turn in
// the order in which it became active, and fails the test if it is never hit,
// unless it is Optional.
type EventHook struct {
	srv   *Server
	match EventMatch

	// Guarded by the lock of the Server.
	active   bool
	optional bool
	suppress bool
	delay    time.Duration
	skipped  int
	hits     int
}

// OnEvent prepares a hook for a watch event. Nothing happens until Suppress or
// Delay is called.
func (s *Server) OnEvent(m EventMatch) *EventHook {
	pathMatches(m.Path, "/")
	s.mu.Lock()
	defer s.mu.Unlock()
	h := &EventHook{srv: s, match: m}
	s.hooks.events = append(s.hooks.events, h)
	return h
}

// Optional lets the test pass though the hook was never hit.
func (h *EventHook) Optional() *EventHook {
	h.srv.mu.Lock()
	defer h.srv.mu.Unlock()
	h.optional = true
	return h
}

// Suppress loses the event. The watch is spent all the same.
func (h *EventHook) Suppress() *EventHook { return h.activate(true, 0) }

// Delay sends the event so much later. Replies and other events overtake it.
func (h *EventHook) Delay(d time.Duration) *EventHook { return h.activate(false, d) }

func (h *EventHook) activate(suppress bool, d time.Duration) *EventHook {
	h.srv.mu.Lock()
	defer h.srv.mu.Unlock()
	h.active, h.suppress, h.delay = true, suppress, d
	h.srv.hooks.events = toTheEnd(h.srv.hooks.events, h)
	return h
}

func (h *EventHook) note() string {
	switch {
	case h == nil:
		return ""
	case h.suppress:
		return " (suppressed)"
	}
	return fmt.Sprintf(" (delayed by %v)", h.delay)
}

// event finds the hook for an event.
func (hs *hooks) event(typ jute.EventType, path string, session int64) *EventHook {
	for _, h := range hs.events {
		m := h.match
		if !h.active || h.hits > 0 || m.Type != 0 && m.Type != typ ||
			m.Session != 0 && m.Session != session || !pathMatches(m.Path, path) {
			continue
		}
		if h.skipped < m.Skip {
			h.skipped++
			continue
		}
		h.hits++
		return h
	}
	return nil
}
