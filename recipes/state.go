package recipes

import "sync"

// State is the state of a session, a client or a lease.
type State int

// States. A client that lost its session opens another one and goes on; a
// session or a lease that is lost stays lost.
const (
	// Connected: all is well.
	Connected State = iota
	// Suspended: the connection is in doubt. A lease still holds, inside its
	// deadline.
	Suspended
	// Lost: the session, or the lease, is over.
	Lost
	// Closed: ended by Close, or the lease was released.
	Closed
)

func (s State) String() string {
	switch s {
	case Connected:
		return "connected"
	case Suspended:
		return "suspended"
	case Lost:
		return "lost"
	case Closed:
		return "closed"
	}
	return "unknown"
}

// stateVar holds a state that others follow. A reader gets the state together
// with a channel that is closed at the next change, so that a slow one misses
// history but never the newest.
type stateVar struct {
	mu      sync.Mutex
	state   State
	changed chan struct{}
}

func newStateVar(s State) *stateVar {
	return &stateVar{state: s, changed: make(chan struct{})}
}

func (v *stateVar) get() (State, <-chan struct{}) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.state, v.changed
}

// set reports whether the state is another one than before.
func (v *stateVar) set(s State) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.state == s {
		return false
	}
	v.state = s
	close(v.changed)
	v.changed = make(chan struct{})
	return true
}

// wake makes those who follow the state look again, though it is the same.
func (v *stateVar) wake() {
	v.mu.Lock()
	defer v.mu.Unlock()
	close(v.changed)
	v.changed = make(chan struct{})
}
