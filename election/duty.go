package election

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/recipes"
)

// onDuty notes that a function works for a term, until what it returns is
// called.
func (e *Election) onDuty(ctx context.Context, t *Term) (end func()) {
	e.mu.Lock()
	e.duties[t] = struct{}{}
	e.mu.Unlock()
	returned := make(chan struct{})
	var reporter sync.WaitGroup
	reporter.Go(func() { e.awaitReturn(ctx, t, returned) })
	return func() {
		close(returned)
		reporter.Wait()
		e.mu.Lock()
		delete(e.duties, t)
		e.mu.Unlock()
	}
}

// awaitReturn reports a function that has not returned some time after the end
// of its context.
func (e *Election) awaitReturn(ctx context.Context, t *Term, returned <-chan struct{}) {
	select {
	case <-returned:
		return
	case <-ctx.Done():
	}
	timer := time.NewTimer(e.s.overrun)
	defer timer.Stop()
	select {
	case <-returned:
		return
	case <-timer.C:
	}
	cause := context.Cause(ctx)
	e.c.Logger().Warn("function of a leader goes on although its context has ended",
		"path", e.Path(), "token", t.Token(), "for", e.s.overrun, "cause", cause)
	if fn := e.c.Trace().Overrun; fn != nil {
		fn(recipes.OverrunEvent{
			Path: e.Path(), Token: t.Token(), Session: t.lease.Session().ID(), For: e.s.overrun, Cause: cause,
		})
	}
}

// Check returns an error if a function under Run goes on although its term ended
// more than margin ago: the process acts as a leader that it is not, and is best
// started anew. A participant that does not lead is in good health. Package
// electionhttp serves it.
//
// Terms of Campaign are not looked at, since nobody but the caller knows what it
// does in them.
func (e *Election) Check(margin time.Duration) error {
	e.mu.Lock()
	terms := make([]*Term, 0, len(e.duties))
	for t := range e.duties {
		terms = append(terms, t)
	}
	e.mu.Unlock()
	for _, t := range terms {
		if late := t.lease.EndedFor(); late > margin {
			return fmt.Errorf("election: %s: still acts as the leader of a term (token %s) that ended %v ago: %w",
				e.Path(), t.Token(), late, t.Err())
		}
	}
	return nil
}
