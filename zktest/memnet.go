package zktest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// memNet is a network inside the process. Its connections wait on condition
// variables only, so that a testing/synctest bubble in which everybody waits
// for bytes counts as idle and its clock moves on.
type memNet struct {
	mu        sync.Mutex
	listeners map[string]*memListener
	nextPort  int
}

func newMemNet() *memNet {
	return &memNet{listeners: map[string]*memListener{}, nextPort: 40000}
}

// The addresses come from the blocks that RFC 5737 reserves for
// documentation: who forgets the dialer reaches nobody by accident.
func memServerAddr(i int) string { return fmt.Sprintf("192.0.2.%d:2181", i+1) }

func (n *memNet) listen(addr string) (net.Listener, error) {
	tcp, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.listeners[addr] != nil {
		return nil, opError("listen", tcp, syscall.EADDRINUSE)
	}
	l := &memListener{net: n, addr: tcp}
	l.arrived.L = &n.mu
	n.listeners[addr] = l
	return l, nil
}

// dial never waits: like a kernel, the listener takes the connection before
// the server has accepted it.
func (n *memNet) dial(ctx context.Context, addr string) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.listeners[addr]
	if l == nil {
		return nil, opError("dial", memAddr(addr), syscall.ECONNREFUSED)
	}
	n.nextPort++
	client, server := memPipe(&net.TCPAddr{IP: net.IPv4(198, 51, 100, 1), Port: n.nextPort}, l.addr)
	l.backlog = append(l.backlog, server)
	l.arrived.Signal()
	return client, nil
}

// memAddr is an address at which nobody listens, never looked up.
type memAddr string

func (memAddr) Network() string  { return "tcp" }
func (a memAddr) String() string { return string(a) }

func opError(op string, addr net.Addr, err error) error {
	return &net.OpError{Op: op, Net: "tcp", Addr: addr, Err: err}
}

// memListener's fields are guarded by its net's lock.
type memListener struct {
	net     *memNet
	addr    *net.TCPAddr
	backlog []net.Conn
	arrived sync.Cond
	closed  bool
}

func (l *memListener) Accept() (net.Conn, error) {
	l.net.mu.Lock()
	defer l.net.mu.Unlock()
	for len(l.backlog) == 0 && !l.closed {
		l.arrived.Wait()
	}
	if l.closed {
		return nil, opError("accept", l.addr, net.ErrClosed)
	}
	c := l.backlog[0]
	l.backlog = l.backlog[1:]
	return c, nil
}

func (l *memListener) Close() error {
	l.net.mu.Lock()
	defer l.net.mu.Unlock()
	if l.closed {
		return opError("close", l.addr, net.ErrClosed)
	}
	l.closed = true
	delete(l.net.listeners, l.addr.String())
	for _, c := range l.backlog {
		c.Close()
	}
	l.arrived.Broadcast()
	return nil
}

func (l *memListener) Addr() net.Addr { return l.addr }

// memBuffer is the most that one direction of a connection holds, about what
// a kernel would: a writer beyond it waits for the reader.
const memBuffer = 256 << 10

// A flow is one direction of a connection.
type flow struct {
	mu       sync.Mutex
	changed  sync.Cond
	buf      []byte
	noMore   bool // the writer has closed: what is buffered, then EOF
	noReader bool // the reader has closed: writing fails
	rd, wd   deadline

	latency  time.Duration
	late     []late // the parts at the end of buf that are still under way
	underWay int    // how many bytes these are
	arrival  *time.Timer
}

// late is a number of bytes, and when they arrive.
type late struct {
	at time.Time
	n  int
}

func newFlow() *flow {
	f := &flow{}
	f.changed.L = &f.mu
	return f
}

// A deadline wakes the flow when it passes.
type deadline struct {
	at    time.Time
	timer *time.Timer
}

func (d *deadline) set(f *flow, at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	d.at = at
	if !at.IsZero() {
		d.timer = time.AfterFunc(time.Until(at), func() {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.changed.Broadcast()
		})
	}
	f.changed.Broadcast()
}

func (d *deadline) passed() bool { return !d.at.IsZero() && !time.Now().Before(d.at) }

