package lock_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/recipetest"
	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Semaphores, while things go wrong.

// A client's sessions may be at different servers, and one of those may lag: what
// counts is what the session sees that is to own the permit.
func TestTryAcquireTakesNoPermitThatIsTakenAlready(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		leader, follower := srv.Member(0), srv.Member(1)
		require.NoError(t, leader.Refuse(true))
		c := zkrtest.Dial(t, srv, recipes.WithEphemeralBudget(4<<10))
		sem := semaphore(t, c, 1)
		release(t, granted(t, async(t, sem.Acquire), time.Second))
		full, err := c.SessionFor(t.Context(), 4<<10)
		require.NoError(t, err)
		require.NoError(t, leader.Refuse(false))
		require.NoError(t, follower.Refuse(true))
		beside, err := c.SessionFor(t.Context(), 1)
		require.NoError(t, err)
		require.NotEqual(t, full.ID(), beside.ID())

		follower.SetLag(T)
		other := granted(t, async(t, semaphore(t, zkrtest.Dial(t, srv), 1).Acquire), time.Second)
		_, err = sem.TryAcquire(t.Context())
		require.ErrorIs(t, err, lock.ErrLocked)
		require.Len(t, srv.Children(semPath+"/leases"), 1)
		require.NoError(t, other.Verify(t.Context()))
		release(t, other)
	}, zktest.WithFollowers(1))
}

// The znode with the limit was deleted and made again by one who goes by another
// limit. Its version is the same.
func TestSemaphoreNoticesThatTheLimitWasMadeAnew(t *testing.T) {
	for name, ask := range map[string]func(*lock.Semaphore) func(context.Context) (*recipes.Lease, error){
		"acquire": func(s *lock.Semaphore) func(context.Context) (*recipes.Lease, error) { return s.Acquire },
		"try":     func(s *lock.Semaphore) func(context.Context) (*recipes.Lease, error) { return s.TryAcquire },
	} {
		t.Run(name, func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				a, b := semaphore(t, zkrtest.Dial(t, srv), 5), semaphore(t, zkrtest.Dial(t, srv), 2)
				release(t, granted(t, async(t, a.Acquire), time.Second))
				require.NoError(t, srv.DeleteAll(semPath))
				lb := granted(t, async(t, acquireN(b, 2)), time.Second)
				_, err := ask(a)(t.Context())
				var limit *lock.LimitError
				require.ErrorAs(t, err, &limit)
				require.Equal(t, "2", limit.Stored)
				release(t, lb)
				_, err = ask(a)(t.Context())
				require.ErrorAs(t, err, &limit)
				synctest.Wait()
				require.Empty(t, srv.Children(semPath+"/leases"))
				require.Empty(t, srv.Children(semPath+"/locks"))
			})
		})
	}
}

// The limit's znode stays, and the directories in it are made again.
func TestSemaphoreWhoseDirectoriesWereReaped(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a := semaphore(t, zkrtest.Dial(t, srv), 2)
		for range 3 {
			release(t, granted(t, async(t, acquireN(a, 2)), time.Second))
			l, err := a.TryAcquire(t.Context())
			require.NoError(t, err)
			release(t, l)
			time.Sleep(3 * time.Minute)
			_, ok := srv.Get(semPath + "/leases")
			require.False(t, ok)
		}
	})
}

// As for locks: the event never comes.
func TestSemaphoreWaiterWhoseEventIsLostLooksAgain(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		b := zkrtest.Dial(t, srv)
		la := granted(t, async(t, semaphore(t, zkrtest.Dial(t, srv), 1).Acquire), time.Second)
		next := async(t, semaphore(t, b, 1).Acquire)
		zkrtest.Pending(t, next)
		srv.OnEvent(zktest.EventMatch{Session: zkrtest.Session(t, b).ID()}).Suppress()
		release(t, la)
		zkrtest.Pending(t, next)
		release(t, granted(t, next, T))
	})
}

