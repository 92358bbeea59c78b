package lock_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

const semPath = "/locks/sem"

func semaphore(t testing.TB, c *recipes.Client, limit int, opts ...lock.SemaphoreOption) *lock.Semaphore {
	t.Helper()
	sem, err := lock.NewSemaphore(c, semPath, limit, opts...)
	require.NoError(t, err)
	return sem
}

func acquireN(sem *lock.Semaphore, n int) func(context.Context) (*recipes.Lease, error) {
	return func(ctx context.Context) (*recipes.Lease, error) { return sem.AcquireN(ctx, n) }
}

func TestSemaphoreGivesOutItsPermitsInOrder(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := semaphore(t, zkrtest.Dial(t, srv), 3), semaphore(t, zkrtest.Dial(t, srv), 3)
		one := granted(t, async(t, a.Acquire), time.Second)
		two := granted(t, async(t, acquireN(b, 2)), time.Second)
		require.Len(t, srv.Children(semPath+"/leases"), 3)
		require.Empty(t, srv.Children(semPath+"/locks"))

		three := async(t, acquireN(a, 3))
		zkrtest.Pending(t, three)
		last := async(t, b.Acquire)
		zkrtest.Pending(t, last)
		_, err := b.TryAcquire(t.Context())
		require.ErrorIs(t, err, lock.ErrLocked)

		list, err := a.Queue(t.Context())
		require.NoError(t, err)
		require.Len(t, list, 5)
		require.Equal(t, []int{0, 0, 0, 1, 2}, []int{list[0].Position, list[1].Position, list[2].Position, list[3].Position, list[4].Position})

		release(t, one)
		zkrtest.Pending(t, three)
		zkrtest.Pending(t, last) // no overtaking, though there is room for one
		time.Sleep(time.Minute)
		release(t, two)
		all := granted(t, three, time.Second)
		require.NoError(t, all.Verify(t.Context()))
		zkrtest.Pending(t, last)
		release(t, all)
		release(t, granted(t, last, time.Second))
		require.Empty(t, srv.Children(semPath+"/leases"))
		require.Empty(t, srv.Children(semPath+"/locks"))
	})
}

func TestSemaphoreTellsWhoWaitsForWhom(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		told := make(map[string]chan lock.Wait)
		named := func(identity string) *lock.Semaphore {
			waits := make(chan lock.Wait, 8)
			told[identity] = waits
			c := zkrtest.Dial(t, srv, recipes.WithIdentity(identity))
			return semaphore(t, c, 1, lock.WithOnWait(func(w lock.Wait) { waits <- w }))
		}
		requireTold := func(identity string, position int, holder string) {
			t.Helper()
			w := <-told[identity]
			require.Equal(t, position, w.Position)
			require.Equal(t, holder, w.Holder.Identity)
			require.Equal(t, position == 1, w.Holder.Holds, "the first in the queue waits, too")
		}
		a, b, c := named("a"), named("b"), named("c")
		held := granted(t, async(t, a.Acquire), time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		first := zkrtest.Go(func() (*recipes.Lease, error) { return b.Acquire(ctx) })
		requireTold("b", 1, "a")
		second := async(t, c.Acquire)
		requireTold("c", 2, "b")

		err := outcome(t, first, 2*time.Minute).Err
		require.ErrorIs(t, err, context.DeadlineExceeded)
		var wait *recipes.WaitError
		require.ErrorAs(t, err, &wait)
		requireWait(t, wait, 1, held, "a")
		requireTold("c", 1, "a")

		// So it is with one that came to be the first by waiting in the queue.
		ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		third := zkrtest.Go(func() (*recipes.Lease, error) { return b.Acquire(ctx) })
		requireTold("b", 2, "c")
		_, err = a.Acquire(soon(t, time.Second))
		requireTold("a", 3, "c")
		require.ErrorAs(t, err, &wait)
		require.False(t, wait.Holder.Holds)
		require.ErrorContains(t, err, `at position 3, behind "c", which came 1m1s ago`)
		release(t, held)
		held = granted(t, second, time.Second)
		requireTold("b", 1, "c")
		require.ErrorAs(t, outcome(t, third, 2*time.Minute).Err, &wait)
		requireWait(t, wait, 1, held, "c")
		release(t, held)
		for identity, waits := range told {
			require.Empty(t, waits, identity)
		}
	})
}

