package zkfence

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// writer is what a write goes through: a session, and a lease of it where the
// write is made under one.
type writer struct {
	s     *recipes.Session
	lease *recipes.Lease
}

// writer takes the lease that ctx carries, if it is the one that the token is of
// and belongs to this client: another one's paths are not ours.
func (z *Znode) writer(ctx context.Context, token fence.Token) (writer, error) {
	if l, ok := recipes.LeaseFrom(ctx); ok && l.Token() == token && l.Session().Client() == z.c {
		return writer{l.Session(), l}, nil
	}
	s, err := z.c.Session(ctx)
	return writer{s: s}, err
}

// run commits one operation, under the lease if there is one.
func (w writer) run(ctx context.Context, op recipes.Op) (err error) {
	if w.lease != nil {
		_, err = w.lease.Txn(ctx, op)
	} else {
		_, err = w.s.Multi(ctx, op)
	}
	return err
}

// errAgain says that the znode was another one than was read, or that the
// session was over before anything was sent.
var errAgain = errors.New("again")

// replace makes the znode hold what next makes of what it holds. What next is
// called with is what its result replaces.
func (z *Znode) replace(ctx context.Context, token fence.Token, next func(document) (document, error)) error {
	for {
		w, err := z.writer(ctx, token)
		if err != nil {
			return err
		}
		err = z.attempt(ctx, w, next)
		if !errors.Is(err, errAgain) {
			return err
		}
	}
}

func (z *Znode) attempt(ctx context.Context, w writer, next func(document) (document, error)) error {
	f, err := z.find(ctx, w.s)
	if err != nil {
		return w.sessionOver(err)
	}
	before, err := f.document(z.path)
	if err != nil {
		return err
	}
	after, err := next(before)
	if err != nil {
		return err
	}
	return z.commit(ctx, w, f, after.encode())
}

// commit writes raw in place of what was found.
func (z *Znode) commit(ctx context.Context, w writer, f found, raw []byte) error {
	var op recipes.Op
	switch {
	case !f.exists:
		op = recipes.CreateOp(z.path, raw, recipes.Persistent, nil)
	case bytes.Equal(raw, f.raw): // an Install of what stands; wake nobody who watches
		op = recipes.CheckOp(z.path, f.version)
	default:
		op = recipes.SetOp(z.path, raw, f.version)
	}
	err := w.run(ctx, op)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, recipes.ErrOutcomeUnknown):
		return z.settle(ctx, w, f, raw, err)
	case errors.Is(err, recipes.ErrLost), errors.Is(err, recipes.ErrReleased):
		return err
	case errors.Is(err, recipes.ErrNoNode) && !f.exists:
		return z.makeParent(ctx, w.s)
	case errors.Is(err, recipes.ErrBadVersion), errors.Is(err, recipes.ErrNodeExists), errors.Is(err, recipes.ErrNoNode):
		return errAgain
	}
	return w.sessionOver(err)
}

// sessionOver says to try again where there is another session to try on. A
// lease ends with its session.
func (w writer) sessionOver(err error) error {
	switch {
	case !errors.Is(err, recipes.ErrSessionExpired), errors.Is(err, recipes.ErrClosed):
		return err
	case w.lease == nil:
		return errAgain
	}
	return cmp.Or(w.lease.Err(), err)
}

func (z *Znode) makeParent(ctx context.Context, s *recipes.Session) error {
	// Above the topmost ones there is the client's chroot, which may be missing too.
	parent := cmp.Or(z.path[:strings.LastIndexByte(z.path, '/')], "/")
	err := s.MakePersistent(ctx, parent, nil)
	if err != nil && !errors.Is(err, recipes.ErrNodeExists) && !errors.Is(err, recipes.ErrOutcomeUnknown) {
		return err
	}
	return errAgain
}

// settle finds out whether a write has happened whose answer was lost. Behind a
// barrier in the same session it has by now, or never will.
func (z *Znode) settle(ctx context.Context, w writer, f found, raw []byte, lost error) error {
	unknown := fmt.Errorf("%w: %w", fence.ErrOutcomeUnknown, lost)
	if err := w.s.Barrier(ctx); err != nil {
		return fmt.Errorf("%w: then %w", unknown, err)
	}
	now, err := z.find(ctx, w.s)
	if err != nil {
		return fmt.Errorf("%w: then %w", unknown, err)
	}
	happened := found{exists: true, raw: raw}
	if f.exists {
		happened.version = f.version + 1
	}
	switch {
	case now.is(f):
		return errAgain
	case now.is(happened):
		return nil
	}
	return unknown // somebody wrote since; ours may have come first
}

func (f found) is(g found) bool {
	return f.exists == g.exists && f.version == g.version && bytes.Equal(f.raw, g.raw)
}
