package queue

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/recipes"
)

// Try takes the lock if nobody is in the way. Otherwise it returns the path of a
// contender's znode that is, and no lease; it has then left nothing behind, or
// is deleting it in the background if ctx ended first.
//
// It looks before it writes. A server that lags behind may show a contender
// that is gone already; it never makes Try succeed wrongly. With sync the server
// catches up first, by a write barrier.
func (q *Queue) Try(ctx context.Context, req Request, sync bool) (lease *recipes.Lease, holder string, err error) {
	for {
		lease, holder, err = q.try(ctx, req, sync)
		if !errors.Is(err, ErrPlaceLost) {
			return lease, holder, err
		}
	}
}

func (q *Queue) try(ctx context.Context, req Request, sync bool) (lease *recipes.Lease, holder string, err error) {
	s, err := q.c.Session(ctx)
	if err != nil {
		return nil, "", err
	}
	if sync {
		if err := s.Barrier(ctx); err != nil {
			return nil, "", PlaceLost(err)
		}
	}
	if holder, err := q.Taken(ctx, s, req.Tag); holder != "" || err != nil {
		return nil, holder, err
	}
	own, err := q.enqueue(ctx, req)
	if err != nil {
		return nil, "", err
	}
	defer func() {
		if lease == nil {
			q.leave(ctx, own.Owned)
		}
	}()
	if own.Children != 1 {
		if holder, err := q.InTheWay(ctx, own.Owned, req.Tag); holder != "" || err != nil {
			return nil, holder, err
		}
	}
	lease, err = q.grant(ctx, own.Owned, req)
	return lease, "", err
}

// leave deletes a contender and waits for that while ctx allows.
func (q *Queue) leave(ctx context.Context, own *recipes.Owned) {
	select {
	case <-own.Discard().Done():
	case <-ctx.Done():
	}
}
