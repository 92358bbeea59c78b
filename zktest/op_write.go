package zktest

import (
	"time"

	"github.com/zkrecipes/zkrecipes/internal/jute"
)

// propose turns a write into a transaction and commits it. It runs at the
// leader, and is the one place that decides the order of all that happens.
func (s *Server) propose(r *request) {
	x := &txn{session: r.conn.session, op: r.op, req: r}
	p := &prep{tree: s.leader.tree, session: x.session, ids: r.ids, checkTTL: s.cfg.extendedTypes}
	code := s.prepare(x, p, r)
	if p.deadly {
		s.fault("session %#x sent a createTTL of %s without a time to live: a real server dies of it", x.session, r.path())
	}
	if code != jute.OK {
		if r.op == jute.OpReconfig && code == jute.MarshallingError {
			// Alone among the writes it is decoded before it gets a zxid.
			r.answer = settled(nil, code)
			return
		}
		x.failed = true
		x.changes = []change{{op: jute.OpError, err: code}}
	}
	s.commit(x)
}

// prepare works out the changes of a write.
func (s *Server) prepare(x *txn, p *prep, r *request) jute.Code {
	if r.bad {
		return jute.MarshallingError
	}
	switch r.op {
	case jute.OpMulti:
		return s.prepareMulti(x, p, r)
	case jute.OpCloseSession:
		x.changes = []change{s.closing(x.session)}
		return jute.OK
	case jute.OpCreateSession:
		return jute.MarshallingError
	case jute.OpDeleteContainer:
		return jute.BadArguments // only servers send it
	}
	if code := s.sessions.claim(x.session, r.conn.member); code != jute.OK {
		return code
	}
	if r.op == jute.OpReconfig {
		return jute.ReconfigDisabled
	}
	c, code := p.change(r.op, r.body)
	x.changes = []change{c}
	return code
}

// commit gives a transaction its number and brings it to every server.
func (s *Server) commit(x *txn) {
	s.zxid++
	x.zxid = s.zxid
	x.millis = time.Now().UnixMilli()
	if x.op == jute.OpCloseSession {
		s.sessions.remove(x.session)
	}
	s.leader.apply(x)
	for _, m := range s.members {
		if !m.leads() && !m.deposed && !m.away {
			m.link.down.send(func() { m.apply(x) })
		}
	}
	s.watchReapable()
}

// writeReply is the answer to a write that has been applied.
func writeReply(x *txn, results []result) (jute.Record, jute.Code) {
	if x.op == jute.OpMulti && !x.failed {
		return multiReply(results), jute.OK
	}
	if len(results) == 0 {
		return nil, jute.OK
	}
	r := results[0]
	if r.err != jute.OK {
		return nil, r.err
	}
	switch r.op {
	case jute.OpCreate:
		return &jute.PathReply{Path: r.path}, jute.OK
	case jute.OpCreate2, jute.OpCreateContainer, jute.OpCreateTTL:
		return &jute.CreateReply{Path: r.path, Stat: r.stat}, jute.OK
	case jute.OpSetData, jute.OpSetACL:
		return &jute.StatReply{Stat: r.stat}, jute.OK
	}
	return nil, jute.OK
}

// reconfigRequest is decoded and then refused: reconfiguration is disabled in
// a real server too, unless its operator says otherwise.
type reconfigRequest struct {
	joining, leaving, members []byte // strings, of which some are null
	config                    int64
}

func (r *reconfigRequest) Fields(c jute.Coder) {
	c.Buffer(&r.joining)
	c.Buffer(&r.leaving)
	c.Buffer(&r.members)
	c.Int64(&r.config)
}
