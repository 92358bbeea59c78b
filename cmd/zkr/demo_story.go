//go:build unix

package main

import (
	"context"
	"fmt"
	"syscall"
	"time"
)

// facts are what the demo promises to show.
type facts struct {
	queued, passedOn, greater, believed, refused, noticed, failedOver *fact
}

func (s *show) promises() facts {
	return facts{
		queued:     s.promise("three processes queued for a lock, and had it one after the other"),
		passedOn:   s.promise("the holder was stopped past the end of its lease; the next one got the lock"),
		greater:    s.promise("each holder got a greater token than the one before"),
		believed:   s.promise("the stopped one woke, believed that it still held the lock, and wrote"),
		refused:    s.promise("the store refused what it wrote, since its token was old"),
		noticed:    s.promise("at its first look at the lease it saw that this was lost"),
		failedOver: s.promise("leadership passed on when the leader was killed, with a greater token"),
	}
}

// story is what happens. It returns an error where it cannot go on.
func (d *demo) story(ctx context.Context) error {
	f := d.show.promises()
	// A worker that is silent would make the demo wait for ever. Killing all of
	// them ends every wait.
	ctx, cancel := context.WithTimeout(ctx, 15*d.timeout+30*time.Second)
	defer cancel()
	killed := make(chan struct{})
	unwatch := context.AfterFunc(ctx, func() {
		defer close(killed)
		d.guard.signalGroup(syscall.SIGKILL)
	})
	defer func() {
		if !unwatch() {
			<-killed
		}
	}()
	if err := d.lockStory(ctx, f); err != nil {
		return err
	}
	return d.leaderStory(ctx, f)
}

// lockStory is about a lock whose holder is stopped.
func (d *demo) lockStory(ctx context.Context, f facts) error {
	d.show.act("1. Three processes ask for the lock " + d.root + "/lock")
	workers, err := d.queueUp(ctx, "worker", d.root+"/lock", 3, false)
	if err != nil {
		return err
	}
	one, two, three := workers[0], workers[1], workers[2]
	if err := d.write(ctx, one); err != nil {
		return err
	}

	d.show.act("2. The holder is stopped")
	if _, err := one.ask(look, believes); err != nil {
		return err
	}
	d.say(ctx, "%s is about to write once more. It looks at its lease: it holds.", one.name)
	if err := one.stop(); err != nil {
		return err
	}
	stopped := time.Now()
	d.say(ctx, "Right then it is stopped, by SIGSTOP. It cannot know.")
	if err := d.granted(ctx, two); err != nil {
		return err
	}
	f.passedOn.shown = true // nobody has woken the other one yet
	d.say(ctx, "That was %.1f s after %s fell silent. By then its lease was over.", two.since.Sub(stopped).Seconds(), one.name)
	if err := d.write(ctx, two); err != nil {
		return err
	}

	d.show.act("3. It wakes up")
	if err := d.comeBack(ctx, one, f); err != nil {
		return err
	}
	if err := d.handOver(ctx, two, three); err != nil {
		return err
	}
	if err := d.write(ctx, three); err != nil {
		return err
	}
	f.queued.shown = true
	f.greater.shown = one.token < two.token && two.token < three.token
	_, err = three.ask(free, released)
	return err
}

// queueUp hires workers, each when the one before it has its place in the queue.
func (d *demo) queueUp(ctx context.Context, kind, path string, n int, lead bool) ([]*worker, error) {
	var all []*worker
	for i := range n {
		w, err := d.hire(fmt.Sprintf("%s %d", kind, i+1), path, lead)
		if err != nil {
			return nil, err
		}
		all = append(all, w)
		if i == 0 {
			err = d.granted(ctx, w)
		} else {
			err = d.queued(ctx, w, i)
		}
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (d *demo) queued(ctx context.Context, w *worker, ahead int) error {
	r, err := w.await(waits)
	if err != nil {
		return err
	}
	if r.Ahead != ahead {
		return fmt.Errorf("%s waits at position %d, not %d", w.name, r.Ahead, ahead)
	}
	d.say(ctx, "%s (process %d) waits at position %d.", w.name, w.cmd.Process.Pid, r.Ahead)
	return nil
}

func (d *demo) granted(ctx context.Context, w *worker) error {
	r, err := w.await(granted)
	if err != nil {
		return err
	}
	w.token, w.since = r.Token, time.Now()
	d.show.praise("%s (process %d) has it. Its fencing token is %s.", w.name, w.cmd.Process.Pid, r.Token)
	d.pause(ctx)
	return nil
}

// write has a worker write to the store.
func (d *demo) write(ctx context.Context, w *worker) error {
	r, err := w.ask(write, writes)
	if err != nil {
		return err
	}
	if err := d.store.write(r.Token, r.Text); err != nil {
		return fmt.Errorf("the store has refused the holder: %w", err)
	}
	d.say(ctx, "%s writes with token %s. The store takes it, and remembers the token.", w.name, r.Token)
	return nil
}

// comeBack wakes a worker that has lost its lock without knowing.
func (d *demo) comeBack(ctx context.Context, w *worker, f facts) error {
	before := d.store.read()
	// It finds the order when it wakes up, as it would find its next instruction.
	if err := w.tell(write); err != nil {
		return err
	}
	if err := w.wake(); err != nil {
		return err
	}
	r, err := w.await(writes)
	if err != nil {
		return err
	}
	f.believed.shown = r.Token == w.token
	d.say(ctx, "%s goes on where it was, by SIGCONT. It believes, and writes with token %s.", w.name, r.Token)
	if err := d.store.write(r.Token, r.Text); err != nil {
		d.show.blame("The store refuses it: %v.", err)
		d.pause(ctx)
	}
	f.refused.shown = d.store.read() == before
	r, err = w.ask(look, lost)
	if err != nil {
		return err
	}
	f.noticed.shown = true
	d.say(ctx, "Now %s looks at its lease again, and sees that it is lost: %s.", w.name, r.Text)
	return nil
}

// handOver has one worker give back what the next one waits for.
func (d *demo) handOver(ctx context.Context, from, to *worker) error {
	if _, err := from.ask(free, released); err != nil {
		return err
	}
	d.show.say("%s gives the lock back.", from.name)
	return d.granted(ctx, to)
}

// leaderStory is about a leader that is killed.
func (d *demo) leaderStory(ctx context.Context, f facts) error {
	d.show.act("4. Two processes run for leadership in " + d.root + "/leader")
	candidates, err := d.queueUp(ctx, "candidate", d.root+"/leader", 2, true)
	if err != nil {
		return err
	}
	leader, next := candidates[0], candidates[1]
	if err := leader.cmd.Process.Kill(); err != nil {
		return err
	}
	killed := time.Now()
	d.say(ctx, "%s leads, and is killed, by SIGKILL. It says nothing to anybody.", leader.name)
	if err := d.granted(ctx, next); err != nil {
		return err
	}
	d.say(ctx, "%s leads, %.1f s after the other's death.", next.name, next.since.Sub(killed).Seconds())
	f.failedOver.shown = leader.token < next.token
	_, err = next.ask(free, released)
	return err
}

// say tells something and lets people read it.
func (d *demo) say(ctx context.Context, format string, args ...any) {
	d.show.say(format, args...)
	d.pause(ctx)
}

func (d *demo) pause(ctx context.Context) {
	select {
	case <-time.After(d.timeout / 6):
	case <-ctx.Done():
	}
}
