package conformance_test

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/conformance/bareclient"
	"github.com/zkrecipes/zkrecipes/internal/jute"
)

// A session is one of a script's, with its connection. All that it does and
// sees is written down. The paths it takes are below the script's folder.
type session struct {
	*bareclient.Client
	s        *script
	name     string
	id       int64
	password []byte
	zxid     int64 // of the last reply
	cause    int64 // what the last event says of its transaction
	pending  []event
}

type event = jute.WatcherEvent

// A reply is what came back for one request.
type reply struct {
	s    *script
	code jute.Code
	zxid int64
	body jute.Record // nil if there was none
}

// open opens a session.
func (s *script) open(name string) *session {
	s.t.Helper()
	return s.openFor(name, 10*time.Second)
}

func (s *script) openFor(name string, timeout time.Duration) *session {
	s.t.Helper()
	return s.openAt(0, name, timeout)
}

// openAt opens a session at a server other than the first.
func (s *script) openAt(server int, name string, timeout time.Duration) *session {
	s.t.Helper()
	c, err := bareclient.New(s.addrs[server], timeout)
	require.NoError(s.t, err)
	require.NotZero(s.t, c.Session.SessionID)
	a := &session{Client: c, s: s, name: name, id: c.Session.SessionID, password: c.Session.Password}
	s.names[a.id] = name
	s.cast = append(s.cast, a)
	s.note("%s: session of %d ms, version %d", name, c.Session.TimeoutMillis, c.Session.ProtocolVersion)
	return a
}

// at is the path of a name like "/x" in the script's folder, which is "".
func (s *script) at(path string) string { return s.folder + path }

// do sends a request and waits for its reply.
func (a *session) do(op jute.Op, body jute.Record) *reply {
	a.s.t.Helper()
	return a.doAll(bareclient.Request{Op: op, Body: body})[0]
}

// doAll sends requests in one go and waits for their replies.
func (a *session) doAll(requests ...bareclient.Request) []*reply {
	a.s.t.Helper()
	xids, err := a.Send(requests...)
	require.NoError(a.s.t, err)
	var replies []*reply
	for i, r := range requests {
		a.s.ops++
		a.s.note("%s: %v %s", a.name, r.Op, a.s.showRequest(r.Body))
		f := a.receive()
		require.Equal(a.s.t, xids[i], f.Xid, "reply to another request than %v", r.Op)
		replies = append(replies, a.decode(r.Op, f))
	}
	return replies
}

// receive returns the next reply and notes the events before it.
func (a *session) receive() bareclient.Frame {
	a.s.t.Helper()
	for {
		f, err := a.Client.Receive()
		require.NoError(a.s.t, err, "%s waits for a reply; so far:\n%s", a.name, a.s.tail())
		if f.Event == nil {
			a.zxid = max(a.zxid, f.Zxid)
			return f
		}
		a.happened(f)
	}
}

func (a *session) happened(f bareclient.Frame) {
	a.s.note("%s:   event %v %q, state %d, code %d, rest %x", a.name, f.Event.Type, a.s.relative(f.Event.Path), f.Event.State, f.Err, f.Body)
	a.cause = f.Zxid // not noted: it differs in 3.9
	a.pending = append(a.pending, *f.Event)
}

func (a *session) decode(op jute.Op, f bareclient.Frame) *reply {
	a.s.t.Helper()
	r := &reply{s: a.s, code: f.Err, zxid: f.Zxid}
	rest := f.Body
	if body := replyTo(op); body != nil && len(rest) > 0 {
		var err error
		rest, err = jute.Unmarshal(rest, body)
		require.NoError(a.s.t, err, "reply to %v: %x", op, f.Body)
		r.body = body
	}
	a.s.note("%s:   %v at %s %s, rest %x", a.name, f.Err, a.s.showZxid(f.Zxid), a.s.showReply(r.body), rest)
	return r
}

// replyTo returns an empty body of the reply to op.
func replyTo(op jute.Op) jute.Record {
	switch op {
	case jute.OpCreate, jute.OpSync:
		return new(jute.PathReply)
	case jute.OpCreate2, jute.OpCreateContainer, jute.OpCreateTTL:
		return new(jute.CreateReply)
	case jute.OpExists, jute.OpSetData, jute.OpSetACL:
		return new(jute.StatReply)
	case jute.OpGetData:
		return new(jute.DataReply)
	case jute.OpGetChildren, jute.OpGetEphemerals:
		return new(jute.ListReply)
	case jute.OpGetChildren2:
		return new(jute.ChildrenReply)
	case jute.OpGetACL:
		return new(jute.ACLReply)
	case jute.OpGetAllChildrenNumber, jute.OpAddWatch:
		return new(jute.NumberReply)
	case jute.OpMulti, jute.OpMultiRead:
		return new(jute.MultiReply)
	case jute.OpWhoAmI:
		return new(jute.WhoAmIReply)
	}
	return nil
}

// is states the code of the reply.
func (r *reply) is(code jute.Code) *reply {
	r.s.t.Helper()
	require.Equal(r.s.t, code, r.code, "so far:\n%s", r.s.tail())
	return r
}

// ok states that the request succeeded.
func (r *reply) ok() *reply {
	r.s.t.Helper()
	return r.is(jute.OK)
}

// saw states all events since the last time.
func (a *session) saw(events ...event) {
	a.s.t.Helper()
	a.ping()
	require.Equal(a.s.t, events, a.pending)
	a.pending = nil
}

// awaits waits for the next event.
func (a *session) awaits(e event) {
	a.s.t.Helper()
	if len(a.pending) == 0 {
		f, err := a.Client.Receive()
		require.NoError(a.s.t, err)
		require.NotNil(a.s.t, f.Event)
		a.happened(f)
	}
	require.Equal(a.s.t, e, a.pending[0])
	a.pending = a.pending[1:]
}

// cutOff states that the server closes the connection.
func (a *session) cutOff() {
	a.s.t.Helper()
	for {
		f, err := a.Client.Receive()
		if err != nil {
			require.NotErrorIs(a.s.t, err, errTimeout, "the connection stays open")
			a.s.note("%s: cut off", a.name)
			return
		}
		if f.Event != nil {
			a.happened(f)
			continue
		}
		a.s.note("%s:   %d: %v at %s, rest %x", a.name, f.Xid, f.Err, a.s.showZxid(f.Zxid), f.Body)
	}
}

// resume connects again and asks for the same session.
func (a *session) resume() *session {
	a.s.t.Helper()
	return a.resumeWith(resumption(a.id, a.password, a.zxid))
}

// resumeWith is resume with a request of one's own; nil if nobody answers.
func (a *session) resumeWith(req jute.ConnectRequest) *session {
	a.s.t.Helper()
	return a.resumeAt(0, req)
}

// resumeAt is resumeWith at a server other than the first.
func (a *session) resumeAt(server int, req jute.ConnectRequest) *session {
	a.s.t.Helper()
	c, err := bareclient.Connect(a.s.addrs[server], req)
	if err != nil {
		a.s.note("%s: no answer", a.name)
		return nil
	}
	c.LastXid = a.LastXid + 100 // beyond what the old connection may still send
	b := &session{Client: c, s: a.s, name: a.name, id: a.id, password: a.password, zxid: a.zxid}
	a.s.cast = append(a.s.cast, b)
	a.s.note("%s: resumed %v, %d ms", a.name, c.Session.SessionID == a.id, c.Session.TimeoutMillis)
	return b
}
