package zktest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/jute"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func TestDropBeforeCommitLosesTheRequest(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	c := open(t, s)
	s.On(zktest.Match{Op: zktest.OpCreate, Path: "/a*"}).DropBeforeCommit()
	c.create("/b", 0)
	c.send(jute.OpCreate, createBody("/abc", 0))
	require.True(t, c.closed())
	_, there := s.Get("/abc")
	require.False(t, there)
}

func TestDroppingLosesNoEarlierReply(t *testing.T) {
	for range 20 {
		s := zktest.Start(t)
		a, b := open(t, s), open(t, s)
		s.On(zktest.Match{Op: zktest.OpCreate, Session: a.id()}).DropBeforeCommit()
		s.On(zktest.Match{Op: zktest.OpCreate, Session: b.id()}).DropReply()
		for _, c := range []*bare{a, b} {
			c.send(jute.OpExists, plain("/"))
			c.send(jute.OpCreate, createBody("/a", 0))
			h, _, err := c.receive()
			require.NoError(t, err)
			require.EqualValues(t, 1, h.Xid)
			require.True(t, c.closed())
		}
	}
}

func TestDropReplyLetsTheRequestHappen(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	c := open(t, s)
	h := s.On(zktest.Match{Op: zktest.OpCreate}).DropReply()
	c.send(jute.OpCreate, createBody("/a", 0))
	require.True(t, c.closed())
	_, there := s.Get("/a")
	require.True(t, there)
	require.Equal(t, 1, h.Hits())
	<-h.Hit()
}

func TestHooksAreOneShotAndFirstComeFirst(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	a, b := open(t, s), open(t, s)
	first := s.On(zktest.Match{Op: zktest.OpExists, Skip: 1}).Error(zktest.QuotaExceeded)
	s.On(zktest.Match{Op: zktest.OpExists, Path: "/b"}).Error(zktest.Throttled)
	s.On(zktest.Match{Session: b.id()}).Times(2).Error(-999)
	require.Equal(t, jute.NoNode, a.do(jute.OpExists, plain("/a"), nil), "skipped")
	require.Equal(t, jute.QuotaExceeded, a.do(jute.OpExists, plain("/b"), nil))
	require.Equal(t, jute.Throttled, a.do(jute.OpExists, plain("/b"), nil))
	require.Equal(t, jute.Code(-999), b.do(jute.OpExists, plain("/b"), nil))
	require.Equal(t, jute.NoNode, a.do(jute.OpExists, plain("/b"), nil))
	require.Equal(t, jute.Code(-999), b.do(jute.OpPing, &jute.Empty{}, nil))
	b.ping()
	require.Equal(t, 1, first.Hits())
}

func TestHooksHaveTheirTurnInTheOrderInWhichTheyBecameActive(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	c := open(t, s)
	late, lateEvent := s.On(zktest.Match{Op: zktest.OpExists}), s.OnEvent(zktest.EventMatch{})
	s.On(zktest.Match{Op: zktest.OpExists}).Error(zktest.QuotaExceeded)
	s.OnEvent(zktest.EventMatch{Path: "/a"}).Suppress()
	late.Error(zktest.Throttled)
	lateEvent.Optional().Delay(time.Hour)
	require.Equal(t, jute.QuotaExceeded, c.do(jute.OpExists, plain("/"), nil))
	require.Equal(t, jute.Throttled, c.do(jute.OpExists, plain("/"), nil))
	require.Equal(t, jute.NoNode, c.do(jute.OpExists, watching("/a"), nil))
	require.NoError(t, s.Create("/a", nil)) // the event is suppressed, or the test fails
}

func TestHookMatchesAMultiByEachOfItsPaths(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	c := open(t, s)
	h := s.On(zktest.Match{Op: zktest.OpMulti, Path: "/b"}).Always().Observe()
	c.multi(op(jute.OpCheck, version("/a", -1)))
	require.Zero(t, h.Hits())
	c.multi(op(jute.OpCheck, version("/a", -1)), op(jute.OpCheck, version("/b", -1)))
	require.Equal(t, 1, h.Hits())
}

