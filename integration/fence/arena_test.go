package fence_test

import (
	"sync"

	"github.com/zkrecipes/zkrecipes/fence"
)

// arena stands in for the lock: it grants one token after the other, and gives
// the lock away as soon as its holder releases it or is taken for dead, whatever
// that holder believes.
type arena struct {
	mu      sync.Mutex
	changed *sync.Cond
	total   int         // grants that there will be
	last    fence.Token // the latest grant
	held    bool
	stands  fence.Token // the greatest token of which somebody was told that it stands
	paused  int
	room    int // for paused holders, so that somebody is left to overtake them
}

func newArena(total, writers int) *arena {
	a := &arena{total: total, room: writers / 2}
	a.changed = sync.NewCond(&a.mu)
	return a
}

// acquire returns false when all grants were given.
func (a *arena) acquire() (fence.Token, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.held && int(a.last) < a.total {
		a.changed.Wait()
	}
	if int(a.last) == a.total {
		return 0, false
	}
	a.last++
	a.held = true
	a.changed.Broadcast()
	return a.last, true
}

// release does nothing where the lock is another's by now.
func (a *arena) release(token fence.Token) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.giveAway(token)
}

func (a *arena) giveAway(token fence.Token) {
	if a.held && a.last == token {
		a.held = false
		a.changed.Broadcast()
	}
}

// admitted is told of a token that stands at the resource.
func (a *arena) admitted(token fence.Token) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stands = max(a.stands, token)
	a.changed.Broadcast()
}

// standing returns what a write that begins from now on must not be older than.
func (a *arena) standing() fence.Token {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.stands
}

// pause gives the holder's lock away and returns when a later grant was given
// or, if until says so, has reached the resource, or when there is none to come.
// It returns false at once if enough are paused.
func (a *arena) pause(token fence.Token, until pauseEnd) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.paused == a.room {
		return false
	}
	a.paused++
	a.giveAway(token)
	for !a.over(token, until) {
		a.changed.Wait()
	}
	a.paused--
	return true
}

type pauseEnd int

const (
	laterGranted pauseEnd = iota
	laterStands
)

func (a *arena) over(token fence.Token, until pauseEnd) bool {
	if int(a.last) == a.total && !a.held {
		return true
	}
	if until == laterGranted {
		return a.last > token
	}
	return a.stands > token
}
