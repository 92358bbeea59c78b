package zktest

import (
	"sync"
	"sync/atomic"
)

// A Direction says which way bytes travel.
type Direction int

const (
	ToServer Direction = 1 << iota
	ToClient
	BothWays = ToServer | ToClient
)

// A gate says what happens to the bytes that pass through it.
type gate struct {
	stalled, lost Direction
	frozen        bool // both ways, whatever stalled says
}

// gates is the state of all gates of a server. Its lock is never held while
// another is taken.
type gates struct {
	mu      sync.Mutex
	changed sync.Cond
	// active is the number of changes ever made: while it is 0 nobody has to
	// look at any gate.
	active atomic.Int64
}

func newGates() *gates {
	g := &gates{}
	g.changed.L = &g.mu
	return g
}

// set changes gates and wakes who waits at one.
func (g *gates) set(change func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.active.Add(1)
	change()
	g.changed.Broadcast()
}

// wake makes who waits at a gate look again.
func (g *gates) wake() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.changed.Broadcast()
}

// pass waits until all the gates are open in the direction. It returns false
// if what passes is lost, or over tells that there is no use in waiting.
func (g *gates) pass(dir Direction, over *atomic.Bool, through ...*gate) bool {
	if g.active.Load() == 0 {
		return !over.Load()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for !over.Load() {
		var stalled, lost Direction
		for _, gate := range through {
			stalled |= gate.stalled
			if gate.frozen {
				stalled = BothWays
			}
			lost |= gate.lost
		}
		if lost&dir != 0 {
			return false
		}
		if stalled&dir == 0 {
			return true
		}
		g.changed.Wait()
	}
	return false
}
