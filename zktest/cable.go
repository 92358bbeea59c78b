package zktest

import (
	"context"
	"net"
	"time"
)

// A Cable joins one client to the servers. What happens to it happens to all
// connections dialed through it, those to come included, and to no others.
type Cable struct {
	srv  *Server
	gate gate // guarded by the gates' own lock

	// Guarded by the lock of the Server.
	refused, dark bool
	latency       time.Duration
}

// Cable returns a new cable, on which all is well.
func (s *Server) Cable() *Cable { return &Cable{srv: s} }

// Dial is Server.Dial through the cable.
func (c *Cable) Dial(network, addr string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := dialContext(timeout)
	defer cancel()
	return c.DialContext(ctx, network, addr)
}

// DialContext is Server.DialContext through the cable.
func (c *Cable) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	c.srv.mu.Lock()
	refused, dark, latency := c.refused, c.dark, c.latency
	c.srv.mu.Unlock()
	switch {
	case refused:
		return nil, &net.OpError{Op: "dial", Net: network, Err: errUnplugged}
	case dark:
		<-ctx.Done()
		return nil, &net.OpError{Op: "dial", Net: network, Err: ctx.Err()}
	}
	nc, err := c.srv.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	if m, ok := nc.(*memConn); ok {
		m.setLatency(latency)
	}
	c.attach(nc.LocalAddr().String())
	return nc, nil
}

// attach makes the server's end of a connection known as one of the cable's,
// whether it has been accepted yet or not.
func (c *Cable) attach(addr string) {
	c.srv.mu.Lock()
	defer c.srv.mu.Unlock()
	c.srv.cables[addr] = c
	c.eachConn(addr, func(conn *conn) { conn.cable.Store(c) })
}

func (c *Cable) eachConn(addr string, f func(*conn)) {
	for _, m := range c.srv.members {
		for conn := range m.conns {
			if addr == "" && conn.cable.Load() == c || conn.nc.RemoteAddr().String() == addr {
				f(conn)
			}
		}
	}
}

// SetLatency makes what travels over connections dialed from now on take so
// long each way. It works in memory only.
func (c *Cable) SetLatency(d time.Duration) {
	c.srv.mu.Lock()
	defer c.srv.mu.Unlock()
	c.latency = d
}

// Cut closes the cable's connections; new ones can be made.
func (c *Cable) Cut() {
	c.srv.mu.Lock()
	defer c.srv.mu.Unlock()
	c.eachConn("", func(conn *conn) {
		conn.member.forget(conn)
		conn.abort()
	})
}

// Refuse says whether dialing fails at once.
func (c *Cable) Refuse(yes bool) {
	c.srv.mu.Lock()
	defer c.srv.mu.Unlock()
	c.refused = yes
}

// Stall holds back what travels in a direction, until Restore. If both are
// stalled, dialing gets no answer.
func (c *Cable) Stall(dir Direction) { c.set(func(g *gate) { g.stalled |= dir }) }

// Blackhole loses what travels in a direction, until Restore. If both are
// lost, dialing gets no answer.
func (c *Cable) Blackhole(dir Direction) { c.set(func(g *gate) { g.lost |= dir }) }

// Restore ends Stall and Blackhole.
func (c *Cable) Restore() { c.set(func(g *gate) { g.stalled, g.lost = 0, 0 }) }

func (c *Cable) set(change func(*gate)) {
	c.srv.mu.Lock()
	defer c.srv.mu.Unlock()
	c.srv.gates.set(func() {
		change(&c.gate)
		c.dark = c.gate.stalled|c.gate.lost == BothWays
	})
}
