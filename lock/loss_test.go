package lock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// How a holder learns that it holds no more.

// CURATOR-206, samuel/go-zookeeper#20, docker/libkv PR#156, kazoo#2, etcd#10811
func TestHolderIsToldThatItsSessionEnded(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := join(t, srv), join(t, srv)
		la := a.hold()
		ctx := la.Context(t.Context())
		next := b.wait()

		srv.ExpireSession(a.session())
		lb := granted(t, next, time.Second)
		ended(t, la, 2*time.Second)
		require.ErrorIs(t, la.Err(), recipes.ErrLost)
		require.ErrorIs(t, la.Err(), recipes.ErrSessionExpired)
		require.Zero(t, la.Remaining())
		<-ctx.Done()

		require.ErrorIs(t, la.Release(t.Context()), recipes.ErrLost)
		require.NoError(t, lb.Verify(t.Context()), "the late release touched the next holder")
		require.Greater(t, lb.Token(), la.Token())
		release(t, lb)
		require.Empty(t, contenders(srv))
	})
}

// CURATOR-206: cut for longer than T. ZOOKEEPER-4508, hashicorp/consul#18271,
// alexguan/node-zookeeper-client#20, zk-ruby/zk#91: noticed by the holder's own
// clock, without a packet.
func TestHolderThatIsCutOffEndsBeforeTheNextOneBegins(t *testing.T) {
	const expiry = T + 2*tick
	for _, how := range []struct {
		name   string
		cutOff func(*zktest.Cable)
		within time.Duration // the next one has the lock
	}{
		{"packets vanish", func(c *zktest.Cable) { c.Blackhole(zktest.BothWays) }, expiry},
		{"packets wait", func(c *zktest.Cable) { c.Stall(zktest.BothWays) }, expiry},
		{"requests vanish", func(c *zktest.Cable) { c.Blackhole(zktest.ToServer) }, expiry},
		{"connections are refused", func(c *zktest.Cable) { c.Refuse(true); c.Cut() }, expiry},
		// Asking for the session keeps it alive, until the client gives it up.
		{"replies vanish", func(c *zktest.Cable) { c.Blackhole(zktest.ToClient) }, 5*T + expiry},
		{"replies wait", func(c *zktest.Cable) { c.Stall(zktest.ToClient) }, 5*T + expiry},
	} {
		t.Run(how.name, func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				a, b := join(t, srv), join(t, srv)
				la := a.hold()
				next := b.wait()
				time.Sleep(3*T + T/7) // renewals have set in

				how.cutOff(a.cable)
				promised := time.Now().Add(la.Remaining())
				ended(t, la, T)
				require.False(t, time.Now().After(promised), "nothing has extended it")
				require.ErrorIs(t, la.Err(), recipes.ErrLost)
				zkrtest.Pending(t, next)

				lb := granted(t, next, how.within)
				require.True(t, time.Now().After(promised))
				release(t, lb)

				a.cable.Restore()
				a.cable.Refuse(false)
				again := granted(t, a.lock(soon(t, 2*T)), 2*T)
				require.Greater(t, again.Token(), lb.Token())
				release(t, again)
				require.Empty(t, contenders(srv))
			})
		})
	}
}

// samuel/go-zookeeper#153, PR#126, CURATOR-36: session events are dropped where
// nobody takes them.
func TestLossIsNoticedAfterABurstOfReconnects(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		slow := recipes.WithTrace(recipes.Trace{SessionState: func(recipes.SessionEvent) { time.Sleep(time.Second) }})
		a, b := join(t, srv, slow), join(t, srv)
		la := a.hold()
		next := b.wait()
		for range 10 {
			srv.Cut(a.session())
			for !srv.Sessions()[0].Connected {
				time.Sleep(time.Millisecond)
			}
		}
		require.NoError(t, la.Err())
		srv.ExpireSession(a.session())
		lb := granted(t, next, time.Second)
		time.Sleep(2 * time.Second) // to connect, and be told; no callback has got so far
		require.ErrorIs(t, la.Err(), recipes.ErrSessionExpired)
		release(t, lb)
	})
}

// CURATOR-696, apache/druid#16411, CURATOR-498: a znode is ours only if its owner
// is our session.
func TestZnodeOfTheOldSessionIsNotTakenForOnesOwn(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := join(t, srv), join(t, srv)
		la := a.hold()
		old := la.Node()
		synctest.Wait()

		// The client gets a new session while the old one lives on at the server.
		srv.On(zktest.Match{Session: a.session()}).NewSession()
		srv.Cut(a.session())
		ended(t, la, T)
		require.ErrorIs(t, la.Err(), recipes.ErrLost)
		require.Contains(t, contenders(srv), old[len(path)+1:], "the old znode is still there")

		again := a.wait()
		next := b.wait()
		la = granted(t, again, T+2*tick)
		require.NotEqual(t, old, la.Node())
		zkrtest.Pending(t, next)
		release(t, la)
		release(t, granted(t, next, time.Second))
	})
}

