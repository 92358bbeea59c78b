package recipes

import (
	"bytes"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkrecipes/zkrecipes/internal/zkconn"
)

// A holder watches its own znode: an operator may delete it, to take the lock
// away, and a peer may ask for it back. The watch is armed some time after the
// grant, so that short sections never pay for it; the read that arms it shows
// what came before.

// revocation is what Curator's Revoker writes into a holder's znode.
var revocation = []byte("__REVOKE__")

// Revocation returns what to write into a holder's znode to ask for its lease
// back.
func Revocation() []byte { return bytes.Clone(revocation) }

// maxLookers bounds how many znodes of a session are looked at at once.
const maxLookers = 16

// arm begins to watch the znodes of leases that have held for a while. It
// returns when the next one is due.
func (s *Session) arm() time.Duration {
	wait := s.conn.Chain().Rhythm().Proof()
	now := s.now()
	for {
		s.mu.Lock()
		if len(s.arming) == 0 {
			s.arming = nil
			s.mu.Unlock()
			return far
		}
		l := s.arming[0]
		if due := l.since + wait; now < due {
			s.mu.Unlock()
			return due
		}
		s.arming = s.arming[1:]
		s.mu.Unlock()
		if l.watch() {
			s.look(l) // also where it listens already: a reconnect may have disarmed that
		}
	}
}

// takeWatches takes over the watches that the lease's znodes had while they
// waited; false means that one of them is gone.
func (l *Lease) takeWatches() bool {
	for _, n := range l.nodes {
		if !n.watched() {
			return true // they are armed later
		}
	}
	l.watch() // before the others stop, so that nothing falls in between
	alive := true
	for _, n := range l.nodes {
		alive = !n.unwatch() && alive
	}
	return alive
}

// watch listens for events of the lease's znodes, unless it does already; false
// means that it is over.
func (l *Lease) watch() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return false
	}
	if l.watching == nil {
		for _, n := range l.nodes {
			l.watching = append(l.watching, l.s.conn.Watch(l.s.abs(n.path), l.onEvent))
		}
	}
	return true
}

// onEvent is called when something may have happened to a znode of the lease.
func (l *Lease) onEvent(zkconn.Event) { l.s.look(l) }

// look has the lease's znodes read, soon.
func (s *Session) look(l *Lease) {
	s.mu.Lock()
	s.looks = append(s.looks, l)
	start := s.lookers < maxLookers && !s.over
	if start {
		s.lookers++
		s.wg.Go(s.looker)
	}
	s.mu.Unlock()
}

// looker reads znodes until there is none left to look at.
func (s *Session) looker() {
	for {
		s.mu.Lock()
		if len(s.looks) == 0 {
			s.looks = nil
			s.lookers--
			s.mu.Unlock()
			return
		}
		l := s.looks[0]
		s.looks = s.looks[1:]
		s.mu.Unlock()
		for _, n := range l.owned() {
			l.inspect(n)
		}
	}
}

// inspect reads one znode and arms the watch on it.
func (l *Lease) inspect(n *Owned) {
	if _, ok := l.until(l.s.now()); !ok {
		return
	}
	data, err := zkconn.Call(l.s.ctx, l.s.conn, zkconn.Read, nil, func(z *zk.Conn) ([]byte, error) {
		data, stat, err := z.Get(l.s.abs(n.path))
		if err == nil && !n.is(stat) {
			err = zk.ErrNoNode // another one, which bears the name of ours
		}
		return data, err
	})
	switch {
	case errors.Is(err, zk.ErrNoNode):
		if l.stillNeeds(n) {
			l.lose(errNodeGone)
		}
	case err == nil && bytes.Equal(data, revocation):
		l.revoke()
	}
	// Other errors are those of the connection: every reconnect brings another
	// look. Where reading is not permitted nothing can be watched.
}
