package recipes

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/internal/leaseclock"
	"github.com/zkrecipes/zkrecipes/internal/zkconn"
)

// Lease is one grant: the right to what a lock or an election protects, bound
// to znodes of one session. It is a value with a lifetime: once over it never
// comes back, and nothing that is done with it touches a later grant.
//
// It ends when it is released, when its deadline passes without a committed
// write that moves it, when its session ends, or when somebody else deletes its
// znode. It is safe for concurrent use.
type Lease struct {
	s      *Session
	path   string
	kind   Kind
	token  fence.Token
	guards []fence.Installer
	grant  leaseclock.Grant
	since  time.Duration // when it was granted

	mu       sync.Mutex
	nodes    []*Owned
	shared   bool
	swap     *swap         // of its znode, while that is under way
	err      error         // why it is over, nil while it holds
	ended    time.Duration // when that was noticed
	done     chan struct{} // closed when it is over; made when first asked for
	kept     bool          // a function runs under it: its znodes stay until that has returned
	revoked  chan struct{} // closed when somebody asked for it back; made when first needed
	asked    bool          // somebody has
	followed bool          // somebody waits for another State
	contexts map[*workContext]struct{}
	deletion []*Deletion        // of its znodes, once begun
	watching []*zkconn.Watching // of its znodes, once they are watched
}

// Path returns the path of the lock or election.
func (l *Lease) Path() string { return l.path }

// Kind returns what it was contended for: a lease for writing that was turned into
// one for reading is a reader's. It is empty where whoever made the lease has not
// said so.
func (l *Lease) Kind() Kind {
	if l.kind == KindWriter && l.Shared() {
		return KindReader
	}
	return l.kind
}

// Token returns the fencing token: greater than that of every earlier exclusive
// grant of the same path. Send it along with what you write under the lease.
//
// The token of a shared lease, such as a reader's, may be checked at a resource
// and must never be installed there; see Shared.
func (l *Lease) Token() fence.Token { return l.token }

// TokenOf returns the fencing token of one member of a multi-lock, by its path; 0
// where the lease does not cover it. Members that were taken together have the
// same, unless their bases differ.
func (l *Lease) TokenOf(path string) fence.Token {
	for _, n := range l.owned() {
		if parent(n.path) == path {
			return n.Token()
		}
	}
	return 0
}

// Shared reports whether others may hold at the same time.
func (l *Lease) Shared() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.shared
}

// Session returns the session that the lease is bound to.
func (l *Lease) Session() *Session { return l.s }

// Node returns the path of the lease's znode, the first where it has several.
func (l *Lease) Node() string { return l.owned()[0].path }

// owned returns the lease's znodes.
func (l *Lease) owned() []*Owned {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.nodes
}

// Remaining returns how long the lease holds if nothing extends it, 0 when it is
// over. It reads the clock, so that a process that was paused sees the truth at
// once. A healthy lease is extended long before this runs out.
func (l *Lease) Remaining() time.Duration {
	now := l.s.now()
	until, ok := l.until(now)
	if !ok {
		return 0
	}
	return until - now
}