// As above, after an outage: the servers come back with the old session, which
// the client has given up.
func TestZnodeOfASessionThatWasGivenUpIsNotTakenForOnesOwn(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := join(t, srv), join(t, srv)
		la := a.hold()
		old, id := la.Node(), a.session()
		again := a.lock(t.Context())
		srv.Down()
		time.Sleep(6 * T)
		require.ErrorIs(t, la.Err(), recipes.ErrLost)
		require.NoError(t, srv.Up())
		time.Sleep(2 * time.Second)
		require.NotEqual(t, id, a.session())
		require.Contains(t, contenders(srv), old[len(path)+1:], "the old znode is still there")
		next := b.wait()
		zkrtest.Pending(t, again, next)
		lb := granted(t, again, T+2*tick)
		requireOurs(t, srv, lb)
		zkrtest.Pending(t, next)
		release(t, lb)
		release(t, granted(t, next, 0))
	})
}

// ClickHouse#116690: a new session without a word that the old one is over.
func TestAnotherSessionIdIsTheEndOfTheLease(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a := join(t, srv)
		la := a.hold()
		id := a.session()
		srv.On(zktest.Match{Session: id}).NewSession()
		srv.ExpireSession(id)
		ended(t, la, 2*time.Second)
		require.ErrorIs(t, la.Err(), recipes.ErrSessionExpired)
		require.NotEqual(t, id, a.session())
		release(t, a.hold())
	})
}

// CURATOR-171, spring-integration#9398, accumulo#1086
func TestHolderIsToldThatItsZnodeWasDeleted(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := join(t, srv), join(t, srv)
		la := a.hold()
		next := b.wait()
		time.Sleep(time.Second) // short sections pay for no watch

		require.NoError(t, srv.Delete(la.Node()))
		synctest.Wait()
		require.ErrorIs(t, la.Err(), recipes.ErrLost)
		lb := granted(t, next, 0)
		require.ErrorIs(t, la.Release(t.Context()), recipes.ErrLost)
		require.NoError(t, lb.Err())
		release(t, lb)
	})
}

// As above, right after the grant: the read that arms the watch sees it.
func TestHolderIsToldThatItsZnodeWasDeletedBeforeTheWatch(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a := join(t, srv)
		la := a.hold()
		require.NoError(t, srv.Delete(la.Node()))
		ended(t, la, T/8)
		require.ErrorIs(t, la.Err(), recipes.ErrLost)
	})
}

// As above, while the connection is down.
func TestHolderIsToldThatItsZnodeWasDeletedMeanwhile(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a := join(t, srv)
		la := a.hold()
		time.Sleep(T)
		a.cable.Refuse(true)
		a.cable.Cut()
		require.NoError(t, srv.Delete(la.Node()))
		time.Sleep(T / 10)
		require.NoError(t, la.Err())
		a.cable.Refuse(false)
		ended(t, la, 2*time.Second)
		require.ErrorIs(t, la.Err(), recipes.ErrLost)
	})
}

// The directory goes with everything in it; everybody queues anew.
func TestDirectoryDeletedUnderHolderAndWaiters(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, c := join(t, srv), join(t, srv), join(t, srv)
		la := a.hold()
		nb, nc := b.wait(), c.wait()
		time.Sleep(T)
		require.NoError(t, srv.DeleteAll("/locks"))
		ended(t, la, 0)
		require.Len(t, contenders(srv), 2)
		if len(nb) == 0 {
			nb, nc = nc, nb // the order is a new one
		}
		first := granted(t, nb, 0)
		require.Greater(t, first.Token(), la.Token())
		zkrtest.Pending(t, nc)
		release(t, first)
		second := granted(t, nc, 0)
		require.Greater(t, second.Token(), first.Token())
		release(t, second)
	})
}

// CURATOR-537, CURATOR-637: a token is that of a term that was held.
func TestTokenIsThatOfTheGrantAlsoAfterItsEnd(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := join(t, srv), join(t, srv)
		la := a.hold()
		token := la.Token()
		next := b.wait()
		srv.ExpireSession(a.session())
		lb := granted(t, next, time.Second)
		again := a.wait()
		require.Equal(t, token, la.Token())
		require.ErrorIs(t, la.Err(), recipes.ErrLost)
		release(t, lb)
		require.Greater(t, granted(t, again, time.Second).Token(), lb.Token())
	})
}

// CURATOR-396, gbif/pipelines#1164, vertx-zookeeper#33: a holder that dies keeps
// the others waiting for T and a tick, once.
func TestHolderThatDiesIsFollowedOnce(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := join(t, srv), join(t, srv)
		la := a.hold()
		next := b.wait()
		time.Sleep(T)
		a.cable.Blackhole(zktest.BothWays) // as if the process were gone
		died := time.Now()
		time.Sleep(T / 2)
		again := join(t, srv).wait() // started anew
		lb := granted(t, next, T)
		require.LessOrEqual(t, time.Since(died), T+2*tick)
		require.ErrorIs(t, la.Err(), recipes.ErrLost)
		zkrtest.Pending(t, again)
		release(t, lb)
		release(t, granted(t, again, 0))
	})
}

