package queue

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/recipes"
)

// View is a queue as it was found, for people.
type View struct {
	Places    []Place  // the first contenders, in their order
	Total     int      // how many there are
	Holding   int      // how many of them have nobody in their way
	Strangers []string // names that are no contenders
	Blocking  []string // those of them that make a Curator peer wait for ever
}

// Place is a contender, and the znode of the one that it waits for; "" where it
// waits for nobody.
type Place struct {
	recipes.Contender
	Behind string
}

// View reads the queue, and no more of its contenders than the first; where want
// is not nil, the first of those whose names it wants. It returns ErrNoNode where
// there is no such directory. It reports no strangers to the log.
func (q *Queue) View(ctx context.Context, s *recipes.Session, most int, want func(name string) bool) (View, error) {
	names, _, err := s.Children(ctx, q.dir)
	if err != nil {
		return View{}, err
	}
	entries, strangers := q.contenders(names)
	if entries, err = q.inOrder(ctx, s, entries); err != nil {
		return View{}, err
	}
	v := View{Total: len(entries), Holding: holding(entries), Strangers: strangers}
	for _, name := range strangers {
		if len(entries) > 0 && q.layout.blocksJVM(name, entries[0].seq) {
			v.Blocking = append(v.Blocking, name)
		}
	}
	v.Places, err = q.places(ctx, s, entries, most, want)
	return v, err
}

// holding counts those at the front of a queue that nobody is in the way of.
func holding(entries []entry) int {
	n := 0
	for n < len(entries) && entries[n].tag.Shared {
		n++
	}
	if n == 0 && len(entries) > 0 && !entries[0].tag.enters {
		return 1
	}
	return n
}

// places reads contenders in their order, until there are enough.
func (q *Queue) places(ctx context.Context, s *recipes.Session, entries []entry, most int, want func(name string) bool) ([]Place, error) {
	var list []Place
	var before []entry
	for _, e := range entries {
		if len(list) >= most {
			break
		}
		if want != nil && !want(e.name) {
			before = append(before, e)
			continue
		}
		c, err := q.read(ctx, s, before, e)
		if errors.Is(err, recipes.ErrNoNode) {
			continue // gone since the look
		}
		if err != nil {
			return nil, err
		}
		list, before = append(list, Place{c, q.blocker(before, e.tag)}), append(before, e)
	}
	return list, nil
}

// LayoutOf guesses a queue's layout by the names in its directory: the one in
// which most of them are contenders. kind says what it is the queue of, "" where
// no name is a contender's in any layout.
func LayoutOf(names []string) (layout Layout, kind string) {
	most := 0
	for _, guess := range []struct {
		layout Layout
		kind   string
	}{{Mutex, "mutex"}, {ReadWrite, "rwlock"}, {Latch, "election"}} {
		n := 0
		for _, name := range names {
			if guess.layout.Contends(name) {
				n++
			}
		}
		if n > most {
			layout, kind, most = guess.layout, guess.kind, n
		}
	}
	return layout, kind
}

// Contends reports whether a name is a contender's.
func (l Layout) Contends(name string) bool {
	_, ok := l.parse(name)
	return ok
}
