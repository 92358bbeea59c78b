package recipes

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/fence"
)

// workContext is a context that ends with a lease, or some time before.
type workContext struct {
	cancel context.CancelCauseFunc
	grace  time.Duration
}

// Context returns a context that ends with the lease, or with parent. Its cause
// is then why the lease is over.
func (l *Lease) Context(parent context.Context) context.Context {
	return l.context(parent, 0)
}

// ErrStop is the cause of the contexts that Do and Run give to their function
// when they end because the lease is about to.
var ErrStop = errors.New("recipes: lease about to end")

func (l *Lease) context(parent context.Context, grace time.Duration) context.Context {
	ctx, cancel := context.WithCancelCause(parent)
	w := &workContext{cancel: cancel, grace: grace}
	l.mu.Lock()
	over := l.err
	if over == nil {
		if l.contexts == nil {
			l.contexts = make(map[*workContext]struct{})
		}
		l.contexts[w] = struct{}{}
	}
	l.mu.Unlock()
	if over != nil {
		cancel(over)
		return ctx
	}
	// Where the parent ends first the lease must not hold on to the context.
	context.AfterFunc(ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.contexts, w)
	})
	if grace > 0 {
		l.s.relapse()
	}
	return ctx
}

// Do runs fn under the lease and releases it when fn has returned, never before.
// The context that fn gets ends with ctx, and StopGrace before the lease does,
// so that fn can stop in time; after the end of the lease only the token
// protects what fn still does. It carries the lease as its fence.Holder.
//
// Where there are guards, those that the lock was made with and those given here,
// the lease's token is installed at each of them before fn is called: from then
// on they refuse writes of earlier holders, also those still on their way. If one
// of them fails fn is not called. Shared leases install nothing.
//
// Do returns fn's error, with ErrFenceAhead where that applies, and ErrLost if the
// lease was lost, also where fn returned nil. Where the lease is over before, as
// the clock tells, fn is not called and Do returns Err. Call Do once for a lease:
// the first that ends releases it.
//
// Do waits for the release for a session timeout at most, also where ctx has
// ended; the release goes on in the background then. A panic of fn releases the
// lease and goes on.
func (l *Lease) Do(ctx context.Context, fn func(context.Context, *Lease) error, guards ...fence.Installer) (err error) {
	returned := l.keep()
	defer func() {
		close(returned)
		// Whatever became of ctx, the znode must go; the release goes on in the
		// background where the server does not answer.
		rctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.s.Timeout())
		defer cancel()
		err = andReleased(err, l.Release(rctx))
	}()
	work, stop := context.WithCancel(l.context(ctx, l.s.stopGrace()))
	defer stop()
	work = fence.WithHolder(work, l)
	if !l.Shared() {
		if err := fence.Install(work, l.Token(), slices.Concat(l.guards, guards)...); err != nil {
			return l.explainStale(work, err)
		}
	}
	if err := l.Err(); err != nil {
		return err
	}
	return l.explainStale(work, fn(work, l))
}

// andReleased adds a failed release to what a function has returned, unless that
// says it already.
func andReleased(err, release error) error {
	switch {
	case release == nil || errors.Is(err, release):
		return err
	case err == nil:
		return release
	}
	return errors.Join(err, release)
}

// keep notes that a function runs under the lease, until what it returns is
// closed.
func (l *Lease) keep() (returned chan<- struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.kept {
		panic("recipes: Do of a lease under which a function runs already")
	}
	l.kept = true
	done := make(chan struct{})
	l.s.keeping(l, done)
	return done
}

// keeping notes that a lease's znodes stay until a function has returned, also
// where the lease is lost before.
func (s *Session) keeping(l *Lease, returned <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept[l] = returned
}

// unkeep says that the znodes go, whatever runs.
func (s *Session) unkeep(l *Lease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.kept, l)
	s.noteIdle()
}

// endWork ends the leases of a session that is about to be closed, and waits for
// the functions that znodes are kept for, those under leases that were lost
// before too: whoever comes next begins when the session ends. It waits no longer
// than the end of a session may take, since Close is to return, also to a
// function that calls it.
func (s *Session) endWork() {
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	s.endLeases(ErrClosed)
	s.mu.Lock()
	running := slices.Collect(maps.Values(s.kept))
	s.mu.Unlock()
	timer := time.NewTimer(2 * time.Second)
	defer timer.Stop()
	for _, returned := range running {
		select {
		case <-returned:
		case <-timer.C:
			return
		}
	}
}

// LeaseFrom returns the lease under which a function runs, from the context
// that Do or Run gave to it: the innermost, where several are held.
func LeaseFrom(ctx context.Context) (*Lease, bool) {
	l, ok := fence.HolderFrom(ctx).(*Lease)
	return l, ok
}

// stopGrace is the configured one, or less where the servers granted a shorter
// timeout than it was meant for.
func (s *Session) stopGrace() time.Duration {
	return min(s.cfg.stopGrace, s.conn.Chain().Rhythm().Floor()/2)
}

// stopping ends the contexts whose grace has begun, and returns when the next
// one does; ok is false where there is none.
func (l *Lease) stopping(now, until time.Duration) (next time.Duration, ok bool) {
	// A lease that awaits its proof has less left than some graces; half of it
	// is for the proof to arrive.
	longest := far
	if !l.s.conn.Chain().IsProven(l.grant, now) {
		longest = l.s.Timeout() / 16
	}
	l.mu.Lock()
	var due []*workContext
	for w := range l.contexts {
		if w.grace == 0 {
			continue
		}
		if at := until - min(w.grace, longest); at <= now {
			due = append(due, w)
		} else if !ok || at < next {
			next, ok = at, true
		}
	}
	l.mu.Unlock()
	for _, w := range due {
		w.cancel(ErrStop)
	}
	return next, ok
}
