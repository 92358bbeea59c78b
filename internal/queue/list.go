package queue

import (
	"cmp"
	"context"
	"errors"
	"slices"

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
	places, err := q.places(ctx, s, entries, len(entries), nil)
	if err != nil {
		return nil, err
	}
	var list []recipes.Contender
	for _, p := range places {
		list = append(list, p.Contender)
	}
	return list, nil
}

// Revoke asks the first contender to give its place back, as Curator's Revoker
// does: by its znode's data. ok is false where there is none.
func (q *Queue) Revoke(ctx context.Context) (ok bool, err error) {
	for {
		s, err := q.c.Session(ctx)
		if err != nil {
			return false, err
		}
		entries, err := q.look(ctx, s)
		if errors.Is(err, recipes.ErrNoNode) || err == nil && len(entries) == 0 {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		_, err = s.Set(ctx, q.path(entries[0]), recipes.Revocation(), -1)
		if !errors.Is(err, recipes.ErrNoNode) { // otherwise it is gone, and the next one holds
			return err == nil, err
		}
	}
}

// Permits returns the permits in a directory, whatever their names, in the order
// of their creation.
func (q *Queue) Permits(ctx context.Context, dir string) ([]recipes.Contender, error) {
	s, err := q.c.Session(ctx)
	if err != nil {
		return nil, err
	}
	names, _, err := s.Children(ctx, dir)
	if err != nil && !errors.Is(err, recipes.ErrNoNode) {
		return nil, err
	}
	var list []recipes.Contender
	for _, name := range names {
		permit, err := q.Permit(ctx, s, dir+"/"+name)
		if errors.Is(err, recipes.ErrNoNode) {
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, permit)
	}
	slices.SortFunc(list, func(a, b recipes.Contender) int { return cmp.Compare(a.Token, b.Token) })
	return list, nil
}
