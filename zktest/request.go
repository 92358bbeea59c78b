package zktest

import (
	"slices"

	"github.com/zkrecipes/zkrecipes/internal/jute"
)

// A request is one request of a client on its way through the server.
type request struct {
	conn *conn
	xid  int32
	op   jute.Op
	body jute.Record
	bad  bool       // the body cannot be decoded
	ids  []identity // of the client when it asked
	hook *Hook

	answer func() (jute.Record, jute.Code) // nil until it is known; guarded by srv.mu

	// Of the request for a session with which a connection begins.
	handshake     bool
	resumes       bool
	knowsReadOnly bool
}

// An operation is what the server knows of an Op.
type operation struct {
	body func() jute.Record
	// read answers from the data of one server. It is nil for writes, which
	// the leader turns into transactions.
	read func(c *conn, body jute.Record) (jute.Record, jute.Code)
}

func body[T any, P interface {
	*T
	jute.Record
}]() jute.Record {
	return P(new(T))
}

// operations are those that clients may ask for, auth and sasl aside. Their
// code is in the files named after their families.
var operations = map[jute.Op]operation{
	jute.OpCreate:          {body: body[jute.CreateRequest]},
	jute.OpCreate2:         {body: body[jute.CreateRequest]},
	jute.OpCreateContainer: {body: body[jute.CreateRequest]},
	jute.OpCreateTTL:       {body: body[jute.CreateTTLRequest]},
	jute.OpDelete:          {body: body[jute.PathVersionRequest]},
	jute.OpDeleteContainer: {body: body[jute.Empty]},
	jute.OpSetData:         {body: body[jute.SetDataRequest]},
	jute.OpSetACL:          {body: body[jute.SetACLRequest]},
	jute.OpCheck:           {body: body[jute.PathVersionRequest]},
	jute.OpMulti:           {body: body[jute.MultiRequest]},
	jute.OpReconfig:        {body: body[reconfigRequest]},
	jute.OpCreateSession:   {body: body[jute.Empty]},
	jute.OpCloseSession:    {body: body[jute.Empty]},

	jute.OpExists:               {body[jute.PathWatchRequest], exists},
	jute.OpGetData:              {body[jute.PathWatchRequest], getData},
	jute.OpGetChildren:          {body[jute.PathWatchRequest], getChildren},
	jute.OpGetChildren2:         {body[jute.PathWatchRequest], getChildren2},
	jute.OpGetAllChildrenNumber: {body[jute.PathRequest], getAllChildrenNumber},
	jute.OpGetEphemerals:        {body[jute.PathRequest], getEphemerals},
	jute.OpGetACL:               {body[jute.PathRequest], getACL},
	jute.OpMultiRead:            {body[jute.MultiRequest], multiRead},
	jute.OpSetWatches:           {body[jute.SetWatchesRequest], setWatches},
	jute.OpSetWatches2:          {body[jute.SetWatches2Request], setWatches2},
	jute.OpAddWatch:             {body[jute.AddWatchRequest], addWatch},
	jute.OpCheckWatches:         {body[jute.WatchesRequest], checkWatches},
	jute.OpRemoveWatches:        {body[jute.WatchesRequest], removeWatches},
	jute.OpWhoAmI:               {body[jute.Empty], whoAmI},
	jute.OpPing:                 {body[jute.Empty], ping},
	jute.OpSync:                 {body[jute.PathRequest], syncPath},
}

// request handles one frame. It returns false if that was the last one.
func (c *conn) request(frame []byte) bool {
	var h jute.RequestHeader
	rest, err := jute.Unmarshal(frame, &h)
	if err != nil {
		return false
	}
	known, ok := operations[h.Op]
	if !ok {
		return c.other(h, rest)
	}
	r := &request{conn: c, xid: h.Xid, op: h.Op, body: known.body()}
	if _, err := jute.Unmarshal(rest, r.body); err != nil {
		r.bad = true
	}
	if c.intercept(r, c.session) {
		c.srv.mu.Lock()
		defer c.srv.mu.Unlock()
		c.submit(r)
	}
	return true
}

// intercept gives a request to the first hook that waits for such a one. It
// returns false if the request is lost.
func (c *conn) intercept(r *request, session int64) bool {
	s := c.srv
	s.mu.Lock()
	r.hook = s.hooks.take(r, session)
	s.mu.Unlock()
	if r.hook == nil {
		return true
	}
	return r.hook.before(r, session)
}

// submit puts a request into the queue of its connection. A write goes to the
// leader at once, everything is answered in the order of the queue.
func (c *conn) submit(r *request) {
	if _, ok := c.member.conns[c]; !ok {
		return
	}
	c.note(r)
	c.member.touch(c.session, c.timeout)
	r.ids = slices.Clone(c.ids)
	c.pending = append(c.pending, r)
	switch {
	case r.hook.code() != jute.OK:
		r.answer = func() (jute.Record, jute.Code) { return nil, r.hook.code() }
	case operations[r.op].read == nil:
		c.member.forward(func() { c.srv.propose(r) })
	case c.member.leads() && c.srv.sessions.claim(c.session, c.member) == jute.SessionMoved:
		// Only a leader looks at where the session is before a read.
		r.answer = settled(nil, jute.SessionMoved)
	case r.op == jute.OpSync:
		c.member.sync(r)
	default:
		r.answer = r.read
	}
	c.drain()
}

func (r *request) read() (jute.Record, jute.Code) {
	if r.bad {
		return nil, jute.MarshallingError
	}
	return operations[r.op].read(r.conn, r.body)
}

// committed has the answer to a write: its transaction has been applied at the
// server of its client.
func (r *request) committed(x *txn, results []result) {
	if r.handshake {
		r.conn.welcome(r)
		return
	}
	r.answer = func() (jute.Record, jute.Code) { return writeReply(x, results) }
	r.conn.drain()
}

// drain answers what is at the head of the queue.
func (c *conn) drain() {
	for len(c.pending) > 0 && c.pending[0].answer != nil {
		r := c.pending[0]
		c.pending = c.pending[1:]
		c.reply(r)
	}
}

// settled keeps an answer that is already decided.
func settled(rec jute.Record, code jute.Code) func() (jute.Record, jute.Code) {
	return func() (jute.Record, jute.Code) { return rec, code }
}

func (c *conn) reply(r *request) {
	rec, code := r.answer()
	if r.op != jute.OpPing {
		c.srv.log.add(entry{kind: "reply", session: c.session, op: r.op, xid: r.xid, code: code, zxid: c.member.tree.zxid})
	}
	c.last.zxid = c.member.tree.zxid
	switch {
	case code == jute.SessionMoved:
		// The client is elsewhere; a real server says nothing to who is left.
		c.finish()
		return
	case r.op == jute.OpCheck && code == jute.OK && !r.hook.dropReply():
		// A real server stumbles over a check outside a multi that succeeds,
		// and never answers it.
		return
	}
	h := jute.ReplyHeader{Xid: r.xid, Zxid: c.member.tree.zxid, Err: code}
	if r.op == jute.OpPing {
		h.Xid = jute.XidPing
	}
	if rec == nil {
		rec = &jute.Empty{}
	}
	c.deliver(r, &h, rec)
	if r.op == jute.OpCloseSession && code == jute.OK && !r.hook.swallow() {
		c.finish()
	}
}

// deliver sends the answer to a request, if the hook that took it lets it go.
func (c *conn) deliver(r *request, records ...jute.Record) {
	c.delay(r.hook.replyDelay())
	switch {
	case r.hook.dropReply():
		c.pending = nil
		c.finish()
	case r.hook.swallow():
	default:
		c.send(records...)
	}
}
