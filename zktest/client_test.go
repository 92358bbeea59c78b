package zktest_test

import (
	"errors"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/jute"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// bare is a client without comfort: one connection, one request at a time,
// everything visible. Reads time out after a while so that no test hangs.
type bare struct {
	t       testing.TB
	conn    net.Conn
	xid     int32
	session jute.ConnectResponse
	zxid    int64               // of the last reply
	events  []jute.WatcherEvent // in the order they came
}

const patience = 20 * time.Second

// handshake connects and returns the client and whether the server answered.
func handshake(t testing.TB, conn net.Conn, req jute.ConnectRequest) (*bare, bool) {
	c := &bare{t: t, conn: conn}
	ro := jute.ReadOnly(false)
	if _, err := conn.Write(jute.AppendFrame(nil, &req, &ro)); err != nil {
		return c, false
	}
	b, err := c.read()
	if err != nil {
		return c, false
	}
	_, err = jute.Unmarshal(b, &c.session, &ro)
	require.NoError(t, err)
	return c, true
}

func (c *bare) read() ([]byte, error) {
	_ = c.conn.SetReadDeadline(time.Now().Add(patience))
	return jute.ReadFrame(c.conn, 64<<20)
}

func (c *bare) resumption() jute.ConnectRequest {
	return jute.ConnectRequest{
		LastZxidSeen: c.zxid, TimeoutMillis: c.session.TimeoutMillis,
		SessionID: c.session.SessionID, Password: c.session.Password,
	}
}

// send sends a request and returns its xid.
func (c *bare) send(op jute.Op, body jute.Record) int32 {
	c.xid++
	xid := c.xid
	if op == jute.OpPing {
		xid = jute.XidPing
	}
	c.sendXid(xid, op, body)
	return xid
}

func (c *bare) sendXid(xid int32, op jute.Op, body jute.Record) {
	_, err := c.conn.Write(jute.AppendFrame(nil, &jute.RequestHeader{Xid: xid, Op: op}, body))
	require.NoError(c.t, err)
}

// receive returns the next reply and collects the events before it.
func (c *bare) receive() (jute.ReplyHeader, []byte, error) {
	for {
		b, err := c.read()
		if err != nil {
			return jute.ReplyHeader{}, nil, err
		}
		var h jute.ReplyHeader
		rest, err := jute.Unmarshal(b, &h)
		require.NoError(c.t, err)
		if h.Xid != jute.XidNotification {
			c.zxid = max(c.zxid, h.Zxid)
			return h, rest, nil
		}
		require.Equal(c.t, int64(-1), h.Zxid)
		var ev jute.WatcherEvent
		_, err = jute.Unmarshal(rest, &ev)
		require.NoError(c.t, err)
		c.events = append(c.events, ev)
	}
}

// do sends a request, waits for its reply and decodes it.
func (c *bare) do(op jute.Op, body, reply jute.Record) jute.Code {
	c.t.Helper()
	xid := c.send(op, body)
	h, rest, err := c.receive()
	require.NoError(c.t, err)
	require.Equal(c.t, xid, h.Xid)
	if h.Err == jute.OK && reply != nil {
		rest, err = jute.Unmarshal(rest, reply)
		require.NoError(c.t, err)
	}
	if reply == nil || h.Err == jute.OK {
		require.Empty(c.t, rest, "reply to %v", op)
	}
	return h.Err
}

// closed waits until the server has closed the connection.
func (c *bare) closed() bool {
	for {
		if _, err := c.read(); err != nil {
			var ne net.Error
			return !errors.As(err, &ne) || !ne.Timeout()
		}
	}
}

// open connects to the first server and opens a session of 10 s.
func open(t testing.TB, s *zktest.Server) *bare { return openAt(t, s, 0, 10*time.Second) }

func openAt(t testing.TB, s *zktest.Server, member int, timeout time.Duration) *bare {
	t.Helper()
	c, ok := handshake(t, dial(t, s, member), jute.ConnectRequest{TimeoutMillis: int32(timeout / time.Millisecond), Password: make([]byte, 16)})
	require.True(t, ok)
	require.NotZero(t, c.session.SessionID)
	return c
}

func dial(t testing.TB, s *zktest.Server, member int) net.Conn {
	t.Helper()
	conn, err := s.Dial("tcp", s.Member(member).Addr(), time.Second)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return conn
}

// resume resumes the session at a server, and tells whether it was answered.
func (c *bare) resume(s *zktest.Server, member int) (*bare, bool) {
	c.t.Helper()
	return handshake(c.t, dial(c.t, s, member), c.resumption())
}

func (c *bare) id() int64 { return c.session.SessionID }

func createBody(path string, flags int32) *jute.CreateRequest {
	return &jute.CreateRequest{Path: path, ACL: jute.OpenACL(), Flags: flags}
}

func version(path string, v int32) *jute.PathVersionRequest {
	return &jute.PathVersionRequest{Path: path, Version: v}
}

func watching(path string) *jute.PathWatchRequest {
	return &jute.PathWatchRequest{Path: path, Watch: true}
}

func plain(path string) *jute.PathWatchRequest { return &jute.PathWatchRequest{Path: path} }

func at(path string) *jute.PathRequest { return &jute.PathRequest{Path: path} }

// create makes a znode that must succeed, and returns its path.
func (c *bare) create(path string, flags int32) string {
	c.t.Helper()
	var reply jute.PathReply
	require.Equal(c.t, jute.OK, c.do(jute.OpCreate, createBody(path, flags), &reply))
	return reply.Path
}

// stat returns the Stat of a znode that must be there.
func (c *bare) stat(path string) jute.Stat {
	c.t.Helper()
	var reply jute.StatReply
	require.Equal(c.t, jute.OK, c.do(jute.OpExists, plain(path), &reply))
	return reply.Stat
}

func (c *bare) exists(path string) bool {
	c.t.Helper()
	code := c.do(jute.OpExists, plain(path), &jute.StatReply{})
	require.Contains(c.t, []jute.Code{jute.OK, jute.NoNode}, code)
	return code == jute.OK
}

func (c *bare) set(path, data string) jute.Code {
	c.t.Helper()
	return c.do(jute.OpSetData, &jute.SetDataRequest{Path: path, Data: []byte(data), Version: -1}, &jute.StatReply{})
}

func (c *bare) delete(path string) jute.Code {
	c.t.Helper()
	return c.do(jute.OpDelete, version(path, -1), nil)
}

func op(o jute.Op, body jute.Record) jute.MultiOp { return jute.MultiOp{Op: o, Body: body} }

// multi returns the results of a multi.
func (c *bare) multi(ops ...jute.MultiOp) []jute.MultiResult {
	c.t.Helper()
	var reply jute.MultiReply
	require.Equal(c.t, jute.OK, c.do(jute.OpMulti, &jute.MultiRequest{Ops: ops}, &reply))
	return reply.Results
}

func (c *bare) ping() {
	c.t.Helper()
	require.Equal(c.t, jute.OK, c.do(jute.OpPing, &jute.Empty{}, nil))
}

// next waits for the next event.
func (c *bare) next() jute.WatcherEvent {
	c.t.Helper()
	for len(c.events) == 0 {
		c.poll()
	}
	ev := c.events[0]
	c.events = c.events[1:]
	return ev
}

// poll reads one frame, which must be an event.
func (c *bare) poll() {
	c.t.Helper()
	b, err := c.read()
	require.NoError(c.t, err)
	var h jute.ReplyHeader
	var ev jute.WatcherEvent
	_, err = jute.Unmarshal(b, &h, &ev)
	require.NoError(c.t, err)
	require.Equal(c.t, jute.XidNotification, h.Xid)
	c.events = append(c.events, ev)
}

func event(typ jute.EventType, path string) jute.WatcherEvent {
	return jute.WatcherEvent{Type: typ, State: jute.StateSyncConnected, Path: path}
}
