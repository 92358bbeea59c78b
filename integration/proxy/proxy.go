package proxy

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/integration/internal/ports"
)

// dialTimeout bounds the connect to the target: loopback answers at once or
// not at all.
const dialTimeout = 2 * time.Second

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

// Proxy forwards connections to one target. All methods may be called from any
// goroutine.
type Proxy struct {
	target   string
	port     *ports.Port
	tracking *tracking
	rewrite  func([]byte) []byte

	toServer, toClient Flow

	wg sync.WaitGroup // accept loops and connections

	mu     sync.Mutex // guards what follows
	lis    net.Listener
	conns  map[*conn]struct{}
	closed bool
}

// Listen starts a proxy to target on a loopback port of its own, which it
// keeps until Close.
func Listen(target string, opts ...Option) (*Proxy, error) {
	port, err := ports.Reserve()
	if err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	p := &Proxy{target: target, port: port, conns: make(map[*conn]struct{})}
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
func (p *Proxy) Refuse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lis != nil {
		_ = p.lis.Close()
		p.lis = nil
	}
}

// Accept ends Refuse.
func (p *Proxy) Accept() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return errors.New("proxy: accept: closed")
	}
	if p.lis != nil {
		return nil
	}
	lis, err := net.Listen("tcp", p.port.Addr())
	if err != nil {
		return fmt.Errorf("proxy: %w", err)
	}
	p.lis = lis
	p.wg.Go(func() { p.accept(lis) })
	return nil
}

// Close resets all connections, stops listening and returns when every
// goroutine of the proxy has ended. A second call does nothing.
func (p *Proxy) Close() {
	p.Refuse()
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.Cut()
	p.wg.Wait()
	p.port.Release()
}

func (p *Proxy) accept(lis net.Listener) {
	for {
		client, err := lis.Accept()
		if err != nil {
			return // closed by Refuse
		}
		p.wg.Go(func() { p.connect(client.(*net.TCPConn)) })
	}
}

// connect reaches the target before anything is forwarded. Where nothing
// listens there the client is reset: it has connected already and cannot be
// refused any more.
func (p *Proxy) connect(client *net.TCPConn) {
	server, err := net.DialTimeout("tcp", p.target, dialTimeout)
	if err != nil {
		_ = client.SetLinger(0)
		_ = client.Close()
		return
	}
	c := &conn{proxy: p, client: client, server: server.(*net.TCPConn), done: make(chan struct{})}
	if p.tracking != nil {
		c.tracker = newTracker(p.tracking)
	}
	if !p.add(c) {
		c.abort()
		return
	}
	c.serve()
	p.remove(c)
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
