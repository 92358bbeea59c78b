package zktest

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
