package recipes

import (
	"context"
	"errors"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zkrecipes/zkrecipes/internal/backoff"
)

// swap is the replacement of a lease's znode by another one.
type swap struct {
	to   string        // path of the new znode
	done chan struct{} // closed when the outcome is known
	err  error         // set before that
	gone *Deletion     // of the new znode, where the lease was given back meanwhile
}

// Share makes an exclusive lease a shared one: in one transaction its znode goes
// and another one of the given name comes, so that nobody can get in between.
// The token stays, since that of the new znode is greater than those of
// contenders that stand behind it.
//
// It returns nil when the lease is shared, and otherwise why it is not, such as
// ErrLost or ErrReleased. If ctx ends first it returns its error with
// ErrOutcomeUnknown, and goes on in the background; a further call waits for the
// same outcome.
func (l *Lease) Share(ctx context.Context, name string, data []byte) error {
	sw, err := l.beginSwap(name, data)
	if sw == nil {
		return err
	}
	select {
	case <-sw.done:
		return sw.err
	case <-ctx.Done():
		return &OpError{Op: "share", Path: l.path, Session: l.s.ID(), Err: inOneLine(ctx.Err(), ErrOutcomeUnknown)}
	}
}

// beginSwap returns the swap that is under way, a new one if there is none. It
// returns no swap where the lease is shared already, or over.
func (l *Lease) beginSwap(name string, data []byte) (*swap, error) {
	l.until(l.s.now())
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.err != nil:
		return nil, l.err
	case l.shared || l.swap != nil:
		return l.swap, nil
	case len(l.nodes) != 1:
		panic("recipes: Share of a lease with several znodes")
	}
	old := l.nodes[0]
	sw := &swap{to: join(parent(old.path), name), done: make(chan struct{})}
	reqs, err := l.s.requests([]Op{DeleteOp(old.path, -1), CreateOp(sw.to, data, Ephemeral, nil)})
	if err != nil {
		return nil, err
	}
	if !l.s.spawn(func() { l.runSwap(sw, old, reqs) }) {
		return nil, &OpError{Op: "share", Path: l.path, Session: l.s.ID(), Err: ErrClosed}
	}
	l.swap = sw
	return sw, nil
}

// runSwap repeats the transaction until its outcome is known. That an earlier
// attempt has succeeded shows by the new znode.
//
// It needs no room of its own in the session: the new znode takes what the old
// one has.
func (l *Lease) runSwap(sw *swap, old *Owned, reqs []any) {
	s := l.s
	for {
		_, err := write(s.ctx, s, nil, func(z *zk.Conn) ([]zk.MultiResponse, error) { return z.Multi(reqs...) })
		if isUnknown(err) {
			continue
		}
		if errors.Is(err, zk.ErrNoNode) {
			err = l.oldIsGone(sw)
		}
		gone := l.swapped(sw, old, s.opErr("share", l.path, err))
		switch {
		case gone == nil:
			s.look(l) // nobody has while the swap was under way
		case err == nil:
			s.deleteUntilGone(gone, sw.to, 0)
		default:
			s.deleted(gone, nil, 0)
		}
		return
	}
}

// oldIsGone finds out whether that is so by an earlier attempt. As long as
// reading fails, so does everything that is to know which znode the lease has.
func (l *Lease) oldIsGone(sw *swap) error {
	pause := backoff.Backoff{}
	for {
		_, made, err := l.s.Exists(l.s.ctx, sw.to)
		switch {
		case err == nil && made:
			return nil
		case err == nil:
			l.lose(errNodeGone)
			return zk.ErrNoNode
		case l.s.conn.Reason() != nil:
			return err
		}
		pause.Wait(l.s.ctx)
	}
}

// swapped ends a swap: err says why the lease has its old znode. A lease that
// was given back wants neither; it then returns what to settle for the new one.
func (l *Lease) swapped(sw *swap, old *Owned, err error) (gone *Deletion) {
	l.until(l.s.now()) // the end of the session is the lease's
	l.mu.Lock()
	defer l.mu.Unlock()
	l.swap = nil
	if err == nil && sw.gone == nil {
		n := &Owned{s: l.s, path: sw.to, czxid: old.czxid, base: old.base, swapped: true, sent: old.sent, reserved: old.takeReserved()}
		l.shared, l.nodes = true, []*Owned{n}
		if l.err == nil {
			l.watching = append(l.watching, l.s.conn.Watch(l.s.abs(sw.to), l.onEvent))
		}
	}
	sw.err = err
	if l.err != nil {
		sw.err = l.err
	}
	close(sw.done)
	return sw.gone
}

// awaitSwap waits until it is known which znode the lease has.
func (l *Lease) awaitSwap(ctx context.Context) error {
	l.mu.Lock()
	sw := l.swap
	l.mu.Unlock()
	if sw == nil {
		return nil
	}
	select {
	case <-sw.done:
		return nil
	case <-ctx.Done():
		return l.s.opErr("await", l.path, ctx.Err())
	}
}

// stillNeeds reports whether the lease is bound to the znode. One that is being
// replaced, or has been, may be missing.
func (l *Lease) stillNeeds(n *Owned) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.swap == nil && slices.Contains(l.nodes, n)
}
