package lock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// What a lease may rest on, and what it may not.

// Wherever in the rhythm of pings, reports and renewals the holder's server is
// cut off, and whatever it goes on answering.
func TestHolderCutOffAtAnyMomentEndsBeforeTheNextOneBegins(t *testing.T) {
	const moments = 40
	for moment := range time.Duration(moments) {
		pinnedFor(t, 1, 5*T+moment*T/moments, func(t *testing.T, srv *zktest.Server, la *recipes.Lease, next <-chan result) {
			go func() {
				for la.Err() == nil {
					_, _, _ = la.Session().Exists(soon(t, T/50), "/")
					time.Sleep(T / 50)
				}
			}()
			time.Sleep(T / 20)
			srv.Member(1).CutLeader(true)
			endsFirst(t, la, next, T)
			srv.Member(1).CutLeader(false)
		})
	}
}

// A write that the server refuses was not committed, and tells nothing about the
// session.
func TestRefusedWritesProveNothing(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a := join(t, srv)
		la := a.hold()
		time.Sleep(3 * T)
		srv.On(zktest.Match{Op: zktest.OpMulti, Session: a.session()}).Always().Error(zktest.Throttled)
		ended(t, la, T)
		require.ErrorIs(t, la.Err(), recipes.ErrLost)
	})
}

// A server that hears its leader and is not heard shows that all before the
// waiter have gone, and not that the waiter's session is about to go too.
func TestListingIsNoGrant(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		addrs := srv.Addrs()
		a, b, c := joinAt(t, srv, addrs[2]), joinAt(t, srv, addrs[1]), joinAt(t, srv, addrs[2])
		la := a.hold()
		between, cancel := a.waitUntil()
		behind := b.wait() // not next in line, so that nothing keeps its session proven
		last := c.wait()
		time.Sleep(3 * T)
		srv.Member(1).StallLeader(zktest.ToServer)
		time.Sleep(T / 2)
		cancel()
		<-between
		release(t, la)
		zkrtest.Pending(t, behind, last)
		release(t, granted(t, last, T))
		srv.Member(1).StallLeader(0)
		release(t, granted(t, behind, 4*T))
	}, zktest.WithFollowers(2), zktest.WithSyncLimit(20))
}

// The reply to a create is lost, and what is found by its name belongs to
// somebody else.
func TestZnodeOfTheSameNameThatIsSomebodyElsesIsNotHeld(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		require.NoError(t, srv.Create("/locks", nil))
		require.NoError(t, srv.Create(path, nil))
		a := join(t, srv)
		srv.On(zktest.Match{Path: creation}).DropReply()
		var theirs string
		srv.On(zktest.Match{Op: zktest.OpGetChildren2}).Call(func(zktest.Request) {
			theirs = path + "/" + srv.Children(path)[0]
			require.NoError(t, srv.Delete(theirs))
			require.NoError(t, srv.Create(theirs, nil))
		})
		waiting := a.wait()
		require.Len(t, contenders(srv), 2)
		require.NoError(t, srv.Delete(theirs))
		release(t, granted(t, waiting, 0))
	})
}

// A waiter far back in the queue has no watch on its znode, and its session may
// be proven for another lock's sake.
func TestWaiterFarBackWhoseZnodeWasDeletedHoldsNothing(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, c := join(t, srv), join(t, srv), join(t, srv)
		other, err := lock.NewMutex(c.c, "/locks/other")
		require.NoError(t, err)
		lo, err := other.Lock(t.Context())
		require.NoError(t, err)
		release(t, c.hold()) // from now on its znodes come with their tokens
		la, nb, nc := a.hold(), b.wait(), c.wait()
		queue, err := a.Queue(t.Context())
		require.NoError(t, err)
		require.NoError(t, srv.Delete(queue[2].Path))
		time.Sleep(3 * T) // it looks on its own by then
		zkrtest.Pending(t, nb, nc)
		require.Len(t, contenders(srv), 3, "it has queued again")
		require.NoError(t, lo.Err())
		release(t, la)
		release(t, granted(t, nb, 0))
		release(t, granted(t, nc, 0))
	})
}

// Who leaves the queue puts nobody first who still has others before it.
func TestWaiterThatGivesUpMakesNobodyFirst(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, c := join(t, srv), join(t, srv), join(t, srv)
		la := a.hold()
		nb, cancel := b.waitUntil()
		nc := c.wait()
		cancel()
		<-nb
		zkrtest.Pending(t, nc)
		release(t, la)
		release(t, granted(t, nc, 0))
	})
}

// Who is next in line keeps its session proven, however long that lasts.
func TestHandOverAfterALongWaitNeedsNoWrite(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := join(t, srv), join(t, srv)
		la := a.hold()
		next := b.wait()
		time.Sleep(5*T + T/9)
		srv.ResetRequests()
		release(t, la)
		lb := granted(t, next, 0)
		require.Zero(t, srv.Requests(zktest.OpMulti, b.session()))
		release(t, lb)
	})
}

// The transaction that makes a contender and sets the directory's data is not
// for directories in which somebody keeps something.
func TestDataInTheDirectoryIsLeftAlone(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		require.NoError(t, srv.Create("/locks", nil))
		require.NoError(t, srv.Create(path, []byte("kept")))
		a, b := join(t, srv), join(t, srv)
		for range 3 {
			release(t, a.hold())
			la := a.hold()
			next := b.wait()
			release(t, la)
			release(t, granted(t, next, 0))
		}
		z, ok := srv.Get(path)
		require.True(t, ok)
		require.Equal(t, "kept", string(z.Data))
	})
}

// An operator changes the limit while the permits' directory stays the same.
func TestSemaphoreNoticesThatTheLimitChangedBetweenPermits(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a := semaphore(t, zkrtest.Dial(t, srv), 3)
		held := []*recipes.Lease{
			granted(t, async(t, a.Acquire), time.Second),
			granted(t, async(t, a.Acquire), time.Second), // its agreement is about that directory
		}
		require.NoError(t, srv.SetData(semPath, []byte("2")))
		var limit *lock.LimitError
		_, err := a.Acquire(t.Context())
		require.ErrorAs(t, err, &limit)
		for _, l := range held {
			release(t, l)
		}
		synctest.Wait()
		require.Empty(t, srv.Children(semPath+"/locks"))
	})
}
