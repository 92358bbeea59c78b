package lock_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Who is next, and with which token.

// kazoo#730, #606, go-zookeeper PR#65, ZOOKEEPER-4706, ZOOKEEPER-2944: at the
// end of its range the counter sticks, and goes through negative numbers where
// creates overlap.
func TestOrderIsThatOfCreationAtTheEndOfTheNumbers(t *testing.T) {
	for _, from := range []int32{math.MaxInt32 - 2, math.MaxInt32, math.MinInt32, -3} {
		t.Run(fmt.Sprint(from), func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				first := join(t, srv)
				la := first.hold()
				require.NoError(t, srv.SetCreateCounter(path, from))
				var queue []<-chan result
				for i := range 6 {
					p := join(t, srv)
					queue = append(queue, p.wait())
					if i == 2 && from > 0 {
						require.NoError(t, srv.SetCreateCounter(path, math.MinInt32))
					}
				}
				contenders, err := first.Queue(t.Context())
				require.NoError(t, err)
				require.Len(t, contenders, 7)
				for i, next := range queue {
					zkrtest.Pending(t, queue[i:]...)
					release(t, la)
					lb := granted(t, next, T)
					require.Greater(t, lb.Token(), la.Token())
					require.Equal(t, contenders[i+1].Path, lb.Node())
					require.Equal(t, contenders[i+1].Token, lb.Token())
					la = lb
				}
				release(t, la)
			})
		})
	}
}

// Numbers that others have made up may be the same as ours, and say nothing.
func TestContendersWithTheSameNumberStandInTheOrderOfTheirCreation(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, other := join(t, srv), newStranger(t, srv)
		la := a.hold()
		number := la.Node()[len(la.Node())-10:]
		for i := range 8 {
			other.takes(fmt.Sprintf("%s/%d-lock-%s", path, (i+5)%8, number))
		}
		queue, err := a.Queue(t.Context())
		require.NoError(t, err)
		require.Len(t, queue, 9)
		require.Equal(t, la.Node(), queue[0].Path)
		for i := range 8 {
			require.Less(t, queue[i].Token, queue[i+1].Token)
		}
		release(t, la)
	})
}

// The numbers begin anew in an empty directory, so that peers that know nothing
// of all this get along.
func TestDirectoryIsMadeAnewBeforeTheNumbersEnd(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a := join(t, srv)
		release(t, a.hold())
		require.NoError(t, srv.SetCreateCounter(path, math.MaxInt32-1000))
		la := a.hold()
		release(t, la)
		lb := a.hold()
		require.Contains(t, lb.Node(), "-lock-0000000000")
		require.Greater(t, lb.Token(), la.Token())
		release(t, lb)
	})
}

// samuel/go-zookeeper#207, zk-ruby/zk#34, redisson#6510
func TestTokenGrowsWhateverBecomesOfTheDirectory(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := join(t, srv), join(t, srv)
		var last fence.Token
		grows := func(p *party) {
			l := p.hold()
			require.Greater(t, l.Token(), last)
			last = l.Token()
			release(t, l)
		}
		grows(a)
		grows(b)
		require.NoError(t, srv.DeleteAll("/locks"))
		grows(b)
		grows(a)
		time.Sleep(2 * time.Minute) // the container is reaped
		_, ok := srv.Get(path)
		require.False(t, ok)
		grows(a)
		srv.ExpireSession(a.session())
		grows(a)
		require.NoError(t, srv.Restart())
		grows(b)
		srv.Depose(1)
		grows(a)
		grows(b)
	}, zktest.WithFollowers(2))
}

