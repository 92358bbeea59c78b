package barrier

import (
	"context"
	"errors"
	"slices"

	"github.com/zkrecipes/zkrecipes/recipes"
)

// departure is one participant's way out. As with Curator and kazoo, the one
// whose name sorts first goes last, and takes ready with it; all others go at
// once and wait for that one.
//
// It waits for those who were there when it set out. Others that are seen later
// belong to the next round already, and so do those who were there and had not
// got in: nobody lets them in any more, and they wait for n.
type departure struct {
	d      *Double
	s      *recipes.Session
	own    *recipes.Owned
	ready  recipes.Stat // as it was last seen
	others []string     // that are waited for, sorted
	gone   bool         // its own znode is, or is being deleted
}

func (l *departure) run(ctx context.Context) error {
	there, err := l.look(ctx)
	if err != nil {
		return err
	}
	l.others = slices.DeleteFunc(slices.Clone(there), func(name string) bool { return name == l.d.name(l.own) })
	slices.Sort(l.others)
	if slices.ContainsFunc(l.others, isKazoo) {
		if err := l.endRound(ctx); err != nil {
			return l.lost(err)
		}
	}
	for len(l.others) > 0 && l.d.name(l.own) < l.others[0] {
		if err := l.awaitOne(ctx, l.s, l.others[len(l.others)-1]); err != nil {
			return l.lost(err)
		}
		if there, err = l.look(ctx); err != nil {
			return err
		}
		l.stillThere(there)
	}
	if len(l.others) == 0 {
		return l.last(ctx, there)
	}
	if err := l.goes(ctx); err != nil {
		return err
	}
	return insist(ctx, l.d.c, func(s *recipes.Session) error { return l.awaitOthers(ctx, s) })
}

// endRound deletes ready for kazoo's sake, which takes it for one more participant
// that is to leave. All of its own delete it when they set out, so that it is
// gone when the last one has, though it may have been made again in between.
func (l *departure) endRound(ctx context.Context) error {
	for {
		err := l.s.Delete(ctx, l.d.ready, -1)
		switch {
		case errors.Is(err, recipes.ErrNoNode):
			return nil
		case err == nil, !errors.Is(err, recipes.ErrOutcomeUnknown), ctx.Err() != nil:
			return err
		}
	}
}

// look reads ready, and then who is there; the participant itself must be. Who is
// in by that ready was there already, and is in the list.
func (l *departure) look(ctx context.Context) ([]string, error) {
	if err := l.lookAtReady(ctx, l.s); err != nil {
		return nil, l.lost(err)
	}
	names, _, err := l.s.Children(ctx, l.d.path)
	if err != nil {
		return nil, l.lost(err)
	}
	there := members(names)
	if !slices.Contains(there, l.d.name(l.own)) {
		return nil, l.lostTo(errGone)
	}
	return there, nil
}

func (l *departure) lookAtReady(ctx context.Context, s *recipes.Session) error {
	stat, on, err := s.Exists(ctx, l.d.ready)
	if on {
		l.ready = stat
	}
	return err
}

// lost marks errors after which the participant's znode is gone.
func (l *departure) lost(err error) error {
	if errors.Is(err, recipes.ErrNoNode) || errors.Is(err, recipes.ErrSessionExpired) {
		return l.lostTo(err)
	}
	return err
}

func (l *departure) lostTo(cause error) error {
	return &recipes.LostError{Path: l.d.path, Token: l.own.Token(), Session: l.s.ID(), Cause: cause}
}

func (l *departure) stillThere(names []string) {
	l.others = slices.DeleteFunc(l.others, func(name string) bool { return !slices.Contains(names, name) })
}

// awaitOne returns when the znode is gone, and otherwise when it is time to look
// again. One that is not in is waited for no longer.
//
// The one that goes last waits for that one, too: with its own znode in place it
// lets everybody in.
func (l *departure) awaitOne(ctx context.Context, s *recipes.Session, name string) error {
	_, stat, watch, err := s.GetWatch(ctx, l.d.child(name))
	if errors.Is(err, recipes.ErrNoNode) {
		return nil
	}
	if err != nil {
		return err
	}
	defer watch.Stop()
	if l.gone {
		in, err := l.in(ctx, s, name, stat)
		if err != nil {
			return err
		}
		if !in {
			l.others = slices.DeleteFunc(l.others, func(other string) bool { return other == name })
			return nil
		}
	}
	_, err = awaitChange(ctx, s, l.d.path, watch)
	return err
}

// in reports whether somebody who was there when the participant set out is in.
// The server has seen the participant go, and so who had joined before. Of peers
// it cannot be told, who join without a trace; nor of anybody where ready was gone
// already, as kazoo takes it away.
func (l *departure) in(ctx context.Context, s *recipes.Session, name string, other recipes.Stat) (bool, error) {
	if l.ready.Mzxid == 0 || participant(name) == "" || isIn(other, l.ready.Mzxid) {
		return true, nil
	}
	err := l.lookAtReady(ctx, s)
	return isIn(other, l.ready.Mzxid), err
}

// last ends the round together with the participant's own place, so that nobody
// sees the one without the other. Where somebody has joined it since, which its
// version tells, it goes on with that one, if it is still there.
func (l *departure) last(ctx context.Context, there []string) error {
	for len(there) == 1 {
		_, err := l.s.Exchange(ctx, recipes.Exchange{
			Give:   []*recipes.Owned{l.own},
			Checks: []recipes.Op{recipes.DeleteOp(l.d.ready, l.ready.Version)},
		})
		if err == nil {
			l.gone = true
			return nil
		}
		if !errors.Is(err, recipes.ErrBadVersion) {
			break
		}
		if there, err = l.look(ctx); err != nil {
			return err
		}
	}
	return l.goes(ctx) // a peer has deleted ready, or time is up
}

// goes deletes the participant's znode.
func (l *departure) goes(ctx context.Context) error {
	l.gone = true
	deletion := l.own.Discard()
	select {
	case <-deletion.Done():
		return deletion.Err()
	case <-ctx.Done():
		return &recipes.OpError{Op: "leave", Path: l.d.path, Session: l.s.ID(), Err: ctx.Err()}
	}
}

// awaitOthers waits for the others when the participant itself has gone.
func (l *departure) awaitOthers(ctx context.Context, s *recipes.Session) error {
	if s != l.s {
		// Its server may not have seen yet that they were there.
		if err := s.Barrier(ctx); err != nil {
			return err
		}
	}
	for {
		names, _, err := s.Children(ctx, l.d.path)
		if err != nil && !errors.Is(err, recipes.ErrNoNode) {
			return err
		}
		l.stillThere(names)
		if len(l.others) == 0 {
			l.tidy(ctx, s, names)
			return nil
		}
		if err := l.awaitOne(ctx, s, l.others[0]); err != nil {
			return err
		}
	}
}

// tidy deletes a ready that is left alone, because the one to go last has died.
// If that fails the next to enter does it.
func (l *departure) tidy(ctx context.Context, s *recipes.Session, names []string) {
	if !slices.Contains(names, readyName) || len(members(names)) > 0 {
		return
	}
	stat, there, err := s.Exists(ctx, l.d.ready)
	if err != nil || !there {
		return
	}
	// It may be that of a new round: who is there is known from before.
	if names, _, err = s.Children(ctx, l.d.path); err == nil && len(members(names)) == 0 {
		_ = l.d.clear(ctx, s, stat)
	}
}
