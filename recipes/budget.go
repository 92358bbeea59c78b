package recipes

import (
	"context"
	"fmt"
	"slices"

	"github.com/zkrecipes/zkrecipes/internal/zkconn"
)

// Closing a session is one transaction that lists all its ephemeral znodes.
// Where that is larger than the servers read back from their logs, none of them
// starts again. So a session owns so many bytes of ephemeral paths and no more.

// pathCost is what an ephemeral path of some length takes of the budget: that,
// its sequence number, and what the log adds.
func pathCost(length int, mode Mode) int {
	const frame, sequence = 4, 11
	if mode == EphemeralSequential {
		return length + frame + sequence
	}
	return length + frame
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
	wasRoomy := s.roomy()
	s.reserved -= bytes
	change := s.reserved == 0 || s.roomy() != wasRoomy
	s.mu.Unlock()
	s.client.wakeWanting()
	if change {
		s.client.retire()
	}
}

// wakeWanting wakes those who wait for a further session: there may be room in
// one that is there.
func (c *Client) wakeWanting() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.wanted > 0 {
		c.broadcast()
	}
}

// charge notes what a znode made by Create or Multi takes of the budget.
func (s *Session) charge(path string, cost int) {
	s.mu.Lock()
	before := s.direct[path]
	s.direct[path] = cost
	s.mu.Unlock()
	s.Unreserve(before) // of an earlier attempt at it
}

// doubt notes what a znode takes that may have been made: until it is deleted,
// or certainly not there to be deleted. One with a number is not known by its
// path; it counts as long as the session lives.
func (s *Session) doubt(path string, mode Mode, cost int) {
	if mode == Ephemeral {
		s.charge(path, cost)
	}
}

// uncharge gives back what a znode has taken that is gone.
func (s *Session) uncharge(path string) {
	s.mu.Lock()
	cost := s.direct[path]
	delete(s.direct, path)
	s.mu.Unlock()
	s.Unreserve(cost)
}

// retire ends the further sessions that own nothing any more, if the first one
// has plenty of room again.
func (c *Client) retire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || len(c.sessions) < 2 || !c.sessions[0].spacious() {
		return
	}
	further := slices.DeleteFunc(c.sessions[1:], func(s *Session) bool {
		idle := s.unused()
		if idle {
			c.wg.Go(func() { s.end(zkconn.ErrSpare) })
		}
		return idle
	})
	c.sessions = c.sessions[:1+len(further)]
}

// roomy reports whether less than half of the budget is used. s.mu is held.
func (s *Session) roomy() bool { return s.reserved < s.cfg.ephemeralSize/2 }

// spacious reports whether the session lives and is roomy.
func (s *Session) spacious() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn.Reason() == nil && s.roomy()
}

// unused reports whether nothing depends on the session.
func (s *Session) unused() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reserved == 0 && len(s.leases) == 0 && s.nextInRow == 0 && s.deleting == 0
}