// Permits whose answer was lost, and one of them deleted before they are looked
// for.
func TestSemaphoreKeepsNoPermitOfAnIncompleteSet(t *testing.T) {
	for i := range 3 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				c := zkrtest.Dial(t, srv)
				a := semaphore(t, c, 3)
				release(t, granted(t, async(t, a.Acquire), time.Second))
				srv.On(zktest.Match{Op: zktest.OpMulti, Path: semPath + "/leases/*"}).DropReply()
				srv.On(zktest.Match{Op: zktest.OpCreateSession, Session: zkrtest.Session(t, c).ID()}).Call(func(zktest.Request) {
					require.NoError(t, srv.Delete(semPath+"/leases/"+srv.Children(semPath + "/leases")[i]))
				})
				l := granted(t, async(t, acquireN(a, 3)), 10*time.Second)
				require.Len(t, srv.Children(semPath+"/leases"), 3)
				release(t, l)
				requireUnused(t, c)
			})
		})
	}
}

func TestTryAcquireGoesOnInAnotherSession(t *testing.T) {
	for n := range 8 {
		zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
			c := zkrtest.Dial(t, srv)
			sem, err := lock.NewSemaphore(c, semPath, 2, lock.WithSync())
			require.NoError(t, err)
			release(t, granted(t, async(t, sem.Acquire), time.Second))
			id := zkrtest.Session(t, c).ID()
			srv.On(zktest.Match{Session: id, Skip: n}).Optional().Call(func(zktest.Request) { srv.ExpireSession(id) })
			l, err := sem.TryAcquireN(t.Context(), 2)
			require.NoError(t, err, "at request %d", n)
			_ = l.Release(t.Context())
			synctest.Wait()
			require.Empty(t, srv.Children(semPath+"/leases"))
		})
	}
}

// kazoo#213, PR#214, commits 87fe12f, a674322: those who only try get no more
// permits than there are, and what they did not get does not come later.
func TestThoseWhoTryGetNoMorePermitsThanThereAre(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		const limit = 2
		p := recipetest.Permits{T: t, Limit: limit}
		var wg sync.WaitGroup
		var clients []*recipes.Client
		for i := range 6 {
			cable := srv.Cable()
			c := zkrtest.DialBy(t, cable, srv.ConnectString())
			clients = append(clients, c)
			sem := semaphore(t, c, limit)
			r := rand.New(rand.NewPCG(1, uint64(i)))
			for range 5 {
				seed := r.Uint64()
				wg.Go(func() {
					r := rand.New(rand.NewPCG(2, seed))
					for range 20 {
						time.Sleep(time.Duration(r.IntN(1000)) * time.Millisecond)
						if r.IntN(10) == 0 {
							cable.Cut()
						}
						l, err := sem.TryAcquire(t.Context())
						if errors.Is(err, lock.ErrLocked) {
							continue
						}
						if err != nil {
							t.Errorf("try: %v", err)
							return
						}
						p.Add(l, 1)
						time.Sleep(time.Duration(r.IntN(300)) * time.Millisecond)
						if err := l.Release(t.Context()); err != nil {
							t.Errorf("release: %v", err)
						}
					}
				})
			}
		}
		wg.Wait()
		time.Sleep(5 * time.Second)
		require.Empty(t, srv.Children(semPath+"/leases"))
		require.Empty(t, srv.Children(semPath+"/locks"))
		require.Greater(t, p.Grants(), 50)
		for _, c := range clients {
			requireUnused(t, c)
		}
	})
}

// kazoo#429, commit a674322: a place in the inner queue that outlives its call
// keeps everybody out.
func TestSemaphoresInnerQueueIsEmptyWheneverTheConnectionIsLost(t *testing.T) {
	for n := range 12 {
		zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
			cable := srv.Cable()
			c := zkrtest.DialBy(t, cable, srv.ConnectString())
			a, b := semaphore(t, c, 1), semaphore(t, zkrtest.Dial(t, srv), 1)
			var round atomic.Int32
			for i := range int32(4) {
				round.Store(i)
				cut := srv.On(zktest.Match{Session: zkrtest.Session(t, c).ID(), Skip: n}).Optional()
				cut.Call(func(zktest.Request) {
					if round.Load() != i {
						return // there were too few requests in its own
					}
					cable.Refuse(true)
					cable.Cut()
					time.AfterFunc(T/3, func() { cable.Refuse(false) })
				})
				l, err := a.TryAcquire(soon(t, time.Second))
				if err == nil {
					_ = l.Release(soon(t, time.Second))
				}
				lb := granted(t, async(t, b.Acquire), T/3+1200*time.Millisecond)
				require.Len(t, srv.Children(semPath+"/leases"), 1)
				require.Empty(t, srv.Children(semPath+"/locks"))
				release(t, lb)
			}
		})
	}
}

