package zktest

import "time"

// Down stops all servers, as a power cut would: connections break, new ones
// are refused, the data stays.
func (s *Server) Down() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop()
}

func (s *Server) stop() {
	if s.down {
		return
	}
	s.down = true
	s.log.add(entry{kind: "down"})
	s.sessions.park()
	for _, m := range s.members {
		m.refuse()
		m.hangUpAll()
		m.unlink()
	}
}

// Up starts the servers again after Down. The sessions are still there, and
// each has its full timeout again, as in a real ensemble.
func (s *Server) Up() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.start()
}

func (s *Server) start() error {
	if !s.down || s.closed {
		return nil
	}
	s.down = false
	s.log.add(entry{kind: "up"})
	for _, m := range s.members {
		m.away, m.deposed = false, false
		if m == s.leader {
			m.load(m.tree)
		} else {
			m.load(s.leader.tree.clone())
		}
	}
	s.newEpoch()
	s.sessions.restart()
	return s.listenAll()
}

// Restart is Down and Up at once.
func (s *Server) Restart() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop()
	return s.start()
}

// SetSessionTimeouts is Restart with other limits for what clients ask for, as
// WithSessionTimeouts sets them. A session goes by them once its client has
// shown it to a server again.
func (s *Server) SetSessionTimeouts(least, most time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	cfg := s.cfg
	cfg.minTimeout, cfg.maxTimeout = least, most
	if err := cfg.check(); err != nil {
		return err
	}
	s.stop()
	s.cfg.minTimeout, s.cfg.maxTimeout = cfg.minTimeout, cfg.maxTimeout
	return s.start()
}

// Wipe is Restart with nothing left: no data, no sessions, and transactions
// that count from the beginning again. Clients that have seen more are turned
// away without a word, as by a real server.
func (s *Server) Wipe() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop()
	s.sessions.byID = map[int64]*session{}
	s.leader.tree = newTree()
	s.zxid, s.epoch = 0, 0
	return s.start()
}
