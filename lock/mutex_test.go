package lock_test

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func dial(t *testing.T, srv *zktest.Server, opts ...recipes.Option) *recipes.Client {
	t.Helper()
	opts = append([]recipes.Option{
		recipes.WithDialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
			return srv.DialContext(ctx, network, addr)
		}),
		recipes.WithClock(recipes.MonotonicClock()),
		recipes.WithSessionTimeout(10 * time.Second),
	}, opts...)
	c, err := recipes.Dial(t.Context(), srv.ConnectString(), opts...)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func TestMutexIsHeldByOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := zktest.Start(t, zktest.WithInMemory())
		a, b := dial(t, srv), dial(t, srv)
		ma, err := lock.NewMutex(a, "/locks/x")
		require.NoError(t, err)
		mb, err := lock.NewMutex(b, "/locks/x")
		require.NoError(t, err)
		la, err := ma.Lock(t.Context())
		require.NoError(t, err)
		t.Log(la.Token(), la.Remaining())
		got := make(chan *recipes.Lease)
		go func() {
			lb, err := mb.Lock(context.Background())
			require.NoError(t, err)
			got <- lb
		}()
		time.Sleep(time.Minute)
		select {
		case <-got:
			t.Fatal("two holders")
		default:
		}
		require.NoError(t, la.Err())
		t.Log(la.Token(), la.Remaining())
		require.NoError(t, la.Release(t.Context()))
		lb := <-got
		require.Greater(t, lb.Token(), la.Token())
		t.Log(lb.Token(), lb.Remaining())
		require.NoError(t, lb.Release(t.Context()))
		require.Empty(t, srv.Children("/locks/x"))
	})
}