// kazoo 1.1 (commit 44979fe): different limits on one semaphore.
func TestSemaphoreRefusesAnotherLimit(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := semaphore(t, zkrtest.Dial(t, srv), 2), semaphore(t, zkrtest.Dial(t, srv), 5)
		release(t, granted(t, async(t, a.Acquire), time.Second))
		_, err := b.Acquire(t.Context())
		var limit *lock.LimitError
		require.ErrorAs(t, err, &limit)
		require.Equal(t, 5, limit.Ours)
		require.Equal(t, "2", limit.Stored)
		_, err = b.TryAcquire(t.Context())
		require.ErrorAs(t, err, &limit)
	})
}

// As above, where both come first: one of them stores its limit.
func TestSemaphoresOfDifferentLimitsThatComeAtOnceAgreeOnOne(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		srv.On(zktest.Match{Op: zktest.OpGetData, Path: semPath}).Times(2).DelayReply(time.Second)
		limits := map[int]<-chan result{2: nil, 5: nil}
		for n := range limits {
			limits[n] = async(t, acquireN(semaphore(t, zkrtest.Dial(t, srv), n), n))
		}
		refused := 0
		for n, call := range limits {
			got := outcome(t, call, T)
			var limit *lock.LimitError
			if errors.As(got.Err, &limit) {
				refused++
				require.Equal(t, n, limit.Ours)
				require.Equal(t, strconv.Itoa(7-n), limit.Stored)
				continue
			}
			require.NoError(t, got.Err)
			require.Len(t, srv.Children(semPath+"/leases"), n)
			release(t, got.Val)
		}
		require.Equal(t, 1, refused)
	})
}

// An operator changed the limit: who agreed to the old one gets no more permits.
func TestSemaphoreNoticesThatTheLimitChanged(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a := semaphore(t, zkrtest.Dial(t, srv), 2)
		release(t, granted(t, async(t, a.Acquire), time.Second))
		require.NoError(t, srv.SetData(semPath, []byte("7")))
		var limit *lock.LimitError
		_, err := a.Acquire(t.Context())
		require.ErrorAs(t, err, &limit)
		synctest.Wait() // its place is given up in the background, and is in the way of a Try
		_, err = a.TryAcquire(t.Context())
		require.ErrorAs(t, err, &limit)
		synctest.Wait()
		require.Empty(t, srv.Children(semPath+"/locks"))
	})
}

// CURATOR-462: a wait that was cancelled leaves no permit taken.
func TestCancelledAcquireTakesNoPermit(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := semaphore(t, zkrtest.Dial(t, srv), 1), semaphore(t, zkrtest.Dial(t, srv), 1)
		la := granted(t, async(t, a.Acquire), time.Second)
		for range 50 {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			_, err := b.Acquire(ctx)
			cancel()
			require.ErrorIs(t, err, context.DeadlineExceeded)
		}
		release(t, la)
		lb := granted(t, async(t, b.Acquire), time.Second)
		require.Len(t, srv.Children(semPath+"/leases"), 1)
		release(t, lb)
	})
}

// What a trade's lost answer leaves open is found out by reading.
func TestSemaphoreFindsPermitsWhoseAnswerWasLost(t *testing.T) {
	for name, fault := range map[string]func(*zktest.Hook){
		"before the commit": func(h *zktest.Hook) { h.DropBeforeCommit() },
		"after the commit":  func(h *zktest.Hook) { h.DropReply() },
	} {
		t.Run(name, func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				a := semaphore(t, zkrtest.Dial(t, srv), 2)
				release(t, granted(t, async(t, a.Acquire), time.Second))
				fault(srv.On(zktest.Match{Op: zktest.OpMulti, Path: semPath + "/leases/*"}))
				l := granted(t, async(t, acquireN(a, 2)), 10*time.Second)
				require.Len(t, srv.Children(semPath+"/leases"), 2)
				require.NoError(t, l.Verify(t.Context()))
				release(t, l)
				synctest.Wait()
				require.Empty(t, srv.Children(semPath+"/leases"))
				require.Empty(t, srv.Children(semPath+"/locks"))
			})
		})
	}
}
