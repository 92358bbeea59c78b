package zktest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/jute"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// bubble runs a test in memory on virtual time.
func bubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, test)
}

func TestTimeoutsAreNegotiated(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory(), zktest.WithTick(time.Second))
	for asked, got := range map[time.Duration]time.Duration{
		time.Millisecond: 2 * time.Second, 7 * time.Second: 7 * time.Second, time.Hour: 20 * time.Second,
	} {
		c := openAt(t, s, 0, asked)
		require.EqualValues(t, got/time.Millisecond, c.session.TimeoutMillis)
		require.Equal(t, zktest.SessionPassword(c.id()), c.session.Password)
	}
	s = zktest.Start(t, zktest.WithInMemory(), zktest.WithSessionTimeouts(time.Second, 3*time.Second))
	require.EqualValues(t, 3000, openAt(t, s, 0, time.Hour).session.TimeoutMillis)
}

// The password is that which a ZooKeeper 3.8.0 gave out for this id.
func TestPasswordIsThatOfARealServer(t *testing.T) {
	require.Equal(t, []byte{121, 179, 128, 121, 18, 82, 44, 139, 127, 233, 51, 0, 171, 205, 152, 178},
		zktest.SessionPassword(72057646154055680))
}

func TestSessionExpiryDeletesItsEphemerals(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := zktest.Start(t, zktest.WithInMemory(), zktest.WithTick(2*time.Second))
		time.Sleep(700 * time.Millisecond)
		a, b := openAt(t, s, 0, 10*time.Second), openAt(t, s, 0, 40*time.Second)
		a.create("/e", jute.ModeEphemeral)
		a.create("/p", jute.ModePersistent)
		require.Equal(t, jute.OK, b.do(jute.OpExists, watching("/e"), &jute.StatReply{}))

		start := time.Now()
		require.Equal(t, event(jute.EventDeleted, "/e"), b.next())
		// 0.7 s + 10 s falls into the tick that ends at 12 s.
		require.Equal(t, 11300*time.Millisecond, time.Since(start))
		require.False(t, b.exists("/e"))
		require.True(t, b.exists("/p"))
		require.True(t, a.closed(), "its connection is closed")
		again, answered := a.resume(s, 0)
		require.True(t, answered)
		require.Equal(t, jute.ConnectResponse{Password: make([]byte, 16)}, again.session, "expired")
		require.True(t, again.closed())
	})
}

func TestEveryRequestKeepsASessionAlive(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := zktest.Start(t, zktest.WithInMemory())
		c := openAt(t, s, 0, 10*time.Second)
		for _, request := range []func(){c.ping, func() { c.exists("/") }, func() { c.set("/", "x") }} {
			for range 3 {
				time.Sleep(9 * time.Second)
				request()
			}
		}
		require.Len(t, s.Sessions(), 1)
		time.Sleep(12 * time.Second)
		require.Empty(t, s.Sessions())
	})
}

func TestSessionIsResumedWithItsPassword(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	a := open(t, s)
	a.create("/e", jute.ModeEphemeral)
	b, answered := a.resume(s, 0)
	require.True(t, answered)
	require.Equal(t, a.session, b.session)
	require.True(t, a.closed(), "a session has one connection")
	require.True(t, b.exists("/e"))

	b.session.Password = []byte("wrong")
	c, answered := b.resume(s, 0)
	require.True(t, answered)
	require.Zero(t, c.session.SessionID)
	require.True(t, b.closed(), "even a wrong password ends the old connection")
	require.Len(t, s.Sessions(), 1)
}

func TestStrangerWhoReadsAStatCanCloseTheSession(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	victim, stranger := open(t, s), open(t, s)
	victim.create("/lock", jute.ModeEphemeral)
	owner := stranger.stat("/lock").EphemeralOwner
	stranger.session.SessionID, stranger.session.Password = owner, zktest.SessionPassword(owner)
	thief, answered := stranger.resume(s, 0)
	require.True(t, answered)
	require.Equal(t, jute.OK, thief.do(jute.OpCloseSession, &jute.Empty{}, nil))
	_, there := s.Get("/lock")
	require.False(t, there)
}

