package queue

import (
	"context"
	"errors"
	"time"

	"github.com/zkrecipes/zkrecipes/recipes"
)

// wait is one contender's wait for its turn.
type wait struct {
	q   *Queue
	s   *recipes.Session
	own *recipes.Owned
	req Request

	proof func()            // ends the renewals for one who is next in line, nil before
	mine  <-chan struct{}   // of the watch on its own znode, when next in line
	due   bool              // the queue has to be looked at
	err   recipes.WaitError // what to say if the wait ends now; its position was told
}

func newWait(q *Queue, own *recipes.Owned, req Request) *wait {
	return &wait{q: q, s: own.Session(), own: own, req: req}
}

// end gives up what the wait has kept going.
func (w *wait) end() {
	if w.proof != nil {
		w.proof()
	}
}

// run waits until nobody stands in the contender's way.
func (w *wait) run(ctx context.Context) error {
	w.err.Path = w.req.path(w.q)
	for {
		first, err := w.step(ctx)
		if err != nil {
			return w.failed(PlaceLost(err))
		}
		if first {
			return nil
		}
	}
}

func (w *wait) failed(err error) error {
	if told(err) { // by what is waited for behind the queue
		return err
	}
	w.err.Err = err
	w.err.Holder.Age = w.q.Age(w.err.Holder.Created)
	return &w.err
}

// told reports whether an error says already which wait it has ended.
func told(err error) bool {
	var wait *recipes.WaitError
	return errors.As(err, &wait)
}

// Waited has an error say which wait it has ended.
func Waited(path string, err error) error {
	if told(err) {
		return err
	}
	return &recipes.WaitError{Path: path, Err: err}
}

// step looks at the queue, and unless the contender is first in it waits until
// it is time to look again. It returns true when the contender is first.
func (w *wait) step(ctx context.Context) (first bool, err error) {
	entries, err := w.q.look(ctx, w.s)
	if err != nil {
		return false, err
	}
	me := w.q.index(entries, w.own)
	if me < 0 {
		return false, ErrPlaceLost
	}
	b := blocking(entries[:me], w.req.Tag)
	if b.n > 0 {
		return w.behind(ctx, placeBehind(entries[:me], b))
	}
	if me == 0 {
		w.q.front.pass(entries[me].name)
	}
	return true, nil
}

// place is where a contender stands, as a look at the queue has shown: no more of
// it, since each of thousands keeps one.
type place struct {
	ahead int   // how many stand before it
	first entry // of those

	inWay  int   // how many of them are in its way
	last   entry // of those
	lastAt int   // how many stand before that one
	holds  bool  // that one does: it has nobody in its way
}

func placeBehind(before []entry, b blockers) place {
	last := before[b.last]
	return place{
		ahead: len(before), first: before[0],
		inWay: b.n, last: last, lastAt: b.last, holds: holds(before[:b.last], last.tag),
	}
}

// behind waits until the last of the contenders in the way is gone, or it is
// time for another look at the queue. A wake-up for anything else, such as a
// reconnect, costs no more than another read of that one.
func (w *wait) behind(ctx context.Context, p place) (first bool, err error) {
	timer := time.NewTimer(lookAgain(w.s.Timeout(), p.ahead))
	defer timer.Stop()
	for {
		gone, err := w.watch(ctx, p, timer.C)
		switch {
		case err != nil:
			return false, err
		case gone:
			return w.left(ctx, p)
		case w.due:
			return false, nil
		}
	}
}

// left reports whether the contender is first now that the last one in its way is
// gone. It is if that one stood alone in the way, or had nobody before it:
// nothing can come in between, except a reader in the place of a writer.
func (w *wait) left(ctx context.Context, p place) (first bool, err error) {
	alone := p.inWay == 1
	if w.q.layout.succeeds(p.last.tag, w.req.Tag) || !alone && !w.q.front.passed(p.last.name) {
		return false, nil
	}
	if !alone { // then it did not know that it was next, and has long not seen its own znode
		if err := w.own.Load(ctx); err != nil {
			return false, err
		}
	}
	if p.lastAt == p.ahead-1 && (!alone || p.lastAt == 0) {
		w.q.front.pass(w.own.Path()[len(w.q.dir)+1:])
	}
	return true, nil
}

// watch waits for an event of the contender in the way, and reports whether that
// is gone; due is set when the queue has to be looked at.
func (w *wait) watch(ctx context.Context, p place, timer <-chan time.Time) (gone bool, err error) {
	w.due = false
	path := w.q.path(p.last)
	data, stat, watch, err := w.s.GetWatch(ctx, path)
	if errors.Is(err, recipes.ErrNoNode) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	defer watch.Stop()
	w.err.Behind = path
	if p.inWay == 1 {
		if err := w.nextInLine(ctx); err != nil {
			return false, err
		}
	}
	if err := w.tell(ctx, p, w.q.show(p.lastAt, p.holds, p.last, data, stat)); err != nil {
		return false, err
	}
	return w.await(ctx, watch, timer)
}

// await waits until the watched contender or the queue has to be looked at.
func (w *wait) await(ctx context.Context, watch *recipes.Watch, timer <-chan time.Time) (gone bool, err error) {
	for {
		select {
		case <-watch.C:
			return watch.Deleted(), nil
		case <-w.mine:
			// Perhaps deleted by somebody else. If it is not, reading it arms the
			// watch again, which a reconnect has cost it.
			if err := w.own.Load(ctx); err != nil {
				return false, err
			}
		case <-timer:
			w.due = true
			return false, nil
		case <-w.s.Done():
			return false, w.s.Err()
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

// nextInLine keeps the session proven, watches the own znode and knows the base
// of tokens, so that the grant needs neither a write nor a read.
func (w *wait) nextInLine(ctx context.Context) error {
	if w.req.Grant == nil {
		if _, err := w.s.FenceBase(ctx, w.q.dir); err != nil {
			return err
		}
	}
	if w.proof != nil {
		return nil
	}
	w.proof = w.s.HoldProof()
	mine, err := w.own.Watch(ctx)
	if err != nil {
		return err
	}
	w.mine = mine.C
	return nil
}

// tell says where the contender stands, if that has changed.
func (w *wait) tell(ctx context.Context, p place, behind recipes.Contender) error {
	position := p.ahead + w.req.Before
	if w.err.Position == position {
		return nil
	}
	holder, err := w.q.withBase(ctx, w.s, p.last, behind)
	if behind.Position > 0 {
		holder, err = w.q.holder.read(ctx, w.q, w.s, p.first)
	}
	if err != nil && !errors.Is(err, recipes.ErrNoNode) {
		return err
	}
	if err := w.learnTime(ctx); err != nil {
		return err
	}
	holder.Age = w.q.Age(holder.Created)
	w.err.Position, w.err.Holder = position, holder
	w.q.Waiting(w.own, w.req, position, behind.Path, holder)
	if w.req.OnWait != nil {
		w.req.OnWait(Position{Ahead: position, Holder: holder})
	}
	return nil
}

// learnTime has the client know the servers' time, where its contender can tell:
// once for a client, as a rule.
func (w *wait) learnTime(ctx context.Context) error {
	if _, known := w.q.c.ServerTime(); known || w.own.Token() != 0 {
		return nil
	}
	return w.own.Load(ctx)
}
