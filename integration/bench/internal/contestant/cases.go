package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

func (c *contestant) pair(ctx context.Context, addr, kind string, n int, path string) (answer, error) {
	s, err := c.open(ctx, addr)
	if err != nil {
		return answer{}, err
	}
	defer s.close()
	l, err := s.locker(kind, path, 0)
	if err != nil {
		return answer{}, err
	}
	turn := func() error {
		if err := l.acquire(ctx); err != nil {
			return err
		}
		return l.release(ctx)
	}
	for range 5 { // the directory is made, and known
		if err := turn(); err != nil {
			return answer{}, err
		}
	}
	return measure(n, turn)
}

// measure calls fn so often, one after the other.
func measure(n int, fn func() error) (answer, error) {
	took := make([]time.Duration, 0, n)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range n {
		start := time.Now()
		if err := fn(); err != nil {
			return answer{}, err
		}
		took = append(took, time.Since(start))
	}
	runtime.ReadMemStats(&after)
	a := quantiles(took)
	a.Allocs = float64(after.Mallocs-before.Mallocs) / float64(n)
	a.Bytes = float64(after.TotalAlloc-before.TotalAlloc) / float64(n)
	return a, nil
}

func quantiles(took []time.Duration) answer {
	if len(took) == 0 {
		return answer{}
	}
	slices.Sort(took)
	return answer{
		P50: int64(took[len(took)/2]),
		P90: int64(took[len(took)*9/10]),
		Ops: len(took),
	}
}

func (c *contestant) try(ctx context.Context, addr, kind string, n int, path string) (answer, error) {
	holder, err := c.open(ctx, addr)
	if err != nil {
		return answer{}, err
	}
	defer holder.close()
	held, err := holder.locker(kind, path, 0)
	if err != nil {
		return answer{}, err
	}
	s, err := c.open(ctx, addr)
	if err != nil {
		return answer{}, err
	}
	defer s.close()
	l, err := s.locker(kind, path, 0)
	if err != nil {
		return answer{}, err
	}
	t, ok := l.(trier)
	if !ok {
		return answer{}, errNone
	}
	if err := held.acquire(ctx); err != nil {
		return answer{}, err
	}
	a, err := measure(n, func() error {
		got, err := t.try(ctx)
		if got {
			return fmt.Errorf("got what somebody holds")
		}
		return err
	})
	if err != nil {
		return answer{}, err
	}
	return a, held.release(ctx)
}

// relay is what the contenders for one lock share.
type relay struct {
	mu       sync.Mutex
	released time.Time
	turns    int // so far
	skip     int // turns until all have queued
	most     int
	begun    time.Time
	ended    time.Time
	took     []time.Duration
}

// held is called by who has got the lock. Who lets go calls letGo before.
func (r *relay) held() {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turns++
	switch {
	case r.turns == r.skip:
		r.begun = now
	case r.turns > r.skip && r.turns <= r.skip+r.most:
		r.took = append(r.took, now.Sub(r.released))
		r.ended = now
	}
}

func (r *relay) letGo() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.released = time.Now()
}

func (r *relay) over() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.turns >= r.skip+r.most
}

func (c *contestant) handover(ctx context.Context, addr, kind string, contenders, turns int, path string) (answer, error) {
	before := heap()
	lockers := make([]locker, contenders)
	for i := range lockers {
		s, err := c.open(ctx, addr)
		if err != nil {
			return answer{}, err
		}
		defer s.close()
		if lockers[i], err = s.locker(kind, path, i); err != nil {
			return answer{}, err
		}
	}
	each := (heap() - before) / float64(contenders)
	r := &relay{skip: contenders + 1, most: turns}
	errs := make(chan error, contenders)
	for _, l := range lockers {
		go func() { errs <- r.run(ctx, l) }()
	}
	for range lockers {
		if err := <-errs; err != nil {
			return answer{}, err
		}
	}
	a := quantiles(r.took)
	a.Took = int64(r.ended.Sub(r.begun))
	a.Heap = each
	return a, nil
}

