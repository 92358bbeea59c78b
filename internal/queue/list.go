package queue

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/recipes"
)

// List returns the contenders in their order, the holder first. It is a view
// that may have changed by the time it is returned.
func (q *Queue) List(ctx context.Context) ([]recipes.Contender, error) {
	s, err := q.c.Session(ctx)
	if err != nil {
		return nil, err
	}
	entries, err := q.look(ctx, s)
	if errors.Is(err, recipes.ErrNoNode) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []recipes.Contender
	for _, e := range entries {
		c, err := q.read(ctx, s, e, len(list))
		if errors.Is(err, recipes.ErrNoNode) {
			continue // gone since the look
		}
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

func (q *Queue) read(ctx context.Context, s *recipes.Session, e entry, position int) (recipes.Contender, error) {
	data, stat, err := s.Get(ctx, q.path(e))
	if err != nil {
		return recipes.Contender{}, err
	}
	return contender(q.path(e), position, data, stat), nil
}
