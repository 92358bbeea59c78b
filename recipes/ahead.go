package recipes

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkrecipes/zkrecipes/fence"
)

// ErrFenceAhead is returned by Do and Run, together with fence.ErrStale, when a
// resource has refused a lease that nobody has come after: what stands there is
// greater than any token of the ensemble, which was wiped or restored from an
// older state since. It will refuse everybody until Client.RaiseFenceBase was
// called. The resource may also belong to another lock. It is found out where the
// refusal is a *fence.StaleError, as those of the guards are. Where a guard of an
// election refuses, Run logs that and goes on, so that it leads once the base is
// raised.
var ErrFenceAhead = errors.New("recipes: the resource's token is ahead of the ensemble; was it restored? see zkr fence")

// explainStale finds out why a resource has refused the lease. An ordinary
// refusal has a later grant behind it, and no such grant came to be while the
// ensemble still has the lease's znode.
func (l *Lease) explainStale(ctx context.Context, err error) error {
	var stale *fence.StaleError
	if !errors.As(err, &stale) || !stale.Superseded() {
		return err
	}
	n := l.of(stale.Offered.Token)
	if n == nil || l.Verify(ctx) != nil {
		return err
	}
	// Unless a base was raised of which the lease knows nothing, while others do.
	b, readErr := l.s.base(ctx, parent(n.path), 0)
	if readErr != nil || n.czxid+b.token > stale.Standing.Token {
		return err
	}
	return fmt.Errorf("%w: %w", ErrFenceAhead, err)
}

// of returns the znode that the token is of, nil if it is not the lease's.
func (l *Lease) of(token fence.Token) *Owned {
	for _, n := range l.owned() {
		if n.Token() == token {
			return n
		}
	}
	return nil
}
