package lock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// No call leaves a znode that nobody owns.

// creation matches the creation of a contender, alone or in a transaction.
const creation = path + "/_c_*-lock-"

// both runs a test with contenders made by a plain create, as by a client that
// has not seen the directory yet, and by the transaction that tells more.
func both(t *testing.T, test func(t *testing.T, srv *zktest.Server, a *party)) {
	bothAt(t, 0, func(*zktest.Server) {}, test)
}

// bothAt is both for a server with followers, which are prepared first.
func bothAt(t *testing.T, followers int, prepare func(*zktest.Server), test func(t *testing.T, srv *zktest.Server, a *party)) {
	t.Run("create", func(t *testing.T) {
		zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
			prepare(srv)
			require.NoError(t, srv.Create("/locks", nil))
			require.NoError(t, srv.Create(path, nil))
			test(t, srv, join(t, srv))
		}, zktest.WithFollowers(followers))
	})
	t.Run("transaction", func(t *testing.T) {
		zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
			prepare(srv)
			a := join(t, srv)
			release(t, a.hold())
			release(t, a.hold())
			test(t, srv, a)
		}, zktest.WithFollowers(followers))
	})
}

// samuel/go-zookeeper#229, PR#237, Netflix/curator#3, CURATOR-45, otter#1926,
// accumulo#637
func TestCreateWhoseReplyIsLostIsFoundAgain(t *testing.T) {
	both(t, func(t *testing.T, srv *zktest.Server, a *party) {
		b := join(t, srv)
		srv.On(zktest.Match{Path: creation}).DropReply()
		la := granted(t, a.lock(t.Context()), T)
		require.Len(t, contenders(srv), 1)
		next := b.wait()
		release(t, la)
		release(t, granted(t, next, 0))
		require.Empty(t, contenders(srv))
	})
}

// As above, where the caller gives up before the client can look for it.
func TestCreateWhoseReplyIsLostIsDeletedWhenNobodyWaitsForIt(t *testing.T) {
	both(t, func(t *testing.T, srv *zktest.Server, a *party) {
		b := join(t, srv)
		srv.On(zktest.Match{Path: creation}).DropReply()
		srv.On(zktest.Match{Op: zktest.OpCreateSession, Session: a.session()}).Times(2).DropBeforeCommit()
		start := time.Now()
		err := failed(t, a.lock(soon(t, time.Second)), T)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(start))
		require.Len(t, contenders(srv), 1, "a ghost, for now")
		release(t, granted(t, b.lock(t.Context()), T/2))
		require.Empty(t, contenders(srv))
	})
}

// As above, with the lookup failing many times over.
func TestCreateWhoseReplyIsLostIsDeletedHoweverLongTheLookupFails(t *testing.T) {
	both(t, func(t *testing.T, srv *zktest.Server, a *party) {
		b := join(t, srv)
		srv.On(zktest.Match{Path: creation}).DropReply()
		lookup := zktest.Match{Op: zktest.OpGetChildren2, Session: a.session()}
		srv.On(lookup).Times(3).DropBeforeCommit()
		srv.On(lookup).Times(3).DropReply()
		srv.On(lookup).Times(3).Error(zktest.Throttled)
		err := failed(t, a.lock(soon(t, time.Second)), T)
		require.Error(t, err)
		release(t, granted(t, b.lock(t.Context()), 6*T))
		require.Empty(t, contenders(srv))
	})
}

// As above, with the lookup at a server that does not know of the znode yet.
func TestCreateIsNotBelievedLostWhereAServerLags(t *testing.T) {
	lag := func(srv *zktest.Server) {
		_ = srv.Member(1).Refuse(true)
		srv.Member(1).SetLag(time.Second)
	}
	bothAt(t, 1, lag, func(t *testing.T, srv *zktest.Server, a *party) {
		lost := srv.On(zktest.Match{Path: creation}).DropReply()
		require.NoError(t, srv.Member(0).Refuse(true)) // from now on
		require.NoError(t, srv.Member(1).Refuse(false))
		waiting := a.lock(t.Context())
		<-lost.Hit()
		l := granted(t, waiting, T/2)
		require.Equal(t, srv.Addrs()[1], l.Session().Server())
		require.Equal(t, []string{l.Node()[len(path)+1:]}, contenders(srv))
		require.NoError(t, l.Release(t.Context()))
		require.Empty(t, contenders(srv))
	})
}