func (f *flow) read(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for {
		switch {
		case f.noReader:
			return 0, net.ErrClosed
		case f.rd.passed():
			return 0, os.ErrDeadlineExceeded
		case f.arrived() > 0:
			n := copy(p, f.buf[:f.arrived()])
			f.buf = f.buf[n:]
			if len(f.buf) == 0 {
				f.buf = nil // ten thousand idle connections hold no buffers
			}
			f.changed.Broadcast()
			return n, nil
		case f.noMore && len(f.buf) == 0:
			return 0, io.EOF
		case len(p) == 0:
			return 0, nil
		}
		f.awaitArrival()
		f.changed.Wait()
	}
}

// arrived returns how much of buf can be read.
func (f *flow) arrived() int {
	for len(f.late) > 0 && !time.Now().Before(f.late[0].at) {
		f.underWay -= f.late[0].n
		f.late = f.late[1:]
	}
	return len(f.buf) - f.underWay
}

// awaitArrival has the reader woken when the next bytes arrive.
func (f *flow) awaitArrival() {
	if len(f.late) == 0 || f.arrival != nil {
		return
	}
	f.arrival = time.AfterFunc(time.Until(f.late[0].at), func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.arrival = nil
		f.changed.Broadcast()
	})
}

func (f *flow) write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	done := 0
	for {
		switch {
		case f.noMore:
			return done, net.ErrClosed
		case f.noReader:
			return done, syscall.EPIPE
		case f.wd.passed():
			return done, os.ErrDeadlineExceeded
		case done == len(p):
			return done, nil
		}
		if n := min(memBuffer-len(f.buf), len(p)-done); n > 0 {
			f.buf = append(f.buf, p[done:done+n]...)
			if f.latency > 0 {
				f.late = append(f.late, late{time.Now().Add(f.latency), n})
				f.underWay += n
			}
			done += n
			f.changed.Broadcast()
			continue
		}
		f.changed.Wait()
	}
}

// end closes one side of the flow.
func (f *flow) end(side *bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	first := !*side
	*side = true
	if f.arrival != nil && f.noReader {
		f.arrival.Stop()
		f.arrival = nil
	}
	f.changed.Broadcast()
	return first
}

// memConn is one end of a connection.
type memConn struct {
	in, out       *flow
	local, remote *net.TCPAddr
}

func memPipe(client, server *net.TCPAddr) (*memConn, *memConn) {
	up, down := newFlow(), newFlow()
	return &memConn{down, up, client, server}, &memConn{up, down, server, client}
}

// setLatency makes what is written from now on, in either direction, arrive so
// much later.
func (c *memConn) setLatency(d time.Duration) {
	for _, f := range []*flow{c.in, c.out} {
		f.mu.Lock()
		f.latency = d
		f.mu.Unlock()
	}
}

func (c *memConn) Read(p []byte) (int, error) {
	n, err := c.in.read(p)
	return n, c.wrap("read", err)
}

func (c *memConn) Write(p []byte) (int, error) {
	n, err := c.out.write(p)
	return n, c.wrap("write", err)
}

func (c *memConn) wrap(op string, err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	return &net.OpError{Op: op, Net: "tcp", Source: c.local, Addr: c.remote, Err: err}
}

func (c *memConn) Close() error {
	_ = c.SetDeadline(time.Time{}) // stops the timers
	c.in.end(&c.in.noReader)
	if !c.out.end(&c.out.noMore) {
		return c.wrap("close", net.ErrClosed)
	}
	return nil
}

func (c *memConn) LocalAddr() net.Addr  { return c.local }
func (c *memConn) RemoteAddr() net.Addr { return c.remote }

func (c *memConn) SetDeadline(t time.Time) error {
	c.in.rd.set(c.in, t)
	c.out.wd.set(c.out, t)
	return nil
}

func (c *memConn) SetReadDeadline(t time.Time) error {
	c.in.rd.set(c.in, t)
	return nil
}

func (c *memConn) SetWriteDeadline(t time.Time) error {
	c.out.wd.set(c.out, t)
	return nil
}
