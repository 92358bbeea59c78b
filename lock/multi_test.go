package lock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func multi(t testing.TB, c *recipes.Client, paths ...string) *lock.Multi {
	t.Helper()
	m, err := lock.NewMulti(c, paths)
	require.NoError(t, err)
	return m
}

func mutexAt(t testing.TB, c *recipes.Client, path string) *lock.Mutex {
	t.Helper()
	m, err := lock.NewMutex(c, path)
	require.NoError(t, err)
	return m
}

func requireAllEmpty(t testing.TB, srv *zktest.Server, paths ...string) {
	t.Helper()
	for _, p := range paths {
		require.Empty(t, srv.Children(p), p)
	}
}

func TestMultiTakesAllMembersInOneTransaction(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		m := multi(t, zkrtest.Dial(t, srv), "/m/c", "/m/a", "/m/b")
		require.Equal(t, "/m/a,/m/b,/m/c", m.Path())
		release(t, granted(t, async(t, m.Lock), time.Second)) // learns that the directories are empty
		srv.ResetRequests()
		l := granted(t, async(t, m.Lock), time.Second)
		require.Equal(t, 1, srv.Requests(zktest.OpMulti, 0))
		require.Equal(t, l.TokenOf("/m/a"), l.TokenOf("/m/c"))
		require.NotZero(t, l.TokenOf("/m/b"))
		require.Zero(t, l.TokenOf("/m/d"))
		require.NoError(t, l.Verify(t.Context()))
		release(t, l)
		requireAllEmpty(t, srv, "/m/a", "/m/b", "/m/c")
	})
}

func TestMultiKeepsWhatStandsBeforeTheBlockedMemberOnly(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := zkrtest.Dial(t, srv), zkrtest.Dial(t, srv)
		held := granted(t, async(t, mutexAt(t, b, "/m/b").Lock), time.Second)
		m := multi(t, a, "/m/a", "/m/b", "/m/c")
		wait := async(t, m.Lock)
		zkrtest.Pending(t, wait)
		require.Len(t, srv.Children("/m/a"), 1)
		require.Len(t, srv.Children("/m/b"), 2)
		require.Empty(t, srv.Children("/m/c"))
		// The last member is free for others meanwhile, and then in the way.
		other := granted(t, async(t, mutexAt(t, b, "/m/c").Lock), time.Second)
		release(t, held)
		zkrtest.Pending(t, wait)
		release(t, other)
		l := granted(t, wait, time.Second)
		require.Greater(t, l.TokenOf("/m/b"), held.Token())
		require.Greater(t, l.TokenOf("/m/c"), other.Token())
		release(t, l)
		requireAllEmpty(t, srv, "/m/a", "/m/b", "/m/c")
	})
}

// redisson#4456: a multi-lock that fails half way keeps nothing.
func TestMultiThatFailsKeepsNothing(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := zkrtest.Dial(t, srv), zkrtest.Dial(t, srv)
		held := granted(t, async(t, mutexAt(t, b, "/m/b").Lock), time.Second)
		m := multi(t, a, "/m/a", "/m/b", "/m/c")
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		start := time.Now()
		_, err := m.Lock(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 300*time.Millisecond, time.Since(start))
		release(t, granted(t, async(t, mutexAt(t, b, "/m/a").Lock), time.Second))

		_, err = m.TryLock(t.Context())
		var locked *lock.LockedError
		require.ErrorAs(t, err, &locked)
		require.Equal(t, "/m/b", locked.Path)
		require.Equal(t, held.Node(), locked.Holder)
		requireAllEmpty(t, srv, "/m/a", "/m/c")
		release(t, held)
	})
}

// redisson#1160, #467, #4050: the same locks named in another order.
func TestMultisInOppositeOrderDoNotDeadlock(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := multi(t, zkrtest.Dial(t, srv), "/m/a", "/m/b"), multi(t, zkrtest.Dial(t, srv), "/m/b", "/m/a")
		rounds := func(m *lock.Multi) <-chan zkrtest.Result[int] {
			return zkrtest.Go(func() (int, error) {
				for i := range 200 {
					if err := m.Do(soon(t, time.Hour), func(context.Context, *recipes.Lease) error { return nil }); err != nil {
						return i, err
					}
				}
				return 200, nil
			})
		}
		ra, rb := rounds(a), rounds(b)
		for _, r := range []<-chan zkrtest.Result[int]{ra, rb} {
			got := <-r
			require.NoError(t, got.Err)
		}
		requireAllEmpty(t, srv, "/m/a", "/m/b")
	})
}

func TestMultiEndsWithAnyOfItsMembers(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		l := granted(t, async(t, multi(t, zkrtest.Dial(t, srv), "/m/a", "/m/b").Lock), time.Second)
		time.Sleep(time.Minute)
		require.NoError(t, l.Err())
		require.NoError(t, srv.Delete("/m/b/"+srv.Children("/m/b")[0]))
		ended(t, l, time.Second)
		time.Sleep(time.Second)
		requireAllEmpty(t, srv, "/m/a", "/m/b")
	})
}

func TestMultiRefusesNonsense(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := zkrtest.Dial(t, srv)
		for _, paths := range [][]string{nil, {"/a", "/a"}, {"/a", "b"}} {
			_, err := lock.NewMulti(c, paths)
			require.Error(t, err)
		}
	})
}