// Err returns nil while the lease holds, ErrReleased after it was released, and
// a *LostError, which is an ErrLost, after it was lost. It reads the clock.
func (l *Lease) Err() error {
	l.until(l.s.now())
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// HeldFor returns for how long the lease has held, or had when its end was noticed.
func (l *Lease) HeldFor() time.Duration {
	now := l.s.now()
	_, holds := l.until(now)
	l.mu.Lock()
	defer l.mu.Unlock()
	if !holds {
		now = l.ended
	}
	return now - l.since
}

// Guards returns those that the lock was made with, where Do installs the token.
func (l *Lease) Guards() []fence.Installer { return slices.Clone(l.guards) }

// EndedFor returns how long ago the lease's end was noticed, 0 while it holds.
func (l *Lease) EndedFor() time.Duration {
	now := l.s.now()
	if _, ok := l.until(now); ok {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return max(0, now-l.ended)
}

// until returns when the lease ends as things stand; ok is false when it is
// over. It is the one place that compares a lease with the clock.
func (l *Lease) until(now time.Duration) (until time.Duration, ok bool) {
	l.mu.Lock()
	over := l.err != nil
	l.mu.Unlock()
	if over {
		return 0, false
	}
	until, ok = l.s.conn.Chain().Until(l.grant, now)
	if !ok {
		l.lose(l.s.lossCause())
	}
	return until, ok
}

// lossCause says why a lease of the session ended by the clock.
func (s *Session) lossCause() error {
	if err := s.Err(); err != nil {
		return err
	}
	if !s.conn.Connected() {
		return errDisconnected
	}
	return errUnproven
}

var (
	errDisconnected = errors.New("no connection for too long to prove that the session lives")
	errUnproven     = errors.New("no committed write in time to prove that the session lives (a pause of this process, or servers without a quorum)")
)

// Done is closed when the lease is over. It follows the clock by a timer, which
// a paused process serves late; Err and Remaining are exact.
func (l *Lease) Done() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done == nil {
		l.done = make(chan struct{})
		if l.err != nil {
			close(l.done)
		}
	}
	return l.done
}

// State returns the lease's state, and a channel that is closed when it may be
// another: Suspended while the connection is in doubt, Lost, or Closed once
// released.
func (l *Lease) State() (State, <-chan struct{}) {
	l.mu.Lock()
	l.followed = true
	l.mu.Unlock()
	state, changed := l.s.State()
	switch err := l.Err(); {
	case errors.Is(err, ErrReleased):
		return Closed, l.Done()
	case err != nil:
		return Lost, l.Done()
	}
	return state, changed
}

// Revoked is closed when somebody has asked the holder to give the lease back,
// as Curator's Revoker does. Whoever does not look has refused politely. What
// is asked right after the grant is heard up to a thirty-second of the session
// timeout later: short sections need no watch.
func (l *Lease) Revoked() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.revoked == nil {
		l.revoked = make(chan struct{})
		if l.asked {
			close(l.revoked)
		}
	}
	return l.revoked
}

func (l *Lease) revoke() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.asked {
		l.asked = true
		if l.revoked != nil {
			close(l.revoked)
		}
	}
}

// Verify asks the ensemble whether the lease's znodes are still there, by a
// transaction that changes nothing, and asks again where the answer is lost. It
// returns nil if they were when that was committed, ErrLost if the lease is
// over.
func (l *Lease) Verify(ctx context.Context) error {
	for {
		_, err := l.Txn(ctx)
		if !errors.Is(err, ErrOutcomeUnknown) || ctx.Err() != nil {
			return err
		}
	}
}

// Txn commits ZooKeeper writes in one transaction with a check that the lease's
// znodes exist: they take effect under the lease or not at all, however late
// they arrive. It returns ErrLost if the lease is over, and ErrOutcomeUnknown
// where the answer was lost.
func (l *Lease) Txn(ctx context.Context, ops ...Op) ([]Result, error) {
	for {
		if err := l.awaitSwap(ctx); err != nil {
			return nil, err
		}
		if err := l.Err(); err != nil {
			return nil, err
		}
		nodes := l.owned()
		results, err := l.s.Multi(ctx, append(checks(nodes), ops...)...)
		if n := missing(nodes, results); n != nil {
			if !l.stillNeeds(n) {
				continue // it was exchanged for another one, and nothing has happened
			}
			l.lose(errNodeGone)
			return nil, l.Err()
		}
		if errors.Is(err, ErrSessionExpired) || errors.Is(err, ErrClosed) {
			l.until(l.s.now()) // the session's end is the lease's
			return nil, inOneLine(l.Err(), err)
		}
		return results[min(len(nodes), len(results)):], err
	}
}

// checks demands that the znodes exist.
func checks(nodes []*Owned) []Op {
	ops := make([]Op, len(nodes))
	for i, n := range nodes {
		ops[i] = CheckOp(n.path, -1)
	}
	return ops
}

