package leaseclock

import "time"

// Rhythm is how the renewals of a session are spaced. It follows from the
// session timeout T and the servers' tick.
type Rhythm struct {
	timeout time.Duration
	gap     time.Duration // half a tick for the leader's ping, a quarter for its lateness
	period  time.Duration // between renewals
	floor   time.Duration // what is left of the lease just before a renewal
}

// NewRhythm returns the rhythm for a session timeout and a tick.
func NewRhythm(timeout, tick time.Duration) Rhythm {
	r := Rhythm{timeout: timeout, gap: tick/2 + tick/4}
	r.period = max(timeout/5, r.gap+timeout/100)
	// One write a period proves what was answered two periods ago. Where that
	// leaves too little, renewals go out as pairs, which prove what was answered
	// one period ago.
	r.floor = timeout - 3*r.period
	if r.floor < timeout/4 {
		r.floor = timeout - 2*r.period
	}
	return r
}

// Floor is the least that is left of a lease in steady running: what a holder
// can count on when an outage begins.
func (r Rhythm) Floor() time.Duration { return r.floor }

// Patience is how long a renewal may stay unanswered before the connection is
// given up: soon enough to prove the session elsewhere before the lease ends.
func (r Rhythm) Patience() time.Duration { return min(r.period, r.floor/2) }

// Proof is how long a lease that rests on one write may wait for its proof. A
// section that is over by then never pays for one.
func (r Rhythm) Proof() time.Duration { return min(r.gap/3, r.timeout/32) }

// Next returns when the next renewal is due, given the deadline that the chain
// has reached; at or before now means at once.
func (r Rhythm) Next(now, deadline Instant, l *Link) Instant {
	if deadline-now >= r.floor+r.period/2 {
		return deadline - r.floor
	}
	// One write more may be all that is missing.
	if l.Promising() {
		return now
	}
	// What could be proven now does not last. Come back when the next frame
	// that is worth it can be proven, or when there may be one.
	if at, ok := l.Eligible(r.timeout / 20); ok {
		return at
	}
	return now + r.timeout/20
}

// Stuck reports whether nothing that is sent on the link can prove the session
// before the deadline: too little has been answered there of late. Another
// connection can, by its handshake and one write.
func (r Rhythm) Stuck(now, deadline Instant, l *Link) bool {
	if now >= deadline || deadline-now >= r.floor+r.period/2 || l.Promising() {
		return false
	}
	at, ok := l.Eligible(r.timeout / 20)
	if !ok {
		at = now + r.gap // of what is answered from now on
	}
	return at > deadline-r.timeout/50
}
