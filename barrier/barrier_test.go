package barrier_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/barrier"
	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// party is a client with a cable of its own and the barrier at path.
type party struct {
	*barrier.Barrier
	t     testing.TB
	c     *recipes.Client
	cable *zktest.Cable
}

func join(t testing.TB, srv *zktest.Server) *party {
	t.Helper()
	cable := srv.Cable()
	c := zkrtest.DialBy(t, cable, srv.ConnectString())
	b, err := barrier.New(c, path)
	require.NoError(t, err)
	return &party{b, t, c, cable}
}

func (p *party) session() int64 { return zkrtest.Session(p.t, p.c).ID() }

func (p *party) wait() waiting {
	p.t.Helper()
	return start(func() error { return p.Wait(p.t.Context()) })
}

func TestBarrierHoldsWaitersBackUntilItIsRemoved(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := join(t, srv), join(t, srv)
		require.NoError(t, b.Wait(t.Context()), "none is set")
		require.NoError(t, a.Set(t.Context()))
		require.NoError(t, a.Set(t.Context()), "again")
		waiters := []waiting{a.wait(), b.wait(), b.wait()}
		zkrtest.Pending(t, waiters...)
		time.Sleep(10 * T)
		zkrtest.Pending(t, waiters...)
		srv.ResetRequests()
		require.NoError(t, b.Remove(t.Context()))
		for _, w := range waiters {
			require.NoError(t, returned(t, w, 0))
		}
		require.Zero(t, srv.Requests(zktest.OpExists, a.session()), "the event tells it all")
		require.NoError(t, b.Remove(t.Context()), "again")
	})
}

// It outlives who has set it.
func TestBarrierStaysWhenItsSetterIsGone(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := join(t, srv), join(t, srv)
		require.NoError(t, a.Set(t.Context()))
		w := b.wait()
		a.c.Close()
		time.Sleep(3 * T)
		zkrtest.Pending(t, w)
		require.NoError(t, b.Remove(t.Context()))
		require.NoError(t, returned(t, w, 0))
	})
}

// etcd commits c3e520197, 3d3e91c6e: removed between the look and the watch,
// and set again at once. ZOOKEEPER-1011
func TestWaiterGoesThroughWhenTheBarrierIsRemovedAndSetAgain(t *testing.T) {
	for name, again := range map[string]func(*party, *party){
		"at once": func(a, _ *party) {
			_ = a.Remove(context.Background())
			_ = a.Set(context.Background())
		},
		"while it is cut off": func(a, b *party) {
			b.cable.Refuse(true)
			b.cable.Cut()
			_ = a.Remove(context.Background())
			_ = a.Set(context.Background())
			b.cable.Refuse(false)
		},
	} {
		t.Run(name, func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				a, b := join(t, srv), join(t, srv)
				require.NoError(t, a.Set(t.Context()))
				first := b.wait()
				zkrtest.Pending(t, first)
				again(a, b)
				require.NoError(t, returned(t, first, 2*time.Second))
				second := b.wait()
				zkrtest.Pending(t, second)
				require.NoError(t, a.Remove(t.Context()))
				require.NoError(t, returned(t, second, 0))
			})
		})
	}
}

// As above, exactly between the look and what follows it.
func TestRemovalIsNotMissedWhereverItFalls(t *testing.T) {
	for _, op := range []zktest.Op{zktest.OpMulti, zktest.OpExists} {
		t.Run(op.String(), func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				a, b := join(t, srv), join(t, srv)
				require.NoError(t, a.Set(t.Context()))
				hook := srv.On(zktest.Match{Op: op, Session: b.session()}).DelayReply(time.Second)
				w := b.wait()
				<-hook.Hit()
				require.NoError(t, a.Remove(t.Context()))
				require.NoError(t, returned(t, w, time.Second))
			})
		})
	}
}

// Znodes beside it are none of its business.
func TestBarrierIgnoresItsNeighbours(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a := join(t, srv)
		require.NoError(t, a.Set(t.Context()))
		w := a.wait()
		require.NoError(t, srv.Create(path+"0", nil))
		zkrtest.Pending(t, w)
		require.NoError(t, srv.Delete(path+"0"))
		zkrtest.Pending(t, w)
		require.NoError(t, a.Remove(t.Context()))
		require.NoError(t, returned(t, w, 0))
	})
}

