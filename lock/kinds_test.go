package lock_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// What holds for every kind of lock.

var kinds = map[string]func(*party) asking{
	"mutex":   func(p *party) asking { return p.Lock },
	"reader":  reading,
	"writer":  writing,
	"permit":  acquiring(1),
	"permits": acquiring(2),
	"multi":   together3,
}

func ofEachKind(t *testing.T, test func(t *testing.T, srv *zktest.Server, how func(*party) asking), opts ...zktest.Option) {
	for name, how := range kinds {
		t.Run(name, func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) { test(t, srv, how) }, opts...)
		})
	}
}

// CURATOR-171, spring-integration#9398, accumulo#1086: an operator deletes what a
// holder stands on.
func TestHolderOfAnyKindIsToldThatItsZnodeIsGone(t *testing.T) {
	ofEachKind(t, func(t *testing.T, srv *zktest.Server, how func(*party) asking) {
		a := join(t, srv)
		for range 2 { // the last one is of several
			l := granted(t, async(t, how(a)), time.Second)
			time.Sleep(3*T + T/7)
			all := ephemerals(srv)
			require.NoError(t, srv.Delete(all[len(all)-1]))
			ended(t, l, 0)
			require.ErrorIs(t, l.Err(), recipes.ErrLost)
			require.ErrorIs(t, l.Release(t.Context()), recipes.ErrLost)
			require.Empty(t, ephemerals(srv), "what was left of it is given back")
			requireUnused(t, a.c)
		}
	})
}

// Curator's Revoker writes into a holder's znode, whatever kind of lock it is
// for; and into that of one who waits, which then holds what it is asked for.
func TestHolderOfAnyKindIsAskedToGiveItBack(t *testing.T) {
	ofEachKind(t, func(t *testing.T, srv *zktest.Server, how func(*party) asking) {
		l := granted(t, async(t, how(join(t, srv))), time.Second)
		time.Sleep(T)
		require.NoError(t, srv.SetData(l.Node(), []byte("__REVOKE__ ")))
		synctest.Wait()
		require.False(t, isClosed(l.Revoked()), "by these ten bytes exactly")
		all := ephemerals(srv)
		require.NoError(t, srv.SetData(all[len(all)-1], []byte("__REVOKE__")))
		synctest.Wait()
		require.True(t, isClosed(l.Revoked()))
		require.NoError(t, l.Err())
		release(t, l)
	})
}

func TestReaderThatWasAWriterIsAskedToGiveItBack(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		rw := rwMutex(t, zkrtest.Dial(t, srv))
		for _, wait := range []time.Duration{0, T} { // before and after its watch is armed
			l := granted(t, async(t, rw.Lock), time.Second)
			time.Sleep(wait)
			require.NoError(t, rw.Downgrade(t.Context(), l))
			time.Sleep(wait)
			require.NoError(t, srv.SetData(l.Node(), []byte("__REVOKE__")))
			time.Sleep(T)
			require.True(t, isClosed(l.Revoked()))
			require.NoError(t, srv.Delete(l.Node()))
			ended(t, l, 0)
		}
	})
}

func TestWaiterThatIsAskedHoldsWhatItIsAskedFor(t *testing.T) {
	for name, place := range map[string]int{"next in line": 1, "further behind": 2} {
		t.Run(name, func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				la := join(t, srv).hold()
				var queue []<-chan result
				for range place {
					queue = append(queue, join(t, srv).wait())
				}
				names := contenders(srv)
				list, err := join(t, srv).Queue(t.Context())
				require.NoError(t, err)
				require.Len(t, names, place+1)
				require.NoError(t, srv.SetData(list[place].Path, []byte("__REVOKE__")))
				synctest.Wait()
				release(t, la)
				for _, q := range queue[:place-1] {
					release(t, granted(t, q, 0))
				}
				l := granted(t, queue[place-1], 0)
				time.Sleep(T)
				require.True(t, isClosed(l.Revoked()))
				release(t, l)
			})
		})
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Who wants to stop at every doubt is told of every one, also where another
// server is found at once.
func TestLeaseOfAnyKindEndsWithItsConnectionWhereAskedTo(t *testing.T) {
	ofEachKind(t, func(t *testing.T, srv *zktest.Server, how func(*party) asking) {
		a := join(t, srv, recipes.WithStopOnSuspend())
		for range 5 {
			l := granted(t, async(t, how(a)), time.Second)
			time.Sleep(T)
			require.NoError(t, l.Err())
			a.cable.Cut()
			ended(t, l, time.Second)
			time.Sleep(2 * time.Second)
			require.Empty(t, ephemerals(srv))
		}
	}, zktest.WithFollowers(2))
}

