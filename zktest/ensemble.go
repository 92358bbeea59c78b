package zktest

import (
	"time"
)

// SetLag makes what the leader commits, and its pings, reach this member so
// much later. Its clients read the past.
func (m *Member) SetLag(d time.Duration) {
	m.srv.mu.Lock()
	defer m.srv.mu.Unlock()
	m.link.down.delay = d
}

// CutLeader cuts this member off from its leader, or joins the two again.
//
// For as long as the sync limit, or until it is joined again, the member goes
// on to answer reads and pings from what it knows; writes, and requests for a
// session, wait. The leader, which hears nothing from it, expires its clients'
// sessions. Then it gives up: it closes its connections and serves nobody
// until it is joined again and has caught up.
//
// It answers a sync too. A real follower lets it wait for the leader; here a
// client that takes a sync for a proof is found out. SyncWaits changes that.
func (m *Member) CutLeader(yes bool) {
	dir := Direction(0)
	if yes {
		dir = BothWays
	}
	m.StallLeader(dir)
}

// StallLeader holds back what travels between this member and its leader in
// the given directions, and only in these; 0 lets everything go. ToServer is
// the way to the leader. For longer than the sync limit it is as with
// CutLeader. A member that leads has no leader: nothing happens.
func (m *Member) StallLeader(dir Direction) {
	s := m.srv
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.leads() || m.deposed {
		return
	}
	if dir == 0 && m.away {
		m.rejoin()
		return
	}
	m.syncHere = !m.syncWaits
	m.link.up.stall(dir&ToServer != 0)
	m.link.down.stall(dir&ToClient != 0)
	m.watchLink()
}

// watchLink has the member give up its leader when one direction of their link
// has been stalled for as long as the sync limit.
func (m *Member) watchLink() {
	m.srv.clock.cancel(m.giveUp)
	m.giveUp = nil
	for _, dir := range []*stream{&m.link.up, &m.link.down} {
		if !dir.stalled {
			continue
		}
		if end := dir.since.Add(m.srv.syncLimit()); m.giveUp == nil || end.Before(m.giveUp.at) {
			m.srv.clock.cancel(m.giveUp)
			m.giveUp = m.srv.clock.at(end, m.leave)
		}
	}
}

// SyncWaits says whether a sync waits for the leader while the member is cut
// off, as it does in a real follower.
func (m *Member) SyncWaits(yes bool) {
	m.srv.mu.Lock()
	defer m.srv.mu.Unlock()
	m.syncWaits = yes
	m.syncHere = !yes
}

func (s *Server) syncLimit() time.Duration { return time.Duration(s.cfg.syncLimit) * s.cfg.tick }

// leave is what a member does that has given up its leader, or its leadership.
func (m *Member) leave() {
	m.giveUp = nil
	m.away = true
	m.srv.log.add(entry{kind: "left", text: m.addr})
	m.hangUpAll()
	m.link.up.flush(false)
	m.link.down.flush(false)
}

// unlink forgets what is under way between this member and its leader, and
// that anything was wrong with their link.
func (m *Member) unlink() {
	m.srv.clock.cancel(m.giveUp)
	m.giveUp = nil
	m.link.up.flush(false)
	m.link.down.flush(false)
	m.link.up.stall(false)
	m.link.down.stall(false)
}

// rejoin brings a member up to date that was away.
func (m *Member) rejoin() {
	m.hangUpAll()
	m.unlink()
	m.load(m.srv.leader.tree.clone())
	m.away, m.deposed = false, false
	m.srv.log.add(entry{kind: "joined", text: m.addr})
}

// Depose makes member to the leader while the old one is cut off from all
// others and does not know it. The new one starts with all that was committed,
// a new epoch, and a full timeout for every session. The connections of all
// members but the old leader break, as they do when servers look for a leader.
//
// The old leader answers reads, pings and syncs from what it knows. What it is
// asked to write is never done. After the sync limit, or on Rejoin, it notices
// and its connections break.
func (s *Server) Depose(to int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, next := s.leader, s.members[to]
	if old == next {
		panic("zktest: this member leads already")
	}
	for _, m := range s.members {
		if m == old {
			continue
		}
		s.clock.cancel(m.giveUp)
		m.link.down.stall(false)
		m.link.down.flush(true)
		m.leave()
	}
	old.deposed = true
	old.believed = map[int64]bool{}
	for id := range s.sessions.byID {
		old.believed[id] = true
	}
	s.leader = next
	s.log.add(entry{kind: "deposed", text: old.addr + ", " + next.addr + " leads"})
	for _, m := range s.members {
		if m != old && m != next {
			m.rejoin()
		}
	}
	next.load(next.tree)
	next.away, next.deposed = false, false
	s.newEpoch()
	s.sessions.restart()
	old.giveUp = s.clock.after(s.syncLimit(), func() {
		old.leave()
		old.rejoin()
	})
}

// Rejoin lets a member that is away or deposed notice, and follow the leader.
func (m *Member) Rejoin() {
	m.srv.mu.Lock()
	defer m.srv.mu.Unlock()
	if m.away || m.deposed {
		m.leave()
		m.rejoin()
	}
}