// kazoo#548, samuel#203, go-zookeeper PR#19: other families on the same path.
func TestContendersOfOtherFamiliesAreCounted(t *testing.T) {
	for name, prefix := range map[string]string{
		"Curator":      "_c_5c6eb4ad-9aef-4bf9-9a40-b5f0a3d60e34-lock-",
		"go-zookeeper": "_c_5c6eb4ad9aef4bf99a40b5f0a3d60e34-lock-",
		"kazoo":        "5c6eb4ad9aef4bf99a40b5f0a3d60e34__lock__",
		"plain":        "lock-",
	} {
		t.Run(name, func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				a, peer := join(t, srv), zkrtest.Session(t, zkrtest.Dial(t, srv))
				release(t, a.hold())
				node, err := peer.Create(t.Context(), path+"/"+prefix, []byte("peer"), recipes.EphemeralSequential, nil)
				require.NoError(t, err)
				_, err = a.TryLock(t.Context())
				require.ErrorIs(t, err, lock.ErrLocked)
				var locked *lock.LockedError
				require.ErrorAs(t, err, &locked)
				require.Equal(t, node, locked.Holder)
				queue, err := a.Queue(t.Context())
				require.NoError(t, err)
				require.Len(t, queue, 1)
				require.Equal(t, "peer", queue[0].Identity)
				next := a.wait()
				require.NoError(t, peer.Delete(t.Context(), node, -1))
				release(t, granted(t, next, 0))
			})
		})
	}
}

// vitess#15118, constructr PR#6, zk.Lock of go-zookeeper (#44), CURATOR's `_c_x`
// panics (samuel#229): what is no contender is in nobody's way.
func TestStrangersInTheDirectoryAreIgnored(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		var mu sync.Mutex
		var seen []string
		a := join(t, srv, recipes.WithTrace(recipes.Trace{Stranger: func(e recipes.StrangerEvent) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, e.Name)
		}}))
		release(t, a.hold())
		for _, name := range []string{"_c_x", "0", "data", "lock-", "lock-abc", "lock-123", "_c_", "lock--1", "x-lock-00000000010"} {
			require.NoError(t, srv.Create(path+"/"+name, []byte("x")))
		}
		b := join(t, srv)
		la := a.hold()
		next := b.wait()
		release(t, la)
		release(t, granted(t, next, 0))
		require.Len(t, contenders(srv), 9)
		mu.Lock()
		defer mu.Unlock()
		require.Contains(t, seen, "0", "it would make Curator peers wait for ever")
	})
}

// samuel f774f13, PR#145, kazoo 9b0a793, d846193, accumulo#6197: the predecessor
// goes between the look and the watch.
func TestPredecessorThatGoesBetweenLookAndWatch(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := join(t, srv), join(t, srv)
		id := b.session()
		release(t, b.hold())
		cost := func(get func() *recipes.Lease) int {
			before := srv.Requests(0, id)
			l := get()
			requests := srv.Requests(0, id) - before
			release(t, l)
			return requests
		}
		free, most := cost(b.hold), 0
		for range 1000 {
			la := a.hold()
			srv.On(zktest.Match{Op: zktest.OpGetData, Session: id, Path: la.Node()}).Call(func(zktest.Request) { release(t, la) })
			most = max(most, cost(func() *recipes.Lease { return granted(t, b.lock(t.Context()), 0) }))
			require.Zero(t, srv.Watches(la.Node()))
		}
		require.LessOrEqual(t, most, free+3)
		require.Zero(t, srv.Watches(""))
	})
}

// etcd, kazoo#563, curator 9b68cbc4, otter#1192: the directory is reaped while
// others acquire.
func TestDirectoryThatIsReapedAllTheTime(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		var holders, most, grants int
		var mu sync.Mutex
		var wg sync.WaitGroup
		for range 8 {
			p := join(t, srv)
			wg.Go(func() {
				for range 15 {
					l, err := p.Lock(t.Context())
					if err != nil {
						t.Errorf("lock: %v", err)
						return
					}
					mu.Lock()
					holders++
					grants++
					most = max(most, holders)
					mu.Unlock()
					time.Sleep(time.Millisecond)
					mu.Lock()
					holders--
					mu.Unlock()
					if err := l.Release(t.Context()); err != nil {
						t.Errorf("release: %v", err)
					}
					_ = srv.Delete(path) // as a reaper would: only if it is empty
				}
			})
		}
		wg.Wait()
		require.Equal(t, 1, most)
		require.Equal(t, 120, grants)
	})
}

