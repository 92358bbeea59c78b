package lock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func TestTryLockWritesNothingWhereItFindsTheLockTaken(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := join(t, srv), join(t, srv)
		la := a.hold()
		id := b.session()
		srv.ResetRequests()
		_, err := b.TryLock(t.Context())
		var locked *lock.LockedError
		require.ErrorAs(t, err, &locked)
		require.Equal(t, la.Node(), locked.Holder)
		require.Equal(t, 1, srv.Requests(0, id))
		require.Equal(t, 1, srv.Requests(zktest.OpGetChildren2, id))
		release(t, la)
		lb, err := b.TryLock(t.Context())
		require.NoError(t, err)
		release(t, lb)
	})
}

// A server that lags shows a holder that is gone, and never an absence that is
// not.
func TestTryLockAtAServerThatLags(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a := joinAt(t, srv, srv.Addrs()[0])
		b := joinAt(t, srv, srv.Addrs()[1])
		synced, err := lock.NewMutex(b.c, path, lock.WithSync())
		require.NoError(t, err)

		la := a.hold()
		srv.Member(1).SetLag(time.Second)
		time.Sleep(2 * time.Second)
		release(t, la)
		_, err = b.TryLock(t.Context())
		require.ErrorIs(t, err, lock.ErrLocked)
		lb, err := synced.TryLock(t.Context())
		require.NoError(t, err)
		require.Greater(t, lb.Token(), la.Token())
		require.NoError(t, lb.Release(t.Context()))

		time.Sleep(2 * time.Second)
		la = a.hold() // which b's server does not know of yet
		_, err = b.TryLock(t.Context())
		require.ErrorIs(t, err, lock.ErrLocked)
		require.NoError(t, la.Err())
		release(t, la)
		time.Sleep(2 * time.Second)
		require.Empty(t, contenders(srv))
		srv.Member(1).SetLag(0)
	}, zktest.WithFollowers(1))
}

// kazoo#291, spring-integration#11113: the lock is not re-entrant, and it is the
// same whoever made the object.
func TestPartiesOfOneClientContendLikeStrangers(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a := join(t, srv)
		other, err := lock.NewMutex(a.c, path)
		require.NoError(t, err)
		la := a.hold()
		same := a.wait()
		another := zkrtest.Go(func() (*recipes.Lease, error) { return other.Lock(t.Context()) })
		zkrtest.Pending(t, same, another)
		_, err = other.TryLock(t.Context())
		require.ErrorIs(t, err, lock.ErrLocked)
		release(t, la)
		lb := granted(t, same, 0)
		zkrtest.Pending(t, another)
		release(t, lb)
		release(t, granted(t, another, 0))
	})
}

func TestWithStayEndsTheWaitWhereThePlaceIsLost(t *testing.T) {
	for name, lose := range map[string]func(*zktest.Server, *party, string){
		"session": func(s *zktest.Server, b *party, _ string) { s.ExpireSession(b.session()) },
		"znode":   func(s *zktest.Server, _ *party, node string) { require.NoError(t, s.Delete(path+"/"+node)) },
	} {
		t.Run(name, func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				a, b := join(t, srv), join(t, srv)
				la := a.hold()
				m, err := lock.NewMutex(b.c, path, lock.WithStay())
				require.NoError(t, err)
				waiting := zkrtest.Go(func() (*recipes.Lease, error) { return m.Lock(t.Context()) })
				zkrtest.Pending(t, waiting)
				for _, node := range contenders(srv) {
					if path+"/"+node != la.Node() {
						lose(srv, b, node)
					}
				}
				require.ErrorIs(t, failed(t, waiting, 2*T), lock.ErrPlaceLost)
				release(t, la)
				require.Empty(t, contenders(srv))
			})
		})
	}
}

// A waiter whose znode an operator has deleted has no place in the queue, and
// takes another one at its end.
func TestWaiterWhoseZnodeWasDeletedQueuesAgain(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, c := join(t, srv), join(t, srv), join(t, srv)
		la := a.hold()
		nb := b.wait()
		nc := c.wait()
		queue, err := a.Queue(t.Context())
		require.NoError(t, err)
		require.NoError(t, srv.Delete(queue[1].Path))
		release(t, la)
		lc := granted(t, nc, 0)
		zkrtest.Pending(t, nb)
		release(t, lc)
		lb := granted(t, nb, T)
		require.NotEqual(t, queue[1].Path, lb.Node())
		release(t, lb)
	})
}
