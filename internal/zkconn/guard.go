package zkconn

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/leaseclock"
)

// guard keeps a zk.Conn within its one session. It is the only place that
// decides whether the session is connected, and whether it is over.
type guard struct {
	cfg     Config
	watched func(path []byte) bool // whether somebody wants to hear of a path
	chain   *leaseclock.Chain
	ctx     context.Context // ends with the session, and with it dials under way
	cancel  context.CancelFunc

	mu        sync.Mutex
	sessionID int64              // 0 before the first handshake
	granted   time.Duration      // by the last handshake, 0 before the first
	ready     chan struct{}      // closed while connected
	wire      *wire              // the connection in use, nil while there is none
	over      error              // why the session is over, nil while it lasts
	done      chan struct{}      // closed when it is over
	connects  int                // handshakes that succeeded
	heard     leaseclock.Instant // when a server last answered
	shortLife int                // connections in a row that ended right after the handshake
}

var errRefused = errors.New("server refused a new session")

func newGuard(cfg Config, watched func(path []byte) bool) *guard {
	g := &guard{
		cfg:     cfg,
		watched: watched,
		chain:   leaseclock.NewChain(cfg.Tick),
		ready:   make(chan struct{}),
		done:    make(chan struct{}),
	}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	return g
}

// patience bounds the dial and the handshake with one server, so that a round
// over all of them fits in half a session timeout.
func (g *guard) patience() time.Duration {
	share := g.cfg.Timeout / time.Duration(2*len(g.cfg.Servers))
	return min(max(share, 200*time.Millisecond), 5*time.Second)
}

// dial is the dialer handed to the client library.
func (g *guard) dial(network, addr string, _ time.Duration) (net.Conn, error) {
	if err := g.pause(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(g.ctx, g.patience())
	defer cancel()
	deadline, _ := ctx.Deadline()
	conn, err := g.cfg.Dial(ctx, network, addr)
	if err != nil {
		g.failed(fmt.Errorf("%s: %w", addr, err)) // dialers say themselves that they dialed
		return nil, err
	}
	w := newWire(g, conn, deadline)
	if err := g.adopt(w); err != nil {
		conn.Close()
		return nil, err
	}
	if g.lastGranted() > 0 {
		if err := g.inquire(ctx, network, addr); err != nil {
			w.shut(err)
			return nil, err
		}
	}
	return w, nil
}

// pause refuses to dial for a session that is over, and keeps a server that
// drops its clients right after the handshake from being dialed in a tight
// loop.
func (g *guard) pause() error {
	g.mu.Lock()
	n, over := g.shortLife, g.over
	g.mu.Unlock()
	if over != nil {
		return over
	}
	if n < 2 {
		return nil
	}
	wait := time.Second
	if n < 7 {
		wait = 10 * time.Millisecond << n
	}
	t := time.NewTimer(wait/2 + rand.N(wait/2))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-g.ctx.Done():
		return g.reason()
	}
}

// adopt makes w the connection whose handshake is awaited.
func (g *guard) adopt(w *wire) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.over != nil {
		return g.over
	}
	g.wire = w
	return nil
}

// connected takes in a handshake. An error ends the connection; where the
// server said that the session is over, or gave out another one, it ends the
// session too.
func (g *guard) connected(w *wire, h handshake) error {
	g.mu.Lock()
	switch {
	case g.over != nil:
		defer g.mu.Unlock()
		return g.over
	case g.wire != w: // shut while its answer was on the way
		defer g.mu.Unlock()
		return net.ErrClosed
	case h.sessionID == 0 && g.sessionID == 0:
		defer g.mu.Unlock()
		return errRefused
	case h.sessionID == 0:
		g.mu.Unlock()
		g.finish(ErrExpired)
		return ErrExpired
	case g.sessionID != 0 && h.sessionID != g.sessionID:
		g.mu.Unlock()
		err := fmt.Errorf("%w: server answered with session %#x", ErrExpired, h.sessionID)
		g.finish(err)
		return err
	}
	fresh := g.sessionID == 0
	g.sessionID, g.granted = h.sessionID, h.timeout
	g.connects++
	g.heard = g.cfg.Now()
	w.link = g.chain.Connect(w.sentAt, g.cfg.Now(), h.timeout, fresh)
	w.since = g.cfg.Now()
	close(g.ready)
	g.mu.Unlock()
	g.cfg.OnChange()
	return nil
}

// failed notes why no connection came about.
func (g *guard) failed(err error) {
	if g.reason() == nil {
		g.cfg.OnError(err)
	}
}

// disconnected notes the end of a connection.
func (g *guard) disconnected(w *wire, err error) {
	g.mu.Lock()
	if g.wire != w {
		g.mu.Unlock()
		return
	}
	g.wire = nil
	wasReady := w.link != nil
	if wasReady {
		g.ready = make(chan struct{})
		if g.cfg.Now()-w.since < g.cfg.Timeout/10 {
			g.shortLife++
		} else {
			g.shortLife = 0
		}
	}
	g.mu.Unlock()
	g.failed(fmt.Errorf("connection to %s: %w", w.RemoteAddr(), err))
	if wasReady {
		g.cfg.OnChange()
	}
}

// finish ends the session for the given reason; the first reason stays.
func (g *guard) finish(reason error) {
	g.conclude(reason)
	g.sever()
}

// hear notes that a server has answered.
func (g *guard) hear(now leaseclock.Instant) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.heard = now
}

// silence gives a session up that no server has answered for four session
// timeouts. Its leases are over long before, and the servers have most likely
// ended it; but as long as there is a chance that they have not, as in an outage
// of all of them, it is worth keeping: with it its znodes can be deleted
// afterwards. It returns how long to wait before the next look.
func (g *guard) silence() time.Duration {
	g.mu.Lock()
	known, heard := g.sessionID != 0, g.heard
	g.mu.Unlock()
	if !known {
		return g.cfg.Timeout
	}
	limit := 4 * g.chain.Timeout()
	if left := heard + limit - g.cfg.Now(); left > 0 {
		return left
	}
	g.finish(fmt.Errorf("%w: given up, no answer from any server for %v", ErrExpired, limit))
	return limit
}

// conclude makes the session over, for everybody who asks, but leaves the
// connection up, so that the server can be told.
func (g *guard) conclude(reason error) {
	g.mu.Lock()
	if g.over != nil {
		g.mu.Unlock()
		return
	}
	g.over = reason
	g.chain.End() // before anybody hears of it, and compares leases with the clock for the last time
	close(g.done)
	g.mu.Unlock()
	g.cfg.OnChange()
}

// sever takes the connection of a session that is over down.
func (g *guard) sever() {
	g.cancel()
	if w := g.current(); w != nil {
		w.shut(g.reason())
	}
}

// lastGranted returns the timeout that the last handshake brought, 0 before the
// first.
func (g *guard) lastGranted() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.granted
}

func (g *guard) reason() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.over
}

func (g *guard) current() *wire {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.wire
}

// await waits until the session is connected.
func (g *guard) await(ctx context.Context) error {
	g.mu.Lock()
	ready := g.ready
	g.mu.Unlock()
	select {
	case <-g.done:
	case <-ctx.Done():
	case <-ready:
	}
	if reason := g.reason(); reason != nil {
		return errors.Join(ErrOver, reason)
	}
	return ctx.Err()
}
