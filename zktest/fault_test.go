package zktest_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/jute"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func TestCloseEndsWhatIsStalled(t *testing.T) {
	s, err := zktest.New(zktest.WithInMemory(), zktest.WithFollowers(1))
	require.NoError(t, err)
	a, b := openAt(t, s, 0, 10*time.Second), openAt(t, s, 1, 10*time.Second)
	s.Stall(a.id(), zktest.BothWays)
	s.On(zktest.Match{Session: b.id()}).DropReply()
	s.Stall(b.id(), zktest.ToClient)
	a.send(jute.OpPing, &jute.Empty{})
	b.send(jute.OpPing, &jute.Empty{})
	for s.Requests(zktest.OpPing, b.id()) == 0 {
		time.Sleep(time.Millisecond)
	}
	s.Member(1).CutLeader(true)
	s.Freeze()
	dial(t, s, 1)
	require.NoError(t, s.Close())
}

func TestCutClosesTheConnectionAndKeepsTheSession(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	a, b := open(t, s), open(t, s)
	s.Cut(a.id())
	require.True(t, a.closed())
	b.ping()
	c, answered := a.resume(s, 0)
	require.True(t, answered)
	require.Equal(t, a.id(), c.id())
}

// quiet tells whether nothing comes for a while.
func (c *bare) quiet() bool {
	_ = c.conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	_, err := c.conn.Read(make([]byte, 1))
	ok := os.IsTimeout(err)
	_ = c.conn.SetReadDeadline(time.Time{})
	return ok
}

func TestStallHoldsBackAndBlackholeLoses(t *testing.T) {
	everywhere(t, func(t *testing.T, opts ...zktest.Option) {
		s := zktest.Start(t, opts...)
		a, b := open(t, s), open(t, s)
		for _, dir := range []zktest.Direction{zktest.ToServer, zktest.ToClient, zktest.BothWays} {
			s.Stall(a.id(), dir)
			path := map[zktest.Direction]string{1: "/1", 2: "/2", 3: "/3"}[dir]
			a.send(jute.OpCreate, createBody(path, 0))
			require.True(t, a.quiet())
			require.Equal(t, dir == zktest.ToClient, b.exists(path))
			s.Restore(a.id())
			_, _, err := a.receive()
			require.NoError(t, err)
			require.True(t, b.exists(path))
		}
		s.Blackhole(a.id(), zktest.ToServer)
		a.send(jute.OpCreate, createBody("/lost", 0))
		require.True(t, a.quiet())
		s.Restore(a.id())
		a.ping()
		require.False(t, b.exists("/lost"))

		s.Blackhole(a.id(), zktest.ToClient)
		a.send(jute.OpCreate, createBody("/done", 0))
		require.True(t, a.quiet())
		s.Restore(a.id())
		a.ping()
		require.True(t, b.exists("/done"))
	})
}

func TestCableIsThatOfOneClient(t *testing.T) {
	everywhere(t, func(t *testing.T, opts ...zktest.Option) {
		s := zktest.Start(t, opts...)
		cable, other := s.Cable(), open(t, s)
		conn, err := cable.Dial("tcp", s.Member(0).Addr(), time.Second)
		require.NoError(t, err)
		c, answered := handshake(t, conn, jute.ConnectRequest{TimeoutMillis: 10000, Password: make([]byte, 16)})
		require.True(t, answered)

		cable.Stall(zktest.BothWays)
		c.send(jute.OpPing, &jute.Empty{})
		require.True(t, c.quiet())
		other.ping()
		start := time.Now()
		_, err = cable.Dial("tcp", s.Member(0).Addr(), 50*time.Millisecond)
		require.Error(t, err, "nobody answers")
		require.GreaterOrEqual(t, time.Since(start), 50*time.Millisecond)
		cable.Restore()
		_, _, err = c.receive()
		require.NoError(t, err)

		cable.Refuse(true)
		_, err = cable.Dial("tcp", s.Member(0).Addr(), time.Second)
		require.ErrorContains(t, err, "refuses")
		c.ping()
		cable.Refuse(false)
		cable.Cut()
		require.True(t, c.closed())
		other.ping()
		conn, err = cable.Dial("tcp", s.Member(0).Addr(), time.Second)
		require.NoError(t, err)
		d, answered := handshake(t, conn, c.resumption())
		require.True(t, answered)
		require.Equal(t, c.id(), d.id())
		conn.Close()
	})
}