// run takes turns until there were enough.
func (r *relay) run(ctx context.Context, l locker) error {
	for !r.over() {
		if err := l.acquire(ctx); err != nil {
			return err
		}
		r.held()
		r.letGo()
		if err := l.release(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (c *contestant) join(ctx context.Context, addr, kind string, n int, path string) (answer, error) {
	holder, err := c.open(ctx, addr)
	if err != nil {
		return answer{}, err
	}
	defer holder.close()
	held, err := holder.locker(kind, path, 0)
	if err != nil {
		return answer{}, err
	}
	s, err := c.open(ctx, addr)
	if err != nil {
		return answer{}, err
	}
	if err := held.acquire(ctx); err != nil {
		return answer{}, err
	}
	before := heap()
	begin := now()
	var waiting sync.WaitGroup
	for i := range n {
		l, err := s.locker(kind, path, i)
		if err != nil {
			return answer{}, err
		}
		waiting.Go(func() { _ = l.acquire(ctx) }) // ends with the session
	}
	say(answer{At: begin})
	var each float64
	err = c.until(func([]string) error { // all are there
		each = (heap() - before) / float64(n)
		return nil
	})
	s.close()
	waiting.Wait()
	return answer{Ops: n, Heap: each}, err
}

// workers take many locks side by side.
const workers = 64

func (c *contestant) hold(ctx context.Context, addr, kind string, n int, path string) (answer, error) {
	s, err := c.open(ctx, addr)
	if err != nil {
		return answer{}, err
	}
	defer s.close()
	first, err := s.locker(kind, path+"/first", 0)
	if err != nil {
		return answer{}, err
	}
	if err := first.acquire(ctx); err != nil { // whatever comes with the first
		return answer{}, err
	}
	held := make([]locker, n)
	before, threads := heap(), runtime.NumGoroutine()
	begin := time.Now()
	if err := inParallel(n, func(i int) (err error) {
		if held[i], err = s.locker(kind, fmt.Sprintf("%s/%06d", path, i), i); err != nil {
			return err
		}
		return held[i].acquire(ctx)
	}); err != nil {
		return answer{}, err
	}
	took := time.Since(begin)
	a := answer{
		Took: int64(took), Ops: n,
		Heap:    (heap() - before) / float64(n),
		Threads: float64(runtime.NumGoroutine()-threads) / float64(n),
		Spread:  1,
	}
	lib, ours := s.(*library)
	if ours {
		a.Spread = lib.sessions()
	}
	say(a)
	err = c.until(func(words []string) error {
		if !ours {
			return errNone
		}
		return lib.obey(ctx, words, path)
	})
	runtime.KeepAlive(held)
	return answer{Ops: n}, err
}

// inParallel calls fn for the numbers below n.
func inParallel(n int, fn func(i int) error) error {
	var next atomic.Int64
	errs := make(chan error, workers)
	for range workers {
		go func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					errs <- nil
					return
				}
				if err := fn(i); err != nil {
					errs <- err
					return
				}
			}
		}()
	}
	var first error
	for range workers {
		if err := <-errs; err != nil && first == nil {
			first = err
		}
	}
	return first
}

func (c *contestant) wait(ctx context.Context, addr, kind, path string) (answer, error) {
	s, err := c.open(ctx, addr)
	if err != nil {
		return answer{}, err
	}
	defer s.close()
	l, err := s.locker(kind, path, 0)
	if err != nil {
		return answer{}, err
	}
	say(answer{At: now()})
	if err := l.acquire(ctx); err != nil {
		return answer{}, err
	}
	at := now()
	return answer{At: at}, l.release(ctx)
}

// heap is what is in use of it.
func heap() float64 {
	runtime.GC()
	runtime.GC() // what finalizers let go of
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// now reads CLOCK_MONOTONIC, as the other programs do.
func now() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic(err)
	}
	return ts.Nano()
}
