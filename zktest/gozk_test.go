package zktest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/zktest"
)

// connect gives a go-zookeeper client that has its session.
func connect(t testing.TB, s *zktest.Server, timeout time.Duration) *zk.Conn {
	t.Helper()
	return connectBy(t, s.Addrs(), s.Dial, timeout)
}

func connectBy(t testing.TB, addrs []string, dial zk.Dialer, timeout time.Duration) *zk.Conn {
	t.Helper()
	ready := make(chan struct{}, 100)
	c, _, err := zk.Connect(addrs, timeout, zk.WithDialer(dial), zk.WithLogInfo(false), zk.WithLogger(quiet{}),
		zk.WithEventCallback(func(e zk.Event) {
			if e.State == zk.StateHasSession {
				ready <- struct{}{}
			}
		}))
	require.NoError(t, err)
	t.Cleanup(c.Close)
	<-ready
	return c
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

// everywhere runs a test on loopback, and in memory on virtual time.
func everywhere(t *testing.T, test func(t *testing.T, opts ...zktest.Option)) {
	t.Run("tcp", func(t *testing.T) { test(t) })
	t.Run("bubble", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { test(t, zktest.WithInMemory()) })
	})
}

func TestGoZookeeperWorksOnIt(t *testing.T) {
	everywhere(t, func(t *testing.T, opts ...zktest.Option) {
		s := zktest.Start(t, opts...)
		a, b := connect(t, s, 10*time.Second), connect(t, s, 10*time.Second)
		acl := zk.WorldACL(zk.PermAll)

		_, err := a.Create("/locks", nil, 0, acl)
		require.NoError(t, err)
		_, _, gone, err := b.ExistsW("/locks/x")
		require.NoError(t, err)
		p, err := a.Create("/locks/n-", []byte("me"), zk.FlagEphemeral|zk.FlagSequence, acl)
		require.NoError(t, err)
		require.Equal(t, "/locks/n-0000000000", p)
		data, stat, err := b.Get(p)
		require.NoError(t, err)
		require.Equal(t, "me", string(data))
		require.Equal(t, a.SessionID(), stat.EphemeralOwner)

		res, err := b.Multi(
			&zk.CreateRequest{Path: "/locks/x", Acl: acl, Flags: zk.FlagEphemeral},
			&zk.SetDataRequest{Path: "/locks", Data: nil, Version: -1})
		require.NoError(t, err)
		require.Equal(t, "/locks/x", res[0].String)
		require.EqualValues(t, 2, res[1].Stat.NumChildren)
		require.Equal(t, zk.EventNodeCreated, (<-gone).Type)

		names, _, deleted, err := b.ChildrenW("/locks")
		require.NoError(t, err)
		require.ElementsMatch(t, []string{"n-0000000000", "x"}, names)
		a.Close()
		require.Equal(t, zk.EventNodeChildrenChanged, (<-deleted).Type)
		require.Equal(t, []string{"x"}, s.Children("/locks"))
	})
}

func TestExpiryOfALongSessionTakesNoRealTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := zktest.Start(t, zktest.WithInMemory())
		cable := s.Cable()
		a := connectBy(t, s.Addrs(), cable.Dial, 30*time.Second)
		b := connect(t, s, 30*time.Second)
		_, err := a.Create("/mine", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
		_, _, gone, err := b.ExistsW("/mine")
		require.NoError(t, err)

		cable.Blackhole(zktest.BothWays)
		cut := time.Now()
		require.Equal(t, zk.EventNodeDeleted, (<-gone).Type)
		lived := time.Since(cut)
		require.Greater(t, lived, 20*time.Second, "the client pings each 10 s")
		require.LessOrEqual(t, lived, 32*time.Second)
		cable.Restore()
	})
}
