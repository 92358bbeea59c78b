package barrier

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/zkrecipes/zkrecipes/recipes"
)

// ErrNotInside is returned by Leave when the participant has not entered. It
// comes wrapped; ask with errors.Is.
var ErrNotInside = errors.New("barrier: not inside: enter first")

// The transaction that begins a round checks all who make it up. It is kept
// within what servers take, which is 1 MiB by default.
const (
	maxParticipants = 4000
	maxTransaction  = 1_000_000
	operation       = 64 // bytes of one, besides the path
)

// Double is one participant of a barrier through which n go together, in and
// out: nobody is let in before n are there, nobody is let out before all are on
// their way out. It can be used for any number of rounds.
//
// n is a threshold. Who comes when a round is under way joins it at once, and is
// waited for on the way out by those who set out after it had joined. A round is
// under way from when n are there until all have left who have been in, those who
// joined included. Who comes as the last of them goes waits for the next round,
// and nobody waits for it. One that stays longer than they do counts for the next
// round.
//
// Each participant needs a Double of its own, and enters and leaves with it by
// turns; entering twice is a mistake that panics.
//
// Participants are ephemeral children of path, and the round is on while there is
// a child by the name of ready. Who joins makes that one anew, so that it tells who
// is in: those who are older.
type Double struct {
	c           *recipes.Client
	path, ready string
	id          string // in the names of all its znodes
	n           int

	mu     sync.Mutex
	inside bool           // from the beginning of Enter to that of Leave
	own    *recipes.Owned // while it is in
}

// NewDouble returns a participant of the barrier at path, through which n go
// together. All participants must be configured alike. It makes nothing at the
// server yet. Nothing else may live in path.
func NewDouble(c *recipes.Client, path string, n int) (*Double, error) {
	if c == nil {
		return nil, errors.New("barrier: nil client")
	}
	if err := recipes.CheckDir(path); err != nil {
		return nil, err
	}
	if n < 1 || n > maxParticipants {
		return nil, fmt.Errorf("barrier: %s: %d participants: want between 1 and %d", path, n, maxParticipants)
	}
	d := &Double{c: c, path: path, ready: path + "/" + readyName, id: recipes.NewUUID(), n: n}
	if most := maxTransaction / (c.ProtectedCost(path, d.nodeName()) + operation); n > most {
		return nil, fmt.Errorf("barrier: %s: %d participants: with so long a path want at most %d", path, n, most)
	}
	return d, nil
}

// Path returns the barrier's path.
func (d *Double) Path() string { return d.path }

