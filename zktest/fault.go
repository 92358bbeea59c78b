package zktest

import (
	"context"
	"net"
	"time"
)

// ExpireSession ends a session now, as if its time had run out.
func (s *Server) ExpireSession(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expireSession(id)
}

// Cut closes the connections of a session, on all servers.
func (s *Server) Cut(session int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.members {
		m.hangUp(session)
	}
}

// Stall holds back what the present connections of a session carry in a
// direction, until Restore.
func (s *Server) Stall(session int64, dir Direction) {
	s.eachGate(session, func(g *gate) { g.stalled |= dir })
}

// Blackhole loses what the present connections of a session carry in a
// direction, until Restore. What is lost stays lost.
func (s *Server) Blackhole(session int64, dir Direction) {
	s.eachGate(session, func(g *gate) { g.lost |= dir })
}

// Restore ends Stall and Blackhole.
func (s *Server) Restore(session int64) {
	s.eachGate(session, func(g *gate) { g.stalled, g.lost = 0, 0 })
}

func (s *Server) eachGate(session int64, change func(*gate)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gates.set(func() {
		for _, m := range s.members {
			for c := range m.conns {
				if c.session == session {
					change(&c.gate)
				}
			}
		}
	})
}

// Freeze stops the servers in their tracks, as SIGSTOP would: connections are
// still taken, nothing is answered, no time passes for them.
func (s *Server) Freeze() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frozen = true
	s.clock.freeze(true)
	s.freezeGates()
}

// Thaw lets the servers go on. Sessions whose time ran out meanwhile expire
// first, then what clients have sent is looked at; in a real server it is a
// race.
func (s *Server) Thaw() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frozen = false
	s.clock.freeze(false)
	s.freezeGates()
}

// Hang makes this member take connections and answer nothing to any client,
// or go on. Its link to the other members is not touched.
func (m *Member) Hang(yes bool) {
	m.srv.mu.Lock()
	defer m.srv.mu.Unlock()
	m.hung = yes
	m.srv.freezeGates()
}

func (s *Server) freezeGates() {
	s.gates.set(func() {
		for _, m := range s.members {
			m.gate.frozen = s.frozen || m.hung
		}
	})
}

// Refuse says whether new connections are refused. Those that are there go on.
func (s *Server) Refuse(yes bool) error {
	for _, m := range s.members {
		if err := m.Refuse(yes); err != nil {
			return err
		}
	}
	return nil
}

// Refuse says whether this member refuses new connections.
func (m *Member) Refuse(yes bool) error {
	m.srv.mu.Lock()
	defer m.srv.mu.Unlock()
	m.refusing = yes
	if yes {
		m.refuse()
		return nil
	}
	return m.listen()
}

// Isolate cuts the network between all servers and all clients, or heals it:
// packets of connections that are there wait, Dial gets no answer.
func (s *Server) Isolate(yes bool) {
	for _, m := range s.members {
		m.Isolate(yes)
	}
}

// Isolate cuts the network between this member and all clients, or heals it.
func (m *Member) Isolate(yes bool) {
	m.srv.mu.Lock()
	defer m.srv.mu.Unlock()
	m.dark = yes
	m.srv.gates.set(func() {
		m.gate.stalled = 0
		if yes {
			m.gate.stalled = BothWays
		}
	})
}

// Cut closes all connections of this member.
func (m *Member) Cut() {
	m.srv.mu.Lock()
	defer m.srv.mu.Unlock()
	m.hangUpAll()
}

// A Cable joins one client to the servers. What happens to it happens to all
// connections dialed through it, those to come included, and to no others.
type Cable struct {
	srv  *Server
	gate gate // guarded by the gates' own lock

	// Guarded by the lock of the Server.
	refused, dark bool
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
	refused, dark := c.refused, c.dark
	c.srv.mu.Unlock()
	switch {
	case refused:
		return nil, &net.OpError{Op: "dial", Net: network, Err: errUnplugged}
	case dark:
		<-ctx.Done()
		return nil, &net.OpError{Op: "dial", Net: network, Err: ctx.Err()}
	}
	nc, err := c.srv.DialContext(ctx, network, addr)
	if err == nil {
		c.attach(nc.LocalAddr().String())
	}
	return nc, err
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