// kazoo#42, samuel PR#38, aiozk PR#28, mage#108: servers that have lost their
// data turn clients away without a word.
func TestServersThatLostTheirData(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a := join(t, srv)
		la := a.hold()
		for range 1000 {
			require.NoError(t, srv.SetData("/locks", nil))
		}
		time.Sleep(T)
		require.NoError(t, srv.Wipe())
		ended(t, la, T)
		require.ErrorIs(t, la.Err(), recipes.ErrLost)

		start := time.Now()
		err := failed(t, a.lock(soon(t, 2*time.Second)), T)
		require.ErrorContains(t, err, "deadline exceeded")
		require.Equal(t, 2*time.Second, time.Since(start))

		release(t, join(t, srv).hold())

		// The old client recovers too: it gives up a session that no server takes
		// back.
		release(t, granted(t, a.lock(t.Context()), 10*T))
	})
}

// FLINK-10052, consul#1162: a blink of the connection takes no lock away.
func TestLeaseHoldsOverABlinkOfTheConnection(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := join(t, srv), join(t, srv)
		la := a.hold()
		next := b.wait()
		time.Sleep(T)
		for range 20 {
			a.cable.Refuse(true)
			a.cable.Cut()
			synctest.Wait()
			state, changed := la.State()
			require.Equal(t, recipes.Suspended, state)
			time.Sleep(T / 8)
			a.cable.Refuse(false)
			<-changed
			state, _ = la.State()
			require.Equal(t, recipes.Connected, state)
			time.Sleep(T / 2)
			require.NoError(t, la.Err())
		}
		require.NoError(t, la.Verify(t.Context()))
		zkrtest.Pending(t, next)
		release(t, la)
		release(t, granted(t, next, 0))
	})
}

// The stricter policy of those who want it.
func TestStopOnSuspendEndsTheLeaseAtOnce(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a := join(t, srv, recipes.WithStopOnSuspend())
		la := a.hold()
		time.Sleep(T)
		srv.Cut(a.session())
		ended(t, la, 0)
		require.ErrorIs(t, la.Err(), recipes.ErrLost)
		time.Sleep(2 * time.Second)
		require.Empty(t, contenders(srv), "its znode is deleted when there is a connection again")
	})
}

// vitess PR#11794: the context of the acquire has no bearing on the lease.
func TestLeaseOutlivesTheContextOfItsAcquire(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := join(t, srv), join(t, srv)
		got := outcome(t, a.lock(soon(t, time.Second)), 0)
		require.NoError(t, got.Err)
		la := got.Val
		next := b.wait()
		time.Sleep(10 * T)
		require.NoError(t, la.Err())
		require.GreaterOrEqual(t, la.Remaining(), T/4, "still renewed")
		zkrtest.Pending(t, next)
		srv.ExpireSession(a.session())
		ended(t, la, 2*time.Second) // still monitored
		release(t, granted(t, next, 0))
	})
}

// Restarted servers give every session its full time again.
func TestServersThatWereDownForLong(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := join(t, srv), join(t, srv)
		la := a.hold()
		next := b.wait()
		time.Sleep(T)
		srv.Down()
		ended(t, la, T)
		time.Sleep(3 * T)
		require.NoError(t, srv.Up())
		lb := granted(t, next, T+2*tick)
		require.ErrorIs(t, la.Release(t.Context()), recipes.ErrLost)
		release(t, lb)
		require.Empty(t, contenders(srv))
	})
}

// A strict grant is there after its proof only, however long that takes.
func TestStrictGrantWaitsForItsProof(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a := join(t, srv, recipes.WithStrictGrant())
		release(t, a.hold())
		time.Sleep(3 * T) // of an idle session nothing is proven
		late := srv.On(zktest.Match{Op: zktest.OpMulti, Session: a.session(), Skip: 1}).DelayReply(T / 7)
		start := time.Now()
		la := a.hold()
		require.NotZero(t, late.Hits())
		require.GreaterOrEqual(t, time.Since(start), T/7)
		require.GreaterOrEqual(t, la.Remaining(), T/4)
		time.Sleep(5 * time.Second)
		require.NoError(t, la.Verify(t.Context()))
		release(t, la)
	})
}

// By default the first grant of an idle session comes at once, and is over soon
// unless it is proven.
func TestFirstGrantOfAnIdleSessionIsShortUntilItsProof(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a := join(t, srv, recipes.WithPersistentParents())
		release(t, a.hold())
		time.Sleep(3 * T)
		la := a.hold()
		require.Equal(t, T/8, la.Remaining())
		time.Sleep(time.Second)
		require.GreaterOrEqual(t, la.Remaining(), T/4)
		release(t, la)

		time.Sleep(3 * T)
		lb := a.hold()
		srv.Freeze()
		ended(t, lb, T/8)
		require.ErrorIs(t, lb.Err(), recipes.ErrLost)
		srv.Thaw()
	})
}
