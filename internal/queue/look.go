package queue

import (
	"context"
	"sync"

	"github.com/zkrecipes/zkrecipes/recipes"
)

// looks lets those of one process who look at a queue at the same time share
// what is read. Without it thousands of goroutines on one path would each have
// the server send all their names, and what keeps the lease of the one who holds
// would stand in line behind that.
type looks struct {
	mu     sync.Mutex
	flying map[*recipes.Session]*look
}

// look is one reading of the queue.
type look struct {
	done      chan struct{}
	entries   []entry // to be read only
	err       error
	abandoned bool // the context of the one who read has ended
}

// look reads the queue: its contenders in their order. What it returns was read
// after the call and in session s, so that a contender of that session is in it
// unless it is gone.
func (q *Queue) look(ctx context.Context, s *recipes.Session) ([]entry, error) {
	var before *look // began before the call
	for {
		l, mine := q.looks.join(s)
		if mine {
			l.entries, l.err = q.list(ctx, s)
			l.abandoned = ctx.Err() != nil
			q.looks.end(s, l)
			return l.entries, l.err
		}
		select {
		case <-l.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if before != nil && l != before && !l.abandoned {
			return l.entries, l.err
		}
		before = l
	}
}

// join returns the look that goes on, or begins one.
func (ls *looks) join(s *recipes.Session) (l *look, mine bool) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if l := ls.flying[s]; l != nil {
		return l, false
	}
	if ls.flying == nil {
		ls.flying = make(map[*recipes.Session]*look)
	}
	l = &look{done: make(chan struct{})}
	ls.flying[s] = l
	return l, true
}

func (ls *looks) end(s *recipes.Session, l *look) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	delete(ls.flying, s)
	if len(ls.flying) == 0 {
		ls.flying = nil // of a hundred thousand locks few are looked at at once
	}
	close(l.done)
}