// curator GH-1290: no event of the connection lets anybody through.
func TestBarrierHoldsOverConnectionsAndSessions(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := join(t, srv), join(t, srv)
		require.NoError(t, a.Set(t.Context()))
		w := b.wait()
		for range 5 {
			srv.Cut(b.session())
			time.Sleep(2 * time.Second)
			srv.ExpireSession(b.session())
			time.Sleep(2 * time.Second)
			zkrtest.Pending(t, w)
		}
		require.NoError(t, srv.Restart())
		time.Sleep(T)
		zkrtest.Pending(t, w)
		require.NoError(t, a.Remove(t.Context()))
		require.NoError(t, returned(t, w, 0))
	})
}

// A server that lags behind does not know yet that the barrier is set.
func TestBarrierThatIsSetIsNotOverlooked(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		require.NoError(t, srv.Member(1).Refuse(true))
		a := join(t, srv)
		require.NoError(t, srv.Member(1).Refuse(false))
		require.NoError(t, srv.Member(0).Refuse(true))
		b := join(t, srv)
		srv.Member(1).SetLag(2 * time.Second)
		require.NoError(t, a.Set(t.Context()))
		w := b.wait()
		time.Sleep(3 * time.Second)
		zkrtest.Pending(t, w)
		require.NoError(t, a.Remove(t.Context()))
		require.NoError(t, returned(t, w, 3*time.Second))
	}, zktest.WithFollowers(1))
}

// As above, when it is to be removed.
func TestBarrierThatIsSetIsRemovedThroughAServerThatLagsBehind(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		require.NoError(t, srv.Member(1).Refuse(true))
		a := join(t, srv)
		require.NoError(t, srv.Member(1).Refuse(false))
		require.NoError(t, srv.Member(0).Refuse(true))
		b := join(t, srv)
		srv.Member(1).SetLag(2 * time.Second)
		require.NoError(t, a.Set(t.Context()))
		require.NoError(t, b.Remove(t.Context()))
		_, there := srv.Get(path)
		require.False(t, there)
	}, zktest.WithFollowers(1))
}

// ZOOKEEPER-4655: the event never comes.
func TestWaiterWhoseEventIsLostLooksAgain(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := join(t, srv), join(t, srv)
		require.NoError(t, a.Set(t.Context()))
		w := b.wait()
		zkrtest.Pending(t, w)
		srv.OnEvent(zktest.EventMatch{Session: b.session()}).Suppress()
		require.NoError(t, a.Remove(t.Context()))
		zkrtest.Pending(t, w)
		require.NoError(t, returned(t, w, T))
	})
}

// Lost requests and replies are made good.
func TestSetAndRemoveAreSureToHappen(t *testing.T) {
	for name, fail := range map[string]func(*zktest.Hook) *zktest.Hook{
		"request lost": (*zktest.Hook).DropBeforeCommit,
		"reply lost":   (*zktest.Hook).DropReply,
	} {
		t.Run(name, func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				a := join(t, srv)
				fail(srv.On(zktest.Match{Op: zktest.OpCreate, Path: path}))
				require.NoError(t, a.Set(t.Context()))
				_, there := srv.Get(path)
				require.True(t, there)
				fail(srv.On(zktest.Match{Op: zktest.OpDelete, Path: path}))
				require.NoError(t, a.Remove(t.Context()))
				_, there = srv.Get(path)
				require.False(t, there)
			})
		})
	}
}

// Kind 1 of all faults: the answer to the removal is lost, and somebody sets the
// barrier again before it can be asked for once more.
func TestRemovalIsOfOneBarrierAndNotOfTheNext(t *testing.T) {
	for name, expire := range map[string]bool{"in the same session": false, "in the next one": true} {
		t.Run(name, func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				a, b := join(t, srv), join(t, srv)
				require.NoError(t, b.Set(t.Context()))
				lost := srv.On(zktest.Match{Op: zktest.OpDelete, Path: path}).DropReply()
				a.cable.Refuse(true) // or it would ask again at once
				removal := start(func() error { return a.Remove(t.Context()) })
				<-lost.Hit()
				synctest.Wait() // it has been removed
				require.NoError(t, b.Set(t.Context()))
				if expire {
					srv.ExpireSession(a.session())
				}
				next := b.wait()
				a.cable.Refuse(false)
				require.NoError(t, returned(t, removal, T))
				zkrtest.Pending(t, next)
				require.NoError(t, a.Remove(t.Context()))
				require.NoError(t, returned(t, next, 0))
			})
		})
	}
}

