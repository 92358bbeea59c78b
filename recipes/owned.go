package recipes

import (
	"context"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkrecipes/zkrecipes/fence"
)

// Owned is an ephemeral znode that belongs to a session: it was made on it, or
// read from it with that owner.
type Owned struct {
	s        *Session
	path     string
	czxid    fence.Token   // 0 until it is known
	swapped  bool          // the znode is younger than czxid says: see Share
	base     fence.Token   // of its path's tokens, known once it is granted a lease
	sent     time.Duration // when the latest confirmed write about it was sent
	dated    bool          // that write made it, and was answered: its Created is the time of that write
	reserved int           // bytes of its session's budget
	spare    int           // bytes set aside for what it may be exchanged for
	watch    *Watch        // armed on it while it waits, nil if it is not
}

// Path returns the znode's path.
func (o *Owned) Path() string { return o.path }

// Session returns the session that owns the znode.
func (o *Owned) Session() *Session { return o.s }

// Token returns the znode's czxid, 0 if it is not known yet; Load reads it. From
// its grant on it is the fencing token: the base of its path, if one is set, is
// added then.
func (o *Owned) Token() fence.Token { return o.base + o.czxid }

// is reports whether a znode of o's path is o's, once o's czxid is known. That its
// session owns it is not enough: whoever has stolen the session can make it anew
// in there, after somebody else has held.
func (o *Owned) is(stat *zk.Stat) bool {
	return stat.EphemeralOwner == o.s.ID() && (o.swapped || stat.Czxid == int64(o.czxid))
}

// Load reads the znode, to learn its token. It returns ErrNoNode where the znode
// is gone or belongs to somebody else.
func (o *Owned) Load(ctx context.Context) error {
	stat, ok, err := o.s.Exists(ctx, o.path)
	if err != nil {
		return err
	}
	return o.know(stat, ok)
}

func (o *Owned) know(stat Stat, ok bool) error {
	if !ok || stat.EphemeralOwner != o.s.ID() {
		return &OpError{Op: "load", Path: o.path, Session: o.s.ID(), Err: ErrNoNode}
	}
	o.czxid = fence.Token(stat.Czxid)
	if o.dated {
		o.s.client.toldTime(stat.Created, o.sent)
	}
	return nil
}

// Watch is Load with a watch for the znode's deletion, which the lease takes
// over if it comes to one. Without it the lease watches on its own a little
// later. The watch that it returns belongs to o.
func (o *Owned) Watch(ctx context.Context) (*Watch, error) {
	if o.watch != nil {
		return o.watch, nil
	}
	_, stat, w, err := o.s.GetWatch(ctx, o.path)
	if err != nil {
		return nil, err
	}
	o.watch = w
	return w, o.know(stat, true)
}

// watched reports whether a watch is armed on the znode. The end of its lease may
// end the watch at any time.
func (o *Owned) watched() bool {
	o.s.mu.Lock()
	defer o.s.mu.Unlock()
	return o.watch != nil
}

// unwatch ends the watch, and reports whether it has seen the znode deleted.
func (o *Owned) unwatch() (deleted bool) {
	// One who has given up on an exchange and the exchange itself may both.
	o.s.mu.Lock()
	w := o.watch
	o.watch = nil
	o.s.mu.Unlock()
	if w == nil {
		return false
	}
	w.Stop()
	return w.Deleted()
}

// Discard deletes the znode in the background.
func (o *Owned) Discard() *Deletion {
	o.unwatch()
	return o.s.discard(o.path, o.takeReserved()+o.takeSpare())
}

// takeReserved returns what the znode takes of the budget, once: to whoever
// sees to its end.
func (o *Owned) takeReserved() int {
	o.s.mu.Lock()
	defer o.s.mu.Unlock()
	n := o.reserved
	o.reserved = 0
	return n
}

func (o *Owned) takeSpare() int {
	o.s.mu.Lock()
	defer o.s.mu.Unlock()
	n := o.spare
	o.spare = 0
	return n
}