// CURATOR-595: the servers stop for longer than the session lasts.
func TestPermitIsLostBeforeTheServersGiveItToAnother(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		cable := srv.Cable()
		a, b := semaphore(t, zkrtest.DialBy(t, cable, srv.ConnectString()), 1), semaphore(t, zkrtest.Dial(t, srv), 1)
		la := granted(t, async(t, a.Acquire), time.Second)
		time.Sleep(3 * T)
		srv.Down()
		ended(t, la, T)
		cable.Refuse(true)
		time.Sleep(T)
		require.NoError(t, srv.Up())
		next := async(t, b.Acquire)
		lb := granted(t, next, T+3*tick)
		require.ErrorIs(t, la.Release(t.Context()), recipes.ErrLost)
		require.NoError(t, lb.Verify(t.Context()))
		release(t, lb)
		cable.Refuse(false)
	})
}

// kazoo e7f5829: the inner queue and the wait for room have one deadline.
func TestSemaphoreHasOneDeadlineForAllOfItsSteps(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := semaphore(t, zkrtest.Dial(t, srv), 1), semaphore(t, zkrtest.Dial(t, srv), 1)
		la := granted(t, async(t, a.Acquire), time.Second)
		first := zkrtest.Go(func() (*recipes.Lease, error) { return a.Acquire(soon(t, 900*time.Millisecond)) })
		zkrtest.Pending(t, first)
		start := time.Now()
		second := zkrtest.Go(func() (*recipes.Lease, error) { return b.Acquire(soon(t, time.Second)) })
		require.ErrorIs(t, failed(t, first, time.Second), context.DeadlineExceeded)
		require.ErrorIs(t, failed(t, second, time.Second), context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(start))
		synctest.Wait()
		require.Empty(t, srv.Children(semPath+"/locks"))
		release(t, la)
	})
}

// Curator's InterProcessSemaphoreV2: whatever stands among the permits is one,
// also that of a client that is still looking whether there is room; and whoever
// holds the inner lock goes first.
func TestPermitsOfCuratorAreCounted(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, peer := semaphore(t, zkrtest.Dial(t, srv), 2), zkrtest.Session(t, zkrtest.Dial(t, srv))
		release(t, granted(t, async(t, a.Acquire), time.Second))
		make := func(name string) string {
			t.Helper()
			node, err := peer.Create(t.Context(), semPath+name, nil, recipes.EphemeralSequential, nil)
			require.NoError(t, err)
			return node
		}
		inner := make("/locks/_c_5c6eb4ad-9aef-4bf9-9a40-b5f0a3d60e34-lock-")
		wait := async(t, a.Acquire)
		zkrtest.Pending(t, wait)
		one := make("/leases/_c_6c6eb4ad-9aef-4bf9-9a40-b5f0a3d60e34-lease-")
		two := make("/leases/anything")
		require.NoError(t, peer.Delete(t.Context(), inner, -1))
		zkrtest.Pending(t, wait)
		_, err := a.TryAcquire(t.Context())
		require.ErrorIs(t, err, lock.ErrLocked)
		require.NoError(t, peer.Delete(t.Context(), one, -1))
		la := granted(t, wait, time.Second)
		require.NoError(t, peer.Delete(t.Context(), two, -1))
		release(t, la)
	})
}

// Where nothing may be stored the limit is a matter of configuration.
func TestTacitLimitIsNeitherStoredNorChecked(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := zkrtest.Dial(t, srv)
		a := semaphore(t, c, 2, lock.WithTacitLimit())
		la := granted(t, async(t, acquireN(a, 2)), time.Second)
		z, ok := srv.Get(semPath)
		require.True(t, ok)
		require.Empty(t, z.Data)
		require.NoError(t, srv.SetData(semPath, []byte("7")))
		release(t, la)
		release(t, granted(t, async(t, a.Acquire), time.Second))
		z, _ = srv.Get(semPath)
		require.Equal(t, "7", string(z.Data))
		requireUnused(t, c)
	})
}