// CURATOR-498: the recovered znode must be the session's own.
func TestCreateWhoseReplyAndSessionAreLostIsMadeAnew(t *testing.T) {
	both(t, func(t *testing.T, srv *zktest.Server, a *party) {
		id := a.session()
		lost := srv.On(zktest.Match{Path: creation}).DropReply()
		srv.On(zktest.Match{Session: id, Op: zktest.OpCreateSession}).NewSession()
		waiting := a.lock(t.Context())
		<-lost.Hit()
		synctest.Wait()
		require.Len(t, srv.Children(path), 2, "the old session's znode lives on")
		la := granted(t, waiting, T+2*tick)
		require.NotEqual(t, id, la.Session().ID())
		z, ok := srv.Get(la.Node())
		require.True(t, ok)
		require.Equal(t, la.Session().ID(), z.Stat.EphemeralOwner)
		release(t, la)
	})
}

// CURATOR-79, CURATOR-62, zk-ruby/zk#51
func TestCancelWhileTheCreateIsUnderWay(t *testing.T) {
	for name, keep := range map[string]func(*zktest.Hook) *zktest.Hook{
		"before it is executed": func(h *zktest.Hook) *zktest.Hook { return h.Delay(time.Second) },
		"after it was executed": func(h *zktest.Hook) *zktest.Hook { return h.DelayReply(time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, srv *zktest.Server, a *party) {
				b := join(t, srv)
				kept := keep(srv.On(zktest.Match{Path: creation}))
				ctx, cancel := context.WithCancel(t.Context())
				waiting := a.lock(ctx)
				<-kept.Hit()
				synctest.Wait()
				cancel()
				require.ErrorIs(t, failed(t, waiting, 0), context.Canceled)
				release(t, granted(t, b.lock(t.Context()), time.Second))
				time.Sleep(time.Second)
				require.Empty(t, contenders(srv))
			})
		})
	}
}

// vitess#15756: cleanup under the context that has ended.
func TestWaiterThatGivesUpLeavesTheQueue(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, c := join(t, srv), join(t, srv), join(t, srv)
		la := a.hold()
		start := time.Now()
		waiting := b.lock(soon(t, 200*time.Millisecond))
		zkrtest.Pending(t, waiting)
		last := c.wait()
		err := failed(t, waiting, T)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 200*time.Millisecond, time.Since(start))
		var wait *recipes.WaitError
		require.ErrorAs(t, err, &wait)
		require.Equal(t, la.Node(), wait.Behind)
		require.Len(t, contenders(srv), 2)
		release(t, la)
		release(t, granted(t, last, 0))
	})
}

// CURATOR-335, CURATOR-315, etcd#21128; go-zookeeper's Lock leaves its znode
// whatever error the listing has.
func TestFailureAfterTheCreateLeavesNoZnode(t *testing.T) {
	for name, fail := range map[string]func(*zktest.Hook) *zktest.Hook{
		"request lost": (*zktest.Hook).DropBeforeCommit,
		"reply lost":   (*zktest.Hook).DropReply,
		"throttled":    func(h *zktest.Hook) *zktest.Hook { return h.Error(zktest.Throttled) },
		"system error": func(h *zktest.Hook) *zktest.Hook { return h.Error(zktest.SystemError) },
		"no auth":      func(h *zktest.Hook) *zktest.Hook { return h.Error(zktest.NoAuth) },
	} {
		for op, at := range map[zktest.Op]string{zktest.OpGetChildren2: path, zktest.OpGetData: path + "/*"} {
			t.Run(name+" at "+op.String(), func(t *testing.T) {
				zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
					a, b := join(t, srv), join(t, srv)
					la := a.hold()
					for range 20 {
						fail(srv.On(zktest.Match{Op: op, Session: b.session(), Path: at}))
						waiting := b.lock(soon(t, 3*time.Second))
						err := failed(t, waiting, 3*time.Second)
						require.Error(t, err)
						time.Sleep(2 * time.Second)
						require.Len(t, contenders(srv), 1)
					}
					release(t, la)
					release(t, granted(t, b.lock(t.Context()), time.Second))
					require.Empty(t, contenders(srv))
				})
			})
		}
	}
}

