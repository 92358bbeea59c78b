package proxy

import (
	"bytes"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"time"
)

// How a stream ends is delivered like its bytes, so that flows delay, stall
// and swallow it too.
type ending int

const (
	goesOn ending = iota
	ended         // FIN: the other side is told by CloseWrite
	broken        // RST: the other side is reset
)

// chunk is a piece of a stream: bytes, or its end.
type chunk struct {
	data []byte
	due  time.Time
	end  ending
}

const (
	chunkSize  = 64 << 10
	queueLimit = 64 // chunks in a direction of a connection before its sender blocks
)

// conn is one accepted connection and its counterpart to the target.
type conn struct {
	proxy   *Proxy
	client  *net.TCPConn
	tracker *tracker      // nil where the proxy does not follow the protocol
	done    chan struct{} // closed by abort and when both directions have ended

	mu     sync.Mutex   // guards what follows
	server *net.TCPConn // nil until reached; not changed afterwards
	closed bool
}

// reached gives the connection its counterpart; false if it has been aborted.
func (c *conn) reached(server *net.TCPConn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		_ = server.SetLinger(0)
		_ = server.Close()
		return false
	}
	c.server = server
	return true
}

// serve runs the connection until both directions have ended.
func (c *conn) serve() {
	p := c.proxy
	var wg sync.WaitGroup
	wg.Go(func() { c.pump(direction{c.client, c.server, &p.toServer, &p.toClient}, c.requests()) })
	wg.Go(func() { c.pump(direction{c.server, c.client, &p.toClient, &p.toServer}, c.replies()) })
	wg.Wait()
	c.close(false)
}

// requests returns how the stream of the client is cut into chunks.
func (c *conn) requests() reader {
	switch {
	case c.tracker != nil:
		return c.tracker.request
	case c.proxy.rewrite != nil:
		return rewriteOnce(c.proxy.rewrite)
	default:
		return chunkReader()
	}
}

func (c *conn) replies() reader {
	if c.tracker != nil {
		return c.tracker.reply
	}
	return chunkReader()
}

// reader reads the next chunk's bytes. A [cutError] asks for the connection's
// abort, now and whatever the flows do: it is the fault that was ordered.
type reader func(io.Reader) ([]byte, error)

type cutError struct {
	request Request
	hit     chan<- Request // nil where nobody waits
}

func (*cutError) Error() string { return "proxy: cut as ordered" }

// tell tells whoever ordered the cut; the channel has room for the one hit.
func (e *cutError) tell() {
	if e.hit != nil {
		e.hit <- e.request
	}
}

func chunkReader() reader {
	buf := make([]byte, chunkSize)
	return func(r io.Reader) ([]byte, error) {
		n, err := r.Read(buf)
		return bytes.Clone(buf[:n]), err
	}
}

// direction is one of a connection's two streams.
type direction struct {
	from, to   *net.TCPConn
	flow, back *Flow // back carries the resets that this stream causes
}

// pump moves one direction. Reading and delivering are two goroutines, so that
// a delay does not slow the stream down to one chunk per delay.
func (c *conn) pump(d direction, read reader) {
	queue := make(chan chunk, queueLimit)
	var wg sync.WaitGroup
	wg.Go(func() { c.deliver(queue, d) })
	for {
		data, err := read(d.from)
		if cut := (*cutError)(nil); errors.As(err, &cut) {
			c.abort()
			cut.tell()
			break
		}
		next := chunk{data: data, due: d.flow.due(), end: endingOf(err)}
		select {
		case queue <- next:
		case <-c.done:
		}
		if err != nil {
			break
		}
	}
	close(queue)
	wg.Wait()
}

func endingOf(err error) ending {
	switch {
	case err == nil:
		return goesOn
	case errors.Is(err, io.EOF):
		return ended
	default:
		return broken
	}
}

// deliver writes the queue to the other side as the flow allows.
func (c *conn) deliver(queue <-chan chunk, d direction) {
	lost := false
	for {
		mode, changed := d.flow.state()
		if lost && mode != swallowing {
			c.abort()
			return
		}
		select {
		case next, ok := <-queue:
			switch {
			case ok:
				if !c.deliverOne(next, d, &lost) {
					return
				}
			case lost:
				queue = nil // the other side learns of the end when the flow changes
			default:
				return
			}
		case <-changed:
		case <-c.done:
			return
		}
	}
}

// deliverOne returns false when the direction has ended.
func (c *conn) deliverOne(next chunk, d direction, lost *bool) bool {
	if !c.awaitDue(next.due) || !c.awaitMode(d.flow, passing, swallowing) {
		return false
	}
	// Once a byte is lost the rest is too, until deliver sees the flow pass.
	if mode, _ := d.flow.state(); mode == swallowing || *lost {
		*lost = true
		return true
	}
	if len(next.data) > 0 {
		if _, err := d.to.Write(next.data); err != nil {
			// The other side is gone; word of it travels the opposite way.
			if c.awaitMode(d.back, passing) {
				c.abort()
			}
			return false
		}
	}
	switch next.end {
	case ended:
		_ = d.to.CloseWrite()
		return false
	case broken:
		c.abort()
		return false
	}
	return true
}

// awaitDue returns false if the connection is aborted before due.
func (c *conn) awaitDue(due time.Time) bool {
	if due.IsZero() {
		return true
	}
	timer := time.NewTimer(time.Until(due))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.done:
		return false
	}
}

// awaitMode waits until f has one of the modes; it returns false if the
// connection is aborted before.
func (c *conn) awaitMode(f *Flow, modes ...mode) bool {
	for {
		mode, changed := f.state()
		if slices.Contains(modes, mode) {
			return true
		}
		select {
		case <-changed:
		case <-c.done:
			return false
		}
	}
}

// abort resets both sides.
func (c *conn) abort() { c.close(true) }

func (c *conn) close(reset bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.closed = true
	close(c.done)
	for _, side := range []*net.TCPConn{c.client, c.server} {
		if side == nil {
			continue
		}
		if reset {
			_ = side.SetLinger(0) // makes Close send RST
		}
		_ = side.Close()
	}
}
