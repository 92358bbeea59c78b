package recipes

import (
	"sync"
	"time"
)

// serverTime is what the answers to the client's own writes say of the servers'
// clock: the time that a transaction bears was read between the write and its
// answer.
type serverTime struct {
	mu   sync.Mutex
	told time.Time     // zero before the first
	sent time.Duration // by the client's clock, the write that was told so
}

// ServerTime returns the servers' present time, as the latest of this client's
// writes that was told one says; ok is false before the first. A contender's
// creation is told one, and so is Session.Set. It asks nothing and reads no wall
// clock.
//
// It is ahead by no more than the answer to that write took. Beyond that it is
// off by what the client's clock and the servers' have drifted apart since, and
// by what has become of the servers' clock: one that was set, or that of another
// leader.
func (c *Client) ServerTime() (now time.Time, ok bool) {
	t := &c.serverTime
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.told.IsZero() {
		return time.Time{}, false
	}
	return t.told.Add(c.cfg.clock() - t.sent), true
}

// toldTime takes in the time of a write's transaction.
func (c *Client) toldTime(told time.Time, sent time.Duration) {
	t := &c.serverTime
	t.mu.Lock()
	defer t.mu.Unlock()
	if sent >= t.sent || t.told.IsZero() {
		t.told, t.sent = told, sent
	}
}