// FLINK-10052, consul#1162: others keep it over a blink of the connection.
func TestLeaseOfAnyKindOutlivesABlinkOfTheConnection(t *testing.T) {
	ofEachKind(t, func(t *testing.T, srv *zktest.Server, how func(*party) asking) {
		a := join(t, srv)
		l := granted(t, async(t, how(a)), time.Second)
		time.Sleep(T)
		a.cable.Refuse(true)
		a.cable.Cut()
		time.Sleep(T / 10)
		a.cable.Refuse(false)
		time.Sleep(3 * T)
		require.NoError(t, l.Verify(t.Context()))
		release(t, l)
	})
}

// A strict grant is proven: it lasts as long as one that was held for a while.
func TestStrictGrantOfAnyKindIsProven(t *testing.T) {
	ofEachKind(t, func(t *testing.T, srv *zktest.Server, how func(*party) asking) {
		a := join(t, srv, recipes.WithStrictGrant(), recipes.WithPersistentParents())
		for range 3 {
			l := granted(t, async(t, how(a)), T)
			require.Greater(t, l.Remaining(), T/8)
			time.Sleep(T)
			require.NoError(t, l.Err())
			release(t, l)
			time.Sleep(3 * T)
		}
		ctx, cancel := context.WithCancel(t.Context())
		srv.On(zktest.Match{Op: zktest.OpMulti, Session: a.session()}).Always().Delay(time.Second)
		waiting := zkrtest.Go(func() (*recipes.Lease, error) { return how(a)(ctx) })
		time.Sleep(time.Second / 2)
		cancel()
		require.ErrorIs(t, failed(t, waiting, 0), context.Canceled)
		time.Sleep(5 * time.Second)
		require.Empty(t, ephemerals(srv))
		requireUnused(t, a.c)
	})
}

// excluding are the ways to hold what keeps a kind of contender waiting; others
// exclude those of their own kind.
var excluding = map[string]func(*party) asking{"reader": writing, "permit": acquiring(limit), "permits": acquiring(limit)}

// etcd#10111, vitess#8309: cancelled and granted at the same instant, at every
// point on the way from the news that it is free to the grant.
func TestCancelAndGrantOfAnyKindAreDecidedOnce(t *testing.T) {
	const way = time.Millisecond // from the server to the one who waits
	for name, how := range kinds {
		t.Run(name, func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				a, b := join(t, srv), join(t, srv)
				hold := excluding[name]
				if hold == nil {
					hold = how
				}
				b.cable.SetLatency(way)
				b.blink()
				grants := 0
				for i := range 60 {
					la := granted(t, async(t, hold(a)), time.Second)
					ctx, cancel := context.WithCancel(t.Context())
					ask := how(b)
					waiting := zkrtest.Go(func() (*recipes.Lease, error) { return ask(ctx) })
					time.Sleep(20 * way)
					time.AfterFunc(time.Duration(i%30)*way/2, cancel)
					release(t, la)
					if got := <-waiting; got.Err == nil {
						grants++
						require.NoError(t, got.Val.Verify(t.Context()))
						require.NoError(t, got.Val.Release(t.Context()))
					} else {
						require.Nil(t, got.Val)
						require.ErrorIs(t, got.Err, context.Canceled)
					}
					cancel()
					time.Sleep(20 * way)
					require.Empty(t, ephemerals(srv))
				}
				require.Greater(t, grants, 5)
				require.Less(t, grants, 60)
				requireUnused(t, a.c)
				requireUnused(t, b.c)
			})
		})
	}
}

