package zktest

import (
	"net"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/jute"
)

// A Member is one server of the ensemble, behind an address of its own, with
// a copy of the data, its own watches and its own connections. The first is
// the leader to begin with. A Server with one address has one member.
type Member struct {
	// All but the constant fields are guarded by the lock of the Server.

	srv  *Server
	n    int
	addr string
	gate gate // guarded by the gates' own lock

	listener net.Listener // nil while it refuses connections
	refusing bool         // asked for by a test
	away     bool         // neither leads nor follows: serves nobody
	deposed  bool         // thinks it leads, but does not
	dark     bool         // dialing it gets no answer
	hung     bool         // takes connections and answers nothing

	tree                *tree
	watches             *watches
	conns               map[*conn]struct{}
	link                *link // to the leader
	syncHere, syncWaits bool  // whether it answers a sync by itself while cut off
	giveUp              *job  // when a stalled link makes it stop serving

	// touched are the sessions whose clients have been heard of since the
	// leader's last ping, with their timeouts.
	touched     map[int64]time.Duration
	believed    map[int64]bool // the sessions of a deposed leader
	nextSession int64
}

func newMember(s *Server, n int, t *tree) *Member {
	m := &Member{srv: s, n: n, conns: map[*conn]struct{}{}}
	m.link = &link{up: stream{clock: s.clock}, down: stream{clock: s.clock}}
	m.load(t)
	return m
}

// load gives the member data to serve. Watches and what it knew of sessions
// are gone.
func (m *Member) load(t *tree) {
	m.tree = t
	m.watches = newWatches()
	m.touched = map[int64]time.Duration{}
	t.fire = m.watches.fire
}

func (m *Member) leads() bool { return m.srv.leader == m }

// forward brings something to the leader: at once if this is it. What a
// deposed leader proposes gets nowhere.
func (m *Member) forward(deliver func()) {
	switch {
	case m.leads():
		deliver()
	case m.deposed:
	default:
		m.link.up.send(deliver)
	}
}

// touch notes that a session's client has been heard of. It is only the
// leader's own clients that move its clock at once.
func (m *Member) touch(id int64, timeout time.Duration) {
	if m.leads() {
		m.srv.sessions.touch(id, timeout)
		return
	}
	m.touched[id] = timeout
}

// apply applies a committed transaction to this member's copy and answers the
// client if it is one of this member's.
func (m *Member) apply(x *txn) {
	ours := x.req != nil && x.req.conn.member == m
	if x.op == jute.OpCloseSession && !ours {
		m.hangUp(x.session)
	}
	results := m.tree.apply(x)
	if ours {
		x.req.committed(x, results)
	}
}

// hangUp closes the connections of a session.
func (m *Member) hangUp(session int64) {
	for c := range m.conns {
		if c.session == session && session != 0 {
			m.forget(c)
			c.abort()
		}
	}
}

// hangUpAll closes every connection.
func (m *Member) hangUpAll() {
	for c := range m.conns {
		m.forget(c)
		c.abort()
	}
}

// forget takes a connection and its watches out.
func (m *Member) forget(c *conn) {
	if _, ok := m.conns[c]; !ok {
		return
	}
	delete(m.conns, c)
	delete(m.srv.cables, c.nc.RemoteAddr().String())
	m.watches.drop(c)
	m.srv.clock.cancel(c.impatience)
	c.pending = nil
	m.srv.log.add(entry{kind: "disconnected", session: c.session})
}

// listen starts to take connections, if the member is not told otherwise.
func (m *Member) listen() error {
	if m.listener != nil || m.refusing || m.srv.down || m.srv.closed {
		return nil
	}
	l, err := m.srv.listen(m.addr)
	if err != nil {
		return err
	}
	m.listener = l
	m.addr = l.Addr().String()
	m.srv.running.Add(1)
	go m.accept(l)
	return nil
}

// refuse stops to take connections.
func (m *Member) refuse() {
	if m.listener != nil {
		m.listener.Close()
		m.listener = nil
	}
}

func (m *Member) accept(l net.Listener) {
	defer m.srv.running.Done()
	for {
		nc, err := l.Accept()
		if err != nil {
			return
		}
		m.serve(nc)
	}
}

func (m *Member) serve(nc net.Conn) {
	s := m.srv
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.down || m.away {
		nc.Close()
		return
	}
	c := newConn(m, nc)
	if cable := s.cables[nc.RemoteAddr().String()]; cable != nil {
		c.cable.Store(cable)
	}
	m.conns[c] = struct{}{}
	c.impatience = s.clock.after(sessionless, func() {
		m.forget(c)
		c.abort()
	})
	s.running.Add(2)
	go c.read()
	go c.write()
}