func TestClosingASessionReportsItsOwnEventsFirst(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	c := open(t, s)
	c.create("/e", jute.ModeEphemeral)
	require.Equal(t, jute.OK, c.do(jute.OpExists, watching("/e"), &jute.StatReply{}))
	require.Equal(t, jute.OK, c.do(jute.OpCloseSession, &jute.Empty{}, nil))
	require.Equal(t, []jute.WatcherEvent{event(jute.EventDeleted, "/e")}, c.events)
	require.True(t, c.closed())
	require.Empty(t, s.Sessions())
}

func TestClientThatHasSeenMoreGetsNoAnswer(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	a := open(t, s)
	a.zxid = 1000
	_, answered := a.resume(s, 0)
	require.False(t, answered)
}

func TestClientOfOldGetsAnAnswerWithoutTheReadOnlyFlag(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	for _, session := range []int64{0, 0xdead} { // a new one, and one that is over
		conn := dial(t, s, 0)
		_, err := conn.Write(jute.AppendFrame(nil, &jute.ConnectRequest{
			TimeoutMillis: 5000, SessionID: session, Password: zktest.SessionPassword(session),
		}))
		require.NoError(t, err)
		b, err := jute.ReadFrame(conn, 1000)
		require.NoError(t, err)
		require.Len(t, b, 36)
	}
	ro := jute.ReadOnly(true)
	require.Len(t, jute.Marshal(&ro), 1, "which others get on top")
}

func TestRestartKeepsTheDataAndRestartsTheClocks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := zktest.Start(t, zktest.WithInMemory())
		c := openAt(t, s, 0, 10*time.Second)
		c.create("/e", jute.ModeEphemeral)
		time.Sleep(9 * time.Second)
		s.Down()
		require.True(t, c.closed())
		_, err := s.Dial("tcp", s.Member(0).Addr(), time.Second)
		require.ErrorContains(t, err, "refused")
		time.Sleep(time.Hour)
		require.NoError(t, s.Up())
		time.Sleep(9 * time.Second)
		d, answered := c.resume(s, 0)
		require.True(t, answered)
		require.Equal(t, c.id(), d.id(), "down for an hour, and not expired")
		require.True(t, d.exists("/e"))
		d.conn.Close()

		require.NoError(t, s.Restart())
		time.Sleep(13 * time.Second)
		_, there := s.Get("/e")
		require.False(t, there, "nobody came back")
	})
}

func TestRestartKeepsTheAddress(t *testing.T) {
	everywhere(t, func(t *testing.T, opts ...zktest.Option) {
		s := zktest.Start(t, append(opts, zktest.WithFollowers(1))...)
		before, c := s.ConnectString(), openAt(t, s, 1, 10*time.Second)
		for range 3 {
			require.NoError(t, s.Restart())
			require.Equal(t, before, s.ConnectString())
			d, answered := c.resume(s, 1)
			require.True(t, answered)
			require.Equal(t, c.id(), d.id())
		}
	})
}

func TestRestartForgetsWatches(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	c := open(t, s)
	require.Equal(t, jute.OK, c.do(jute.OpGetData, watching("/"), &jute.DataReply{}))
	require.Equal(t, 1, s.Watches("/"))
	require.NoError(t, s.Restart())
	require.Zero(t, s.Watches(""))
}

func TestWipeLeavesNothingAndTurnsClientsAway(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	c := open(t, s)
	c.create("/a", 0)
	require.NoError(t, s.Wipe())
	_, answered := c.resume(s, 0)
	require.False(t, answered, "it has seen more than there is")
	d := open(t, s)
	require.False(t, d.exists("/a"))
	require.Less(t, d.zxid, c.zxid)
}

