package recipetest

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// Semaphore tests lock.Semaphore.
func Semaphore(t *testing.T, dial Dialer) {
	runAll(t, dial, []fact{
		{"HeldByNoMoreThanItsLimit", semLimit},
		{"ServesInTheOrderOfArrival", semOrder},
		{"GivesAllPermitsAskedForOrNone", semAllOrNone},
		{"TryAcquireSaysWhoIsInTheWay", semTry},
		{"CancelledWaitLeavesNoZnode", semCancel},
		{"AnotherLimitIsRefused", semOtherLimit},
		{"ClosedClientGivesItsPermitsBack", semClose},
		{"QueueTellsPermitsAndWhoWaitsForThem", semQueue},
	})
}

// semContender is a semaphore of a client of its own.
type semContender struct {
	*lock.Semaphore
	s      *suite
	client *recipes.Client
	places places
}

func (s *suite) semContender(limit int) *semContender {
	s.Helper()
	c := &semContender{s: s, client: s.dial(s.T), places: make(places, 1)}
	var err error
	c.Semaphore, err = lock.NewSemaphore(c.client, s.path, limit, c.places.option())
	require.NoError(s, err)
	return c
}

// hold takes n permits that are to be had.
func (c *semContender) hold(n int) *recipes.Lease {
	c.s.Helper()
	l, err := c.AcquireN(c.s.ctx, n)
	require.NoError(c.s, err)
	return l
}

// queue asks for n permits in the background and returns when that has its
// place.
func (c *semContender) queue(n int) (<-chan outcome, lock.Wait) {
	c.s.Helper()
	return c.s.waits(c.places, func(ctx context.Context) (*recipes.Lease, error) { return c.AcquireN(ctx, n) })
}

func semLimit(s *suite) {
	const clients, rounds, limit = 5, 6, 2
	var inside, most, total atomic.Int32
	var wg sync.WaitGroup
	for range clients {
		c := s.semContender(limit)
		wg.Go(func() {
			for range rounds {
				err := c.Do(s.ctx, func(context.Context, *recipes.Lease) error {
					defer inside.Add(-1)
					n := inside.Add(1)
					for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
					}
					total.Add(1)
					return nil
				})
				if err != nil {
					s.Errorf("%v", err)
				}
			}
		})
	}
	wg.Wait()
	require.EqualValues(s, clients*rounds, total.Load())
	require.LessOrEqual(s, most.Load(), int32(limit))
	s.requireNoPermits()
}

func semOrder(s *suite) {
	holder := s.semContender(1).hold(1)
	const waiters = 4
	var waits []<-chan outcome
	for i := range waiters {
		wait, place := s.semContender(1).queue(1)
		require.Equal(s, i+1, place.Position)
		require.NotEmpty(s, place.Holder.Path)
		waits = append(waits, wait)
	}
	for i, next := range waits {
		for _, later := range waits[i:] {
			s.pending(later, holder)
		}
		s.release(holder)
		holder = s.granted(next)
	}
	s.release(holder)
	s.requireNoPermits()
}

func semAllOrNone(s *suite) {
	a, b, c := s.semContender(3), s.semContender(3), s.semContender(3)
	one, two := a.hold(1), a.hold(2)
	all, _ := b.queue(3)
	few, place := c.queue(1)
	require.Equal(s, 2, place.Position)
	s.release(two)
	s.pending(all, one)
	s.pending(few, one) // there is room for it, but not its turn
	require.Len(s, s.permits(), 1)
	s.release(one)
	held := s.granted(all)
	require.Len(s, s.permits(), 3)
	s.pending(few, held)
	s.release(held)
	s.release(s.granted(few))
	s.requireNoPermits()
}

func semTry(s *suite) {
	a, b := s.semContender(2), s.semContender(2)
	one, err := a.TryAcquire(s.ctx)
	require.NoError(s, err)
	_, err = b.TryAcquireN(s.ctx, 2)
	var locked *lock.LockedError
	require.ErrorAs(s, err, &locked)
	require.Equal(s, one.Node(), locked.Holder)
	two, err := b.TryAcquire(s.ctx)
	require.NoError(s, err)
	s.release(one)
	s.release(two)
	s.requireNoPermits()
}

func semCancel(s *suite) {
	a, b := s.semContender(1), s.semContender(1)
	holder := a.hold(1)
	ctx, cancel := context.WithCancel(s.ctx)
	left, place := s.waits(b.places, func(context.Context) (*recipes.Lease, error) { return b.Acquire(ctx) })
	require.Equal(s, lock.Wait{Position: 1, Holder: place.Holder}, place)
	require.Equal(s, holder.Node(), place.Holder.Path)
	cancel()
	require.ErrorIs(s, s.awaited(left).err, context.Canceled)
	s.release(holder)
	s.release(b.hold(1))
	s.requireNoPermits()
}

func semOtherLimit(s *suite) {
	s.release(s.semContender(2).hold(1))
	_, err := s.semContender(3).Acquire(s.ctx)
	var limit *lock.LimitError
	require.ErrorAs(s, err, &limit)
	require.Equal(s, "2", limit.Stored)
}

func semClose(s *suite) {
	a, b := s.semContender(2), s.semContender(2)
	a.hold(2)
	wait, _ := b.queue(2)
	a.client.Close()
	s.release(s.granted(wait))
	s.requireNoPermits()
}

func semQueue(s *suite) {
	a, b := s.semContender(2), s.semContender(2)
	held := a.hold(2)
	wait, _ := b.queue(1)
	list, err := b.Queue(s.ctx)
	require.NoError(s, err)
	requireKinds(s, list, recipes.KindPermit, recipes.KindPermit, recipes.KindPermit)
	for i, contender := range list {
		require.Equal(s, i/2, contender.Position)
		require.Equal(s, i < 2, contender.Holds)
		s.requireAge(contender)
	}
	s.release(held)
	s.release(s.granted(wait))
}

// permits are the znodes of those that are given out.
func (s *suite) permits() []string {
	s.Helper()
	names, _, err := s.session().Children(s.ctx, s.path+"/leases")
	require.NoError(s, err)
	return names
}

func (s *suite) requireNoPermits() {
	s.Helper()
	require.Empty(s, s.permits())
	queue, _, err := s.session().Children(s.ctx, s.path+"/locks")
	require.NoError(s, err)
	require.Empty(s, queue)
}
