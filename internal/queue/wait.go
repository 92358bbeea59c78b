package queue

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// wait is one contender's wait for its turn.
type wait struct {
	q   *Queue
	s   *recipes.Session
	own *recipes.Owned
	req Request

	proof func()          // ends the renewals for one who is next in line, nil before
	mine  <-chan struct{} // of the watch on its own znode, when next in line
	last  Position        // as last told
	told  bool
	err   recipes.WaitError // what to say if the wait ends now
}

// end gives up what the wait has kept going.
func (w *wait) end() {
	if w.proof != nil {
		w.proof()
	}
}

// run waits until nobody stands before the contender.
func (w *wait) run(ctx context.Context) (*recipes.Lease, error) {
	w.err.Path = w.q.dir
	for {
		first, err := w.step(ctx)
		if err != nil {
			return nil, w.failed(placeLost(err))
		}
		if !first {
			continue
		}
		lease, err := w.q.grant(ctx, w.own)
		if err != nil {
			return nil, w.failed(err)
		}
		return lease, nil
	}
}

func (w *wait) failed(err error) error {
	if errors.Is(err, errGone) {
		return err
	}
	w.err.Err = err
	return &w.err
}

// step looks at the queue, and unless the contender is first in it waits until
// it is time to look again. It returns true when the contender is first.
func (w *wait) step(ctx context.Context) (first bool, err error) {
	entries, err := w.q.look(ctx, w.s)
	if err != nil {
		return false, err
	}
	me := slices.IndexFunc(entries, func(e entry) bool { return w.q.path(e) == w.own.Path() })
	switch {
	case me < 0:
		return false, errGone
	case me == 0:
		return true, nil
	}
	return w.behind(ctx, entries, me)
}

// behind waits for the contender before ours.
func (w *wait) behind(ctx context.Context, entries []entry, me int) (first bool, err error) {
	before := w.q.path(entries[me-1])
	data, stat, watch, err := w.s.GetWatch(ctx, before)
	if errors.Is(err, recipes.ErrNoNode) {
		return me == 1, nil // gone between the look and the watch
	}
	if err != nil {
		return false, err
	}
	defer watch.Stop()
	w.err.Position, w.err.Behind, w.err.Identity = me, before, string(data)
	if err := w.prepare(ctx, entries, me, contender(before, me-1, data, stat)); err != nil {
		return false, err
	}
	timer := time.NewTimer(lookAgain(w.s.Timeout(), me))
	defer timer.Stop()
	select {
	case <-w.mine:
		return false, nil // perhaps deleted by somebody else
	case <-watch.C:
		// One that stood alone before ours, and is gone, leaves ours first:
		// nothing can come in between.
		return me == 1 && watch.Deleted(), nil
	case <-timer.C:
		return false, nil
	case <-w.s.Done():
		return false, w.s.Err()
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// prepare uses the time of waiting for what the grant will need, and tells the
// position.
func (w *wait) prepare(ctx context.Context, entries []entry, me int, before recipes.Contender) error {
	if me == 1 && w.proof == nil {
		w.proof = w.s.HoldProof()
		mine, err := w.own.Watch(ctx)
		if err != nil {
			return err
		}
		w.mine = mine.C
	}
	if w.own.Token() == 0 {
		if err := w.own.Load(ctx); err != nil {
			return err
		}
	}
	if w.told && w.last.Ahead == me {
		return nil
	}
	w.told, w.last.Ahead = true, me
	if fn := w.q.c.Trace().Waiting; fn != nil {
		fn(recipes.WaitEvent{
			ContenderEvent: recipes.ContenderEvent{Path: w.own.Path(), Session: w.s.ID(), Token: w.own.Token()},
			Position:       me,
			Behind:         before.Path,
		})
	}
	if w.req.OnWait == nil {
		return nil
	}
	w.last.Holder = before
	if me > 1 {
		holder, err := w.q.read(ctx, w.s, entries[0], 0)
		if err != nil && !errors.Is(err, recipes.ErrNoNode) {
			return err
		}
		w.last.Holder = holder
	}
	w.req.OnWait(w.last)
	return nil
}

func contender(path string, position int, data []byte, stat recipes.Stat) recipes.Contender {
	return recipes.Contender{
		Path:     path,
		Position: position,
		Identity: string(data),
		Session:  stat.EphemeralOwner,
		Token:    fence.Token(stat.Czxid),
		Created:  stat.Created,
	}
}
