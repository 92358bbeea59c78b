package election

import (
	"context"
	"errors"
	"sync"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// Term is one time of leading. It is a value with a lifetime: once over it never
// comes back, and nothing that is done with it touches a later term.
type Term struct {
	lease *recipes.Lease
	byRun bool // Run gives the place up

	mu        sync.Mutex
	resigning bool
	stop      context.CancelCauseFunc // ends the context of Run's function, nil before it begins
}

// Lease returns the lease that the term rests on. Release is Resign's business.
func (t *Term) Lease() *recipes.Lease { return t.lease }

// Token returns the term's fencing token. Send it along with what the leader
// writes.
func (t *Term) Token() fence.Token { return t.lease.Token() }

// Done is closed when the place is lost or was given up. It follows the clock by
// a timer, which a paused process serves late; Err is exact.
func (t *Term) Done() <-chan struct{} { return t.lease.Done() }

// Err returns nil while the place is held, recipes.ErrReleased after it was given
// up, and a *recipes.LostError, which is a recipes.ErrLost, after it was lost.
// It reads the clock.
func (t *Term) Err() error { return t.lease.Err() }

// Context returns a context that ends with the term, or with parent.
func (t *Term) Context(parent context.Context) context.Context { return t.lease.Context(parent) }

// leads reports whether to act as the leader.
func (t *Term) leads() bool {
	t.mu.Lock()
	resigning := t.resigning
	t.mu.Unlock()
	return !resigning && t.lease.Err() == nil
}

// Proclaim replaces what the candidate shows of itself, for as long as it leads:
// its address, say. It is what Leader and Observe tell then, and what Curator
// takes for the id; it is UTF-8 and at most 4096 bytes long. It is written under
// the lease or not at all, and tried again where the answer is lost. It returns
// recipes.ErrLost if the term is over.
func (t *Term) Proclaim(ctx context.Context, data []byte) error {
	if err := checkID(data); err != nil {
		return err
	}
	for {
		_, err := t.lease.Txn(ctx, recipes.SetOp(t.lease.Node(), data, -1))
		if !errors.Is(err, recipes.ErrOutcomeUnknown) || ctx.Err() != nil {
			return err
		}
	}
}

// Resign ends the term: IsLeader is false from its beginning, and the place is
// given up. It waits until the znode is gone, or ctx ends; in the latter case
// the deletion goes on in the background. Further calls do nothing, and a term
// that was lost returns recipes.ErrLost.
//
// Under Run it asks for that and returns: the function's context ends, and the
// place is given up when the function has returned.
func (t *Term) Resign(ctx context.Context) error {
	t.mu.Lock()
	t.resigning = true
	stop := t.stop
	t.mu.Unlock()
	if !t.byRun {
		return t.lease.Release(ctx)
	}
	if stop != nil {
		stop(recipes.ErrReleased)
	}
	if err := t.lease.Err(); !errors.Is(err, recipes.ErrReleased) {
		return err
	}
	return nil
}

// begin makes Resign end the context of Run's function.
func (t *Term) begin(stop context.CancelCauseFunc) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stop = stop
	if t.resigning {
		stop(recipes.ErrReleased)
	}
}