// As above, wherever in the making of the directories the reaper comes: it takes
// what is empty just before some request.
func TestDirectoriesThatAreReapedWhileTheyAreMade(t *testing.T) {
	reaped := true
	for n := 0; reaped; n++ {
		zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
			a := join(t, srv)
			reaper := srv.On(zktest.Match{Session: a.session(), Skip: n}).Optional().Call(func(zktest.Request) {
				_ = srv.Delete(path)
				_ = srv.Delete("/locks")
			})
			release(t, a.hold())
			require.Empty(t, contenders(srv))
			reaped = reaper.Hits() > 0 // until the lock has no further request
		})
	}
}

// CURATOR-716, kazoo 7dd4c4c, metamx/zk-lock PR#22, CURATOR-728: a hand-over
// wakes one waiter and costs the same however many wait.
func TestHandOverCostsTheSameHoweverManyWait(t *testing.T) {
	costs := map[int]int{}
	sizes := []int{3, 30}
	if zkrtest.Full {
		sizes = append(sizes, 1000)
	}
	for _, n := range sizes {
		zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
			la := join(t, srv).hold()
			var queue []<-chan result
			for range n {
				queue = append(queue, join(t, srv).wait())
			}
			time.Sleep(time.Second) // the next one proves its session by now
			srv.ResetRequests()
			release(t, la)
			lb := granted(t, queue[0], 0)
			require.Zero(t, srv.Requests(zktest.OpCreateContainer, 0))
			costs[n] = srv.Requests(0, 0)
			release(t, lb)
		})
	}
	for _, n := range sizes {
		require.Equal(t, costs[3], costs[n], "%d wait", n)
	}
	require.LessOrEqual(t, costs[3], 5)
}

// NC#29, NC#307, CURATOR-173: empty parents do not stay.
func TestDirectoriesAreContainersUnlessTheServerHasNone(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a := join(t, srv)
		release(t, a.hold())
		z, ok := srv.Get(path)
		require.True(t, ok)
		require.True(t, z.Container)
		time.Sleep(3 * time.Minute)
		_, ok = srv.Get("/locks")
		require.False(t, ok, "both levels are reaped")

		srv.On(zktest.Match{Op: zktest.OpCreateContainer}).Error(zktest.Unimplemented)
		release(t, a.hold())
		z, ok = srv.Get(path)
		require.True(t, ok)
		require.False(t, z.Container)
	})
}

// As above, however many names there are, each of them used once.
func TestNamesThatWereUsedOnceLeaveNothing(t *testing.T) {
	t.Parallel()
	names := 100
	if zkrtest.Full {
		names = 10_000
	}
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a := join(t, srv)
		for i := range names {
			m := mutexAt(t, a.c, fmt.Sprint("/locks/", i))
			release(t, granted(t, async(t, m.Lock), 0))
			sem, err := lock.NewSemaphore(a.c, fmt.Sprint("/permits/", i), 1, lock.WithTacitLimit())
			require.NoError(t, err)
			release(t, granted(t, async(t, sem.Acquire), 0))
			agreed, err := lock.NewSemaphore(a.c, fmt.Sprint("/agreed/", i), 1)
			require.NoError(t, err)
			release(t, granted(t, async(t, agreed.Acquire), 0))
		}
		time.Sleep(5 * time.Minute) // the reaper needs one round for each level
		require.Len(t, srv.Children("/agreed"), names, "a limit that was agreed on is kept")
		for _, z := range srv.Tree() {
			if z.Path != "/" && z.Path != "/agreed" {
				require.Equal(t, "1", string(z.Data), z.Path)
			}
		}
		requireUnused(t, a.c)
	})
}

// lookingHandler is a handler of logs that looks at the lock they are about.
type lookingHandler struct {
	slog.Handler
	look func()
}

func (h *lookingHandler) Handle(context.Context, slog.Record) error { h.look(); return nil }

// No lock is held while a handler runs.
func TestHandlerOfLogsMayLookAtTheQueueWhoseNumbersRunOut(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		h := &lookingHandler{Handler: slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelWarn}), look: func() {}}
		a := join(t, srv, recipes.WithLogger(slog.New(h)))
		release(t, a.hold())
		require.NoError(t, srv.SetCreateCounter(path, math.MaxInt32-1000))
		looked := 0
		h.look = func() {
			list, err := a.Queue(t.Context())
			require.NoError(t, err)
			require.Len(t, list, 1)
			looked++
		}
		release(t, a.hold())
		require.Equal(t, 1, looked)
	})
}
