package barrier

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/recipes"
)

// Barrier holds everybody back while it is set. It is a znode that outlives its
// setter. A Barrier is safe for concurrent use.
type Barrier struct {
	c    *recipes.Client
	path string
}

// New returns the barrier at path, which is its znode. It makes nothing at the
// server yet.
func New(c *recipes.Client, path string) (*Barrier, error) {
	if c == nil {
		return nil, errors.New("barrier: nil client")
	}
	if err := recipes.CheckDir(path); err != nil {
		return nil, err
	}
	return &Barrier{c: c, path: path}, nil
}

// Path returns the barrier's path.
func (b *Barrier) Path() string { return b.path }

// Set sets the barrier. One that is set already stays as it is. If ctx ends
// before the answer is there the barrier may be set or not, and the error is
// recipes.ErrOutcomeUnknown too.
//
// Where the answer is lost the barrier is set once more if it is not there, so
// that one that somebody has removed before Set returned may be set again.
func (b *Barrier) Set(ctx context.Context) error {
	return insist(ctx, b.c, func(s *recipes.Session) error {
		err := s.MakePersistent(ctx, b.path, []byte(b.c.Identity()))
		if errors.Is(err, recipes.ErrNodeExists) {
			return nil
		}
		return err
	})
}

// Remove removes the barrier and lets everybody through. One that is not set is
// no error. If ctx ends first it is as with Set.
//
// It removes no other barrier than the one that was set when it was called, or
// when it first found one, however often it has to ask. That costs a committed
// write more.
func (b *Barrier) Remove(ctx context.Context) error {
	r := removal{b: b}
	return insist(ctx, b.c, func(s *recipes.Session) error { return r.on(ctx, s) })
}

// removal is one Remove, over any number of sessions.
type removal struct {
	b   *Barrier
	set int64 // transaction that set the barrier to be removed, 0 before one was seen
}

// on removes the barrier on one session. Where the answer to an earlier attempt
// was lost that may have done it, and what is there by now be the next barrier,
// which holds others back. The write before the look settles the earlier one,
// and makes the server catch up.
func (r *removal) on(ctx context.Context, s *recipes.Session) error {
	if err := s.Barrier(ctx); err != nil {
		return err
	}
	stat, set, err := s.Exists(ctx, r.b.path)
	if err != nil {
		return err
	}
	if !set || r.set != 0 && r.set != stat.Czxid {
		return nil
	}
	r.set = stat.Czxid
	err = s.Delete(ctx, r.b.path, -1)
	if errors.Is(err, recipes.ErrNoNode) {
		return nil
	}
	return err
}

// Wait returns when the barrier is not set. Who waits while it is removed and set
// again at once goes through. ctx bounds the wait.
//
// It costs a committed write, so that no barrier is overlooked that was set
// before the call, wherever.
func (b *Barrier) Wait(ctx context.Context) error {
	w := wait{b: b}
	return insist(ctx, b.c, func(s *recipes.Session) error { return w.on(ctx, s) })
}

// wait is one Wait, over any number of sessions.
type wait struct {
	b   *Barrier
	set int64 // transaction that set the barrier waited for, 0 before one was seen
}

// on waits on one session. The write makes its server catch up with all that was
// committed before: with the barrier's being set, and with what an earlier
// session has seen.
func (w *wait) on(ctx context.Context, s *recipes.Session) error {
	if err := s.Barrier(ctx); err != nil {
		return err
	}
	for {
		stat, set, watch, err := s.ExistsWatch(ctx, w.b.path)
		if err != nil {
			return err
		}
		if w.set == 0 {
			w.set = stat.Czxid
		}
		if !set || stat.Czxid != w.set {
			watch.Stop()
			return nil
		}
		_, err = awaitChange(ctx, s, w.b.path, watch)
		watch.Stop()
		if err != nil || watch.Deleted() {
			return err
		}
	}
}

// awaitChange returns when it is time to look again, also at the session's end,
// which wakes its watches. Events can be lost, so it is time now and then; changed
// is false then.
func awaitChange(ctx context.Context, s *recipes.Session, path string, watches ...*recipes.Watch) (changed bool, err error) {
	timer := time.NewTimer(s.Timeout())
	defer timer.Stop()
	var other <-chan struct{}
	if len(watches) > 1 {
		other = watches[1].C
	}
	select {
	case <-watches[0].C:
		return true, nil
	case <-other:
		return true, nil
	case <-timer.C:
		return false, nil
	case <-ctx.Done():
		return false, &recipes.OpError{Op: "wait at", Path: path, Session: s.ID(), Err: ctx.Err()}
	}
}

// insist calls fn on the session in use, and again on that or the next one where
// the answer was lost, or the session. An error after an attempt whose outcome is
// unknown says that too, whatever the last attempt came to.
func insist(ctx context.Context, c *recipes.Client, fn func(*recipes.Session) error) error {
	unknown := false
	for {
		s, err := c.Session(ctx)
		if err == nil {
			err = fn(s)
		}
		again := ctx.Err() == nil && passing(err)
		switch {
		case errors.Is(err, recipes.ErrOutcomeUnknown):
			unknown = true
		case err != nil && unknown && !again:
			err = fmt.Errorf("%w: %w", err, recipes.ErrOutcomeUnknown)
		}
		if !again {
			return ended(ctx, err)
		}
	}
}

// ended is what a call has failed with: the end of its context too, where that
// came together with something else.
func ended(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil || errors.Is(err, ctx.Err()) {
		return err
	}
	return errors.Join(ctx.Err(), err)
}

// passing reports whether an error is one of the connection or the session, of
// which there may be another. A client that is closed says so when it is asked.
func passing(err error) bool {
	return errors.Is(err, recipes.ErrOutcomeUnknown) || errors.Is(err, recipes.ErrConnectionLost) ||
		errors.Is(err, recipes.ErrSessionExpired)
}
