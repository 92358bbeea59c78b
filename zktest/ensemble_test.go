package zktest_test

import (
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/jute"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// three starts a leader, number 0, and two followers, with a tick of 1 s and a
// sync limit of 5 s.
func three(t *testing.T) *zktest.Server {
	return zktest.Start(t, zktest.WithInMemory(), zktest.WithFollowers(2), zktest.WithTick(time.Second))
}

// renew commits a transaction that changes nothing.
func (c *bare) renew() {
	c.t.Helper()
	require.Equal(c.t, jute.OK, c.multi(op(jute.OpCheck, version("/", -1)))[0].Err)
}

func TestFollowersShareTheData(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := three(t)
		a, b := openAt(t, s, 1, 10*time.Second), openAt(t, s, 2, 10*time.Second)
		require.Equal(t, jute.NoNode, b.do(jute.OpExists, watching("/a"), nil))
		a.create("/a", jute.ModeEphemeral)
		require.Equal(t, event(jute.EventCreated, "/a"), b.next(), "watches are kept by each server")
		require.True(t, b.exists("/a"))
		require.EqualValues(t, 1, a.zxid>>32, "the first epoch")
		require.NotEqual(t, a.id()>>56, b.id()>>56, "ids begin with the number of the server")
		a.do(jute.OpCloseSession, &jute.Empty{}, nil)
		require.False(t, b.exists("/a"))
	})
}

func TestLaggingFollowerShowsThePast(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := three(t)
		a, b := openAt(t, s, 0, 10*time.Second), openAt(t, s, 1, 10*time.Second)
		s.Member(1).SetLag(2 * time.Second)
		a.create("/a", 0)
		require.False(t, b.exists("/a"))
		_, there := s.Member(1).Get("/a")
		require.False(t, there)

		start := time.Now()
		require.Equal(t, jute.OK, b.do(jute.OpSync, at("/"), &jute.PathReply{}))
		require.Equal(t, 2*time.Second, time.Since(start), "a sync waits for what was committed before it")
		require.True(t, b.exists("/a"))

		start = time.Now()
		b.create("/b", 0)
		require.Equal(t, 2*time.Second, time.Since(start), "a client sees its own writes")
		require.True(t, a.exists("/b"))

		a.create("/c", 0)
		_, answered := a.resume(s, 1)
		require.False(t, answered, "who has seen more is turned away")
	})
}

func TestLagThatShrinksLetsNothingOvertake(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := three(t)
		a, b := openAt(t, s, 0, 10*time.Second), openAt(t, s, 1, 10*time.Second)
		s.Member(1).SetLag(2 * time.Second)
		a.create("/a", 0)
		s.Member(1).SetLag(0)
		a.create("/a/b", 0)
		require.False(t, b.exists("/a/b"))
		require.Equal(t, jute.OK, b.do(jute.OpSync, at("/"), &jute.PathReply{}))
		require.True(t, b.exists("/a/b"))
	})
}

func TestWritesOfOneSessionStayInOrderBehindALag(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := three(t)
		c := openAt(t, s, 1, 10*time.Second)
		c.create("/a", 0)
		s.Member(1).SetLag(time.Second)
		start := time.Now()
		for range 5 {
			c.send(jute.OpSetData, &jute.SetDataRequest{Path: "/a", Version: -1})
		}
		c.send(jute.OpExists, plain("/a"))
		for range 5 {
			_, _, err := c.receive()
			require.NoError(t, err)
		}
		_, body, err := c.receive()
		require.NoError(t, err)
		var reply jute.StatReply
		_, err = jute.Unmarshal(body, &reply)
		require.NoError(t, err)
		require.EqualValues(t, 5, reply.Stat.Version, "a read waits for the writes before it")
		require.Equal(t, time.Second, time.Since(start), "the writes do not wait for each other")
	})
}

func TestFollowerCutFromItsLeaderAnswersWhileTheSessionExpires(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := zktest.Start(t, zktest.WithInMemory(), zktest.WithFollowers(2), zktest.WithTick(time.Second), zktest.WithSyncLimit(10))
		a, b := openAt(t, s, 1, 4*time.Second), openAt(t, s, 0, 20*time.Second)
		a.create("/lock", jute.ModeEphemeral)
		s.Member(1).CutLeader(true)
		cut := time.Now()
		for time.Since(cut) < 9*time.Second {
			a.ping()
			require.True(t, a.exists("/lock"), "it still says: mine")
			require.Equal(t, jute.OK, a.do(jute.OpSync, at("/lock"), &jute.PathReply{}))
			time.Sleep(500 * time.Millisecond)
		}
		require.False(t, b.exists("/lock"), "the leader has given it away long ago")

		require.True(t, a.closed(), "at last the follower gives up")
		require.Equal(t, 10*time.Second, time.Since(cut))
		_, answered := a.resume(s, 1)
		require.False(t, answered)
		s.Member(1).CutLeader(false)
		again, answered := a.resume(s, 1)
		require.True(t, answered)
		require.Zero(t, again.id(), "expired")
		c := openAt(t, s, 1, 4*time.Second)
		require.False(t, c.exists("/lock"), "it has caught up")
	})
}