func TestErrorHookChangesNothing(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	c := open(t, s)
	c.ping()
	zxid := c.zxid
	s.On(zktest.Match{Op: zktest.OpCreate}).Error(zktest.OperationTimeout)
	require.Equal(t, jute.OperationTimeout, c.do(jute.OpCreate, createBody("/a", 0), nil))
	require.False(t, c.exists("/a"))
	require.Equal(t, zxid, c.zxid)
}

func TestDelayHoldsBackWhatComesBehind(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := zktest.Start(t, zktest.WithInMemory())
		a, b := open(t, s), open(t, s)
		s.On(zktest.Match{Op: zktest.OpCreate}).Delay(3 * time.Second)
		start := time.Now()
		a.send(jute.OpCreate, createBody("/a", 0))
		a.send(jute.OpPing, &jute.Empty{})
		synctest.Wait()
		require.False(t, b.exists("/a"), "others go on")
		require.Zero(t, time.Since(start))
		h, _, err := a.receive()
		require.NoError(t, err)
		require.Equal(t, jute.OK, h.Err)
		require.Equal(t, 3*time.Second, time.Since(start))
		h, _, err = a.receive()
		require.NoError(t, err)
		require.Equal(t, jute.XidPing, h.Xid)
	})
}

func TestDelayReplyComesAfterTheFact(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := zktest.Start(t, zktest.WithInMemory())
		a, b := open(t, s), open(t, s)
		s.On(zktest.Match{Op: zktest.OpCreate}).DelayReply(3 * time.Second)
		start := time.Now()
		made := a.send(jute.OpCreate, createBody("/a", 0))
		synctest.Wait()
		require.True(t, b.exists("/a"))
		time.Sleep(time.Second)
		a.send(jute.OpPing, &jute.Empty{})
		h, _, err := a.receive()
		require.NoError(t, err)
		require.Equal(t, made, h.Xid)
		require.Equal(t, 3*time.Second, time.Since(start))
		h, _, err = a.receive()
		require.NoError(t, err)
		require.Equal(t, jute.XidPing, h.Xid, "and what came behind it waited")
		require.Equal(t, 3*time.Second, time.Since(start))
	})
}

func TestEventWaitsBehindADelayedReply(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := zktest.Start(t, zktest.WithInMemory())
		c := open(t, s)
		c.create("/a", 0)
		s.On(zktest.Match{Op: zktest.OpGetData}).DelayReply(3 * time.Second)
		start := time.Now()
		c.send(jute.OpGetData, watching("/a"))
		synctest.Wait()
		require.NoError(t, s.Delete("/a"))
		_, _, err := c.receive()
		require.NoError(t, err)
		require.Empty(t, c.events, "the client knows of its watch now, not earlier")
		require.Equal(t, event(jute.EventDeleted, "/a"), c.next())
		require.Equal(t, 3*time.Second, time.Since(start))
	})
}

// What is late are the bytes: a watch fires before the reply that shows the
// change, however late both are.
func TestRepliesBehindADelayedOneTellWhatWasTrueWhenTheyWereMade(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := zktest.Start(t, zktest.WithInMemory())
		a, b := open(t, s), open(t, s)
		a.create("/a", 0)
		s.On(zktest.Match{Op: zktest.OpGetData}).DelayReply(3 * time.Second)
		a.send(jute.OpGetData, watching("/a"))
		before := a.send(jute.OpExists, plain("/a"))
		synctest.Wait()
		require.Equal(t, jute.OK, b.set("/a", "new"))
		after := a.send(jute.OpExists, plain("/a"))
		own := a.send(jute.OpDelete, version("/a", -1))

		_, _, err := a.receive()
		require.NoError(t, err)
		length := func(xid int32) int32 {
			h, body, err := a.receive()
			require.NoError(t, err)
			require.Equal(t, xid, h.Xid)
			var reply jute.StatReply
			_, err = jute.Unmarshal(body, &reply)
			require.NoError(t, err)
			return reply.Stat.DataLength
		}
		require.Zero(t, length(before))
		require.Empty(t, a.events)
		require.EqualValues(t, 3, length(after))
		require.Equal(t, []jute.WatcherEvent{event(jute.EventDataChanged, "/a")}, a.events)
		h, _, err := a.receive()
		require.NoError(t, err)
		require.Equal(t, own, h.Xid)
	})
}

