package lock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// kazoo counts names that end so.
const (
	kazooLock   = `__lock__[0-9]{10}$`
	kazooReader = `__rlock__[0-9]{10}$`
)

func TestKazooNamesOfAMutex(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := zkrtest.Dial(t, srv)
		named, err := lock.NewMutex(c, path, lock.WithKazooNames())
		require.NoError(t, err)
		plain, err := lock.NewMutex(c, path)
		require.NoError(t, err)
		l := granted(t, async(t, named.Lock), time.Second)
		require.Regexp(t, kazooLock, l.Node())
		_, err = plain.TryLock(t.Context())
		require.ErrorIs(t, err, lock.ErrLocked)
		release(t, l)
		l = granted(t, async(t, plain.Lock), time.Second)
		_, err = named.TryLock(t.Context())
		require.ErrorIs(t, err, lock.ErrLocked)
		release(t, l)
	})
}

func TestKazooNamesOfAMulti(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		m, err := lock.NewMulti(zkrtest.Dial(t, srv), []string{"/locks/a", "/locks/b"}, lock.WithKazooNames())
		require.NoError(t, err)
		l := granted(t, async(t, m.Lock), time.Second)
		for _, dir := range []string{"/locks/a", "/locks/b"} {
			require.Len(t, srv.Children(dir), 1)
			require.Regexp(t, kazooLock, srv.Children(dir)[0])
		}
		release(t, l)
	})
}

func TestKazooNamesOfReadersAndWriters(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := zkrtest.Dial(t, srv)
		named, err := lock.NewRWMutex(c, rwPath, lock.WithKazooNames())
		require.NoError(t, err)
		plain := rwMutex(t, c)
		r := granted(t, async(t, named.RLock), time.Second)
		require.Regexp(t, kazooReader, r.Node())
		release(t, granted(t, async(t, plain.RLock), time.Second))
		w := async(t, plain.Lock)
		zkrtest.Pending(t, w)
		release(t, r)
		release(t, granted(t, w, time.Second))

		l := granted(t, async(t, named.Lock), time.Second)
		require.Regexp(t, kazooLock, l.Node())
		w = async(t, plain.Lock)
		zkrtest.Pending(t, w)
		require.NoError(t, named.Downgrade(t.Context(), l))
		require.Regexp(t, kazooReader, l.Node())
		zkrtest.Pending(t, w)
		release(t, l)
		release(t, granted(t, w, time.Second))
	})
}