func TestWriteWaitsWhileTheFollowerIsCutOff(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := three(t)
		a := openAt(t, s, 1, 10*time.Second)
		s.Member(1).SyncWaits(true)
		s.Member(1).CutLeader(true)
		start := time.Now()
		time.AfterFunc(2*time.Second, func() { s.Member(1).CutLeader(false) })
		a.create("/a", 0)
		require.Equal(t, 2*time.Second, time.Since(start))

		s.Member(1).CutLeader(true)
		time.AfterFunc(2*time.Second, func() { s.Member(1).CutLeader(false) })
		require.Equal(t, jute.OK, a.do(jute.OpSync, at("/"), &jute.PathReply{}))
		require.Equal(t, 4*time.Second, time.Since(start), "as a real follower's does")
	})
}

// The leader's clock of a session moves when the follower answers its ping,
// and by nothing else: not by the requests themselves, forwarded or not.
func TestForwardedWriteDoesNotMoveTheLeadersClock(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := zktest.Start(t, zktest.WithInMemory(), zktest.WithFollowers(1), zktest.WithTick(time.Second), zktest.WithSyncLimit(20))
		a := openAt(t, s, 1, 4*time.Second)
		a.create("/lock", jute.ModeEphemeral)
		a.ping()
		time.Sleep(time.Second)
		// From now on the follower hears nothing of the leader, and so is
		// never asked; what it forwards arrives.
		s.Member(1).StallLeader(zktest.ToClient)
		last := time.Now()
		for time.Since(last) < 6*time.Second {
			a.send(jute.OpMulti, &jute.MultiRequest{Ops: []jute.MultiOp{op(jute.OpCheck, version("/", -1))}})
			time.Sleep(100 * time.Millisecond)
		}
		_, there := s.Get("/lock")
		require.False(t, there, "60 writes reached the leader meanwhile")
	})
}

func TestPingReplyOfTheFollowerMovesTheLeadersClock(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := zktest.Start(t, zktest.WithInMemory(), zktest.WithFollowers(1), zktest.WithTick(time.Second))
		a := openAt(t, s, 1, 4*time.Second)
		for range 10 {
			time.Sleep(3 * time.Second)
			a.ping()
		}
		require.Len(t, s.Sessions(), 1)

		// The last ping was reported at the leader's next one, and it is from
		// there that the timeout counts, up to the end of a tick.
		start := time.Now()
		require.True(t, a.closed())
		require.Greater(t, time.Since(start), 4*time.Second)
		require.LessOrEqual(t, time.Since(start), 5500*time.Millisecond)
	})
}

func TestOldConnectionOfAMovedSessionCannotWrite(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := three(t)
		a := openAt(t, s, 1, 10*time.Second)
		b, answered := a.resume(s, 2)
		require.True(t, answered)
		require.Equal(t, a.id(), b.id())
		require.True(t, a.exists("/"), "the old server does not know")
		a.send(jute.OpCreate, createBody("/late", 0))
		require.True(t, a.closed(), "session moved: the connection is closed without a word")
		require.False(t, b.exists("/late"))
		b.create("/b", 0)
	})
}

func TestLeaderSeesThatASessionHasMovedEvenInReads(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := three(t)
		a := openAt(t, s, 0, 10*time.Second)
		_, answered := a.resume(s, 1)
		require.True(t, answered)
		a.send(jute.OpPing, &jute.Empty{})
		require.True(t, a.closed())
	})
}

func TestLateRequestOfAMovedSessionIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := three(t)
		a := openAt(t, s, 1, 10*time.Second)
		s.Stall(a.id(), zktest.ToServer)
		a.send(jute.OpCreate, createBody("/late", 0))
		b, answered := a.resume(s, 2)
		require.True(t, answered)
		b.renew()
		s.Restore(a.id())
		require.True(t, a.closed())
		require.False(t, b.exists("/late"))
	})
}

