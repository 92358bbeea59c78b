package zkconn

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkrecipes/zkrecipes/internal/leaseclock"
)

// sendBuffer holds the largest request: servers take 1 MiB, less a few bytes.
const sendBuffer = 1<<20 + 4<<10

// Conn is one session. It is made by Open and ends once: by the server, or by
// Close. Its goroutines end with it; Joined tells when they have.
type Conn struct {
	g       *guard
	zk      *zk.Conn
	events  <-chan zk.Event
	watches watches
	mail    *mailbox

	reconnected atomic.Bool // wake all watchers
	ops         sync.WaitGroup
	opsMu       sync.Mutex // guards the WaitGroup against an Add after Wait
	opsOver     bool
	joined      chan struct{}
}

// Open starts a session and waits until it is connected and its credentials
// are accepted. A Conn that comes with an error is over; the client library may
// need a second until it is joined.
func Open(ctx context.Context, cfg Config) (*Conn, error) {
	c := &Conn{mail: newMailbox(), joined: make(chan struct{})}
	onChange := cfg.OnChange
	cfg.OnChange = func() {
		if c.Connected() { // who is woken without a connection reads twice
			c.reconnected.Store(true)
		}
		c.mail.poke()
		onChange()
	}
	c.g = newGuard(cfg, c.watches.has)
	conn, events, err := zk.Connect(cfg.Servers, cfg.Timeout,
		zk.WithDialer(c.g.dial),
		zk.WithHostProvider(newHosts(c.g)),
		zk.WithEventCallback(c.onEvent),
		zk.WithMaxBufferSize(cfg.MaxFrame),
		zk.WithMaxConnBufferSize(sendBuffer),
		zk.WithLogger(logAdapter{cfg.Logger}),
	)
	if err != nil {
		c.g.cancel()
		return nil, err
	}
	c.zk, c.events = conn, events
	go c.run()
	if err := c.greet(ctx); err != nil {
		c.g.finish(err)
		return c, err
	}
	return c, nil
}

// greet waits for the first connection and presents the credentials. The
// client library repeats them on every later one.
func (c *Conn) greet(ctx context.Context) error {
	if err := c.g.await(ctx); err != nil {
		return err
	}
	for _, a := range c.g.cfg.Auth {
		if err := c.authenticate(ctx, a); err != nil {
			return fmt.Errorf("authenticate by scheme %q: %w", a.Scheme, err)
		}
	}
	return nil
}

// authenticate presents a credential until that is answered. A connection that
// ends first is no refusal.
func (c *Conn) authenticate(ctx context.Context, a Auth) error {
	for {
		err := c.Do(ctx, Read, func(z *zk.Conn) error { return z.AddAuth(a.Scheme, a.Cred()) })
		if !errors.Is(err, ErrNotSent) || errors.Is(err, ErrOver) || ctx.Err() != nil {
			return err
		}
	}
}

// onEvent runs on the client library's goroutines.
func (c *Conn) onEvent(ev zk.Event) {
	switch {
	case ev.Path == "" || ev.Type <= 0:
		// Session events are the guard's business.
	case ev.Type == zk.EventNodeDeleted:
		c.mail.put(ev.Path, Deleted)
	case ev.Type == zk.EventNodeCreated:
		c.mail.put(ev.Path, Created)
	default:
		c.mail.put(ev.Path, Changed)
	}
}

// run delivers events until the session is over, then takes the client library
// down and joins everything.
func (c *Conn) run() {
	defer close(c.joined)
	watchdog := time.NewTimer(c.g.silence())
	defer watchdog.Stop()
	for over := false; !over; {
		select {
		case <-c.mail.signal:
		case <-watchdog.C:
		case <-c.g.done:
			over = true
		}
		for _, ev := range c.mail.take() {
			c.watches.wake(ev)
		}
		if over || c.reconnected.Swap(false) {
			c.watches.wakeAll()
		}
		watchdog.Reset(c.g.silence())
	}
	c.zk.Close() // tells the server if it can, within a second or two
	c.g.sever()
	for range c.events {
	}
	c.opsMu.Lock()
	c.opsOver = true
	c.opsMu.Unlock()
	c.ops.Wait()
}

// Close ends the session for the given reason, at the server too if that can be
// reached before ctx ends, and returns when all goroutines have ended.
func (c *Conn) Close(ctx context.Context, reason error) {
	if !c.Connected() {
		c.g.finish(reason)
	}
	c.g.conclude(reason)
	select {
	case <-c.joined:
	case <-ctx.Done():
		c.g.sever()
	}
	<-c.joined
}

// Fail ends the session locally for the given reason, without a word to the
// server.
func (c *Conn) Fail(reason error) { c.g.finish(reason) }

// Done is closed when the session is over; Reason then says why.
func (c *Conn) Done() <-chan struct{} { return c.g.done }

// Reason returns why the session is over, nil while it lasts.
func (c *Conn) Reason() error { return c.g.reason() }

// Joined is closed when the session's goroutines have ended.
func (c *Conn) Joined() <-chan struct{} { return c.joined }

// SessionID returns the session's id.
func (c *Conn) SessionID() int64 {
	c.g.mu.Lock()
	defer c.g.mu.Unlock()
	return c.g.sessionID
}

// Connected reports whether there is a connection right now.
func (c *Conn) Connected() bool { return c.Link() != nil }

// Link returns the lease clock's side of the current connection, nil while
// there is none.
func (c *Conn) Link() *leaseclock.Link {
	c.g.mu.Lock()
	defer c.g.mu.Unlock()
	if c.g.wire == nil {
		return nil
	}
	return c.g.wire.link
}

// Connects returns how many connections the session has had.
func (c *Conn) Connects() int {
	c.g.mu.Lock()
	defer c.g.mu.Unlock()
	return c.g.connects
}

// Chain returns the proof of the session's life.
func (c *Conn) Chain() *leaseclock.Chain { return c.g.chain }

// Server returns the address of the server in use, "" while there is none.
func (c *Conn) Server() string {
	if w := c.g.current(); w != nil {
		return w.RemoteAddr().String()
	}
	return ""
}

// Drop gives the current connection up, so that the session moves to another
// server.
func (c *Conn) Drop(reason error) {
	if w := c.g.current(); w != nil {
		w.shut(reason)
	}
}

// Await waits until the session is connected.
func (c *Conn) Await(ctx context.Context) error { return c.g.await(ctx) }

// Watch registers fn for events of path and for every reconnect and the end of
// the session. The watch at the server is set by every read of the path while
// somebody is registered for it: register first, then read, and read again
// whenever fn is called.
//
// The client library's own watches stay unused. It loses events where it
// restores them after a reconnect, has a data race there, and keeps those that
// nobody wants any more. Reading again after each reconnect needs none of that.
func (c *Conn) Watch(path string, fn Watcher) *Watching {
	return c.watches.add(path, c.mail.received(), fn)
}

// logAdapter takes in what the client library has to say. It says it to
// everybody at every reconnect, so it is for debugging only.
type logAdapter struct{ *slog.Logger }

func (l logAdapter) Printf(format string, args ...any) {
	l.Debug(fmt.Sprintf("zk: "+format, args...))
}
