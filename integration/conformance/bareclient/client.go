// Package bareclient is a ZooKeeper client without comfort: one connection,
// every frame visible, nothing sent or repeated unasked. It sends whatever it
// is told to, sense or nonsense, so that a server can be asked about anything
// that the protocol allows and more.
package bareclient

import (
	"fmt"
	"net"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/jute"
)

// patience bounds each wait for the server, so that a test fails rather than
// hangs.
const patience = 20 * time.Second

// maxReply is the greatest reply that is read.
const maxReply = 64 << 20

// A Client is one connection. It is for one goroutine.
type Client struct {
	// Session is the server's answer to the handshake; a session id of 0 says
	// that the session has expired.
	Session jute.ConnectResponse

	// LastXid is the transaction id of the last request. Whoever resumes a
	// session takes it along: servers tell a session's requests apart by it,
	// over all its connections.
	LastXid int32

	conn net.Conn
}

// A Request is one to send. Body may be any record, also one that does not
// belong to the operation.
type Request struct {
	Op   jute.Op
	Body jute.Record
}

// A Frame is what the server sent: a reply, with its body still encoded, or a
// watch event.
type Frame struct {
	jute.ReplyHeader
	Body  []byte
	Event *jute.WatcherEvent // nil in replies
}

// New asks for a new session.
func New(addr string, timeout time.Duration) (*Client, error) {
	return Connect(addr, jute.ConnectRequest{
		TimeoutMillis: int32(timeout / time.Millisecond), Password: make([]byte, 16),
	})
}

// Connect makes a handshake. A server that hangs up without an answer gives an
// error.
func Connect(addr string, req jute.ConnectRequest) (*Client, error) {
	c, err := Dial(addr)
	if err != nil {
		return nil, err
	}
	readOnly := jute.ReadOnly(false)
	err = c.SendRaw(jute.AppendFrame(nil, &req, &readOnly))
	var answer []byte
	if err == nil {
		answer, err = c.ReceiveRaw()
	}
	if err == nil {
		_, err = jute.Unmarshal(answer, &c.Session, &readOnly)
	}
	if err != nil {
		c.Hangup()
		return nil, fmt.Errorf("bareclient: handshake: %w", err)
	}
	return c, nil
}

// Dial connects without a handshake.
func Dial(addr string) (*Client, error) {
	conn, err := net.DialTimeout("tcp", addr, patience)
	if err != nil {
		return nil, fmt.Errorf("bareclient: %w", err)
	}
	return &Client{conn: conn}, nil
}

// Send sends requests in one go and returns the transaction ids they got. The
// requests for which the protocol fixes an id get that.
func (c *Client) Send(requests ...Request) ([]int32, error) {
	var frames []byte
	xids := make([]int32, len(requests))
	for i, r := range requests {
		xids[i] = c.nextXid(r.Op)
		frames = jute.AppendFrame(frames, &jute.RequestHeader{Xid: xids[i], Op: r.Op}, r.Body)
	}
	return xids, c.SendRaw(frames)
}

func (c *Client) nextXid(op jute.Op) int32 {
	switch op {
	case jute.OpPing:
		return jute.XidPing
	case jute.OpAuth:
		return jute.XidAuth
	case jute.OpSetWatches, jute.OpSetWatches2:
		return jute.XidSetWatches
	}
	c.LastXid++
	return c.LastXid
}

// SendRaw sends bytes as they are.
func (c *Client) SendRaw(b []byte) error {
	_ = c.conn.SetWriteDeadline(time.Now().Add(patience))
	_, err := c.conn.Write(b)
	return err
}

// Receive returns the next frame.
func (c *Client) Receive() (Frame, error) {
	b, err := c.ReceiveRaw()
	if err != nil {
		return Frame{}, err
	}
	var f Frame
	if f.Body, err = jute.Unmarshal(b, &f.ReplyHeader); err != nil {
		return Frame{}, err
	}
	if f.Xid == jute.XidNotification {
		f.Event = new(jute.WatcherEvent)
		f.Body, err = jute.Unmarshal(f.Body, f.Event)
	}
	return f, err
}

// ReceiveRaw returns what the next frame holds.
func (c *Client) ReceiveRaw() ([]byte, error) {
	_ = c.conn.SetReadDeadline(time.Now().Add(patience))
	return jute.ReadFrame(c.conn, maxReply)
}

// Hangup closes the connection. The session goes on.
func (c *Client) Hangup() { _ = c.conn.Close() }