// Whoever wants no second place in the queue is told that the first is lost.
func TestWaiterThatStaysIsToldThatItsPlaceIsLost(t *testing.T) {
	stay := map[string]func(*party) asking{
		"mutex": func(p *party) asking {
			m, err := lock.NewMutex(p.c, path, lock.WithStay())
			require.NoError(p.t, err)
			return m.Lock
		},
		"reader": func(p *party) asking { return stayingRW(p).RLock },
		"writer": func(p *party) asking { return stayingRW(p).Lock },
		"permits": func(p *party) asking {
			return acquireN(semaphore(p.t, p.c, limit, lock.WithStay()), 2)
		},
		"multi": func(p *party) asking {
			m, err := lock.NewMulti(p.c, members, lock.WithStay())
			require.NoError(p.t, err)
			return m.Lock
		},
	}
	holders := map[string]func(*party) asking{
		"mutex": kinds["mutex"], "reader": writing, "writer": reading, "permits": acquiring(2), "multi": middle,
	}
	losses := map[string]func(*zktest.Server, int64){
		"session": func(srv *zktest.Server, id int64) { srv.ExpireSession(id) },
		"znode": func(srv *zktest.Server, id int64) {
			for _, z := range srv.Tree() {
				if z.Stat.EphemeralOwner == id {
					_ = srv.Delete(z.Path)
				}
			}
		},
	}
	for name, how := range stay {
		for loss, lose := range losses {
			t.Run(name+", "+loss, func(t *testing.T) {
				zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
					a, b := join(t, srv), join(t, srv)
					la := granted(t, async(t, holders[name](a)), time.Second)
					waiting := async(t, how(b))
					zkrtest.Pending(t, waiting)
					time.Sleep(T / 3)
					lose(srv, b.session())
					err := failed(t, waiting, T)
					require.ErrorIs(t, err, lock.ErrPlaceLost)
					require.NotErrorIs(t, err, recipes.ErrLost, "there was no lease")
					var wait *recipes.WaitError
					require.ErrorAs(t, err, &wait)
					require.Equal(t, 1, wait.Position)
					require.True(t, wait.Holder.Holds)
					require.NotEmpty(t, wait.Behind)
					require.Equal(t, 1, strings.Count(err.Error(), "wait for"), err.Error())
					require.NoError(t, la.Err())
					release(t, la)
					require.Empty(t, ephemerals(srv))
				})
			})
		}
	}
}

func stayingRW(p *party) *lock.RWMutex {
	rw, err := lock.NewRWMutex(p.c, rwPath, lock.WithStay())
	require.NoError(p.t, err)
	return rw
}

// kazoo#649, PR#650: a reader waits for writers before it, and for no others.
func TestReaderDoesNotWaitForAWriterBehindIt(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		w1 := granted(t, async(t, writing(join(t, srv))), time.Second)
		b, c := join(t, srv), join(t, srv)
		w3 := make(chan (<-chan result), 1)
		srv.On(zktest.Match{Op: zktest.OpGetChildren2, Session: b.session()}).Call(func(zktest.Request) {
			go func() { w3 <- async(t, writing(c)) }() // while the reader lists
			time.Sleep(10 * time.Millisecond)
		})
		r2 := async(t, reading(b))
		writer := <-w3
		zkrtest.Pending(t, r2, writer)
		release(t, w1)
		l2 := granted(t, r2, T)
		zkrtest.Pending(t, writer)
		release(t, l2)
		release(t, granted(t, writer, time.Second))
	})
}

// spring-integration#11113, #11136: a lock is held at the servers, whatever
// becomes of the object that it was taken with.
func TestOtherObjectForTheSameLockWaits(t *testing.T) {
	ofEachKind(t, func(t *testing.T, srv *zktest.Server, how func(*party) asking) {
		a := join(t, srv)
		l := granted(t, async(t, how(a)), time.Second)
		for i := range 100 {
			l := granted(t, async(t, mutexAt(t, a.c, fmt.Sprint("/locks/many/", i)).Lock), time.Second)
			release(t, l)
		}
		all := map[string]func(*party) asking{"/locks/sem": acquiring(limit), rwPath: writing, path: kinds["mutex"]}[l.Path()]
		if all == nil {
			all = how
		}
		again := async(t, all(a))
		zkrtest.Pending(t, again)
		require.NoError(t, l.Err())
		release(t, l)
		release(t, granted(t, again, time.Second))
	})
}

