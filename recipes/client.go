package recipes

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/zkrecipes/zkrecipes/internal/backoff"
	"github.com/zkrecipes/zkrecipes/internal/zkconn"
)

// Client is a connection to a ZooKeeper ensemble over a succession of sessions.
// It is safe for concurrent use. One client serves a whole process: sessions
// are dear to the ensemble, and one renewal serves all leases of a session.
//
// When a session is over the client opens another one by itself. It opens
// further ones beside it when one would own too many ephemeral znodes.
//
// A Client owns goroutines; Close ends them.
type Client struct {
	cfg   *config
	state *stateVar

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	wg     sync.WaitGroup // the manager and the sessions' goroutines

	mu       sync.Mutex
	closed   bool
	sessions []*Session    // those not known to be over; the first serves Session
	wanted   int           // bytes that somebody waits for in vain, 0 if nobody does
	changed  chan struct{} // closed and replaced when any of these changes
	openErr  error         // why no session can be opened, until the next attempt
	lastErr  error         // why the servers cannot be reached, as last seen
	insecure insecure      // the servers with which no TLS came about

	noContainers atomic.Bool // the server does not know them
	serverTime   serverTime
}

// Dial connects to the ensemble that connect names, in ZooKeeper's own form:
// host:port,host:port,host:port/chroot. It waits for the first session until ctx
// ends; ctx has no bearing on the client after that.
//
// If no server can be reached the error is ErrNotConnected and the context's; if
// the servers refuse the credentials it is ErrAuthFailed. Where TLS fails at every
// server for what trying again does not change, such as a certificate that is not
// trusted or has expired, on either side, Dial does not wait for ctx: the error is
// ErrNotConnected and that of crypto/tls, and says what to do. What a Dial in vain
// has begun ends by itself, within a second or two. A client that is returned must
// be closed.
func Dial(ctx context.Context, connect string, opts ...Option) (*Client, error) {
	cfg, err := newConfig(connect, opts)
	if err != nil {
		return nil, err
	}
	c := &Client{
		cfg:     cfg,
		state:   newStateVar(Suspended),
		changed: make(chan struct{}),
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.wg.Go(c.manage)
	if _, err := c.Session(ctx); err != nil {
		// The client library may need a second to stop, for which ctx has no time.
		go c.Close()
		return nil, err
	}
	return c, nil
}

// Identity returns what the client's contenders show of themselves.
func (c *Client) Identity() string { return c.cfg.identity }

// Logger returns where the client logs to.
func (c *Client) Logger() *slog.Logger { return c.cfg.logger }

// Trace returns the functions to call as things happen.
func (c *Client) Trace() Trace { return c.cfg.trace }

// Sessions returns the client's sessions that are not over, as far as it knows;
// the first serves Session.
func (c *Client) Sessions() []*Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(c.sessions), func(s *Session) bool { return s.conn.Reason() != nil })
}

// State returns the client's state, and a channel that is closed when it is no
// longer this. Lost means that the last session is over and the next one not
// yet there.
func (c *Client) State() (State, <-chan struct{}) { return c.state.get() }

// Session returns the session in use. It waits for one until ctx ends.
func (c *Client) Session(ctx context.Context) (*Session, error) {
	return c.pick(ctx, 0)
}

func (c *Client) pick(ctx context.Context, bytes int) (*Session, error) {
	for {
		s, changed, err := c.tryPick(ctx, bytes)
		if s != nil || err != nil {
			return s, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
		case <-c.ctx.Done():
		}
	}
}

// tryPick returns a session or an error, or else a channel that is closed when
// it is worth another try.
func (c *Client) tryPick(ctx context.Context, bytes int) (*Session, <-chan struct{}, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, nil, &OpError{Op: "session", Err: ErrClosed}
	}
	if err := ctx.Err(); err != nil {
		if c.live() {
			return nil, nil, &OpError{Op: "session", Err: err}
		}
		return nil, nil, &OpError{Op: "session", Err: c.notConnected(err)}
	}
	for _, s := range c.sessions {
		if s.conn.Reason() == nil && s.reserve(bytes) {
			return s, nil, nil
		}
	}
	if c.openErr != nil {
		return nil, nil, &OpError{Op: "session", Err: c.openErr}
	}
	if err := c.insecure.refusal(c.cfg.servers); err != nil {
		return nil, nil, &OpError{Op: "session", Err: err}
	}
	if c.wanted < max(bytes, 1) {
		c.wanted = max(bytes, 1)
		c.broadcast()
	}
	return nil, c.changed, nil
}

// live reports whether some session is not over. c.mu is held.
func (c *Client) live() bool {
	return slices.ContainsFunc(c.sessions, func(s *Session) bool { return s.conn.Reason() == nil })
}

// notConnected explains a context's end with what kept the servers away. c.mu is
// held.
func (c *Client) notConnected(cause error) error {
	msg := "no connection to any of " + strings.Join(c.cfg.servers, ", ")
	if c.lastErr != nil {
		msg += fmt.Sprintf(" (last: %v)", c.lastErr)
	}
	return fmt.Errorf("%w: %w: %s", cause, ErrNotConnected, msg)
}

