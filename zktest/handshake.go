package zktest

import (
	"io"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/jute"
)

// open reads what comes first on a connection: a four-letter word or the
// request for a session. It returns false if that is already the end.
func (c *conn) open() bool {
	var head [4]byte
	if _, err := io.ReadFull(c.in, head[:]); err != nil {
		return false
	}
	if word := words[string(head[:])]; word != nil {
		if c.pass(ToServer) {
			c.answerWord(word)
		}
		return false
	}
	frame, err := jute.ReadBody(c.in, head, c.srv.cfg.maxBuffer)
	if err != nil {
		return false
	}
	if !c.pass(ToServer) {
		return !c.over.Load()
	}
	var req jute.ConnectRequest
	rest, err := jute.Unmarshal(frame, &req)
	if err != nil {
		return false
	}
	// Clients before 3.4 say nothing of read-only servers and are told
	// nothing of them.
	return c.connect(req, len(rest) > 0)
}

// sessionless is how long a connection may be without a session.
const sessionless = 10 * time.Second

// connect handles the request for a session.
func (c *conn) connect(req jute.ConnectRequest, knowsReadOnly bool) bool {
	r := &request{conn: c, op: jute.OpCreateSession, handshake: true, resumes: req.SessionID != 0, knowsReadOnly: knowsReadOnly}
	if !c.intercept(r, req.SessionID) {
		return false
	}
	s := c.srv
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.over.Load() || req.LastZxidSeen > c.member.tree.zxid {
		// The client has seen more than this server knows: no answer, it
		// shall try another one.
		return false
	}
	c.timeout = s.clamp(time.Duration(req.TimeoutMillis) * time.Millisecond)
	s.count(jute.OpCreateSession, req.SessionID)
	switch {
	case r.hook.code() != jute.OK:
		c.expired(r)
	case r.resumes && r.hook.newSession():
		s.log.add(entry{kind: "swapped", session: req.SessionID})
		r.resumes = false
		c.create(r)
	case r.resumes:
		c.resume(r, req)
	default:
		c.create(r)
	}
	return true
}

// clamp brings a timeout into the range the server allows.
func (s *Server) clamp(d time.Duration) time.Duration {
	return min(max(d, s.cfg.minTimeout), s.cfg.maxTimeout)
}

// create asks the leader for a new session.
func (c *conn) create(r *request) {
	s, m := c.srv, c.member
	id := m.newSessionID()
	c.session = id
	c.pending = append(c.pending, r)
	m.forward(func() {
		s.sessions.track(id, c.timeout)
		s.sessions.byID[id].owner = m
		s.watchLinks()
		s.commit(&txn{session: id, op: jute.OpCreateSession, req: r})
	})
}

// resume asks the leader whether a session is still there.
func (c *conn) resume(r *request, req jute.ConnectRequest) {
	s, m := c.srv, c.member
	// An older connection goes even before the password is looked at.
	m.hangUp(req.SessionID)
	if string(SessionPassword(req.SessionID)) != string(req.Password) {
		c.expired(r)
		return
	}
	c.session = req.SessionID
	c.pending = append(c.pending, r)
	switch {
	case m.deposed && m.believed[c.session]:
		c.welcome(r)
		return
	case m.deposed:
		c.expired(r)
		return
	}
	m.forward(func() {
		valid := s.sessions.touch(c.session, c.timeout)
		if valid {
			s.sessions.byID[c.session].owner = m
		}
		m.backward(func() {
			if valid {
				c.welcome(r)
			} else {
				c.expired(r)
			}
		})
	})
}

// backward brings something from the leader to this member.
func (m *Member) backward(deliver func()) {
	if m.leads() {
		deliver()
		return
	}
	m.link.down.send(deliver)
}

// welcome answers that the session is there.
func (c *conn) welcome(r *request) {
	if _, ok := c.member.conns[c]; !ok {
		return
	}
	c.member.touch(c.session, c.timeout)
	c.srv.log.add(entry{kind: "connected", session: c.session, resumed: r.resumes})
	c.pending = c.pending[1:]
	c.srv.clock.cancel(c.impatience)
	c.greet(r, jute.ConnectResponse{
		TimeoutMillis: int32(c.timeout / time.Millisecond),
		SessionID:     c.session,
		Password:      SessionPassword(c.session),
	})
	c.start()
}

// expired answers that the session is over, and hangs up.
func (c *conn) expired(r *request) {
	c.srv.log.add(entry{kind: "refused", session: c.session, text: "session expired"})
	c.session = 0
	c.greet(r, jute.ConnectResponse{Password: make([]byte, 16)})
	c.finish()
}

func (c *conn) greet(r *request, answer jute.ConnectResponse) {
	if !r.knowsReadOnly {
		c.deliver(r, &answer)
		return
	}
	readOnly := jute.ReadOnly(false)
	c.deliver(r, &answer, &readOnly)
}

// newSessionID returns an id made as a real server makes it: the number of
// the server, the time at which it came up, a counter.
func (m *Member) newSessionID() int64 {
	if m.nextSession == 0 {
		millis := uint64(time.Now().UnixMilli())
		m.nextSession = int64(m.n+1)<<56 | int64(millis<<24>>8)
	}
	id := m.nextSession
	m.nextSession++
	return id
}
