package election

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/backoff"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// Observe tells who leads, now and after each change, until ctx ends: the leader,
// or nil when there is none.
//
//	for leader, err := range e.Observe(ctx) { … }
//
// It tells no change twice and nothing out of order, also over sessions and
// servers; also what a leader proclaims is a change. What came and went while
// the loop's body was running is left out, the newest never is. It needs no
// goroutine, and one watch, on the leader's znode: candidates that come and go
// wake nobody.
//
// Where it ends for another reason than ctx, or the loop's own, the last pair is
// that error: recipes.ErrClosed, or what the servers refuse for good.
func (e *Election) Observe(ctx context.Context) iter.Seq2[*recipes.Contender, error] {
	return func(yield func(*recipes.Contender, error) bool) {
		o := observer{e: e}
		defer o.unwatch()
		if err := o.run(ctx, func(c *recipes.Contender) bool { return yield(c, nil) }); err != nil {
			yield(nil, err)
		}
	}
}

// observer is the state of one Observe.
type observer struct {
	e      *Election
	s      *recipes.Session
	told   bool
	leader *recipes.Contender // as last told
	watch  *recipes.Watch     // nil where the last look failed
}

// run returns nil when ctx or the consumer has ended it.
func (o *observer) run(ctx context.Context, tell func(*recipes.Contender) bool) error {
	var pause backoff.Backoff
	for {
		leader, err := o.look(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			pause.Reset()
			if !o.note(leader, tell) {
				return nil
			}
			o.wait(ctx)
		case Permanent(err):
			return err
		case errors.Is(err, recipes.ErrSessionExpired):
			// The next look asks for another one.
		default:
			o.e.c.Logger().Warn("election cannot be observed; it is tried again", "path", o.e.Path(), "error", err)
			if !pause.Wait(ctx) {
				return nil
			}
		}
	}
}

// look reads who leads, and arms the watch.
func (o *observer) look(ctx context.Context) (*recipes.Contender, error) {
	last := o.leader
	if o.watch == nil || o.watch.Deleted() {
		last = nil
	}
	o.unwatch()
	s, err := o.e.c.Session(ctx)
	if err != nil {
		return nil, err
	}
	if o.s != nil && o.s != s {
		// Its server may not have seen what the one before has shown. A
		// confirmed write makes it catch up with that.
		if err := s.Barrier(ctx); err != nil {
			return nil, err
		}
	}
	o.s = s
	leader, watch, err := o.e.q.Head(ctx, s, last)
	o.watch = watch
	return leader, err
}

// note tells what has changed; false means that the consumer has had enough.
func (o *observer) note(leader *recipes.Contender, tell func(*recipes.Contender) bool) bool {
	if o.told && same(leader, o.leader) {
		return true
	}
	o.told, o.leader = true, leader
	if leader != nil {
		theirs := *leader
		leader = &theirs // to do with as they like
	}
	return tell(leader)
}

// same reports whether two looks have seen the same leader, at whatever age.
func same(a, b *recipes.Contender) bool {
	if a == nil || b == nil {
		return a == b
	}
	aged := *a
	aged.Age = b.Age
	return aged == *b
}

// wait returns when it is time to look again. Events can be lost; a look now and
// then finds out.
func (o *observer) wait(ctx context.Context) {
	timer := time.NewTimer(o.s.Timeout())
	defer timer.Stop()
	select {
	case <-o.watch.C:
	case <-timer.C:
	case <-o.s.Done():
	case <-ctx.Done():
	}
}

func (o *observer) unwatch() {
	if o.watch != nil {
		o.watch.Stop()
		o.watch = nil
	}
}
