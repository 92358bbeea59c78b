package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// samples of one case of a measurement.
type benchCase struct {
	name string
	took []time.Duration
}

// benchRun is what the cases share.
type benchRun struct {
	rounds int
	slow   time.Duration // no write may take as long
	root   string
	client *recipes.Client
	own    *recipes.Session // of client
}

// measure returns what was measured, also where it could not go on.
func (b *bencher) measure(ctx context.Context, c *recipes.Client, root string) ([]*benchCase, error) {
	s, err := c.Session(ctx)
	if err != nil {
		return nil, err
	}
	r := &benchRun{rounds: int(b.rounds), slow: s.Timeout() / 10, root: root, client: c, own: s}
	write, floor, idle, handOver := &benchCase{name: "write"}, &benchCase{name: "floor"}, &benchCase{name: "lock"}, &benchCase{name: "hand-over"}
	all := []*benchCase{write, floor, idle, handOver}
	if err := r.writes(ctx, write); err != nil {
		return all, err
	}
	if err := r.locks(ctx, floor, idle); err != nil {
		return all, err
	}
	waiting := make(chan struct{}, 1)
	rival, err := b.conn.dial(ctx, tellOfWaiting(waiting))
	if err != nil {
		return all, err
	}
	defer rival.Close()
	return all, r.handOvers(ctx, handOver, rival, waiting)
}

// timed adds how long something took to a case.
func (r *benchRun) timed(c *benchCase, do func() error) error {
	begin := time.Now()
	if err := do(); err != nil {
		return err
	}
	took := time.Since(begin)
	c.took = append(c.took, took)
	if took > r.slow {
		return fmt.Errorf("a %s took %v, more than a tenth of the session timeout: the ensemble has no room for a measurement", c.name, took.Round(time.Millisecond))
	}
	return nil
}

func (r *benchRun) writes(ctx context.Context, c *benchCase) error {
	data := make([]byte, 100)
	path, err := r.own.Create(ctx, r.root+"/write", data, recipes.Ephemeral, nil)
	if err != nil {
		return err
	}
	for range r.rounds {
		err := r.timed(c, func() error { _, err := r.own.Set(ctx, path, data, -1); return err })
		if err != nil {
			return err
		}
	}
	return nil
}

// locks goes back and forth between the lock and its floor, so that what else the
// machine does falls on both.
func (r *benchRun) locks(ctx context.Context, floor, idle *benchCase) error {
	mu, err := lock.NewMutex(r.client, r.root+"/lock")
	if err != nil {
		return err
	}
	warmUp := &benchCase{name: "lock"} // it makes the directory
	if err := r.timed(warmUp, func() error { return acquireAndRelease(ctx, mu) }); err != nil {
		return err
	}
	for range r.rounds {
		err := r.timed(floor, func() error {
			path, err := r.own.Create(ctx, r.root+"/floor-", nil, recipes.EphemeralSequential, nil)
			if err != nil {
				return err
			}
			return r.own.Delete(ctx, path, -1)
		})
		if err != nil {
			return err
		}
		if err := r.timed(idle, func() error { return acquireAndRelease(ctx, mu) }); err != nil {
			return err
		}
	}
	return nil
}

func acquireAndRelease(ctx context.Context, mu *lock.Mutex) error {
	l, err := mu.Lock(ctx)
	if err != nil {
		return err
	}
	return l.Release(ctx)
}

// tellOfWaiting has a client say when it waits for a lock.
func tellOfWaiting(waiting chan<- struct{}) recipes.Option {
	return recipes.WithTrace(recipes.Trace{Waiting: func(recipes.WaitEvent) {
		select {
		case waiting <- struct{}{}:
		default:
		}
	}})
}

// handOvers has the lock go from the one client to the rival, which waits for it.
func (r *benchRun) handOvers(ctx context.Context, c *benchCase, rival *recipes.Client, waiting <-chan struct{}) error {
	ours, err := lock.NewMutex(r.client, r.root+"/lock")
	if err != nil {
		return err
	}
	theirs, err := lock.NewMutex(rival, r.root+"/lock")
	if err != nil {
		return err
	}
	for range r.rounds {
		if err := r.handOver(ctx, c, ours, theirs, waiting); err != nil {
			return err
		}
	}
	return nil
}

func (r *benchRun) handOver(ctx context.Context, c *benchCase, ours, theirs *lock.Mutex, waiting <-chan struct{}) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	held, err := ours.Lock(ctx)
	if err != nil {
		return err
	}
	select { // what the round before has left
	case <-waiting:
	default:
	}
	type got struct {
		lease *recipes.Lease
		err   error
	}
	next := make(chan got, 1)
	go func() {
		l, err := theirs.Lock(ctx)
		next <- got{l, err}
	}()
	select {
	case <-waiting:
	case g := <-next: // it could not so much as wait, or need not: ours is lost
		return cmp.Or(g.err, held.Err(), errors.New("two hold the lock"))
	}
	var taken got
	err = r.timed(c, func() error {
		if err := held.Release(ctx); err != nil {
			cancel()
			<-next // joined
			return err
		}
		taken = <-next
		return taken.err
	})
	if taken.lease == nil {
		return err
	}
	if e := taken.lease.Release(ctx); err == nil {
		err = e
	}
	return err
}
