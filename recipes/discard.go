package recipes

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/internal/backoff"
	"github.com/zkrecipes/zkrecipes/internal/zkconn"
)

// Deletion is the background deletion of a znode.
type Deletion struct {
	done chan struct{}
	err  error // set before done is closed
}

// Done is closed when the znode is gone, or cannot be deleted.
func (d *Deletion) Done() <-chan struct{} { return d.done }

// Err returns why the znode cannot be deleted, nil if it is gone or its session
// is over. It is to be called after Done.
func (d *Deletion) Err() error { return d.err }

// Discard deletes a znode of this session in the background: it goes on, over
// reconnects, until the znode is gone, the session is over, or the server
// refuses.
func (s *Session) Discard(path string) *Deletion { return s.discard(path, 0) }

// discard is Discard that gives back reserved bytes afterwards.
func (s *Session) discard(path string, reserved int) *Deletion {
	d := s.newDeletion()
	if !s.spawn(func() { s.deleteUntilGone(d, path, reserved) }) {
		s.deleted(d, nil, 0)
	}
	return d
}

// DiscardAll deletes znodes of this session in the background: in one
// transaction, so that whoever waits for more than one of them finds all gone,
// or one by one where that fails.
func (s *Session) DiscardAll(nodes []*Owned) []*Deletion {
	if len(nodes) < 2 {
		return s.discardEach(nodes)
	}
	paths, reserved, ds := make([]string, len(nodes)), make([]int, len(nodes)), make([]*Deletion, len(nodes))
	for i, n := range nodes {
		n.unwatch()
		paths[i], reserved[i], ds[i] = n.path, n.takeReserved()+n.takeSpare(), s.newDeletion()
	}
	started := s.spawn(func() {
		together := s.deleteTogether(paths) == nil
		for i, d := range ds {
			switch {
			case together:
				s.deleted(d, nil, reserved[i])
				s.traceCleanup(paths[i], nil)
			case !s.spawn(func() { s.deleteUntilGone(d, paths[i], reserved[i]) }):
				s.deleted(d, nil, 0)
			}
		}
	})
	for _, d := range ds {
		if !started {
			s.deleted(d, nil, 0)
		}
	}
	return ds
}

func (s *Session) discardEach(nodes []*Owned) []*Deletion {
	var ds []*Deletion
	for _, n := range nodes {
		ds = append(ds, n.Discard())
	}
	return ds
}

func (s *Session) deleteTogether(paths []string) error {
	ops := make([]Op, len(paths))
	for i, path := range paths {
		ops[i] = DeleteOp(path, -1)
	}
	_, err := s.Multi(s.ctx, ops...)
	return err
}

// newDeletion begins a deletion, which deleted ends.
func (s *Session) newDeletion() *Deletion {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deleting++
	return &Deletion{done: make(chan struct{})}
}

func (s *Session) deleteUntilGone(d *Deletion, path string, reserved int) {
	pause := backoff.Backoff{}
	for {
		err := s.Delete(s.ctx, path, -1)
		switch {
		case err == nil, errors.Is(err, ErrNoNode), s.conn.Reason() != nil:
			s.deleted(d, nil, reserved)
			s.traceCleanup(path, nil)
			return
		case errors.Is(err, ErrOutcomeUnknown), errors.Is(err, ErrConnectionLost):
			// At once, when there is a connection again.
		case final(err):
			s.cfg.logger.Warn("znode cannot be deleted", "path", path, "session", shownID(s.ID()), "error", err)
			s.deleted(d, err, 0)
			s.traceCleanup(path, err)
			return
		default:
			pause.Wait(s.ctx)
		}
	}
}

// final reports whether a refusal would be repeated.
func final(err error) bool {
	for _, e := range []error{ErrNoAuth, ErrNotEmpty, ErrBadVersion, ErrAuthFailed, ErrInvalidACL, ErrTooLarge} {
		if errors.Is(err, e) {
			return true
		}
	}
	var pe *PathError
	return errors.As(err, &pe)
}

func (s *Session) deleted(d *Deletion, err error, reserved int) {
	s.mu.Lock()
	s.deleting--
	s.noteIdle()
	s.mu.Unlock()
	s.Unreserve(reserved)
	d.err = err
	close(d.done)
}

func (s *Session) traceCleanup(path string, err error) {
	if fn := s.cfg.trace.CleanedUp; fn != nil {
		fn(CleanupEvent{Path: path, Session: s.ID(), Err: err})
	}
}

// await waits for the deletion, or for ctx.
func (d *Deletion) await(ctx context.Context) error {
	select {
	case <-d.done:
		return d.err
	default:
	}
	select {
	case <-d.done:
		return d.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// giveUp takes care of a create whose outcome nobody waits for any more: the
// znode that it may have made is found and deleted.
func (s *Session) giveUp(dir, uuid string, reserved int) {
	s.mu.Lock()
	s.givenUp[uuid] = struct{}{}
	s.mu.Unlock()
	d := s.newDeletion()
	if !s.spawn(func() { s.findAndDelete(d, dir, uuid, reserved) }) {
		s.deleted(d, nil, 0)
	}
}

func (s *Session) findAndDelete(d *Deletion, dir, uuid string, reserved int) {
	pause := backoff.Backoff{}
	for {
		o, err := s.find(s.ctx, dir, uuid)
		switch {
		case s.conn.Reason() != nil, err == nil && o == nil:
			s.deleted(d, nil, reserved)
			return
		case err == nil:
			s.deleteUntilGone(d, o.path, reserved)
			return
		case errors.Is(err, ErrOutcomeUnknown), errors.Is(err, ErrConnectionLost):
		default:
			// Also where the listing is refused: it may be allowed again, and
			// the znode would block everybody for as long as the session lives.
			pause.Wait(s.ctx)
		}
	}
}

// sweep deletes what a listing shows of creates that were given up. By the
// write barrier there is nothing to find; if that reasoning ever fails, this
// keeps a ghost from blocking others.
func (s *Session) sweep(dir string, names []string) {
	s.mu.Lock()
	var ghosts []string
	if len(s.givenUp) > 0 {
		for _, name := range names {
			if _, ok := s.givenUp[uuidOf(name)]; ok {
				ghosts = append(ghosts, name)
			}
		}
	}
	s.mu.Unlock()
	for _, name := range ghosts {
		s.Discard(join(dir, name))
	}
}

// isUnknown reports whether a write's answer was lost, as opposed to given up
// on by the caller, where the late answer is still looked at.
func isUnknown(err error) bool {
	return errors.Is(err, zkconn.ErrUnknown) && !errors.Is(err, zkconn.ErrAbandoned)
}
