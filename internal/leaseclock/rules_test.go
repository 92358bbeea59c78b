package leaseclock_test

import (
	"time"

	"github.com/zkrecipes/zkrecipes/internal/leaseclock"
)

// claims counts how often a deadline was claimed that the session's clock at the
// leader does not bear out.
type claims struct {
	made, wrong int
	worst       time.Duration // by how much
}

func (c *claims) claim(w *world, deadline instant) {
	if deadline <= w.now {
		return
	}
	c.made++
	if over := deadline - w.end(); over > 0 {
		c.wrong++
		c.worst = max(c.worst, over)
	}
}

// chainRule is the rule under test.
type chainRule struct{ claims }

func (r *chainRule) connected(w *world, _ instant, _ bool) { r.claim(w, w.client.chain.Deadline()) }
func (r *chainRule) answered(w *world, _ *exchange, _ bool) {
	r.claim(w, w.client.chain.Deadline())
}

// The rules below are simpler, and wrong.

// lastWrite counts from the latest confirmed write, less a tick and a renewal.
type lastWrite struct{ claims }

func (r *lastWrite) connected(*world, instant, bool) {}
func (r *lastWrite) answered(w *world, x *exchange, confirmed bool) {
	if confirmed {
		r.claim(w, x.sent+w.timeout-w.tick/2-w.timeout/5-leaseclock.Drift(w.timeout))
	}
}

// bareHandshake believes a server that says the session is still there.
type bareHandshake struct{ claims }

func (r *bareHandshake) answered(*world, *exchange, bool) {}
func (r *bareHandshake) connected(w *world, sent instant, _ bool) {
	r.claim(w, sent+w.timeout-leaseclock.Drift(w.timeout))
}

// pairs takes two writes one after the other for a proof of whatever had been
// answered a gap before the first: without a gap, or with one of half a tick
// that leaves no time for a ping that is late.
type pairs struct {
	claims
	gap    func(w *world) time.Duration
	frames []*exchange
	last   *exchange // the latest confirmed write of this connection
}

func (r *pairs) connected(*world, instant, bool) { r.frames, r.last = nil, nil }
func (r *pairs) answered(w *world, x *exchange, confirmed bool) {
	r.frames = append(r.frames, x)
	if !confirmed {
		return
	}
	if before := r.last; before != nil && before.answered <= x.sent {
		for _, a := range r.frames {
			if a.answered <= before.sent-r.gap(w) {
				r.claim(w, a.sent+w.timeout-leaseclock.Drift(w.timeout))
			}
		}
	}
	r.last = x
}

// unproven believes in a lease on one write for a share of the timeout.
type unproven struct {
	claims
	share time.Duration
}

func (r *unproven) connected(*world, instant, bool) {}
func (r *unproven) answered(w *world, x *exchange, confirmed bool) {
	if confirmed {
		r.claim(w, x.sent+w.timeout/r.share)
	}
}