// manage opens sessions: one whenever there is none, and further ones when
// somebody asks.
func (c *Client) manage() {
	pause := backoff.Backoff{}
	for {
		if !c.awaitNeed() {
			return
		}
		s, err := c.open()
		if !c.admit(s, err) {
			return
		}
		if err == nil {
			c.follow()
			pause.Reset()
			continue
		}
		c.cfg.logger.Warn("zookeeper session refused", "error", err)
		if !pause.Wait(c.ctx) {
			return
		}
		c.mu.Lock()
		c.openErr = nil
		c.mu.Unlock()
	}
}

// admit takes in a new session, or why there is none; false means that the
// client is closed.
func (c *Client) admit(s *Session, err error) bool {
	c.mu.Lock()
	closed := c.closed
	if !closed {
		// A session that ended before it was of use is no refusal.
		if !errors.Is(err, ErrSessionExpired) {
			c.openErr = err
		}
		c.wanted = 0
		if s != nil {
			c.sessions = append(c.sessions, s)
			c.insecure.over = true
		}
		c.broadcast()
	}
	c.mu.Unlock()
	if closed && s != nil {
		s.end(zkconn.ErrClosed)
	}
	return !closed
}

// awaitNeed waits until a session has to be opened; false means that the client
// is closed.
func (c *Client) awaitNeed() bool {
	for c.ctx.Err() == nil {
		c.mu.Lock()
		c.prune()
		need, changed := len(c.sessions) == 0 || c.wanted > 0, c.changed
		c.mu.Unlock()
		if need {
			return true
		}
		select {
		case <-c.ctx.Done():
		case <-changed:
		}
	}
	return false
}

// prune forgets sessions that are over. c.mu is held.
func (c *Client) prune() {
	c.sessions = slices.DeleteFunc(c.sessions, func(s *Session) bool { return s.conn.Reason() != nil })
}

// broadcast wakes those who wait for a change. c.mu is held.
func (c *Client) broadcast() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// open opens one session. The connection goes on trying until the client is
// closed; an error means that the servers refuse.
func (c *Client) open() (*Session, error) {
	s := newSession(c)
	conn, err := zkconn.Open(c.ctx, zkconn.Config{
		Servers:  c.cfg.servers,
		Timeout:  c.cfg.timeout,
		Tick:     c.cfg.tick,
		Dial:     zkconn.DialFunc(c.cfg.dial),
		Auth:     c.cfg.auth,
		MaxFrame: c.cfg.maxReply,
		Now:      c.cfg.clock,
		Logger:   c.cfg.logger,
		OnChange: s.poke,
		OnError:  c.noteError,
	})
	if conn != nil && err != nil {
		c.wg.Go(func() { <-conn.Joined() })
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", translate(err), err) // which credentials it is about
	}
	s.start(conn)
	return s, nil
}

func (c *Client) noteError(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastErr = err
	if c.insecure.note(err) {
		c.broadcast()
	}
}

// lastError returns why the servers cannot be reached, as last seen.
func (c *Client) lastError() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lastErr
}

// sessionChanged is called by a session whose state has changed.
func (c *Client) sessionChanged() {
	c.follow()
	c.mu.Lock()
	c.broadcast()
	c.mu.Unlock()
}

// follow makes the client's state that of the session in use.
func (c *Client) follow() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	state := Lost
	for _, s := range c.sessions {
		if st, _ := s.State(); st == Connected || st == Suspended {
			state = st
			break
		}
	}
	c.state.set(state)
}

// Close ends all leases, and with them the contexts of the functions that run
// under them, waits for these functions for two seconds at most, also for those
// that still run under leases lost before, and ends all sessions, at the servers
// too where they can be reached within a second or two. Who waits gets ErrClosed.
// It returns when all goroutines of the client have ended; a second call waits
// for the first.
func (c *Client) Close() {
	c.mu.Lock()
	c.closed = true
	sessions := append([]*Session(nil), c.sessions...)
	c.broadcast()
	c.mu.Unlock()
	c.cancel()
	var wg sync.WaitGroup
	for _, s := range sessions {
		wg.Go(func() {
			s.endWork()
			s.end(zkconn.ErrClosed)
		})
	}
	wg.Wait()
	c.state.set(Closed)
	c.wg.Wait()
}

// Shutdown waits until the client holds no lease, no function runs under one that
// was lost, and no znode is being deleted any more, or ctx ends, and closes it. It
// returns the context's error if that came first; what was still held then has
// ended all the same.
func (c *Client) Shutdown(ctx context.Context) error {
	err := c.awaitIdle(ctx)
	c.Close()
	return err
}

func (c *Client) awaitIdle(ctx context.Context) error {
	c.mu.Lock()
	sessions := append([]*Session(nil), c.sessions...)
	c.mu.Unlock()
	for _, s := range sessions {
		if err := s.awaitIdle(ctx); err != nil {
			return err
		}
	}
	return nil
}