func TestExpireSessionEndsItAtOnce(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	c := open(t, s)
	c.create("/e", jute.ModeEphemeral)
	s.ExpireSession(c.id())
	_, there := s.Get("/e")
	require.False(t, there)
	require.True(t, c.closed())
}

func TestConnectionWithoutASessionIsClosed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := zktest.Start(t, zktest.WithInMemory())
		conn := dial(t, s, 0)
		start := time.Now()
		_, err := conn.Read(make([]byte, 1))
		require.Error(t, err)
		require.Equal(t, 10*time.Second, time.Since(start))
	})
}

// A real ensemble in which such a session ends never starts again.
func TestSessionWithTooManyEphemeralsFailsTheTest(t *testing.T) {
	const name = "/0123456789012345678901234567890123456789012345678901234567890123456789-"
	end := func(ephemerals int) error {
		s, err := zktest.New(zktest.WithInMemory(), zktest.WithMaxBuffer(2048))
		require.NoError(t, err)
		c := open(t, s)
		for range ephemerals {
			c.create(name, jute.ModeEphemeralSequential)
		}
		s.ExpireSession(c.id())
		return s.Close()
	}
	require.NoError(t, end(47), "47 × 86 bytes fit into 2 × 2048")
	require.ErrorContains(t, end(48), "48 ephemerals")
}

func TestIdentitiesAndWhoAmI(t *testing.T) {
	s := zktest.Start(t)
	c := open(t, s)
	c.sendXid(jute.XidAuth, jute.OpAuth, &jute.AuthRequest{Scheme: "digest", Auth: []byte("me:secret")})
	h, _, err := c.receive()
	require.NoError(t, err)
	require.Equal(t, jute.ReplyHeader{Xid: jute.XidAuth}, h)
	var reply jute.WhoAmIReply
	require.Equal(t, jute.OK, c.do(jute.OpWhoAmI, &jute.Empty{}, &reply))
	require.ElementsMatch(t, []jute.ClientInfo{{Scheme: "ip", User: "127.0.0.1"}, {Scheme: "digest", User: "me"}}, reply.Clients)
}

func TestUnknownAuthSchemeEndsTheConnection(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	c := open(t, s)
	c.sendXid(jute.XidAuth, jute.OpAuth, &jute.AuthRequest{Scheme: "none"})
	h, _, err := c.receive()
	require.NoError(t, err)
	require.Equal(t, jute.AuthFailed, h.Err)
	require.True(t, c.closed())
	require.Len(t, s.Sessions(), 1)
}

func TestUnknownOperationEndsTheConnection(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	for _, o := range []jute.Op{99, jute.OpNotification, jute.OpError} {
		c := open(t, s)
		xid := c.send(o, &jute.Empty{})
		h, _, err := c.receive()
		require.NoError(t, err)
		require.Equal(t, jute.ReplyHeader{Xid: xid, Zxid: -1, Err: jute.Unimplemented}, h)
		require.True(t, c.closed())
	}
}

func TestWhatOnlyServersSendIsRefused(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	c := open(t, s)
	require.Equal(t, jute.MarshallingError, c.do(jute.OpCreateSession, &jute.Empty{}, nil))
	require.Equal(t, jute.BadArguments, c.do(jute.OpDeleteContainer, at("/"), nil))
	require.Equal(t, jute.MarshallingError, c.do(jute.OpReconfig, &jute.Empty{}, nil))
}

func TestRepliesComeInTheOrderOfTheRequests(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	c := open(t, s)
	c.create("/a", 0)
	var xids []int32
	for i := range 300 {
		switch i % 3 {
		case 0:
			xids = append(xids, c.send(jute.OpSetData, &jute.SetDataRequest{Path: "/a", Version: -1}))
		case 1:
			xids = append(xids, c.send(jute.OpExists, plain("/a")))
		default:
			xids = append(xids, c.send(jute.OpSync, at("/a")))
		}
	}
	for _, xid := range xids {
		h, _, err := c.receive()
		require.NoError(t, err)
		require.Equal(t, xid, h.Xid)
	}
}
