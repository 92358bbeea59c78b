package election

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/internal/backoff"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// Run campaigns, calls fn whenever it is elected, and campaigns again when fn has
// returned, until ctx ends. It returns when it does not lead any more and fn does
// not run.
//
// fn's context ends with ctx, when leadership is lost, and some time before it
// would be lost, so that fn can stop in time: see recipes.WithStopGrace. It
// carries the lease as its fence.Holder. The place is given up when fn has
// returned, never before. fn that ignores its context keeps the others from
// leading for as long as the place can be kept; that is reported, see
// WithOverrunAfter. A panic of fn gives the place up and goes on.
//
// fn returns nil to give others a turn. An error that it returns while it leads
// ends Run, which returns it, with recipes.ErrFenceAhead where that applies. An error that it returns because its context has
// ended, or its lease was lost, is no reason to stop: it is logged.
//
// When ctx ends Run returns nil, or the error, other than a context's, that fn
// returned at the end. It returns recipes.ErrClosed if the client was closed,
// and what the servers refuse for good, such as for want of a permission; see
// Permanent. What fails otherwise is tried again after a pause.
//
// After the end of a term Run waits for the deletion of its znode for a session
// timeout at most; it goes on in the background then.
func (e *Election) Run(ctx context.Context, fn func(context.Context, *Term) error) error {
	var pause backoff.Backoff
	for {
		led, err := e.round(ctx, fn)
		switch {
		case led && err != nil:
			return err
		case ctx.Err() != nil:
			return nil
		case led:
			pause.Reset()
		case Permanent(err):
			return err
		default:
			e.c.Logger().Warn("campaign failed; it is tried again", "path", e.Path(), "error", err)
			if !pause.Wait(ctx) {
				return nil
			}
		}
	}
}

// round is one campaign and one term. led says whether fn was called; the error
// is then what Run is to end with.
func (e *Election) round(ctx context.Context, fn func(context.Context, *Term) error) (led bool, err error) {
	t, err := e.campaign(ctx, true)
	if err != nil {
		return false, err
	}
	var failure error
	err = t.lease.Do(ctx, func(work context.Context, _ *recipes.Lease) error {
		led = true
		failure = e.lead(work, t, fn)
		if errors.Is(failure, fence.ErrStale) {
			return failure // Do finds out whether that is an ensemble that was restored
		}
		return nil
	})
	if !led {
		return false, err // of a guard
	}
	if errors.Is(err, recipes.ErrFenceAhead) {
		failure = err
	}
	failure = e.judge(ctx, t, failure)
	if failure == nil && Permanent(err) && !errors.Is(err, recipes.ErrLost) {
		// The next campaign would stand behind the znode of this one.
		failure = fmt.Errorf("election: %s: the place cannot be given up: %w", e.Path(), err)
	}
	return true, failure
}

// lead calls fn for one term. An error that it returns after it was told to stop
// is a *stopped.
func (e *Election) lead(ctx context.Context, t *Term, fn func(context.Context, *Term) error) error {
	work, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	t.begin(stop)
	defer e.onDuty(work, t)()
	err := fn(work, t)
	if err != nil && (work.Err() != nil || !t.leads() || t.lease.Session().Err() != nil) {
		return &stopped{err}
	}
	return err
}

// stopped is the error of a function whose context had ended, or its lease.
type stopped struct{ err error }

func (s *stopped) Error() string { return s.err.Error() }
func (s *stopped) Unwrap() error { return s.err }

// judge decides whether what fn returned ends Run.
func (e *Election) judge(ctx context.Context, t *Term, failure error) error {
	var s *stopped
	if !errors.As(failure, &s) {
		return failure
	}
	switch {
	case isEnd(s.err), ctx.Err() != nil && errors.Is(s.err, context.Cause(ctx)):
		return nil
	case ctx.Err() != nil:
		return s.err
	}
	e.c.Logger().Warn("function of a leader failed after it was told to stop",
		"path", e.Path(), "token", t.Token(), "error", s.err)
	return nil
}

// isEnd reports whether an error says no more than that leadership ended.
func isEnd(err error) bool {
	for _, e := range []error{
		context.Canceled, context.DeadlineExceeded,
		recipes.ErrLost, recipes.ErrReleased, recipes.ErrStop, recipes.ErrSessionExpired,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// Permanent reports whether a campaign, or an Observe, that failed with err would
// fail for the same reason again: the client was closed, or the servers refuse
// for good, such as for want of a permission. Run ends on these, and goes on
// after all others.
func Permanent(err error) bool {
	for _, e := range []error{
		recipes.ErrClosed, recipes.ErrNoAuth, recipes.ErrAuthFailed, recipes.ErrInvalidACL,
		recipes.ErrTooLarge, recipes.ErrNoChildrenForEphemerals,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// Runnable gives Run with fn the shape that groups of long-running functions
// take.
func (e *Election) Runnable(fn func(context.Context, *Term) error) Runnable {
	return Runnable{e: e, fn: fn}
}

// Runnable is an Election.Run with its function.
type Runnable struct {
	e  *Election
	fn func(context.Context, *Term) error
}

// Run is Election.Run.
func (r Runnable) Run(ctx context.Context) error { return r.e.Run(ctx, r.fn) }

// Start is Run by the name that managers of Kubernetes controllers call.
func (r Runnable) Start(ctx context.Context) error { return r.Run(ctx) }