// CURATOR-678, CURATOR-486, etcd#22123, Netflix/curator#24
func TestReleaseInAnOutageIsMadeGoodLater(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := join(t, srv), join(t, srv)
		la := a.hold()
		next := b.wait()
		a.cable.Refuse(true)
		a.cable.Cut()
		start := time.Now()
		err := la.Release(soon(t, 500*time.Millisecond))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 500*time.Millisecond, time.Since(start))
		require.ErrorIs(t, la.Err(), recipes.ErrReleased, "it holds no more, whatever became of the znode")
		zkrtest.Pending(t, next)
		time.Sleep(time.Second)
		a.cable.Refuse(false)
		lb := granted(t, next, 2*time.Second)
		require.NoError(t, la.Release(t.Context()), "now it is done")
		release(t, lb)
		release(t, granted(t, a.lock(t.Context()), 0))
		require.Empty(t, contenders(srv))
	})
}

// As above, with a context that has ended before.
func TestReleaseStartsOnADeadContext(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a := join(t, srv)
		la := a.hold()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		srv.On(zktest.Match{Op: zktest.OpDelete}).Delay(time.Second) // or it might be done before it is asked for
		require.ErrorIs(t, la.Release(ctx), context.Canceled)
		time.Sleep(time.Second)
		require.Empty(t, contenders(srv))
		require.NoError(t, la.Release(t.Context()))
	})
}

// A delete whose reply is lost has succeeded.
func TestReleaseWhoseReplyIsLostSucceeds(t *testing.T) {
	for name, fail := range map[string]func(*zktest.Hook) *zktest.Hook{
		"request lost": (*zktest.Hook).DropBeforeCommit,
		"reply lost":   (*zktest.Hook).DropReply,
		"throttled":    func(h *zktest.Hook) *zktest.Hook { return h.Error(zktest.Throttled) },
	} {
		t.Run(name, func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				a := join(t, srv)
				la := a.hold()
				fail(srv.On(zktest.Match{Op: zktest.OpDelete, Path: la.Node()}))
				require.NoError(t, la.Release(t.Context()))
				require.Empty(t, contenders(srv))
			})
		})
	}
}

// kazoo PR#170, kazoo#116, #282, zk-ruby/zk#54, synapse PR#287, etcd#14641: the
// lock becomes free while the waiter is cut off.
func TestWaiterThatWasCutOffSeesWhatItMissed(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := joinAt(t, srv, srv.Addrs()[2]), join(t, srv)
		la := a.hold()
		next := b.wait()
		id, server := b.session(), zkrtest.Session(t, b.c).Server()
		b.cable.Refuse(true)
		b.cable.Cut()
		release(t, la)
		time.Sleep(T / 2)
		zkrtest.Pending(t, next)
		require.Len(t, contenders(srv), 1)
		srv.OnEvent(zktest.EventMatch{Session: id}).Optional().Suppress() // whatever watch was restored
		for i, addr := range srv.Addrs() {
			require.NoError(t, srv.Member(i).Refuse(addr == server)) // and at another server
		}
		b.cable.Refuse(false)
		lb := granted(t, next, 1100*time.Millisecond) // the client library pauses for a second
		require.Equal(t, id, lb.Session().ID())
		require.NotEqual(t, server, lb.Session().Server())
		require.Equal(t, []string{lb.Node()[len(path)+1:]}, contenders(srv))
		release(t, lb)
	}, zktest.WithFollowers(2))
}

