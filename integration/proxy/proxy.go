package proxy

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/zkrecipes/zkrecipes/integration/internal/ports"
)

const (
	// dialTimeout bounds the connect to the target: loopback answers at once
	// or not at all.
	dialTimeout = 2 * time.Second
	// dialPause is between the tries of a patient proxy.
	dialPause = 5 * time.Millisecond
)

// Option changes what a proxy does beyond forwarding.
type Option interface{ apply(*Proxy) }

type optionFunc func(*Proxy)

func (f optionFunc) apply(p *Proxy) { f(p) }

// ZooKeeper makes the proxy follow ZooKeeper's client protocol.
func ZooKeeper() Option {
	return optionFunc(func(p *Proxy) { p.tracking = newTracking() })
}

// RewriteFirst lets f replace the first message that each client sends. f is
// given all that has arrived and returns nil as long as that is too short.
func RewriteFirst(f func([]byte) []byte) Option {
	return optionFunc(func(p *Proxy) { p.rewrite = f })
}

// Patient makes the proxy hold a new connection for up to d until the target
// listens, where it would reset the connection at once. A listener that is
// refused tries again; one that was accepted and reset may not.
func Patient(d time.Duration) Option {
	return optionFunc(func(p *Proxy) { p.patience = d })
}

// Proxy forwards connections to one target. All methods may be called from any
// goroutine.
type Proxy struct {
	target   string
	port     *ports.Port
	tracking *tracking
	rewrite  func([]byte) []byte
	patience time.Duration

	toServer, toClient Flow

	wg sync.WaitGroup // accept loops and connections

	done chan struct{} // closed by Close

	mu      sync.Mutex   // guards what follows
	lis     net.Listener // nil while new connections are refused
	conns   map[*conn]struct{}
	refused bool // by Refuse
	down    bool // by TargetDown
	closed  bool
}

// Listen starts a proxy to target on a loopback port of its own, which it
// keeps until Close.
func Listen(target string, opts ...Option) (*Proxy, error) {
	port, err := ports.Reserve()
	if err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	p := &Proxy{target: target, port: port, done: make(chan struct{}), conns: make(map[*conn]struct{})}
	for _, o := range opts {
		o.apply(p)
	}
	if err := p.Accept(); err != nil {
		port.Release()
		return nil, err
	}
	return p, nil
}

// Addr is where clients connect to.
func (p *Proxy) Addr() string { return p.port.Addr() }

// ToServer is the flow from the clients to the target.
func (p *Proxy) ToServer() *Flow { return &p.toServer }

// ToClient is the flow from the target to the clients.
func (p *Proxy) ToClient() *Flow { return &p.toClient }

// Pass makes both flows pass.
func (p *Proxy) Pass() { p.toServer.Pass(); p.toClient.Pass() }

// Stall stalls both flows.
func (p *Proxy) Stall() { p.toServer.Stall(); p.toClient.Stall() }

// Blackhole swallows both flows. Connections are still accepted, as a server
// that is silent accepts them; see also Refuse.
func (p *Proxy) Blackhole() { p.toServer.Blackhole(); p.toClient.Blackhole() }

// Delay delays each flow by d, and so every round trip by 2d.
func (p *Proxy) Delay(d time.Duration) { p.toServer.Delay(d); p.toClient.Delay(d) }

// Cut resets all connections, whatever the flows do. New ones may be made.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.abort()
	}
}

// Conns is the number of connections that have not ended.
func (p *Proxy) Conns() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.conns)
}

// Refuse refuses new connections until Accept; running ones go on.
func (p *Proxy) Refuse() { _ = p.listen(func() { p.refused = true }) }

// Accept ends Refuse.
func (p *Proxy) Accept() error { return p.listen(func() { p.refused = false }) }

// TargetDown tells the proxy whether its target is known not to listen. As long
// as that is so new connections are refused, as the target would refuse them.
func (p *Proxy) TargetDown(down bool) error { return p.listen(func() { p.down = down }) }

// listen changes why new connections are refused and follows it with the
// listener.
func (p *Proxy) listen(change func()) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
	want := !p.refused && !p.down && !p.closed
	switch {
	case want && p.lis == nil:
		lis, err := bind(p.port.Addr())
		if err != nil {
			return fmt.Errorf("proxy: %w", err)
		}
		p.lis = lis
		p.wg.Go(func() { p.accept(lis) })
	case !want && p.lis != nil:
		_ = p.lis.Close()
		p.lis = nil
	}
	return nil
}

// bind listens on a port of the proxy's own. A child process that is being
// started holds copies of all sockets until it runs its program, those of a
// listener closed a moment ago included: so a port can be in use, for that long.
func bind(addr string) (net.Listener, error) {
	give := time.Now().Add(dialTimeout)
	for {
		lis, err := net.Listen("tcp", addr)
		if !errors.Is(err, syscall.EADDRINUSE) || time.Now().After(give) {
			return lis, err
		}
		time.Sleep(dialPause)
	}
}

// Close resets all connections, stops listening and returns when every
// goroutine of the proxy has ended. A second call does nothing.
func (p *Proxy) Close() {
	_ = p.listen(func() {
		if !p.closed {
			close(p.done)
		}
		p.closed = true
	})
	p.Cut()
	p.wg.Wait()
	p.port.Release()
}

func (p *Proxy) accept(lis net.Listener) {
	for {
		client, err := lis.Accept()
		if err != nil {
			return // closed by listen
		}
		p.wg.Go(func() { p.connect(client.(*net.TCPConn)) })
	}
}

// connect reaches the target before anything is forwarded. Where nothing
// listens there the client is reset: it has connected already and cannot be
// refused any more. The connection counts, and can be cut, from the start.
func (p *Proxy) connect(client *net.TCPConn) {
	c := &conn{proxy: p, client: client, done: make(chan struct{})}
	if p.tracking != nil {
		c.tracker = newTracker(p.tracking)
	}
	if !p.add(c) {
		c.abort()
		return
	}
	defer p.remove(c)
	server, err := p.dial()
	if err != nil {
		c.abort()
		return
	}
	if c.reached(server.(*net.TCPConn)) {
		c.serve()
	}
}

func (p *Proxy) dial() (net.Conn, error) {
	give := time.Now().Add(p.patience)
	for {
		server, err := net.DialTimeout("tcp", p.target, dialTimeout)
		if err == nil || time.Now().After(give) {
			return server, err
		}
		select {
		case <-time.After(dialPause):
		case <-p.done:
			return nil, err
		}
	}
}

// add returns false once the proxy is closed.
func (p *Proxy) add(c *conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.conns[c] = struct{}{}
	return true
}

func (p *Proxy) remove(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}
