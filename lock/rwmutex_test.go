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

const rwPath = "/locks/rw"

func rwMutex(t testing.TB, c *recipes.Client) *lock.RWMutex {
	t.Helper()
	rw, err := lock.NewRWMutex(c, rwPath)
	require.NoError(t, err)
	return rw
}

// async calls fn in the background.
func async(t testing.TB, fn func(context.Context) (*recipes.Lease, error)) <-chan result {
	t.Helper()
	return zkrtest.Go(func() (*recipes.Lease, error) { return fn(t.Context()) })
}

func TestReadersShareAndWritersExclude(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, c := rwMutex(t, zkrtest.Dial(t, srv)), rwMutex(t, zkrtest.Dial(t, srv)), rwMutex(t, zkrtest.Dial(t, srv))
		r1 := granted(t, async(t, a.RLock), time.Second)
		r2 := granted(t, async(t, b.RLock), time.Second)
		require.True(t, r1.Shared())
		w := async(t, c.Lock)
		zkrtest.Pending(t, w)
		r3 := async(t, a.RLock)
		zkrtest.Pending(t, r3) // behind a writer that waits
		release(t, r1)
		zkrtest.Pending(t, w)
		release(t, r2)
		lw := granted(t, w, time.Second)
		require.False(t, lw.Shared())
		zkrtest.Pending(t, r3)
		release(t, lw)
		release(t, granted(t, r3, time.Second))
		require.Empty(t, srv.Children(rwPath))
	})
}

// CURATOR-276, CURATOR-621: the reader that a writer becomes must not stand
// behind a writer that waits already.
func TestDowngradeLetsNoWriterIn(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := rwMutex(t, zkrtest.Dial(t, srv)), rwMutex(t, zkrtest.Dial(t, srv))
		la := granted(t, async(t, a.Lock), time.Second)
		token := la.Token()
		// Whatever makes the reader takes its time, so that a gap would be seen.
		srv.On(zktest.Match{Session: la.Session().ID(), Path: rwPath + "/*__READ__*"}).Delay(time.Second)
		wb := async(t, b.Lock)
		zkrtest.Pending(t, wb)
		rb := async(t, b.RLock)
		zkrtest.Pending(t, rb)

		require.NoError(t, a.Downgrade(t.Context(), la))
		require.True(t, la.Shared())
		require.Equal(t, token, la.Token())
		require.NoError(t, la.Verify(t.Context()))
		time.Sleep(time.Minute)
		zkrtest.Pending(t, wb)
		require.NoError(t, la.Err())

		release(t, la)
		lb := granted(t, wb, time.Second)
		require.Greater(t, lb.Token(), token)
		release(t, lb)
		release(t, granted(t, rb, time.Second))
		require.Empty(t, srv.Children(rwPath))
	})
}

func TestReadersBehindADowngradedWriterComeIn(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := rwMutex(t, zkrtest.Dial(t, srv)), rwMutex(t, zkrtest.Dial(t, srv))
		la := granted(t, async(t, a.Lock), time.Second)
		rb := async(t, b.RLock)
		zkrtest.Pending(t, rb)
		require.NoError(t, a.Downgrade(t.Context(), la))
		lb := granted(t, rb, time.Second)
		require.NoError(t, la.Err())
		release(t, lb)
		release(t, la)
	})
}

func TestUpgradeIsRefused(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		rw := rwMutex(t, zkrtest.Dial(t, srv))
		err := rw.RDo(t.Context(), func(ctx context.Context, _ *recipes.Lease) error {
			_, err := rw.Lock(ctx)
			require.ErrorIs(t, err, lock.ErrUpgrade)
			_, err = rw.TryLock(ctx)
			return err
		})
		require.ErrorIs(t, err, lock.ErrUpgrade)
	})
}

func TestTryLockAndTryRLockSayWhoIsInTheWay(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := rwMutex(t, zkrtest.Dial(t, srv)), rwMutex(t, zkrtest.Dial(t, srv))
		r := granted(t, async(t, a.RLock), time.Second)
		var locked *lock.LockedError
		_, err := b.TryLock(t.Context())
		require.ErrorAs(t, err, &locked)
		require.Equal(t, r.Node(), locked.Holder)
		r2, err := b.TryRLock(t.Context())
		require.NoError(t, err)
		release(t, r)
		release(t, r2)
		w, err := a.TryLock(t.Context())
		require.NoError(t, err)
		_, err = b.TryRLock(t.Context())
		require.ErrorAs(t, err, &locked)
		require.Equal(t, w.Node(), locked.Holder)
		release(t, w)
	})
}
