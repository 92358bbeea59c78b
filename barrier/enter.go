package barrier

import (
	"context"
	"errors"
	"slices"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// entry is one participant's wait for its round.
type entry struct {
	d     *Double
	s     *recipes.Session
	own   *recipes.Owned
	mine  *recipes.Watch // on its own znode
	ready *recipes.Watch

	counted bool // too few were there, and nothing is known to have changed since
}

// errGone says that the participant's znode is gone.
var errGone = errors.New("barrier: znode of the participant gone")

// await returns when the participant is in.
func (e *entry) await(ctx context.Context) (err error) {
	if e.mine, err = e.own.Watch(ctx); err != nil {
		return gone(err)
	}
	if _, _, e.ready, err = e.s.ExistsWatch(ctx, e.d.ready); err != nil {
		return err
	}
	defer e.ready.Stop()
	for {
		in, err := e.look(ctx)
		if in || err != nil {
			return err
		}
	}
}

func gone(err error) error {
	if errors.Is(err, recipes.ErrNoNode) {
		return errors.Join(errGone, err)
	}
	return err
}

// look reads how things stand, and waits until it is time for the next look
// unless that is at once.
func (e *entry) look(ctx context.Context) (in bool, err error) {
	if e.mine.Deleted() {
		return false, errGone
	}
	if e.ready.Created() {
		return true, nil // maybe it is gone again: kazoo deletes it on the way out
	}
	stat, on, err := e.s.Exists(ctx, e.d.ready)
	if err != nil {
		return false, err
	}
	if on {
		return e.join(ctx, stat)
	}
	// Each participant counts when it comes, and so does the one that makes them
	// enough. Those before it need not.
	if e.counted {
		err = gone(e.own.Load(ctx))
	} else {
		var there []string
		if there, err = e.there(ctx); len(there) >= e.d.n {
			return e.complete(ctx, there)
		}
	}
	if err != nil {
		return false, err
	}
	changed, err := awaitChange(ctx, e.s, e.d.path, e.ready, e.mine)
	e.counted = !changed
	return false, err
}

// there reads who is there, each once; the participant itself must be.
func (e *entry) there(ctx context.Context) ([]string, error) {
	names, _, err := e.s.Children(ctx, e.d.path)
	if err != nil {
		return nil, gone(err)
	}
	own := e.d.name(e.own)
	if !slices.Contains(names, own) {
		return nil, errGone
	}
	return distinct(members(names), own), nil
}

// complete begins the round, in one transaction with a check that those are
// still there who make it up. Where it fails because of what has changed it is
// time for another look.
func (e *entry) complete(ctx context.Context, there []string) (in bool, err error) {
	ops := []recipes.Op{recipes.CheckOp(e.own.Path(), -1)}
	for _, name := range there {
		if len(ops) < e.d.n && name != e.d.name(e.own) {
			ops = append(ops, recipes.CheckOp(e.d.child(name), -1))
		}
	}
	_, err = e.s.Multi(ctx, append(ops, e.d.makeReady(e.s))...)
	switch {
	case err == nil:
		return true, nil
	case ctx.Err() != nil:
		return false, err
	case errors.Is(err, recipes.ErrNoNode), errors.Is(err, recipes.ErrNodeExists), errors.Is(err, recipes.ErrOutcomeUnknown):
		return false, nil
	}
	return false, err
}

// join decides about a ready that is there. Whoever came before it is in. Who came
// since joins the round by making it anew, in one transaction with a check that
// somebody is still there who is in. Where nobody is, all of the round have left or
// died, and nobody has deleted its ready.
func (e *entry) join(ctx context.Context, ready recipes.Stat) (in bool, err error) {
	if e.own.Token() < fence.Token(ready.Mzxid) {
		return true, nil
	}
	there, err := e.there(ctx)
	if err != nil {
		return false, err
	}
	for _, name := range there {
		if name == e.d.name(e.own) {
			continue
		}
		stat, ok, err := e.s.Exists(ctx, e.d.child(name))
		if err != nil {
			return false, err
		}
		if ok && isIn(stat, ready.Mzxid) {
			return e.joinWith(ctx, name, ready)
		}
	}
	return false, e.d.clear(ctx, e.s, ready)
}

// joinWith joins the round of one who is in. Where that one has gone meanwhile, or
// ready is another one, it is time for another look.
func (e *entry) joinWith(ctx context.Context, name string, ready recipes.Stat) (in bool, err error) {
	ops := append([]recipes.Op{recipes.CheckOp(e.d.child(name), -1)}, e.d.remakeReady(e.s, ready)...)
	_, err = e.s.Multi(ctx, ops...)
	switch {
	case err == nil:
		return true, nil
	case ctx.Err() != nil:
		return false, err
	case errors.Is(err, recipes.ErrNoNode), errors.Is(err, recipes.ErrBadVersion), errors.Is(err, recipes.ErrOutcomeUnknown):
		return false, nil
	}
	return false, err
}