// Enter waits until n participants are there. ctx bounds the wait; a participant
// that gives up is not counted any more, as soon as the servers can be told.
// Where its session is lost while it waits, it comes again in the next one.
func (d *Double) Enter(ctx context.Context) error {
	d.mu.Lock()
	if d.inside {
		d.mu.Unlock()
		panic("barrier: Enter of a participant that is inside")
	}
	d.inside = true
	d.mu.Unlock()

	own, err := d.enter(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.own, d.inside = own, err == nil
	return err
}

func (d *Double) enter(ctx context.Context) (*recipes.Owned, error) {
	for {
		own, err := d.c.CreateProtected(ctx, recipes.Protected{
			Dir: d.path, Name: d.nodeName(), Data: []byte(d.c.Identity()),
		})
		if err == nil {
			e := entry{d: d, s: own.Session(), own: own.Owned}
			if err = e.await(ctx); err == nil {
				return own.Owned, nil
			}
			own.Discard()
		}
		if ctx.Err() != nil || !passing(err) && !errors.Is(err, errGone) {
			return nil, ended(ctx, err)
		}
	}
}

// Leave sets out and waits until all others have, too. ctx bounds the wait. The
// participant is not inside any more, whatever Leave returns, and its znode is
// gone or is being deleted in the background.
//
// It returns ErrNotInside to one that has not entered, and a *recipes.LostError,
// which is a recipes.ErrLost, to one whose place was lost before, with its
// session or because somebody deleted its znode. The others have not waited for
// it since.
func (d *Double) Leave(ctx context.Context) error {
	d.mu.Lock()
	own := d.own
	if own == nil {
		d.mu.Unlock()
		return ErrNotInside
	}
	d.own = nil
	d.mu.Unlock()
	l := departure{d: d, s: own.Session(), own: own}
	err := ended(ctx, l.run(ctx))
	if !l.gone {
		own.Discard()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.inside = false
	return err
}

func (d *Double) child(name string) string { return d.path + "/" + name }

// name is that of a participant's znode.
func (d *Double) name(own *recipes.Owned) string { return own.Path()[len(d.path)+1:] }

// nodeName is what CreateProtected puts between what protects a name and its
// number.
func (d *Double) nodeName() string { return d.id + memberTag }

// isIn reports whether a participant is in, by the transaction that made ready.
func isIn(participant recipes.Stat, written int64) bool { return participant.Czxid < written }

// clear deletes a ready that nobody of its round has seen to. Its version tells
// whether somebody has joined since the look. Between the look and the deletion a
// round may also have been completed, with a ready of its own: the transaction
// tells which one it was, and that one is restored.
func (d *Double) clear(ctx context.Context, s *recipes.Session, stale recipes.Stat) error {
	res, err := s.Multi(ctx, d.writeReady(stale.Version), recipes.DeleteOp(d.ready, -1))
	switch {
	case errors.Is(err, recipes.ErrNoNode), errors.Is(err, recipes.ErrBadVersion):
		return nil
	case errors.Is(err, recipes.ErrNoAuth):
		return s.Delete(ctx, d.ready, stale.Version) // whose it was must not be asked
	case err != nil || res[0].Stat.Czxid == stale.Czxid:
		return err
	}
	return insist(ctx, d.c, func(s *recipes.Session) error { return d.restore(ctx, s, res[0].Stat.Czxid) })
}

// restore makes a ready anew that the given transaction had made, in one
// transaction with a check that somebody is still there who came before it. Where
// there is nobody that round is over, and its ready would let the next ones in
// early.
func (d *Double) restore(ctx context.Context, s *recipes.Session, made int64) error {
	names, _, err := s.Children(ctx, d.path)
	if errors.Is(err, recipes.ErrNoNode) {
		return nil
	}
	for _, name := range members(names) {
		stat, there, err := s.Exists(ctx, d.child(name))
		if err != nil {
			return err
		}
		if !there || stat.Czxid > made {
			continue
		}
		_, err = s.Multi(ctx, recipes.CheckOp(d.child(name), -1), d.makeReady(s))
		switch {
		case errors.Is(err, recipes.ErrNodeExists):
			return nil
		case !errors.Is(err, recipes.ErrNoNode):
			return err
		}
	}
	return err
}

// writeReady tells which ready it was that is deleted behind it.
func (d *Double) writeReady(version int32) recipes.Op {
	return recipes.SetOp(d.ready, []byte(d.c.Identity()), version)
}

// makeReady begins a round.
func (d *Double) makeReady(s *recipes.Session) recipes.Op {
	return recipes.CreateOp(d.ready, []byte(d.c.Identity()), recipes.Persistent, s.ParentACL())
}

// maxVersion bounds how often the new ready of who joins is written to. Its version
// begins anew there: nobody is so slow that so many join between its look and its
// transaction.
const maxVersion = 64

// remakeReady lets all in who are there. The version is another one than before,
// which tells those who are about to end the round.
//
// A write to the old one would do as well, but for kazoo's: on its way out it may
// wait for the deletion of ready, which it takes for a participant, and any other
// event costs it its watch, so that it waits for ever.
func (d *Double) remakeReady(s *recipes.Session, old recipes.Stat) []recipes.Op {
	ops := []recipes.Op{recipes.DeleteOp(d.ready, old.Version), d.makeReady(s)}
	for range 1 + old.Version%maxVersion {
		ops = append(ops, d.writeReady(-1))
	}
	return ops
}