// Who gives up when an answer was lost, and there is no connection to ask by, is
// told that it may have happened.
func TestOutcomeThatIsUnknownStaysUnknown(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a := join(t, srv)
		require.NoError(t, srv.Create("/barriers", nil))
		for _, fact := range []struct {
			op   zktest.Op
			call func(context.Context) error
		}{{zktest.OpCreate, a.Set}, {zktest.OpDelete, a.Remove}} {
			lost := srv.On(zktest.Match{Op: fact.op, Path: path}).DropReply()
			_, _, err := zkrtest.Session(t, a.c).Exists(t.Context(), "/") // it is connected
			require.NoError(t, err)
			a.cable.Refuse(true) // or it would ask again at once
			call := start(func() error { return fact.call(soon(t, T/2)) })
			<-lost.Hit()
			err = returned(t, call, T/2)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorIs(t, err, recipes.ErrOutcomeUnknown)
			a.cable.Refuse(false)
		}
		require.NoError(t, a.Wait(t.Context()), "it was removed")
	})
}

// The context bounds every wait.
func TestBarrierCallsEndWithTheirContext(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a := join(t, srv)
		require.NoError(t, a.Set(t.Context()))
		for _, frozen := range []bool{false, true} {
			calls := []func(context.Context) error{a.Wait}
			if frozen {
				srv.Freeze()
				calls = append(calls, a.Set, a.Remove)
			}
			for _, call := range calls {
				began := time.Now()
				require.ErrorIs(t, call(soon(t, 300*time.Millisecond)), context.DeadlineExceeded)
				require.Equal(t, 300*time.Millisecond, time.Since(began))
			}
		}
		srv.Thaw()
	})
}

func TestBarrierCallsEndWhenTheClientIsClosed(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a := join(t, srv)
		require.NoError(t, a.Set(t.Context()))
		w := a.wait()
		synctest.Wait()
		a.c.Close()
		require.ErrorIs(t, returned(t, w, 0), recipes.ErrClosed)
		require.ErrorIs(t, a.Set(t.Context()), recipes.ErrClosed)
		require.ErrorIs(t, a.Remove(t.Context()), recipes.ErrClosed)
		require.ErrorIs(t, a.Wait(t.Context()), recipes.ErrClosed)
	})
}

// As Curator and kazoo make it: a znode that is there.
func TestBarrierOfAPeer(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a := join(t, srv)
		require.NoError(t, srv.Create("/barriers", nil))
		require.NoError(t, srv.Create(path, []byte("10.0.0.1")))
		w := a.wait()
		zkrtest.Pending(t, w)
		require.NoError(t, a.Set(t.Context()))
		z, _ := srv.Get(path)
		require.Equal(t, "10.0.0.1", string(z.Data), "left as it was")
		require.NoError(t, srv.Delete(path))
		require.NoError(t, returned(t, w, 0))
	})
}

func TestBarrierThatCannotBeIsRefused(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := zkrtest.Dial(t, srv)
		for _, bad := range []string{"", "/", "a", "/a/", "/a//b", "/a\x00"} {
			_, err := barrier.New(c, bad)
			var pe *recipes.PathError
			require.ErrorAs(t, err, &pe)
			_, err = barrier.NewDouble(c, bad, 2)
			require.ErrorAs(t, err, &pe)
		}
		_, err := barrier.New(nil, path)
		require.Error(t, err)
		_, err = barrier.NewDouble(nil, path, 2)
		require.Error(t, err)
		for _, n := range []int{-1, 0, 4001} {
			_, err = barrier.NewDouble(c, path, n)
			require.ErrorContains(t, err, "between 1 and 4000")
		}
		// Whoever completes a round has to name all in one transaction.
		long := "/" + strings.Repeat("x", 500)
		_, err = barrier.NewDouble(c, long, 4000)
		require.ErrorContains(t, err, "with so long a path want at most")
		_, err = barrier.NewDouble(c, long, 1000)
		require.NoError(t, err)
	})
}
