package recipes

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/zkconn"
)

// Session is one ZooKeeper session. What succeeds on it happened in it; when it
// is over it stays over, and everything asked of it fails with
// ErrSessionExpired, or ErrClosed where the client was closed.
//
// Calls wait for a connection while there is none. Reads are repeated until they
// are answered or their context ends. Writes are repeated only where the server
// certainly has not executed them; where their answer is lost they return
// ErrOutcomeUnknown.
type Session struct {
	client *Client
	cfg    *config
	conn   *zkconn.Conn
	state  *stateVar
	bases  bases

	ctx    context.Context // ends with the session
	cancel context.CancelFunc
	joined chan struct{} // closed when all goroutines have ended

	pokes       chan struct{} // wakes the keeper; holds one token
	suspendSeen int           // connections that suspend has seen; the keeper's alone
	renewerPoke chan struct{} // wakes the renewer; holds one token

	mu        sync.Mutex
	over      bool // no further goroutines
	wg        sync.WaitGroup
	reserved  int            // bytes of ephemeral paths
	direct    map[string]int // of that, by path, what Create and Multi have made
	deleting  int            // background deletions under way
	idle      chan struct{}
	leases    map[*Lease]struct{}
	kept      map[*Lease]<-chan struct{} // whose znodes stay until the function under them has returned
	nextInRow int                        // contenders that are next in line
	demand    time.Duration              // when the first of those came
	arming    []*Lease                   // leases whose own watch is not armed yet, oldest first
	looks     []*Lease                   // leases to look at
	lookers   int
	nextLapse time.Duration       // when to compare leases with the clock
	timeout   time.Duration       // that lapse went by
	proof     chan struct{}       // closed and replaced after each renewal
	givenUp   map[string]struct{} // uuids of creates that nobody wants any more
}

