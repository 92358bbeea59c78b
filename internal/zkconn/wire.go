package zkconn

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkrecipes/zkrecipes/internal/leaseclock"
)

// Transaction id of pings, and opcodes.
const (
	xidPing           = -2
	opCreate          = 1
	opDelete          = 2
	opExists          = 3
	opGetData         = 4
	opSetData         = 5
	opGetACL          = 6
	opSetACL          = 7
	opGetChildren2    = 12
	opCheck           = 13
	opMulti           = 14
	opCreateContainer = 19
	opCreateTTL       = 21
	opCloseSession    = -11
)

// isWrite reports whether the ensemble commits the request by quorum.
func isWrite(op int32) bool {
	switch op {
	case opCreate, opDelete, opSetData, opSetACL, opMulti, opCreateContainer, opCreateTTL:
		return true
	}
	return false
}

// wire is a connection that watches the frames go by.
//
// The client library writes from one goroutine and reads from another, one
// frame a call to Write. Reading goes through a buffer, so that a burst of
// replies costs one system call.
type wire struct {
	net.Conn
	g        *guard
	deadline time.Time // of the handshake
	r        *bufio.Reader
	in       inbound
	sentAt   leaseclock.Instant // when the handshake was sent
	since    leaseclock.Instant // when it was answered
	greeted  bool               // the handshake was sent; used by the writer alone

	// link is set by the reader when the handshake is answered; the client
	// library starts to write requests only after that.
	link *leaseclock.Link

	shutOnce sync.Once

	mu      sync.Mutex
	pending map[int32]request  // by their xid
	pings   []leaseclock.Frame // answered in their order
}

// request is one that is under way.
type request struct {
	op int32
	leaseclock.Frame
}

func newWire(g *guard, conn net.Conn, deadline time.Time) *wire {
	// Ignored while the handshake lasts: the client library would allow it
	// several session timeouts, and part of it for ever.
	_ = conn.SetDeadline(deadline) // a connection that cannot have one is broken, which the handshake will show
	w := &wire{
		Conn:     conn,
		g:        g,
		deadline: deadline,
		r:        bufio.NewReaderSize(conn, 16<<10),
		in:       inbound{limit: g.cfg.MaxFrame},
		pending:  make(map[int32]request),
	}
	w.in.wants = w.isResults
	return w
}

// Write sends one frame. It always reports success: on an error it closes the
// connection, which the reader notices.
func (w *wire) Write(b []byte) (int, error) {
	w.note(b)
	if _, err := w.Conn.Write(w.amend(b)); err != nil {
		w.shut(err)
	}
	return len(b), nil
}

// amend changes requests that the client library cannot make as they should be.
func (w *wire) amend(b []byte) []byte {
	const head = 16 // length, xid, opcode, length of the path
	if w.link == nil || len(b) <= head {
		return b
	}
	last := len(b) - 1
	switch op := int32(binary.BigEndian.Uint32(b[8:])); {
	case op == opCreate && b[last] == zk.FlagContainer:
		// Its own call for containers has a data race with Close; the other one
		// makes them persistent.
		b = bytes.Clone(b)
		binary.BigEndian.PutUint32(b[8:], opCreateContainer)
	case (op == opExists || op == opGetData || op == opGetChildren2) && w.g.watched(b[head:last]):
		// Somebody listens to the path that is read. The flag that asks for a
		// watch comes last.
		b = bytes.Clone(b)
		b[last] = 1
	}
	return b
}

// note takes down a frame about to be sent.
func (w *wire) note(b []byte) {
	now := w.g.cfg.Now()
	if !w.greeted {
		w.greeted = true
		w.sentAt = now
		return
	}
	if len(b) < 12 {
		return
	}
	xid := int32(binary.BigEndian.Uint32(b[4:]))
	op := int32(binary.BigEndian.Uint32(b[8:]))
	r := request{op: op, Frame: w.link.Send(now, isWrite(op))}
	w.mu.Lock()
	defer w.mu.Unlock()
	if xid == xidPing {
		w.pings = append(w.pings, r.Frame)
	} else {
		w.pending[xid] = r
	}
}

// Read hands on what the server sent, after a look at it.
func (w *wire) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	if n > 0 {
		if bad := w.in.feed(p[:n], w.frame); bad != nil {
			n, err = 0, bad
		}
	}
	if err != nil {
		w.shut(err)
	}
	return n, err
}

// frame looks at a frame that has arrived whole.
func (w *wire) frame(head []byte) error {
	if w.link == nil {
		h, err := parseHandshake(head)
		if err != nil {
			return err
		}
		if err := w.g.connected(w, h); err != nil {
			return err
		}
		return w.Conn.SetDeadline(time.Time{})
	}
	now := w.g.cfg.Now()
	w.g.hear(now)
	xid := int32(binary.BigEndian.Uint32(head))
	code := int32(binary.BigEndian.Uint32(head[12:]))
	r, ok := w.answered(xid)
	if !ok {
		return nil // a watch event
	}
	if code == 0 {
		if err := fits(r.op, w.in.with(head)[replyHead:], w.in.size-replyHead); err != nil {
			return err
		}
	}
	if xid == xidPing && w.overdue(now) {
		return errOverdue
	}
	// A failed multi is a committed transaction too, its header says ok; an
	// error in the header proves nothing.
	w.link.Answered(r.Frame, now, code == 0)
	return nil
}