// missing returns the znode whose check failed, nil if none did.
func missing(nodes []*Owned, results []Result) *Owned {
	for i := range min(len(nodes), len(results)) {
		if errors.Is(results[i].Err, ErrNoNode) {
			return nodes[i]
		}
	}
	return nil
}

var errNodeGone = errors.New("its znode was deleted by somebody else")

// Release gives the lease back and waits until its znodes are gone, or ctx ends.
// In the latter case, also where ctx has ended before, the deletion goes on in
// the background, and the error is the context's, with ErrOutcomeUnknown where
// the znodes may be gone already; a further call waits for the same deletion. It
// returns a *LostError, which is an ErrLost, where the lease was over before,
// and does not wait then.
func (l *Lease) Release(ctx context.Context) error {
	l.until(l.s.now())
	begun := l.s.busy()
	first := l.finish(ErrReleased)
	deletions := l.discard()
	begun()
	l.mu.Lock()
	reason := l.err
	l.mu.Unlock()
	if !errors.Is(reason, ErrReleased) {
		return reason
	}
	err := l.awaitDeletions(ctx, deletions)
	if first {
		l.traceReleased(err)
	}
	return err
}

func (l *Lease) awaitDeletions(ctx context.Context, deletions []*Deletion) error {
	var errs []error
	for _, d := range deletions {
		errs = append(errs, d.await(ctx))
	}
	err := errors.Join(errs...)
	if err != nil && isContextErr(err) {
		err = &OpError{Op: "release", Path: l.path, Session: l.s.ID(),
			Err: inOneLine(ctx.Err(), ErrOutcomeUnknown)}
	}
	return err
}

// discard begins to delete the lease's znodes, once.
func (l *Lease) discard() []*Deletion {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.deletion == nil {
		l.deletion = l.s.DiscardAll(l.nodes)
		if l.swap != nil {
			l.swap.gone = l.s.newDeletion()
			l.deletion = append(l.deletion, l.swap.gone)
		}
	}
	if l.kept { // after the deletion has begun, so that awaitIdle sees no gap
		l.kept = false
		l.s.unkeep(l)
	}
	return l.deletion
}

// lose ends the lease for the given cause.
func (l *Lease) lose(cause error) {
	err := &LostError{Path: l.path, Token: l.Token(), Session: l.s.ID(), Cause: cause}
	defer l.s.busy()()
	if !l.finish(err) {
		return
	}
	l.log(slog.LevelWarn, "lease lost", "loss", err.Loss(), "cause", cause)
	if fn := l.s.cfg.trace.Lost; fn != nil {
		fn(l.event(err))
	}
	l.mu.Lock()
	kept := l.kept
	l.mu.Unlock()
	if !kept {
		l.discard()
	}
}

// finish ends the lease; false means that it was over already. The first reason
// stays.
func (l *Lease) finish(reason error) bool {
	l.mu.Lock()
	if l.err != nil {
		l.mu.Unlock()
		return false
	}
	l.err, l.ended = reason, l.s.now()
	if l.done != nil {
		close(l.done)
	}
	contexts, watching, followed := l.contexts, l.watching, l.followed
	l.contexts, l.watching = nil, nil
	l.mu.Unlock()
	l.s.forget(l)
	if followed {
		l.s.state.wake()
	}
	for w := range contexts {
		w.cancel(reason)
	}
	for _, w := range watching {
		w.Stop()
	}
	return true
}

func (l *Lease) event(err error) LeaseEvent {
	l.mu.Lock()
	until := l.ended
	if l.err == nil {
		until = l.s.now()
	}
	l.mu.Unlock()
	return LeaseEvent{Lease: l, Path: l.path, Token: l.Token(), Session: l.s.ID(), Held: until - l.since, Err: err}
}

func (l *Lease) traceReleased(err error) {
	if err != nil {
		l.log(slog.LevelWarn, "lease released, and its znodes are not known to be gone", "error", err)
	} else {
		l.log(slog.LevelDebug, "lease released")
	}
	if fn := l.s.cfg.trace.Released; fn != nil {
		fn(l.event(err))
	}
}