func TestLatencyDelaysEachWayAndHoldsNothingUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := zktest.Start(t, zktest.WithInMemory())
		cable := s.Cable()
		cable.SetLatency(30 * time.Millisecond)
		conn, err := cable.Dial("tcp", s.Member(0).Addr(), time.Second)
		require.NoError(t, err)
		c, answered := handshake(t, conn, jute.ConnectRequest{TimeoutMillis: 10000, Password: make([]byte, 16)})
		require.True(t, answered)
		start := time.Now()
		for range 10 {
			c.send(jute.OpExists, plain("/"))
			time.Sleep(time.Millisecond)
		}
		for range 10 {
			_, _, err := c.receive()
			require.NoError(t, err)
		}
		require.Equal(t, 69*time.Millisecond, time.Since(start), "the last was sent at 9 ms and took 60 ms")
		c.send(jute.OpCloseSession, &jute.Empty{})
		_, _, err = c.receive()
		require.NoError(t, err, "what is under way arrives before the end")
		require.True(t, c.closed())
	})
}

func TestFrozenServerTakesConnectionsAndAnswersNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := zktest.Start(t, zktest.WithInMemory())
		a := openAt(t, s, 0, 10*time.Second)
		b := openAt(t, s, 0, 40*time.Second)
		a.create("/a", jute.ModeEphemeral)
		s.Freeze()
		conn := dial(t, s, 0)
		b.send(jute.OpExists, plain("/a"))
		require.True(t, b.quiet())
		time.Sleep(15 * time.Second)
		require.Len(t, s.Sessions(), 2, "no time passes for it")
		s.Thaw()
		h, _, err := b.receive()
		require.NoError(t, err)
		require.Equal(t, jute.NoNode, h.Err, "what is overdue comes first")
		conn.Close()
	})
}

func TestRefusedAndIsolatedServers(t *testing.T) {
	everywhere(t, func(t *testing.T, opts ...zktest.Option) {
		s := zktest.Start(t, opts...)
		c := open(t, s)
		require.NoError(t, s.Refuse(true))
		_, err := s.Dial("tcp", s.Member(0).Addr(), time.Second)
		require.ErrorContains(t, err, "refused")
		c.ping()
		require.NoError(t, s.Refuse(false))
		open(t, s)

		s.Isolate(true)
		_, err = s.Dial("tcp", s.Member(0).Addr(), 10*time.Millisecond)
		require.Error(t, err)
		c.send(jute.OpPing, &jute.Empty{})
		require.True(t, c.quiet())
		s.Isolate(false)
		_, _, err = c.receive()
		require.NoError(t, err)
	})
}

func TestOperatorIsSeenByWatches(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	c := open(t, s)
	require.Equal(t, jute.OK, c.do(jute.OpAddWatch, &jute.AddWatchRequest{Path: "/", Mode: jute.WatchPersistentRecursive}, &jute.NumberReply{}))
	require.NoError(t, s.Create("/a", []byte("x")))
	require.NoError(t, s.Create("/a/b", nil))
	require.NoError(t, s.SetData("/a/b", nil))
	require.ErrorIs(t, s.Delete("/a"), zktest.NotEmpty)
	require.ErrorIs(t, s.Create("/a", nil), zktest.NodeExists)
	require.NoError(t, s.DeleteAll("/a"))
	require.ErrorIs(t, s.SetCreateCounter("/a", 1), zktest.NoNode)
	c.ping()
	require.Equal(t, []jute.WatcherEvent{
		event(jute.EventCreated, "/a"), event(jute.EventCreated, "/a/b"), event(jute.EventDataChanged, "/a/b"),
		event(jute.EventDeleted, "/a/b"), event(jute.EventDeleted, "/a"),
	}, c.events)
}