func TestDelayedRepliesComeOneAfterTheOther(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := zktest.Start(t, zktest.WithInMemory())
		c := open(t, s)
		s.On(zktest.Match{Op: zktest.OpExists}).Times(2).DelayReply(2 * time.Second)
		s.On(zktest.Match{Op: zktest.OpCloseSession}).DelayReply(2 * time.Second)
		start := time.Now()
		c.send(jute.OpExists, plain("/"))
		c.send(jute.OpExists, plain("/"))
		c.send(jute.OpCloseSession, &jute.Empty{})
		for i := range 3 {
			_, _, err := c.receive()
			require.NoError(t, err)
			require.Equal(t, time.Duration(i+1)*2*time.Second, time.Since(start))
		}
		require.True(t, c.closed(), "once the last reply is out")
	})
}

func TestWithheldReplyNeverComesThoughTheConnectionLives(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	c := open(t, s)
	s.On(zktest.Match{Op: zktest.OpCreate}).WithholdReply()
	c.send(jute.OpCreate, createBody("/a", 0))
	c.ping()
	require.True(t, c.exists("/a"))
}

func TestCallRunsBeforeTheServerSeesTheRequest(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	c := open(t, s)
	c.create("/a", 0)
	s.On(zktest.Match{Op: zktest.OpGetData, Path: "/a"}).Call(func(r zktest.Request) {
		require.Equal(t, zktest.Request{Op: zktest.OpGetData, Path: "/a", Session: c.id(), Addr: s.Member(0).Addr()}, r)
		require.NoError(t, s.Delete("/a"))
	})
	require.Equal(t, jute.NoNode, c.do(jute.OpGetData, watching("/a"), nil), "it vanished between list and watch")
}

func TestHoldKeepsARequestUntilReleased(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	a, b := open(t, s), open(t, s)
	h := s.On(zktest.Match{Op: zktest.OpCreate, Session: a.id()}).Hold()
	a.send(jute.OpCreate, createBody("/a", 0))
	<-h.Hit()
	require.False(t, b.exists("/a"))
	h.Release()
	_, _, err := a.receive()
	require.NoError(t, err)
	require.True(t, b.exists("/a"))
}

func TestCloseEndsWhatIsHeld(t *testing.T) {
	s, err := zktest.New(zktest.WithInMemory())
	require.NoError(t, err)
	c := open(t, s)
	h := s.On(zktest.Match{Op: zktest.OpCreate}).Hold()
	c.send(jute.OpCreate, createBody("/a", 0))
	<-h.Hit()
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
}

func TestHookThatWasNeverHitFailsTheTest(t *testing.T) {
	s, err := zktest.New(zktest.WithInMemory())
	require.NoError(t, err)
	s.On(zktest.Match{Op: zktest.OpCreate, Path: "/missed"}).DropReply()
	s.On(zktest.Match{Op: zktest.OpDelete}).Times(2).Observe()
	s.On(zktest.Match{Op: zktest.OpDelete}).Optional().Observe()
	s.On(zktest.Match{Op: zktest.OpExists, Path: "/undecided"})
	s.OnEvent(zktest.EventMatch{Path: "/event"}).Suppress()
	s.OnEvent(zktest.EventMatch{Path: "/idle"})
	c := open(t, s)
	require.Equal(t, jute.NoNode, c.delete("/x"))
	err = s.Close()
	for _, text := range []string{"/missed", "hit 1 times of 2", "/undecided", "/event", "/idle"} {
		require.ErrorContains(t, err, text)
	}
}

