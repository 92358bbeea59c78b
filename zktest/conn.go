package zktest

import (
	"bufio"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/jute"
)

// A conn is the connection of a client to one server. A goroutine reads its
// requests and one writes its replies; both end with it, and the Server waits
// for them.
type conn struct {
	srv    *Server
	member *Member
	nc     net.Conn
	in     *bufio.Reader
	gate   gate
	over   atomic.Bool   // the connection is closed or about to be
	dead   chan struct{} // closed when over is set
	cable  atomic.Pointer[Cable]

	// Guarded by srv.mu.
	session    int64
	timeout    time.Duration
	ids        []identity
	pending    []*request // in the order they came, until they are answered
	since      time.Time
	impatience *job     // closes the connection if it does not get a session
	last       struct { // for the four-letter words
		op       jute.Op
		xid      int32
		zxid     int64
		received int
	}

	out struct {
		mu      sync.Mutex
		changed sync.Cond
		buf     []byte
		kept    []kept // in the order in which they follow buf
		end     bool   // close once all this is written
		started bool   // the session is there: requests may be read
		sent    int
	}
}

// A kept part of what a connection sends stays behind until a time.
type kept struct {
	until time.Time
	buf   []byte
}

// outLimit is how much a client may leave unread before the server stops
// reading from it.
const outLimit = 1 << 20

func newConn(m *Member, nc net.Conn) *conn {
	c := &conn{srv: m.srv, member: m, nc: nc, in: bufio.NewReaderSize(nc, 1024), since: time.Now(), dead: make(chan struct{})}
	host, _, _ := net.SplitHostPort(nc.RemoteAddr().String())
	c.ids = []identity{{"ip", host}}
	c.out.changed.L = &c.out.mu
	return c
}

// read is the goroutine that reads.
func (c *conn) read() {
	defer c.srv.running.Done()
	defer c.close()
	if !c.open() {
		return
	}
	for c.ready() {
		frame, err := jute.ReadFrame(c.in, c.srv.cfg.maxBuffer)
		if err != nil {
			return
		}
		if !c.pass(ToServer) {
			continue // lost on its way, or over
		}
		if !c.request(frame) {
			return
		}
	}
}

// ready waits until the session is there and the client has read enough. Once
// the last reply is queued there is nothing more to read.
func (c *conn) ready() bool {
	c.out.mu.Lock()
	defer c.out.mu.Unlock()
	for !c.over.Load() && (!c.out.started || c.out.end || c.unread() > outLimit) {
		c.out.changed.Wait()
	}
	return !c.over.Load()
}

// unread returns how many bytes wait to be written. The caller holds out.mu.
func (c *conn) unread() int {
	n := len(c.out.buf)
	for _, k := range c.out.kept {
		n += len(k.buf)
	}
	return n
}

// pass goes through the gates between client and server.
func (c *conn) pass(dir Direction) bool {
	if cable := c.cable.Load(); cable != nil {
		return c.srv.gates.pass(dir, &c.over, &c.gate, &c.member.gate, &cable.gate)
	}
	return c.srv.gates.pass(dir, &c.over, &c.gate, &c.member.gate)
}

// write is the goroutine that writes.
func (c *conn) write() {
	defer c.srv.running.Done()
	defer c.close()
	var spare []byte
	for {
		buf, last := c.next(spare)
		if len(buf) > 0 && c.pass(ToClient) {
			if _, err := c.nc.Write(buf); err != nil {
				return
			}
		}
		if last {
			return
		}
		if spare = buf; cap(spare) > 64<<10 {
			spare = nil
		}
	}
}

// next waits for bytes to write. It leaves spare behind for those that follow.
func (c *conn) next(spare []byte) (buf []byte, last bool) {
	c.out.mu.Lock()
	defer c.out.mu.Unlock()
	ended := func() bool { return c.over.Load() || c.out.end && len(c.out.kept) == 0 }
	for len(c.out.buf) == 0 && !ended() {
		c.out.changed.Wait()
	}
	buf, c.out.buf = c.out.buf, spare[:0]
	c.out.changed.Broadcast()
	return buf, ended()
}

// send queues a frame made of the records.
func (c *conn) send(records ...jute.Record) {
	c.out.mu.Lock()
	defer c.out.mu.Unlock()
	if c.out.end {
		return
	}
	to := &c.out.buf
	if n := len(c.out.kept); n > 0 {
		to = &c.out.kept[n-1].buf
	}
	*to = jute.AppendFrame(*to, records...)
	c.out.sent++
	c.out.changed.Broadcast()
}

// delay keeps all that is sent from now on, replies and events in their order,
// for d longer than what is kept already. It is the bytes that are late, as on
// a slow network, and not what they tell: that is decided when they are sent.
// The caller holds srv.mu.
func (c *conn) delay(d time.Duration) {
	if d <= 0 {
		return
	}
	c.out.mu.Lock()
	defer c.out.mu.Unlock()
	until := time.Now()
	if n := len(c.out.kept); n > 0 {
		until = c.out.kept[n-1].until
	}
	until = until.Add(d)
	c.out.kept = append(c.out.kept, kept{until: until})
	c.srv.clock.at(until, c.letGo)
}

// letGo sends what was kept first.
func (c *conn) letGo() {
	c.out.mu.Lock()
	defer c.out.mu.Unlock()
	c.out.buf = append(c.out.buf, c.out.kept[0].buf...)
	c.out.kept = c.out.kept[1:]
	c.out.changed.Broadcast()
}

// start lets the reader go on to the first request.
func (c *conn) start() {
	c.out.mu.Lock()
	defer c.out.mu.Unlock()
	c.out.started = true
	c.out.changed.Broadcast()
}

// finish closes the connection once all that is queued is written.
func (c *conn) finish() {
	c.out.mu.Lock()
	defer c.out.mu.Unlock()
	c.out.end = true
	c.out.changed.Broadcast()
}

// abort closes the connection at once. It may be called from anywhere, with or
// without srv.mu.
func (c *conn) abort() {
	if c.over.Swap(true) {
		return
	}
	close(c.dead)
	c.nc.Close()
	c.out.mu.Lock()
	c.out.changed.Broadcast()
	c.out.mu.Unlock()
	c.srv.gates.wake()
}

// close is the end of either goroutine: the connection and its watches go,
// the session stays. A client that sees the end knows that its watches are gone.
func (c *conn) close() {
	c.srv.mu.Lock()
	c.member.forget(c)
	c.srv.mu.Unlock()
	c.abort()
}

// event queues a watch event, unless a hook keeps or delays it. The caller
// holds srv.mu.
func (c *conn) event(typ jute.EventType, path string) {
	h := c.srv.hooks.event(typ, path, c.session)
	c.srv.log.add(entry{kind: "event", session: c.session, path: path, text: typ.String() + h.note()})
	if h == nil {
		c.sendEvent(typ, path)
	} else if !h.suppress {
		c.srv.clock.after(h.delay, func() { c.sendEvent(typ, path) })
	}
}

func (c *conn) sendEvent(typ jute.EventType, path string) {
	c.send(&jute.ReplyHeader{Xid: jute.XidNotification, Zxid: -1},
		&jute.WatcherEvent{Type: typ, State: jute.StateSyncConnected, Path: path})
}