// errOverdue ends a connection whose server answers pings and not a request: a
// real one can lose one (ZooKeeper 3.8.0, three servers, seen with sync and
// reads), and whoever waits for it would wait for ever.
var errOverdue = errors.New("a request was not answered within the session timeout")

// overdue reports whether a request has been under way for a session timeout.
func (w *wire) overdue(now leaseclock.Instant) bool {
	limit := now - w.g.chain.Timeout()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range w.pending {
		if f.Sent() < limit {
			return true
		}
	}
	return false
}

// isResults reports whether a frame is the reply to a transaction, of which no part
// is enough to know its shape.
func (w *wire) isResults(head []byte) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pending[int32(binary.BigEndian.Uint32(head))].op == opMulti
}

func (w *wire) answered(xid int32) (request, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if xid == xidPing {
		if len(w.pings) == 0 {
			return request{}, false
		}
		f := w.pings[0]
		w.pings = w.pings[1:]
		return request{Frame: f}, true
	}
	r, ok := w.pending[xid]
	delete(w.pending, xid)
	return r, ok
}

// shut closes the connection for the given reason.
func (w *wire) shut(reason error) {
	w.shutOnce.Do(func() {
		hangUp(w.Conn)
		w.g.disconnected(w, reason)
	})
}

// Close is called by the client library when it is done with the connection.
func (w *wire) Close() error {
	w.shut(net.ErrClosed)
	return nil
}

// The client library's deadlines count only after the handshake.

func (w *wire) SetReadDeadline(t time.Time) error {
	if w.link == nil {
		return nil
	}
	return w.Conn.SetReadDeadline(t)
}

func (w *wire) SetWriteDeadline(t time.Time) error {
	if !w.greeted || w.link == nil {
		return nil
	}
	return w.Conn.SetWriteDeadline(t)
}

// headLen is how much of a frame is looked at: a reply's header, or a whole
// handshake.
const (
	replyHead    = 16
	handshakeMin = 36
	handshakeMax = 256
)

var errFrameLength = errors.New("frame length out of range: not a ZooKeeper server, or a reply over the limit")

// inbound cuts the incoming bytes into frames and keeps the head of each, and all
// of those that are wanted.
type inbound struct {
	limit   int
	wants   func(head []byte) bool // nil for none; asked of those that are longer than a head
	started bool                   // the handshake has passed

	head [4 + handshakeMax]byte
	size int    // of the frame, without its length
	have int    // bytes kept in head
	left int    // bytes of the frame that are still to come, behind its length
	rest []byte // of a frame that is wanted, what comes behind its head
}

// with returns all of a frame that is wanted, or no more than the head of another.
func (in *inbound) with(head []byte) []byte {
	if len(in.rest) == 0 {
		return head
	}
	return append(bytes.Clone(head), in.rest...)
}

// feed takes in bytes and calls fn with the head of each frame that is
// complete.
func (in *inbound) feed(p []byte, fn func(head []byte) error) error {
	for len(p) > 0 {
		if in.have < 4 {
			n := copy(in.head[in.have:4], p)
			in.have += n
			p = p[n:]
			if in.have < 4 {
				return nil
			}
			if err := in.begin(); err != nil {
				return err
			}
			continue
		}
		n := min(len(p), in.left)
		kept := copy(in.head[in.have:], p[:n])
		in.have += kept
		if kept < n && in.wants != nil && in.wants(in.head[4:]) {
			in.rest = append(in.rest, p[kept:n]...)
		}
		in.left -= n
		p = p[n:]
		if in.left == 0 {
			head := in.head[4:in.have]
			in.have, in.started = 0, true
			if err := fn(head); err != nil {
				return err
			}
			in.rest = nil
		}
	}
	return nil
}

// begin checks a frame's length before anybody allocates by it.
func (in *inbound) begin() error {
	n := int(int32(binary.BigEndian.Uint32(in.head[:4])))
	lo, hi := replyHead, in.limit
	if !in.started {
		lo, hi = handshakeMin, handshakeMax
	}
	if n < lo || n > hi {
		return fmt.Errorf("%w: %d", errFrameLength, n)
	}
	in.size, in.left = n, n
	return nil
}

// handshake is a server's answer to a connection request.
type handshake struct {
	timeout   time.Duration
	sessionID int64
}

func parseHandshake(b []byte) (handshake, error) {
	if len(b) < handshakeMin {
		return handshake{}, errFrameLength
	}
	h := handshake{
		timeout:   time.Duration(int32(binary.BigEndian.Uint32(b[4:]))) * time.Millisecond,
		sessionID: int64(binary.BigEndian.Uint64(b[8:])),
	}
	if h.sessionID != 0 && h.timeout <= 0 {
		return handshake{}, fmt.Errorf("server granted a session timeout of %v", h.timeout)
	}
	if n := int32(binary.BigEndian.Uint32(b[16:])); n != 16 {
		return handshake{}, fmt.Errorf("server sent a session password of %d bytes", n)
	}
	return h, nil
}