func TestDeposedLeaderAnswersReadsAndSyncsUntilItNotices(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := three(t)
		old := openAt(t, s, 0, 4*time.Second)
		follower := openAt(t, s, 1, 20*time.Second)
		old.create("/lock", jute.ModeEphemeral)
		s.Depose(2)
		deposed := time.Now()
		require.True(t, follower.closed(), "servers that look for a leader serve nobody")
		next := openAt(t, s, 2, 20*time.Second)
		require.True(t, next.exists("/lock"))
		next.create("/new", 0)
		require.EqualValues(t, 2, next.zxid>>32, "a new epoch")

		require.Equal(t, jute.OK, old.do(jute.OpSync, at("/"), &jute.PathReply{}))
		require.False(t, old.exists("/new"))
		old.ping()
		time.Sleep(4900 * time.Millisecond)
		require.True(t, old.exists("/lock"))
		old.send(jute.OpSetData, &jute.SetDataRequest{Path: "/lock", Data: []byte("never"), Version: -1})
		require.True(t, old.closed())
		require.Equal(t, 5*time.Second, time.Since(deposed))

		// The new leader gave the session its full timeout again.
		again, answered := old.resume(s, 0)
		require.True(t, answered)
		require.Zero(t, again.id())
		_, there := s.Get("/lock")
		require.False(t, there)
		c := openAt(t, s, 0, 10*time.Second)
		require.True(t, c.exists("/new"), "it follows now")
		c.create("/c", 0)
		require.True(t, next.exists("/c"))
	})
}

func TestNewLeaderRestartsTheClocks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := three(t)
		openAt(t, s, 1, 4*time.Second)
		time.Sleep(3500 * time.Millisecond)
		s.Depose(1)
		time.Sleep(3900 * time.Millisecond)
		require.Len(t, s.Sessions(), 1)
		time.Sleep(1200 * time.Millisecond)
		require.Empty(t, s.Sessions())
	})
}

func TestRestartedEnsembleKeepsWhatWasCommitted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := three(t)
		a := openAt(t, s, 0, 10*time.Second)
		s.Member(1).SetLag(time.Minute)
		a.create("/a", jute.ModeEphemeral)
		require.NoError(t, s.Restart())
		s.Member(1).SetLag(0)
		b, answered := a.resume(s, 1)
		require.True(t, answered)
		require.Equal(t, a.id(), b.id())
		require.True(t, b.exists("/a"))
		require.EqualValues(t, 2, b.zxid>>32)
	})
}

func TestSetCreateCounterReachesFollowers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := three(t)
		c := openAt(t, s, 1, 10*time.Second)
		c.create("/d", 0)
		require.NoError(t, s.SetCreateCounter("/d", 100))
		require.Equal(t, "/d/0000000100", c.create("/d/", jute.ModeSequential))
		s.Depose(2)
		d, answered := c.resume(s, 1)
		require.True(t, answered)
		require.Equal(t, "/d/0000000101", d.create("/d/", jute.ModeSequential))
	})
}

func TestOneHungServerOfThree(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := three(t)
		s.Member(1).Hang(true)
		conn := dial(t, s, 1)
		_, err := conn.Write(jute.AppendFrame(nil, &jute.ConnectRequest{TimeoutMillis: 5000}))
		require.NoError(t, err)
		_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second))
		_, err = conn.Read(make([]byte, 1))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		openAt(t, s, 2, 5*time.Second).create("/a", 0)
		s.Member(1).Hang(false)
		require.True(t, openAt(t, s, 1, 5*time.Second).exists("/a"))
	})
}

func TestMemberGivesUpWhenOneDirectionIsSilentForTheSyncLimit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := three(t)
		c := openAt(t, s, 1, 20*time.Second)
		start := time.Now()
		s.Member(1).StallLeader(zktest.ToClient)
		time.Sleep(3 * time.Second)
		s.Member(1).StallLeader(zktest.BothWays)
		require.True(t, c.closed())
		require.Equal(t, 5*time.Second, time.Since(start))
	})
}

func TestRestartJoinsFollowersAgainForGood(t *testing.T) {
	faults := map[string]func(*zktest.Server){
		"follower cut off": func(s *zktest.Server) { s.Member(1).CutLeader(true) },
		"leader deposed":   func(s *zktest.Server) { s.Depose(2) },
	}
	restarts := map[string]func(*zktest.Server) error{
		"restart": (*zktest.Server).Restart,
		"wipe":    (*zktest.Server).Wipe,
		"down, and up later": func(s *zktest.Server) error {
			s.Down()
			time.Sleep(time.Second)
			return s.Up()
		},
	}
	for what, fault := range faults {
		for how, restart := range restarts {
			t.Run(what+", "+how, func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					s := three(t)
					fault(s)
					require.NoError(t, restart(s))
					for i := range 3 {
						c := openAt(t, s, i, 20*time.Second)
						defer c.renew() // on the connection it has had all the while
					}
					time.Sleep(8 * time.Second) // past the sync limit
				})
			})
		}
	}
}

func TestNothingHappensWhileTheServersAreDown(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := three(t)
		a := openAt(t, s, 1, 10*time.Second)
		s.Member(1).CutLeader(true)
		a.send(jute.OpCreate, createBody("/late", 0))
		synctest.Wait()
		s.Down()
		s.Member(1).CutLeader(false)
		time.Sleep(time.Minute)
		_, there := s.Get("/late")
		require.False(t, there, "what was on its way to the leader is lost with it")
		require.Equal(t, 10*time.Second, s.Sessions()[0].ExpiresIn, "no clock moves")
		require.NoError(t, s.Up())
	})
}
