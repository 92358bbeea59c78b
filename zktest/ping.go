package zktest

import "time"

// watchLinks pings the followers each half tick, as long as there is a session
// whose clock their answers could move.
func (s *Server) watchLinks() {
	if s.pinger != nil || len(s.members) == 1 || len(s.sessions.byID) == 0 {
		return
	}
	s.pinger = s.clock.after(s.cfg.tick/2, func() {
		s.pinger = nil
		s.pingFollowers()
		s.watchLinks()
	})
}

// pingFollowers asks each follower which clients it has heard of. What it
// answers, and nothing else, moves the clocks of their sessions.
func (s *Server) pingFollowers() {
	for _, m := range s.members {
		if m.leads() || m.deposed || m.away || s.down {
			continue
		}
		m.link.down.send(func() {
			heard := m.touched
			m.touched = map[int64]time.Duration{}
			m.link.up.send(func() {
				for id, timeout := range heard {
					s.sessions.touch(id, timeout)
				}
			})
		})
	}
}
