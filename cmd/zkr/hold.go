//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/zkrecipes/zkrecipes/recipes"
)

// holding is the time during which the command runs.
type holding struct {
	*job
	lease *recipes.Lease

	child    *child
	stopped  bool // the command was asked to end, for the sake of the lease
	signaled bool // the command was passed a signal that asks for its end, and zkr's
}

// run runs the command under the lease, gives that back, and returns how the
// command ended.
func (h *holding) run(ctx context.Context) error {
	_, stop := catch(survived[1:])
	defer stop()
	var end result
	// Do keeps the znode until the command is dead, also where that comes late,
	// and gives the lock back afterwards.
	err := h.lease.Do(ctx, func(ctx context.Context, _ *recipes.Lease) (err error) {
		end, err = h.watch(ctx)
		return err
	})
	switch {
	case errors.Is(err, recipes.ErrLost):
		return &codedError{exitLost, err}
	case h.stopped:
		return &codedError{exitLost, fmt.Errorf("the lease on %s was about to end: the command was stopped in time", h.path)}
	case end.err != nil:
		return end.err
	}
	if err != nil {
		h.say.warn("%s could not be given back and ends with its session: %s", h.path, explain(err))
	}
	if end.code == 0 {
		return nil
	}
	return &exited{end.code}
}

// watch starts the command and sees to it that it ends before the lease does.
// work ends --kill-after before that.
func (h *holding) watch(work context.Context) (result, error) {
	guard, err := startGuard(h.env)
	if err != nil {
		return result{err: err}, nil
	}
	defer guard.end()
	if err := h.lease.Err(); err != nil {
		return result{}, err // lost before it came to anything
	}
	e := h.env
	e.vars = h.vars(h.lease)
	if h.child, err = startChild(guard, h.program, h.argv, e); err != nil {
		return result{err: err}, nil
	}
	defer h.child.tty.takeBack()
	return h.oversee(work), nil
}

// oversee returns when the command has ended.
func (h *holding) oversee(work context.Context) result {
	stop, lost := work.Done(), h.lease.Done()
	kill := time.NewTimer(time.Hour)
	defer kill.Stop()
	kill.Stop() // until the command was asked to end
	state, changed := h.lease.State()
	for {
		select {
		case end := <-h.child.ended:
			return end
		case sig := <-h.caught:
			// A command may take SIGHUP for a wish to read its settings again.
			h.signaled = h.signaled || isEnding(sig) && sig != syscall.SIGHUP
			h.child.signal(sig.(syscall.Signal))
		case <-h.child.paused:
			h.say.warn("a command under a lease cannot be suspended; it goes on")
			h.child.signal(syscall.SIGCONT)
		case <-changed:
			state, changed = h.follow(state)
		case <-stop:
			stop = nil
			h.terminate()
			kill.Reset(h.untilKill())
		case <-kill.C:
			// By now the lease may reach further than it did.
			if left := h.untilKill(); left > 0 {
				kill.Reset(left)
			} else {
				h.child.kill()
			}
		case <-lost:
			lost = nil
			h.child.kill()
		}
	}
}

// terminate asks the command to end, since the lease is about to, or is over.
func (h *holding) terminate() {
	h.stopped = true
	h.child.terminate()
	h.say.say("the lease on %s ends in %v; stopping the command", h.path, h.lease.Remaining().Round(time.Millisecond))
}

// untilKill returns how long the command may still take to end. It is to be
// dead by the end of the lease, so the signal goes out a little earlier.
func (h *holding) untilKill() time.Duration {
	return h.lease.Remaining() - min(h.killAfter/8, 100*time.Millisecond)
}

// follow tells of changes between connected and suspended, and returns the new
// state and what is closed at its next change.
func (h *holding) follow(before recipes.State) (recipes.State, <-chan struct{}) {
	now, changed := h.lease.State()
	switch {
	case now == before:
	case now == recipes.Suspended:
		h.say.say("no connection to the servers; the lease on %s holds for %v more", h.path, h.lease.Remaining().Round(time.Millisecond))
	case now == recipes.Connected:
		h.say.say("connected again; the lease on %s holds", h.path)
	default:
		return now, nil // nothing comes after that
	}
	return now, changed
}
