package recipes

import (
	"context"
	"fmt"
)

// Closing a session is one transaction that lists all its ephemeral znodes.
// Where that is larger than the servers read back from their logs, none of them
// starts again. So a session owns so many bytes of ephemeral paths and no more.

// pathCost is what an ephemeral path takes of the budget: its length, its
// sequence number, and what the log adds.
func pathCost(abs string, mode Mode) int {
	const frame, sequence = 4, 11
	if mode == EphemeralSequential {
		return len(abs) + frame + sequence
	}
	return len(abs) + frame
}

// SessionFor returns a session that can own further ephemeral znodes whose
// paths take the given number of bytes, and sets them aside. Whoever does not
// use them gives them back with Unreserve.
func (c *Client) SessionFor(ctx context.Context, bytes int) (*Session, error) {
	if bytes > c.cfg.ephemeralSize {
		return nil, fmt.Errorf("recipes: ephemeral paths of %d bytes at once: one session may own %d: %w",
			bytes, c.cfg.ephemeralSize, ErrTooLarge)
	}
	return c.pick(ctx, bytes)
}

// reserve sets aside bytes of ephemeral paths, if the session may own that
// many.
func (s *Session) reserve(bytes int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if bytes > 0 && s.reserved+bytes > s.cfg.ephemeralSize {
		return false
	}
	s.reserved += bytes
	return true
}

// Unreserve gives back what SessionFor has set aside.
func (s *Session) Unreserve(bytes int) {
	if bytes == 0 {
		return
	}
	s.mu.Lock()
	s.reserved -= bytes
	empty := s.reserved == 0
	s.mu.Unlock()
	if empty {
		s.client.retire(s)
	}
}

// charge notes what a znode made by Create or Multi takes of the budget, and
// uncharge gives it back when the znode is gone.
func (s *Session) charge(path string, cost int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.direct[path] = cost
}

func (s *Session) uncharge(path string) {
	s.mu.Lock()
	cost := s.direct[path]
	delete(s.direct, path)
	s.mu.Unlock()
	s.Unreserve(cost)
}

// retire ends a further session that owns nothing any more, if the first one
// has plenty of room again.
func (c *Client) retire(s *Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || len(c.sessions) < 2 || c.sessions[0] == s || !c.sessions[0].roomy() || !s.unused() {
		return
	}
	for i, other := range c.sessions {
		if other == s {
			c.sessions = append(c.sessions[:i], c.sessions[i+1:]...)
			c.wg.Go(func() { s.end(ErrClosed) })
			return
		}
	}
}

// roomy reports whether less than half of the budget is used.
func (s *Session) roomy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reserved < s.cfg.ephemeralSize/2
}

// unused reports whether nothing depends on the session.
func (s *Session) unused() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reserved == 0 && len(s.leases) == 0 && s.nextInRow == 0 && s.deleting == 0
}
