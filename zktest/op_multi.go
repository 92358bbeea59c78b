package zktest

import "github.com/zkrecipes/zkrecipes/internal/jute"

// prepareMulti works out a multi: all its changes, or the first error with a
// mark for each of the others. A multi that fails this way is a transaction
// like any other and takes a zxid; only one that makes no sense is an error as
// a whole.
func (s *Server) prepareMulti(x *txn, p *prep, r *request) jute.Code {
	ops := r.body.(*jute.MultiRequest).Ops
	if mixed(ops) {
		return jute.MarshallingError
	}
	p.pending = map[string]*record{}
	failed := -1
	for i, o := range ops {
		if failed >= 0 {
			x.changes = append(x.changes, change{op: jute.OpError, err: jute.RuntimeInconsistency})
			continue
		}
		op, body := effective(o)
		if body == nil {
			return jute.MarshallingError
		}
		var c change
		code := s.sessions.claim(x.session, r.conn.member)
		if code == jute.SessionMoved {
			return code
		}
		if code == jute.OK {
			c, code = p.change(op, body)
		}
		if code != jute.OK {
			failed = i
			c = change{op: jute.OpError, err: code}
		}
		x.changes = append(x.changes, c)
	}
	for i := range failed {
		x.changes[i] = change{op: jute.OpError, err: jute.OK}
	}
	return jute.OK
}

// effective is what a server makes of an operation in a multi: it goes by the
// flags, so that a nested create2 is a plain create, and it cannot cope with
// the flags of a time to live where there is none.
func effective(o jute.MultiOp) (jute.Op, jute.Record) {
	switch b := o.Body.(type) {
	case *jute.CreateRequest:
		switch b.Flags {
		case jute.ModeContainer:
			return jute.OpCreateContainer, b
		case jute.ModeTTL, jute.ModeSequentialTTL:
			return jute.OpCreateTTL, nil
		}
		return jute.OpCreate, b
	case *jute.CreateTTLRequest:
		switch b.Flags {
		case jute.ModeTTL, jute.ModeSequentialTTL:
			return jute.OpCreateTTL, b
		}
		return effective(jute.MultiOp{Op: jute.OpCreate, Body: &b.CreateRequest})
	case *jute.PathWatchRequest:
		return o.Op, nil // a read
	}
	return o.Op, o.Body
}

// mixed tells whether there are reads and writes.
func mixed(ops []jute.MultiOp) bool {
	for _, o := range ops {
		if isRead(o) != isRead(ops[0]) {
			return true
		}
	}
	return false
}

func isRead(o jute.MultiOp) bool { return o.Op == jute.OpGetData || o.Op == jute.OpGetChildren }

func multiReply(results []result) *jute.MultiReply {
	reply := &jute.MultiReply{}
	for _, r := range results {
		out := jute.MultiResult{Op: r.op, Err: r.err}
		switch r.op {
		case jute.OpCreate:
			out.Body = &jute.PathReply{Path: r.path}
		case jute.OpCreateContainer, jute.OpCreateTTL:
			out.Op = jute.OpCreate2
			out.Body = &jute.CreateReply{Path: r.path, Stat: r.stat}
		case jute.OpSetData:
			out.Body = &jute.StatReply{Stat: r.stat}
		}
		reply.Results = append(reply.Results, out)
	}
	return reply
}

// multiRead answers each of several reads by itself.
func multiRead(c *conn, body jute.Record) (jute.Record, jute.Code) {
	ops := body.(*jute.MultiRequest).Ops
	if mixed(ops) {
		return nil, jute.MarshallingError
	}
	reply := &jute.MultiReply{}
	for _, o := range ops {
		if !isRead(o) {
			// A real server says so and still sends what it has so far.
			return reply, jute.MarshallingError
		}
		read := getData
		if o.Op == jute.OpGetChildren {
			read = getChildren
		}
		// No watches are left, whatever the request says.
		rec, code := read(c, &jute.PathWatchRequest{Path: o.Body.(*jute.PathWatchRequest).Path})
		out := jute.MultiResult{Op: o.Op, Body: rec}
		if code != jute.OK {
			out = jute.MultiResult{Op: jute.OpError, Err: code}
		}
		reply.Results = append(reply.Results, out)
	}
	return reply, jute.OK
}
