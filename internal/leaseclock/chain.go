// Package leaseclock decides how long a ZooKeeper session is known to live.
//
// It is pure bookkeeping: it is told which frames were sent and answered on a
// session's connections, and it says until when no server can have ended that
// session. It never talks to a server and never reads a clock of its own.
//
// The guarantee rests on what moves the session's clock at the ensemble's
// leader. Reading, pinging or syncing moves nothing there by itself: a follower
// answers those alone. Three things do:
//
//   - Creating the session is a transaction: the leader starts the clock when
//     it prepares it, and the client sees no answer before it is committed.
//     Hence the handshake that made the session proves sent + T.
//   - Resuming a session on another connection makes the follower ask the
//     leader (REVALIDATE), which restarts the clock. That leader may be
//     deposed, so the handshake alone proves nothing; but a write confirmed
//     later on the same connection passed the same leader after it. Hence the
//     handshake and one confirmed write prove sent(handshake) + T.
//   - The follower reports the sessions it heard from in its replies to the
//     leader's pings, at least every half tick. COMMIT messages and pings share
//     one ordered stream to the follower, requests and ping replies one ordered
//     stream back. So if a write n-1 is confirmed and a write n, sent after
//     that confirmation, is confirmed too, then the leader has seen a report of
//     every frame that had been answered half a tick before n-1 was sent.
//
// A new leader restarts every clock with the full timeout, so none of these
// bounds can be undercut by an election.
package leaseclock

import (
	"math"
	"sync"
	"time"
)

// Instant is a reading of the lease clock: time since an arbitrary origin.
type Instant = time.Duration

// never is the deadline of a session about which nothing is proven.
const never Instant = math.MinInt64 / 4

// Chain is the proof that one session lives, carried over its connections.
// All methods are safe for concurrent use.
type Chain struct {
	settledTick time.Duration // 0: unknown

	mu      sync.Mutex
	timeout time.Duration // the smallest that any handshake returned
	anchor  Instant       // no server ends the session before anchor + timeout
	ended   bool
	epoch   uint64        // counts how often the proof was regained after a lapse
	since   Instant       // when the current epoch began
	trust   time.Duration // of a grant without a proof, when it began
}

// NewChain returns the chain of a session that has no connection yet. tick is
// the servers' tickTime, 0 if it is not known: then half the session timeout is
// assumed, which is right wherever minSessionTimeout is at least two ticks, the
// servers' default.
func NewChain(tick time.Duration) *Chain {
	return &Chain{settledTick: tick, anchor: never}
}

// Deadline returns the instant before which no server ends the session, as far
// as it is proven; a long past instant if nothing is.
func (c *Chain) Deadline() Instant {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.deadline()
}

func (c *Chain) deadline() Instant {
	if c.ended || c.anchor == never {
		return never
	}
	return c.anchor + c.timeout - Drift(c.timeout)
}

// Drift is what is taken off a timeout for clocks that run at different rates:
// one percent.
func Drift(timeout time.Duration) time.Duration { return timeout / 100 }

// Timeout returns the smallest session timeout that any handshake of the
// session returned, 0 before the first.
func (c *Chain) Timeout() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.timeout
}

// Shorten says that a server which the session is about to be shown to grants
// the given timeout. What has been proven is worth no more than that from now
// on, whether or not an answer arrives. It reports whether this is less than
// before.
func (c *Chain) Shorten(timeout time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if timeout >= c.timeout {
		return false
	}
	c.timeout = timeout
	return true
}

// Rhythm returns how the session's renewals are spaced, given its timeout.
func (c *Chain) Rhythm() Rhythm {
	c.mu.Lock()
	defer c.mu.Unlock()
	return NewRhythm(c.timeout, c.tick())
}

// tick is the servers' tickTime or what must be assumed for it.
func (c *Chain) tick() time.Duration {
	if c.settledTick > 0 {
		return c.settledTick
	}
	return c.timeout / 2
}

// End says that the session is over: every lease on it ends at once.
func (c *Chain) End() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
}

// extend moves the proof to a later anchor. A proof that had lapsed begins a
// new epoch, so that no lease of the earlier one comes back to life.
func (c *Chain) extend(anchor Instant, now Instant) {
	if anchor <= c.anchor {
		return
	}
	if now >= c.deadline() {
		c.epoch++
		c.since, c.trust = now, c.untilProven()
	}
	c.anchor = anchor
}

// Grant is the part of a lease that the chain decides on: the epoch in which it
// was given, and the write that it may be believed by before any proof.
type Grant struct {
	epoch uint64
	sent  Instant // never where it rests on the chain from the start
}

// Proven returns a grant that rests on the running chain, and whether the
// chain proves that the session lives for longer than margin from now.
func (c *Chain) Proven(now Instant, margin time.Duration) (Grant, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.deadline()
	return Grant{epoch: c.epoch, sent: never}, d != never && now+margin < d
}

// Unproven returns a grant that rests on one confirmed write sent at the given
// instant. It may be believed for an eighth of the timeout; a proof that comes
// in that time carries it on.
func (c *Chain) Unproven(sent Instant) Grant {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Grant{epoch: c.epoch, sent: sent}
}

// untilProven is how long a grant may be believed before any proof. A timeout
// that has become shorter counts for those that were given before, too. c.mu is
// held.
func (c *Chain) untilProven() time.Duration { return c.timeout / 8 }

// carries reports whether the chain carries a grant: it did when that was given,
// or began to while it was still believed. c.mu is held.
func (c *Chain) carries(g Grant) bool {
	return c.epoch == g.epoch || (c.epoch == g.epoch+1 && c.since < g.sent+c.trust)
}

// Until returns the instant at which the grant ends as things stand, and
// whether it stands at all at now. What is over once stays over.
func (c *Chain) Until(g Grant, now Instant) (Instant, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	until := never
	if !c.ended {
		until = g.sent + c.untilProven()
	}
	if c.carries(g) {
		until = max(until, c.deadline())
	}
	return until, now < until
}

// IsProven reports whether the grant rests on the chain by now.
func (c *Chain) IsProven(g Grant, now Instant) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.deadline()
	return c.carries(g) && d != never && now < d
}
