package recipes

import (
	"context"
	"errors"
	"slices"
)

// swap is the replacement of a lease's znode by another one.
type swap struct {
	to   string        // path of the new znode
	done chan struct{} // closed when the outcome is known
	err  error         // set before that
}

// Share makes an exclusive lease a shared one: in one transaction its znode goes
// and another one of the given name comes, so that nobody can get in between.
// The token stays, since that of the new znode is greater than those of
// contenders that stand behind it.
//
// It returns nil when the lease is shared. If ctx ends first it returns its
// error with ErrOutcomeUnknown, and goes on in the background; a further call
// waits for the same outcome.
func (l *Lease) Share(ctx context.Context, name string, data []byte) error {
	l.mu.Lock()
	sw := l.swap
	switch {
	case l.shared:
		l.mu.Unlock()
		return nil
	case len(l.nodes) != 1:
		l.mu.Unlock()
		panic("recipes: Share of a lease with several znodes")
	case sw == nil:
		sw = &swap{to: join(parent(l.nodes[0].path), name), done: make(chan struct{})}
		l.swap = sw
		old := l.nodes[0]
		if !l.s.spawn(func() { l.runSwap(sw, old, data) }) {
			l.swap = nil
			l.mu.Unlock()
			return l.Err()
		}
	}
	l.mu.Unlock()
	select {
	case <-sw.done:
		return sw.err
	case <-ctx.Done():
		return &OpError{Op: "share", Path: l.path, Session: l.s.ID(), Err: errors.Join(ctx.Err(), ErrOutcomeUnknown)}
	}
}

// runSwap repeats the transaction until its outcome is known. That an earlier
// attempt has succeeded shows by the new znode.
func (l *Lease) runSwap(sw *swap, old *Owned, data []byte) {
	s := l.s
	for {
		_, err := s.Multi(s.ctx, DeleteOp(old.path, -1), CreateOp(sw.to, data, Ephemeral, nil))
		if errors.Is(err, ErrNoNode) {
			var made bool
			if _, made, err = s.Exists(s.ctx, sw.to); err == nil && !made {
				l.lose(errNodeGone)
				l.swapped(sw, old, l.Err())
				return
			}
		}
		if errors.Is(err, ErrOutcomeUnknown) {
			continue
		}
		l.swapped(sw, old, err)
		return
	}
}

// swapped ends a swap. A lease that has ended meanwhile wants neither znode.
func (l *Lease) swapped(sw *swap, old *Owned, err error) {
	s := l.s
	l.mu.Lock()
	l.swap = nil
	over := l.err != nil
	if err == nil && !over {
		l.shared = true
		l.nodes = []*Owned{{s: s, path: sw.to, token: l.token, sent: old.sent}}
		l.unwatch = append(l.unwatch, s.conn.Watch(s.abs(sw.to), l.onEvent))
	}
	l.mu.Unlock()
	sw.err = err
	close(sw.done)
	switch {
	case err != nil:
	case over:
		s.Discard(sw.to)
	default:
		s.Unreserve(old.takeReserved())
		s.look(l)
	}
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