func newSession(c *Client) *Session {
	s := &Session{
		client:      c,
		cfg:         c.cfg,
		state:       newStateVar(Connected),
		joined:      make(chan struct{}),
		pokes:       make(chan struct{}, 1),
		renewerPoke: make(chan struct{}, 1),
		idle:        make(chan struct{}),
		proof:       make(chan struct{}),
		direct:      make(map[string]int),
		leases:      make(map[*Lease]struct{}),
		kept:        make(map[*Lease]<-chan struct{}),
		givenUp:     make(map[string]struct{}),
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// start is called once, with the connected session.
func (s *Session) start(conn *zkconn.Conn) {
	s.conn = conn
	s.wg.Go(s.keep)
	s.wg.Go(s.renew)
	s.client.wg.Go(s.join)
	s.traceState(Connected, nil)
}

// join waits for the end of the session and for its goroutines.
func (s *Session) join() {
	defer close(s.joined)
	<-s.conn.Done()
	s.cancel()
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	s.wg.Wait()
	<-s.conn.Joined()
}

// spawn runs fn on a goroutine of the session; false means that it is over.
func (s *Session) spawn(fn func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return false
	}
	s.wg.Go(fn)
	return true
}

// end ends the session for a reason of zkconn's, at the server too where that
// can be reached in time.
func (s *Session) end(reason error) {
	s.mu.Lock()
	s.over = true // the session's end deletes its znodes, no need to do it one by one
	s.mu.Unlock()
	s.endLeases(ErrClosed) // one that nobody needs has none
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	s.conn.Close(ctx, reason)
	<-s.joined
}

// Client returns the client whose session it is.
func (s *Session) Client() *Client { return s.client }

// ID returns the session's id, as the servers show it in their own listings.
func (s *Session) ID() int64 { return s.conn.SessionID() }

// Timeout returns the session timeout T that the servers granted: the smallest,
// where they granted several over the session's life.
func (s *Session) Timeout() time.Duration { return s.conn.Chain().Timeout() }

// ProvenFor returns for how long the session is proven to live if nothing extends
// that, 0 where it is not: because it is over or in doubt, or because it has no
// lease and nobody next in line that would need the proof.
func (s *Session) ProvenFor() time.Duration {
	return max(0, s.conn.Chain().Deadline()-s.now())
}

// Leases returns the leases that hold, by the lease clock, in no order.
func (s *Session) Leases() []*Lease {
	return slices.DeleteFunc(s.held(), func(l *Lease) bool { return l.Err() != nil })
}

// Server returns the address of the server in use, "" while there is none.
func (s *Session) Server() string { return s.conn.Server() }

// Identity returns what contenders made on this session show of themselves.
func (s *Session) Identity() string { return s.cfg.identity }

// ParentACL returns the ACL of znodes that all participants share.
func (s *Session) ParentACL() []ACL { return slices.Clone(s.cfg.parentACL) }

// Done is closed when the session is over.
func (s *Session) Done() <-chan struct{} { return s.conn.Done() }

// Err returns why the session is over, nil while it lasts.
func (s *Session) Err() error {
	reason := s.conn.Reason()
	if reason == nil {
		return nil
	}
	return translate(errors.Join(zkconn.ErrOver, reason))
}

// endErr is Err of a session that is over, or is about to be: Close takes
// nothing on any more before it ends it.
func (s *Session) endErr() error {
	if err := s.Err(); err != nil {
		return err
	}
	return ErrClosed
}

// State returns the session's state, and a channel that is closed when it may be
// another.
func (s *Session) State() (State, <-chan struct{}) { return s.state.get() }

var errSpare = errors.New("no longer needed")

// updateState follows the connection. The keeper alone calls it.
func (s *Session) updateState() {
	state, cause := Connected, error(nil)
	switch reason := s.conn.Reason(); {
	case errors.Is(reason, zkconn.ErrClosed):
		state, cause = Closed, ErrClosed
	case errors.Is(reason, zkconn.ErrSpare):
		state, cause = Closed, errSpare
	case errors.Is(reason, zkconn.ErrExpired):
		state, cause = Lost, ErrSessionExpired
	case reason != nil:
		state, cause = Lost, reason
	case !s.conn.Connected():
		state, cause = Suspended, s.client.lastError()
	}
	if s.state.set(state) {
		s.traceState(state, cause)
		s.client.sessionChanged()
	}
}

func (s *Session) traceState(state State, cause error) {
	s.logState(state, cause)
	if fn := s.cfg.trace.SessionState; fn != nil {
		fn(SessionEvent{Client: s.client, Session: s.ID(), State: state, Timeout: s.Timeout(), Cause: cause})
	}
}

// now reads the lease clock.
func (s *Session) now() time.Duration { return s.cfg.clock() }

// poke wakes the keeper.
func (s *Session) poke() {
	select {
	case s.pokes <- struct{}{}:
	default:
	}
	s.pokeRenewer()
}

func (s *Session) pokeRenewer() {
	select {
	case s.renewerPoke <- struct{}{}:
	default:
	}
}

// awaitIdle waits until the session holds no lease, keeps no znode for a function
// and deletes nothing.
func (s *Session) awaitIdle(ctx context.Context) error {
	for {
		s.mu.Lock()
		busy, idle := s.busyNow(), s.idle
		s.mu.Unlock()
		if !busy {
			return nil
		}
		select {
		case <-idle:
		case <-s.Done():
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// busy keeps awaitIdle waiting between the end of a lease and the deletion of its
// znodes, until the function that it returns is called.
func (s *Session) busy() (done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deleting++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.deleting--
		s.noteIdle()
	}
}

// busyNow reports whether awaitIdle has to wait. s.mu is held.
func (s *Session) busyNow() bool { return len(s.leases) > 0 || len(s.kept) > 0 || s.deleting > 0 }

// noteIdle wakes awaitIdle where that has become true. s.mu is held.
func (s *Session) noteIdle() {
	if !s.busyNow() {
		close(s.idle)
		s.idle = make(chan struct{})
	}
}
