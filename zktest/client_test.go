package zktest_test

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/jute"
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
	_, err := conn.Write(jute.AppendFrame(nil, &req, &ro))
	require.NoError(t, err)
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
			ne, ok := err.(net.Error)
			return !ok || !ne.Timeout()
		}
	}
}