// Contenders of Curator and kazoo in the directory of a read/write lock.
func TestReadersAndWritersOfOtherFamiliesAreCounted(t *testing.T) {
	const uuid = "_c_5c6eb4ad-9aef-4bf9-9a40-b5f0a3d60e34-"
	const hex = "5c6eb4ad9aef4bf99a40b5f0a3d60e34"
	for name, peer := range map[string]struct {
		prefix string
		shared bool
	}{
		"Curator's writer": {uuid + "__WRIT__", false},
		"Curator's reader": {uuid + "__READ__", true},
		"kazoo's writer":   {hex + "__lock__", false},
		"kazoo's reader":   {hex + "__rlock__", true},
	} {
		t.Run(name, func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				a, other := join(t, srv), zkrtest.Session(t, zkrtest.Dial(t, srv))
				release(t, granted(t, async(t, writing(a)), time.Second))
				node, err := other.Create(t.Context(), rwPath+"/"+peer.prefix, nil, recipes.EphemeralSequential, nil)
				require.NoError(t, err)
				r := async(t, reading(a))
				if peer.shared {
					release(t, granted(t, r, time.Second))
				} else {
					zkrtest.Pending(t, r)
				}
				w := async(t, writing(a))
				zkrtest.Pending(t, w)
				if !peer.shared {
					zkrtest.Pending(t, r)
				}
				require.NoError(t, other.Delete(t.Context(), node, -1))
				if !peer.shared {
					release(t, granted(t, r, time.Second))
				}
				release(t, granted(t, w, time.Second))
			})
		})
	}
}

// CURATOR-621: a JVM writer makes a reader of its own number, and then goes.
func TestWriterWaitsForTheReaderThatAPeersWriterBecame(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, peer := join(t, srv), join(t, srv), zkrtest.Session(t, zkrtest.Dial(t, srv))
		release(t, granted(t, async(t, writing(a)), time.Second))
		const prefix = rwPath + "/_c_5c6eb4ad-9aef-4bf9-9a40-b5f0a3d60e34-"
		writer, err := peer.Create(t.Context(), prefix+"__WRIT__", nil, recipes.EphemeralSequential, nil)
		require.NoError(t, err)
		w := async(t, writing(a))
		zkrtest.Pending(t, w)
		r := async(t, reading(b))
		zkrtest.Pending(t, r)
		number := writer[len(writer)-10:]
		reader, err := peer.Create(t.Context(), prefix+"__READ__"+number, nil, recipes.Ephemeral, nil)
		require.NoError(t, err)
		require.NoError(t, peer.Delete(t.Context(), writer, -1))
		time.Sleep(time.Minute)
		zkrtest.Pending(t, w)
		require.NoError(t, peer.Delete(t.Context(), reader, -1))
		release(t, granted(t, w, time.Second))
		release(t, granted(t, r, time.Second))
	})
}

// The token that a multi-lock's Do installs is that of its first member; each
// member has its own.
func TestMultiInstallsTheTokenOfItsFirstMember(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := zkrtest.Dial(t, srv), zkrtest.Dial(t, srv)
		store := fence.NewMemory("store")
		m, err := lock.NewMulti(a, []string{"/m/b", "/m/a"}, lock.WithGuards(store))
		require.NoError(t, err)
		held := granted(t, async(t, mutexAt(t, b, "/m/b").Lock), time.Second)
		time.AfterFunc(time.Second, func() { _ = held.Release(context.Background()) })
		nothing := func(context.Context) error { return nil }
		require.NoError(t, m.Do(t.Context(), func(ctx context.Context, l *recipes.Lease) error {
			require.Equal(t, l.TokenOf("/m/a"), l.Token())
			require.Greater(t, l.TokenOf("/m/b"), held.Token())
			require.NoError(t, store.Write(ctx, fence.Stamp{Token: l.Token()}, nothing))
			return store.Write(ctx, fence.Stamp{Token: l.Token() + 1}, nothing)
		}))
		requireAllEmpty(t, srv, "/m/a", "/m/b")
	})
}

// A writer's guard stays installed when it becomes a reader.
func TestDowngradeUnderAGuard(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		store := fence.NewMemory("store")
		rw, err := lock.NewRWMutex(zkrtest.Dial(t, srv), rwPath, lock.WithGuards(store))
		require.NoError(t, err)
		nothing := func(context.Context) error { return nil }
		require.NoError(t, rw.Do(t.Context(), func(ctx context.Context, l *recipes.Lease) error {
			require.NoError(t, rw.Downgrade(ctx, l))
			_, err := rw.Lock(ctx)
			require.ErrorIs(t, err, lock.ErrUpgrade)
			require.ErrorIs(t, store.Write(ctx, fence.Stamp{Token: l.Token() - 1}, nothing), fence.ErrStale)
			return ctx.Err()
		}))
		require.Empty(t, srv.Children(rwPath))
	})
}
