package zkconn

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"time"
)

// inquire learns which session timeout a server grants, before the session is
// shown to it.
//
// A server that resumes a session puts its own limits on the timeout, and the
// leader counts by the new one from then on. Where they were lowered and the
// answer is lost, the client would go by the old one and believe too long. So a
// session is resumed only where what will be granted is known beforehand: from a
// session of its own that was made for the question and is closed at once.
//
// It is asked while the connection that will resume the session is already up:
// a restart that changes the limits would take that one down. That they are not
// changed by JMX in between is part of the failure model.
func (g *guard) inquire(ctx context.Context, network, addr string) error {
	conn, err := g.cfg.Dial(ctx, network, addr)
	if err != nil {
		return err
	}
	defer hangUp(conn)
	defer context.AfterFunc(g.ctx, func() { hangUp(conn) })()
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline) // a connection that cannot have one is hung up when the session ends
	}
	granted, err := ask(conn, g.lastGranted())
	if err != nil {
		return fmt.Errorf("ask for the session timeout it grants: %w", err)
	}
	if g.chain.Shorten(granted) {
		g.cfg.OnChange() // leases end sooner
	}
	return nil
}

// ask opens a session with the given timeout, closes it, and returns the timeout
// that the server has put in place of it.
func ask(conn net.Conn, timeout time.Duration) (time.Duration, error) {
	if _, err := conn.Write(newSessionRequest(timeout)); err != nil {
		return 0, err
	}
	h, err := readHandshake(conn)
	if err != nil {
		return 0, err
	}
	if h.sessionID == 0 {
		return 0, errRefused
	}
	// Where this is lost, the session expires by itself.
	_, _ = conn.Write(closeSessionRequest())
	return h.timeout, nil
}

// newSessionRequest is a whole frame: protocol version, last transaction seen,
// timeout, session id, password, and whether a read-only server would do.
func newSessionRequest(timeout time.Duration) []byte {
	const passwordLen = 16
	b := binary.BigEndian.AppendUint32(nil, 4+8+4+8+4+passwordLen+1)
	b = binary.BigEndian.AppendUint32(b, 0)
	b = binary.BigEndian.AppendUint64(b, 0)
	b = binary.BigEndian.AppendUint32(b, uint32(timeout.Milliseconds()))
	b = binary.BigEndian.AppendUint64(b, 0)
	b = binary.BigEndian.AppendUint32(b, passwordLen)
	b = append(b, make([]byte, passwordLen)...)
	return append(b, 0)
}

// closeSessionRequest is a whole frame: transaction id and opcode.
func closeSessionRequest() []byte {
	op := int32(opCloseSession)
	b := binary.BigEndian.AppendUint32(nil, 4+4)
	b = binary.BigEndian.AppendUint32(b, 1)
	return binary.BigEndian.AppendUint32(b, uint32(op))
}

// readHandshake reads a server's answer to a connection request.
func readHandshake(conn net.Conn) (handshake, error) {
	in := inbound{limit: handshakeMax}
	var h handshake
	var buf [4 + handshakeMax]byte
	for !in.started {
		n, err := conn.Read(buf[:])
		if bad := in.feed(buf[:n], func(head []byte) (err error) {
			h, err = parseHandshake(head)
			return err
		}); bad != nil {
			return handshake{}, bad
		}
		if err != nil && !in.started {
			return handshake{}, err
		}
	}
	return h, nil
}

// hangUp closes a connection without a farewell, which on a stalled TLS
// connection would take its time.
func hangUp(conn net.Conn) {
	if t, ok := conn.(interface{ NetConn() net.Conn }); ok {
		t.NetConn().Close()
	}
	conn.Close()
}
