package queue

import (
	"context"
	"sync"

	"github.com/zkrecipes/zkrecipes/recipes"
)

// holder remembers who was read last as the first contender, so that thousands
// of one process that queue up behind it do not all read the same znode, only to
// be able to say who holds.
type holder struct {
	mu   sync.Mutex
	last *recipes.Contender // nil before the first
}

// read returns what the first contender shows. Its age and whether it has been
// asked to give up may be older; who it is does not change.
func (h *holder) read(ctx context.Context, q *Queue, s *recipes.Session, e entry) (recipes.Contender, error) {
	h.mu.Lock()
	last := h.last
	h.mu.Unlock()
	if last != nil && last.Path == q.path(e) {
		return *last, nil
	}
	c, err := q.read(ctx, s, nil, e)
	if err == nil {
		h.mu.Lock()
		h.last = &c
		h.mu.Unlock()
	}
	return c, err
}
