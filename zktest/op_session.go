package zktest

import (
	"slices"

	"github.com/zkrecipes/zkrecipes/internal/jute"
)

func ping(*conn, jute.Record) (jute.Record, jute.Code) { return nil, jute.OK }

// syncPath is the answer to a sync once it has been to the leader and back.
func syncPath(_ *conn, body jute.Record) (jute.Record, jute.Code) {
	return &jute.PathReply{Path: body.(*jute.PathRequest).Path}, jute.OK
}

// sync sends a sync to the leader and answers when it comes back, behind all
// that the leader had committed. It is no transaction: it proves nothing about
// who leads, and a deposed leader answers it.
func (m *Member) sync(r *request) {
	answer := func() {
		r.answer = r.read
		r.conn.drain()
	}
	stalled := m.link.up.stalled || m.link.down.stalled
	if m.leads() || m.deposed || stalled && m.syncHere {
		answer()
		return
	}
	m.link.up.send(func() { m.backward(answer) })
}

func whoAmI(c *conn, _ jute.Record) (jute.Record, jute.Code) {
	reply := &jute.WhoAmIReply{Clients: []jute.ClientInfo{}}
	for _, id := range c.ids {
		reply.Clients = append(reply.Clients, jute.ClientInfo{Scheme: id.scheme, User: id.user()})
	}
	return reply, jute.OK
}

// other handles what is no ordinary request. Like a real server it answers at
// once, ahead of what is still in the queue.
func (c *conn) other(h jute.RequestHeader, rest []byte) bool {
	r := &request{conn: c, xid: h.Xid, op: h.Op}
	if !c.intercept(r, c.session) {
		return true // lost; whoever lost it has seen to the connection
	}
	c.srv.mu.Lock()
	defer c.srv.mu.Unlock()
	c.note(r)
	switch {
	case r.hook.code() != jute.OK:
		c.deliver(r, &jute.ReplyHeader{Xid: h.Xid, Err: r.hook.code()})
	case h.Op == jute.OpAuth:
		return c.auth(r, rest)
	case h.Op == jute.OpSASL:
		// What a server without SASL says.
		var token noToken
		c.deliver(r, &jute.ReplyHeader{Xid: h.Xid}, &token)
		return true
	default:
		c.deliver(r, &jute.ReplyHeader{Xid: h.Xid, Zxid: -1, Err: jute.Unimplemented})
	}
	c.finish()
	return true // until what is queued is written
}

type noToken []byte

func (t *noToken) Fields(c jute.Coder) { c.Buffer((*[]byte)(t)) }

// auth adds an identity to the connection. A failure ends it.
func (c *conn) auth(r *request, rest []byte) bool {
	var req jute.AuthRequest
	if _, err := jute.Unmarshal(rest, &req); err != nil {
		return false
	}
	switch req.Scheme {
	case "digest":
		c.addIdentity(digestIdentity(string(req.Auth)))
	case "ip": // which every connection has from the start
	default:
		c.deliver(r, &jute.ReplyHeader{Xid: r.xid, Err: jute.AuthFailed})
		c.finish()
		return true
	}
	c.deliver(r, &jute.ReplyHeader{Xid: r.xid})
	return true
}

func (c *conn) addIdentity(id identity) {
	if !slices.Contains(c.ids, id) {
		c.ids = append(c.ids, id)
	}
}

// closing is the change that ends a session: one transaction that names all
// its ephemerals.
func (s *Server) closing(id int64) change {
	paths := s.leader.tree.ephemeralsOf(id)
	s.checkClosingSize(id, paths)
	return change{op: jute.OpCloseSession, paths: paths}
}

// checkClosingSize fails the test if a real ensemble would not survive the end
// of this session. The transaction is logged in full, nothing limits it, and
// reading it back fails beyond twice jute.maxbuffer: every server of the
// ensemble refuses to start again.
func (s *Server) checkClosingSize(id int64, paths []string) {
	const header, digest = 32, 12
	size := header + 4 + digest
	for _, p := range paths {
		size += 4 + len(p)
	}
	if limit := 2 * s.cfg.maxBuffer; size > limit {
		s.fault("session %#x ends with %d ephemerals, a transaction of %d bytes: beyond %d a real ensemble never starts again",
			id, len(paths), size, limit)
	}
}

// expireSession ends a session whose time is over, or that is to be.
func (s *Server) expireSession(id int64) {
	if s.sessions.byID[id] == nil {
		return
	}
	s.log.add(entry{kind: "expired", session: id})
	s.commit(&txn{session: id, op: jute.OpCloseSession, changes: []change{s.closing(id)}})
}
