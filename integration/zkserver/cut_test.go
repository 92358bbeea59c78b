package zkserver_test

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/proxy"
	"github.com/zkrecipes/zkrecipes/integration/zkserver"
	"github.com/zkrecipes/zkrecipes/internal/jute"
)

// ownProxy puts a proxy for this test's client before the shared server, and
// returns a second client that bypasses it and a path of the test's own.
func ownProxy(t *testing.T) (p *proxy.Proxy, witness *zk.Conn, root string) {
	t.Helper()
	s := zkserver.Shared(t).Servers[0]
	p, err := s.NewProxy()
	require.NoError(t, err)
	t.Cleanup(p.Close)
	witness = dial(t, 10*time.Second, s.Addr())
	root = zkserver.Path(t)
	create(t, witness, root)
	return p, witness, root
}

func TestCutBeforeCommitLeavesNothing(t *testing.T) {
	p, witness, root := ownProxy(t)
	conn := dial(t, 10*time.Second, p.Addr())
	session := conn.SessionID()
	hit := p.CutBefore(jute.OpCreate, 2)
	create(t, conn, root+"/first")
	_, err := conn.Create(root+"/second", nil, 0, zk.WorldACL(zk.PermAll))
	require.Error(t, err)
	cut := <-hit
	require.Equal(t, session, cut.Session)
	require.Equal(t, jute.OpCreate, cut.Op)
	require.Contains(t, string(cut.Body), root+"/second")

	exists, _, err := witness.Exists(root + "/second")
	require.NoError(t, err)
	require.False(t, exists)
	eventually(t, "the client goes on in its session", func() bool {
		ok, _, err := conn.Exists(root + "/first")
		return err == nil && ok && conn.SessionID() == session
	})
}

func TestCutAfterCommitLeavesTheNodeAndAnErrorAtTheClient(t *testing.T) {
	p, witness, root := ownProxy(t)
	conn := dial(t, 10*time.Second, p.Addr())
	hit := p.CutAfter(jute.OpCreate, 1)
	_, err := conn.Create(root+"/made", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	require.Error(t, err)
	<-hit
	exists, stat, err := witness.Exists(root + "/made")
	require.NoError(t, err)
	require.True(t, exists)
	require.Equal(t, conn.SessionID(), stat.EphemeralOwner)
}

func TestCutAtAnyRequestLeavesPingsOut(t *testing.T) {
	p, _, root := ownProxy(t)
	conn := dial(t, 1*time.Second, p.Addr())
	hit := p.CutAfter(proxy.OpAny, 3)
	eventually(t, "three pings", func() bool { return p.Counts().Pings >= 3 })
	require.Empty(t, hit)
	for range 2 {
		_, _, err := conn.Get(root)
		require.NoError(t, err)
	}
	_, err := conn.Set(root, nil, -1)
	require.Error(t, err)
	require.Equal(t, jute.OpSetData, (<-hit).Op)
}

func TestClearedCutIsNotHit(t *testing.T) {
	p, _, root := ownProxy(t)
	conn := dial(t, 10*time.Second, p.Addr())
	hit := p.CutBefore(proxy.OpAny, 1)
	p.ClearCuts()
	_, _, err := conn.Get(root)
	require.NoError(t, err)
	require.Empty(t, hit)
}

func TestInterceptMayStallTheReplyOfTheRequestItSees(t *testing.T) {
	p, witness, root := ownProxy(t)
	conn := dial(t, 10*time.Second, p.Addr())
	p.Intercept(func(r proxy.Request) proxy.Verdict {
		if r.Op == jute.OpCreate {
			p.ToClient().Stall()
		}
		return proxy.Forward
	})
	done := make(chan error, 1)
	go func() {
		_, err := conn.Create(root+"/pending", nil, 0, zk.WorldACL(zk.PermAll))
		done <- err
	}()
	eventually(t, "committed", func() bool {
		exists, _, err := witness.Exists(root + "/pending")
		return err == nil && exists
	})
	require.Empty(t, done)
	p.Intercept(nil)
	p.Pass()
	require.NoError(t, <-done)
}

func TestProxyCountsRequestsAndWatchEventsExactly(t *testing.T) {
	p, witness, root := ownProxy(t)
	conn := dial(t, 10*time.Second, p.Addr())
	_, _, changed, err := conn.GetW(root)
	require.NoError(t, err)
	_, err = witness.Set(root, []byte("other"), -1)
	require.NoError(t, err)
	<-changed
	create(t, conn, root+"/a")
	require.NoError(t, conn.Delete(root+"/a", -1))

	c := p.Counts()
	require.Equal(t, map[jute.Op]int{jute.OpGetData: 1, jute.OpCreate: 1, jute.OpDelete: 1}, c.Requests)
	require.Equal(t, 3, c.Total())
	require.Equal(t, 1, c.Events)
	require.Equal(t, 1, c.Handshakes)
	require.Positive(t, c.BytesToClient)
}