// go-zookeeper PR#34, ZOOKEEPER-4655, kazoo#305, CURATOR-527, CURATOR-641: the
// event never comes.
func TestWaiterWhoseEventIsLostLooksAgain(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := join(t, srv), join(t, srv)
		la := a.hold()
		next := b.wait()
		srv.OnEvent(zktest.EventMatch{Session: b.session()}).Suppress()
		release(t, la)
		zkrtest.Pending(t, next)
		release(t, granted(t, next, T))
	})
}

// CURATOR-18, CURATOR-3, Netflix/curator#265: closed in the window.
func TestCloseWhileTheCreateIsUnderWay(t *testing.T) {
	for name, test := range map[string]struct {
		keep func(*zktest.Hook) *zktest.Hook
		gone time.Duration
	}{
		"before it is executed": {func(h *zktest.Hook) *zktest.Hook { return h.Delay(100 * time.Millisecond) }, time.Second},
		"after it was executed": {func(h *zktest.Hook) *zktest.Hook { return h.DelayReply(100 * time.Millisecond) }, time.Second},
		"reply lost":            {(*zktest.Hook).DropReply, T + 2*tick}, // with its session
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, srv *zktest.Server, a *party) {
				kept := test.keep(srv.On(zktest.Match{Path: creation}))
				a.cable.Refuse(true) // whoever reconnects at once finds its znode, and holds before it is closed
				waiting := a.lock(t.Context())
				<-kept.Hit()
				a.c.Close()
				require.ErrorIs(t, failed(t, waiting, 0), recipes.ErrClosed)
				time.Sleep(test.gone)
				require.Empty(t, contenders(srv))
				require.Empty(t, srv.Sessions())
			})
		})
	}
}

// kazoo#54, Netflix/curator#10: cancelled while suspended.
func TestCancelWhileTheConnectionIsDown(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := join(t, srv), join(t, srv)
		la := a.hold()
		ctx, cancel := context.WithCancel(t.Context())
		waiting := b.lock(ctx)
		synctest.Wait()
		b.cable.Refuse(true)
		b.cable.Cut()
		synctest.Wait()
		cancel()
		require.ErrorIs(t, failed(t, waiting, 0), context.Canceled)
		time.Sleep(T / 2)
		require.Len(t, contenders(srv), 2)
		b.cable.Refuse(false)
		time.Sleep(1100 * time.Millisecond)
		require.Len(t, contenders(srv), 1)
		release(t, la)
	})
}

// CURATOR-190, CURATOR-483: one znode each, of constant length.
func TestWaiterHasOneZnodeOverManySessions(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := join(t, srv), join(t, srv)
		la := a.hold()
		next := b.wait()
		seen := map[string]bool{}
		for range 5 {
			names := contenders(srv)
			require.Len(t, names, 2)
			for _, n := range names {
				require.Len(t, n, len(la.Node())-len(path)-1)
				seen[n] = true
			}
			srv.ExpireSession(b.session())
			time.Sleep(2 * time.Second)
		}
		require.Len(t, seen, 6)
		release(t, la)
		release(t, granted(t, next, 0))
	})
}

// CURATOR-41, CURATOR-665: the cleanup's error does not hide the reason.
func TestContextErrorIsSeenThoughTheCleanupFails(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := join(t, srv), join(t, srv)
		la := a.hold()
		srv.On(zktest.Match{Op: zktest.OpDelete, Session: b.session()}).Error(zktest.NoAuth)
		err := failed(t, b.lock(soon(t, time.Second)), T)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NotErrorIs(t, err, recipes.ErrNoAuth)
		synctest.Wait() // the cleanup, behind the answer's back, has met its refusal
		require.ErrorIs(t, func() error { _, err := b.TryLock(t.Context()); return err }(), lock.ErrLocked)
		release(t, la)
	})
}