func TestHandshakeMayBeLostOrRefusedOrAnsweredWithAnotherSession(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	c := open(t, s)
	c.create("/e", jute.ModeEphemeral)
	handshakes := zktest.Match{Op: zktest.OpCreateSession, Session: c.id()}

	s.On(handshakes).DropBeforeCommit()
	_, answered := c.resume(s, 0)
	require.False(t, answered)
	s.On(handshakes).DropReply()
	_, answered = c.resume(s, 0)
	require.False(t, answered)
	s.On(handshakes).Error(zktest.SessionExpired)
	d, answered := c.resume(s, 0)
	require.True(t, answered)
	require.Zero(t, d.id())

	s.On(zktest.Match{Session: c.id()}).NewSession()
	d, answered = c.resume(s, 0)
	require.True(t, answered)
	require.NotZero(t, d.id())
	require.NotEqual(t, c.id(), d.id())
	require.Equal(t, c.id(), d.stat("/e").EphemeralOwner)
}

func TestHandshakeMayBeAnsweredLateOrNever(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := zktest.Start(t, zktest.WithInMemory())
		c := open(t, s)
		handshakes := zktest.Match{Op: zktest.OpCreateSession, Session: c.id()}
		start := time.Now()
		s.On(handshakes).DelayReply(3 * time.Second)
		d, answered := c.resume(s, 0)
		require.True(t, answered)
		require.Equal(t, c.id(), d.id())
		require.Equal(t, 3*time.Second, time.Since(start))
		d.ping()

		s.On(handshakes).WithholdReply()
		_, answered = c.resume(s, 0)
		require.False(t, answered)
		require.Greater(t, time.Since(start), 10*time.Second, "the connection lived as long as the session")

		start = time.Now()
		s.On(handshakes).DelayReply(time.Second)
		d, answered = c.resume(s, 0)
		require.True(t, answered)
		require.Zero(t, d.id())
		require.Equal(t, time.Second, time.Since(start))
		require.True(t, d.closed())
		s.On(handshakes).DropReply()
		_, answered = c.resume(s, 0)
		require.False(t, answered, "a refusal may be lost too")
	})
}

func TestHooksTakeAnAuthToo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := zktest.Start(t, zktest.WithInMemory())
		auths := zktest.Match{Op: zktest.OpAuth}
		auth := func(c *bare) {
			c.sendXid(jute.XidAuth, jute.OpAuth, &jute.AuthRequest{Scheme: "digest", Auth: []byte("me:secret")})
		}
		c := open(t, s)
		s.On(auths).DelayReply(time.Second)
		start := time.Now()
		c.auth("me:secret")
		require.Equal(t, time.Second, time.Since(start))
		s.On(auths).WithholdReply()
		auth(c)
		c.ping()

		s.On(auths).Error(zktest.AuthFailed)
		auth(c)
		h, _, err := c.receive()
		require.NoError(t, err)
		require.Equal(t, jute.AuthFailed, h.Err)
		require.True(t, c.closed())

		for _, drop := range []func(*zktest.Hook) *zktest.Hook{(*zktest.Hook).DropBeforeCommit, (*zktest.Hook).DropReply} {
			c := open(t, s)
			drop(s.On(auths))
			auth(c)
			require.True(t, c.closed())
		}
	})
}

func TestEventsMayBeLostOrLate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := zktest.Start(t, zktest.WithInMemory())
		c := open(t, s)
		c.create("/a", 0)
		s.OnEvent(zktest.EventMatch{Type: zktest.EventDataChanged, Path: "/a", Session: c.id(), Skip: 1}).Suppress()
		s.OnEvent(zktest.EventMatch{Type: zktest.EventDeleted}).Delay(2 * time.Second)
		watch := func() {
			require.Equal(t, jute.OK, c.do(jute.OpExists, watching("/a"), &jute.StatReply{}))
		}
		watch()
		c.set("/a", "1")
		require.Equal(t, event(jute.EventDataChanged, "/a"), c.next(), "skipped")
		watch()
		c.set("/a", "2")
		require.Zero(t, s.Watches(""), "a lost event spends the watch")
		watch()
		start := time.Now()
		c.delete("/a")
		require.Empty(t, c.events)
		require.Equal(t, event(jute.EventDeleted, "/a"), c.next())
		require.Equal(t, 2*time.Second, time.Since(start))
	})
}
