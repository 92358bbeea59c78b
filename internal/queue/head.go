package queue

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/recipes"
)

// First returns the first contender; ok is false where there is none.
func (q *Queue) First(ctx context.Context) (first recipes.Contender, ok bool, err error) {
	s, err := q.c.Session(ctx)
	if err != nil {
		return recipes.Contender{}, false, err
	}
	for {
		entries, err := q.look(ctx, s)
		if errors.Is(err, recipes.ErrNoNode) || err == nil && len(entries) == 0 {
			return recipes.Contender{}, false, nil
		}
		if err != nil {
			return recipes.Contender{}, false, err
		}
		first, err := q.read(ctx, s, nil, entries[0])
		if !errors.Is(err, recipes.ErrNoNode) { // otherwise it is gone since the look
			return first, err == nil, err
		}
	}
}

// Head returns the first contender, nil where there is none, and a watch that
// wakes when there may be another or its data may have changed: on its znode, so
// that those who come and go behind it wake nobody, or where there is none on
// the directory.
//
// last is the first contender as it was seen before, nil if there was none.
// While it is there it stays the first, and the queue is not read.
func (q *Queue) Head(ctx context.Context, s *recipes.Session, last *recipes.Contender) (*recipes.Contender, *recipes.Watch, error) {
	if last != nil {
		e, _ := q.layout.parse(last.Path[len(q.dir)+1:])
		head, w, err := q.watchHead(ctx, s, e)
		if err != nil || head != nil && head.Token == last.Token {
			return head, w, err
		}
		if w != nil {
			w.Stop()
		}
	}
	for {
		entries, err := q.look(ctx, s)
		if err != nil && !errors.Is(err, recipes.ErrNoNode) {
			return nil, nil, err
		}
		if len(entries) == 0 {
			w, err := q.watchEmpty(ctx, s)
			if w != nil || err != nil {
				return nil, w, err
			}
			continue
		}
		head, w, err := q.watchHead(ctx, s, entries[0])
		if head != nil || err != nil {
			return head, w, err
		}
	}
}

// watchHead reads a contender; it returns nothing if that is gone.
func (q *Queue) watchHead(ctx context.Context, s *recipes.Session, e entry) (*recipes.Contender, *recipes.Watch, error) {
	data, stat, w, err := s.GetWatch(ctx, q.path(e))
	if errors.Is(err, recipes.ErrNoNode) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	head, err := q.withBase(ctx, s, e, q.show(0, holds(nil, e.tag), e, data, stat))
	if err != nil {
		w.Stop()
		return nil, nil, err
	}
	return &head, w, nil
}

// watchEmpty waits for the first one to come; it returns nothing if somebody
// has.
func (q *Queue) watchEmpty(ctx context.Context, s *recipes.Session) (*recipes.Watch, error) {
	names, _, w, err := s.ChildrenWatch(ctx, q.dir)
	if errors.Is(err, recipes.ErrNoNode) {
		_, made, w, err := s.ExistsWatch(ctx, q.dir)
		if err == nil && made {
			w.Stop()
			return nil, nil
		}
		return w, err
	}
	if err != nil {
		return nil, err
	}
	if entries, _ := q.contenders(names); len(entries) > 0 {
		w.Stop()
		return nil, nil
	}
	return w, nil
}
