package proxy

import (
	"sync"
	"time"
)

// mode is what a flow does with the bytes that are due.
type mode int

const (
	passing mode = iota
	stalled
	swallowing
)

// Flow is one direction of all connections of a proxy. The zero value passes
// everything at once. All methods may be called from any goroutine and take
// effect on running connections.
type Flow struct {
	mu      sync.Mutex
	mode    mode
	delay   time.Duration
	changed chan struct{} // closed when mode changes; nil until somebody waits
}

// Pass ends a stall, a blackhole and a delay.
func (f *Flow) Pass() { f.set(passing, 0) }

// Stall holds back everything until Pass, losing nothing.
func (f *Flow) Stall() { f.set(stalled, 0) }

// Blackhole swallows everything, the ends of connections included, until Pass
// or another mode; see the package comment for what happens then.
func (f *Flow) Blackhole() { f.set(swallowing, 0) }

// Delay delivers, in order, each byte d after it was sent.
func (f *Flow) Delay(d time.Duration) { f.set(passing, d) }

func (f *Flow) set(m mode, delay time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.delay = delay
	if f.mode == m {
		return
	}
	f.mode = m
	if f.changed != nil {
		close(f.changed)
		f.changed = nil
	}
}

// state returns the mode and a channel that is closed when it is another.
func (f *Flow) state() (mode, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.changed == nil {
		f.changed = make(chan struct{})
	}
	return f.mode, f.changed
}

// due returns when bytes that were read now are to be delivered.
func (f *Flow) due() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.delay == 0 {
		return time.Time{}
	}
	return time.Now().Add(f.delay)
}
