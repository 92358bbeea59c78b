package queue

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/recipes"
)

// These are the parts of Acquire, for locks that stand in several queues at
// once.

// Gone reports whether a contender has lost its place, with its znode or its
// session.
func Gone(err error) bool { return errors.Is(err, ErrPlaceLost) }

// Await waits until nobody stands in the way of a contender of ours.
func (q *Queue) Await(ctx context.Context, own *recipes.Owned, req Request) error {
	w := newWait(q, own, req)
	defer w.end()
	return w.run(ctx)
}

// InTheWay returns the znode of a contender that stands in the way of ours, ""
// if there is none.
func (q *Queue) InTheWay(ctx context.Context, own *recipes.Owned, tag Tag) (string, error) {
	entries, err := q.look(ctx, own.Session())
	if err != nil {
		return "", PlaceLost(err)
	}
	me := q.index(entries, own)
	if me < 0 {
		return "", ErrPlaceLost
	}
	return q.blocker(entries[:me], tag), nil
}

// Taken returns the znode of a contender that would stand in the way of one that
// came now, "" if there is none.
func (q *Queue) Taken(ctx context.Context, s *recipes.Session, tag Tag) (string, error) {
	entries, err := q.look(ctx, s)
	if errors.Is(err, recipes.ErrNoNode) {
		return "", nil // no directory, no contenders
	}
	if err != nil {
		return "", PlaceLost(err)
	}
	return q.blocker(entries, tag), nil
}

func (q *Queue) blocker(before []entry, tag Tag) string {
	if b := blocking(before, tag); b.n > 0 {
		return q.path(before[b.last])
	}
	return ""
}
