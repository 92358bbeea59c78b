package leaseclock_test

import (
	"time"

	"github.com/zkrecipes/zkrecipes/internal/leaseclock"
)

// client is the session's client. It pings, reads and writes, renews as the
// session layer does, and moves to the other follower when it gets no answer.
type client struct {
	w       *world
	chain   *leaseclock.Chain
	rules   []rule
	started bool // there is a session
	conn    *conn

	grant   leaseclock.Grant
	granted bool
	renewal *exchange // under way
	blocked instant   // no renewal before this
	timer   int       // counts up whenever the next renewal is planned anew
}

// conn is a connection to a follower.
type conn struct {
	f    *follower
	open bool
	link *leaseclock.Link
	to   instant // what was sent last arrives then
	back instant // what was answered last arrives then
}

// exchange is a request and, once it is there, its answer.
type exchange struct {
	frame leaseclock.Frame
	sent  instant
	write bool
	done  bool

	answered instant
}

// rule is a way to know how long the session lives. It is told what the client
// sees, and claims a deadline.
type rule interface {
	connected(w *world, sent instant, fresh bool)
	answered(w *world, x *exchange, confirmed bool)
}

func newClient(w *world, tick time.Duration, rules ...rule) *client {
	return newClientAt(w, tick, w.between(0, 12*second), rules...)
}

// newClientAt is newClient for a client that wants its lease at a given time.
func newClientAt(w *world, tick time.Duration, demand instant, rules ...rule) *client {
	c := &client{w: w, chain: leaseclock.NewChain(tick), rules: rules}
	w.client = c
	c.connect(w.r.IntN(2))
	w.at(demand, c.demand)
	if !w.idle && w.r.IntN(2) == 0 {
		w.after(w.upTo(second), c.busy)
	}
	if !w.healthy {
		w.after(w.between(second, 60*second), func() { c.drop(c.conn) })
	}
	return c
}

// connect opens a connection to a follower, and tries the other one if nothing
// comes of it.
func (c *client) connect(i int) {
	w := c.w
	k := &conn{f: w.followers[i]}
	c.conn = k
	sent, fresh := w.now, !c.started
	w.after(w.timeout/6, func() {
		if c.conn == k && k.link == nil {
			c.connect(1 - i)
		}
	})
	k.send(w, func() {
		w.toLeader(k.f, func(l *leader) {
			acting := l == &w.leaders[w.acting]
			switch {
			case fresh && !acting:
				return // cannot commit
			case fresh:
				*l = leader{known: true, end: w.now + w.timeout}
			case !l.lives(w.now):
				return // over: the client learns of it, and claims no more
			default:
				l.end = w.now + w.timeout
			}
			w.toFollower(k.f, func() {
				k.f.touched = true
				k.answer(w, func() {
					if c.conn == k {
						c.connected(k, sent, fresh)
					}
				})
			})
		})
	})
}

func (c *client) connected(k *conn, sent instant, fresh bool) {
	if fresh && c.started {
		return
	}
	c.started = true
	k.open = true
	k.link = c.chain.Connect(sent, c.w.now, c.w.timeout, fresh)
	for _, r := range c.rules {
		r.connected(c.w, sent, fresh)
	}
	c.ping(k)
	c.plan()
}

// send carries something to the follower, and answer back.
func (k *conn) send(w *world, deliver func()) {
	k.to = max(k.to+1, w.now+w.between(milli/5, 2*milli))
	w.at(k.to, deliver)
}

func (k *conn) answer(w *world, deliver func()) {
	k.back = max(k.back+1, w.now+w.between(milli/5, 2*milli))
	w.at(k.back, deliver)
}

// hangUp is called when a follower closes its connections.
func (c *client) hangUp(f *follower) {
	if c != nil && c.conn.f == f {
		c.drop(c.conn)
	}
}

// drop gives a connection up for one to the other follower.
func (c *client) drop(k *conn) {
	if c.conn != k {
		return
	}
	k.open = false
	c.renewal = nil
	other := 0
	if k.f == c.w.followers[0] {
		other = 1
	}
	c.conn = &conn{f: k.f}
	c.w.after(c.w.upTo(20*milli), func() { c.connect(other) })
}

// ping keeps the connection alive.
func (c *client) ping(k *conn) {
	if c.conn != k {
		return
	}
	c.exchange(k, false)
	c.w.after(c.w.timeout/3, func() { c.ping(k) })
}

// busy makes the client read and write by itself, now and then a lot.
func (c *client) busy() {
	if c.conn.open {
		for range 1 + c.w.r.IntN(3) {
			c.exchange(c.conn, c.w.r.IntN(3) > 0)
		}
	}
	c.w.after(time.Duration(c.w.r.ExpFloat64()*float64(c.w.timeout/4)), c.busy)
}

// exchange makes a request on a connection.
func (c *client) exchange(k *conn, write bool) *exchange {
	w := c.w
	x := &exchange{sent: w.now, write: write, frame: k.link.Send(w.now, write)}
	k.send(w, func() {
		k.f.touched = true
		if !write {
			k.answer(w, func() { c.answered(k, x, false) })
			return
		}
		w.toLeader(k.f, func(l *leader) {
			if l != &w.leaders[w.acting] || !l.lives(w.now) {
				return
			}
			w.toFollower(k.f, func() {
				k.answer(w, func() { c.answered(k, x, true) })
			})
		})
	})
	return x
}

func (c *client) answered(k *conn, x *exchange, confirmed bool) {
	if !k.open {
		return
	}
	x.done, x.answered = true, c.w.now
	k.link.Answered(x.frame, c.w.now, confirmed)
	for _, r := range c.rules {
		r.answered(c.w, x, confirmed)
	}
	if confirmed && !c.granted && c.demanded() {
		c.take(x)
	}
	if c.renewal == x {
		c.renewal = nil
	}
	c.plan()
}

// demand is when a lease is first wanted; the next confirmed write grants it.
func (c *client) demand() {
	c.blocked = -1
	c.plan()
}

func (c *client) demanded() bool { return c.blocked != 0 }

func (c *client) take(x *exchange) {
	g, ok := c.chain.Proven(c.w.now, c.w.timeout/16)
	if !ok {
		g = c.chain.Unproven(x.sent)
	}
	c.grant, c.granted = g, true
}

// plan sends a renewal when one is due, as the session layer's renewer does.
func (c *client) plan() {
	w, k := c.w, c.conn
	c.timer++
	if !c.demanded() || !k.open || c.renewal != nil {
		return
	}
	rhythm := c.chain.Rhythm()
	at := max(rhythm.Next(w.now, c.chain.Deadline(), k.link), c.blocked)
	if at > w.now {
		timer := c.timer
		w.at(at, func() {
			if c.timer == timer {
				c.plan()
			}
		})
		return
	}
	x := c.exchange(k, true)
	c.renewal = x

	w.after(rhythm.Patience(), func() {
		if c.renewal == x {
			c.drop(k)
		}
	})
}
