package lock_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Multi-locks, while things go wrong.

// Others take the room that the members need. That is no reason to fail: there
// are further sessions.
func TestMultisThatCompeteForRoomAllSucceed(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := zkrtest.Dial(t, srv, recipes.WithEphemeralBudget(4<<10))
		var wg sync.WaitGroup
		for i := range 12 {
			m := multi(t, c, fmt.Sprintf("/m/%d/a", i), fmt.Sprintf("/m/%d/b", i), fmt.Sprintf("/m/%d/c", i), fmt.Sprintf("/m/%d/d", i))
			wg.Go(func() {
				for range 10 {
					l, err := m.Lock(t.Context())
					if err != nil {
						t.Errorf("lock: %v", err)
						return
					}
					time.Sleep(time.Millisecond)
					if err := l.Release(t.Context()); err != nil {
						t.Errorf("release: %v", err)
					}
				}
			})
		}
		wg.Wait()
		synctest.Wait()
		require.Len(t, srv.Sessions(), 1, "further sessions have retired")
	})
}

// paths returns n paths that take some 270 bytes each.
func paths(name string, n int) []string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf("/m/%s%d%s", name, i, strings.Repeat("x", 210)))
	}
	return list
}

// A further session must not retire between its choice and its use.
func TestMultiThatNeedsMoreThanIsLeftOfASession(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := zkrtest.Dial(t, srv, recipes.WithEphemeralBudget(4<<10))
		small := granted(t, async(t, multi(t, c, paths("small", 6)...).Lock), time.Second)
		for range 10 {
			large := granted(t, async(t, multi(t, c, paths("large", 11)...).Lock), time.Second)
			require.NotEqual(t, small.Session().ID(), large.Session().ID())
			release(t, large)
		}
		release(t, small)
		synctest.Wait()
		require.Len(t, srv.Sessions(), 1)
	})
}

// A further session that is empty while the first is not yet roomy retires when
// that is.
func TestFurtherSessionRetiresWhenTheFirstIsRoomyAgain(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := zkrtest.Dial(t, srv, recipes.WithEphemeralBudget(4<<10))
		first := granted(t, async(t, multi(t, c, paths("first", 10)...).Lock), time.Second)
		further := granted(t, async(t, multi(t, c, paths("further", 10)...).Lock), time.Second)
		require.Len(t, srv.Sessions(), 2)
		release(t, further)
		synctest.Wait()
		require.Len(t, srv.Sessions(), 2, "the first is still more than half full")
		release(t, first)
		synctest.Wait()
		require.Len(t, srv.Sessions(), 1)
	})
}

// Who may create in a directory, and not write its data, makes contenders
// without that.
func TestMultiInDirectoriesWhoseDataMustNotBeWritten(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		open := recipes.WorldACL(recipes.PermRead | recipes.PermCreate | recipes.PermDelete)
		c := zkrtest.Dial(t, srv, recipes.WithParentACL(open...))
		m := multi(t, c, "/m/a", "/m/b")
		for range 4 {
			release(t, granted(t, async(t, m.Lock), time.Second))
		}
		l, err := m.TryLock(t.Context())
		require.NoError(t, err)
		release(t, l)
		before := srv.Requests(0, 0)
		release(t, granted(t, async(t, m.Lock), time.Second))
		require.LessOrEqual(t, srv.Requests(0, 0)-before, 6, "denied once, not asked again")
		requireUnused(t, c)
	})
}

// A place that is kept is not lost because the answer to giving others up was.
func TestMultiKeepsItsPlaceThoughAnAnswerIsLost(t *testing.T) {
	for name, fault := range map[string]func(*zktest.Hook){
		"request lost": func(h *zktest.Hook) { h.DropBeforeCommit() },
		"reply lost":   func(h *zktest.Hook) { h.DropReply() },
	} {
		t.Run(name, func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				a, b := zkrtest.Dial(t, srv), zkrtest.Dial(t, srv)
				held := granted(t, async(t, mutexAt(t, b, "/m/b").Lock), time.Second)
				m, err := lock.NewMulti(a, []string{"/m/a", "/m/b", "/m/c"}, lock.WithStay())
				require.NoError(t, err)
				give := srv.On(zktest.Match{Op: zktest.OpMulti, Session: zkrtest.Session(t, a).ID(), Path: "/m/c/*-lock-0*"})
				fault(give)
				wait := async(t, m.Lock)
				<-give.Hit()
				place := srv.Children("/m/a")
				require.Len(t, place, 1)
				time.Sleep(3 * time.Second)
				zkrtest.Pending(t, wait)
				require.Equal(t, place, srv.Children("/m/a"))
				require.Empty(t, srv.Children("/m/c"))
				release(t, held)
				release(t, granted(t, wait, time.Second))
				requireAllEmpty(t, srv, "/m/a", "/m/b", "/m/c")
				requireUnused(t, a)
			})
		})
	}
}

// Derived from multi-locks elsewhere, for which nobody reports what happens: a
// member that is lost while others are waited for.
func TestMultiDoesNotBeginWithoutAMemberThatWasDeletedMeanwhile(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := zkrtest.Dial(t, srv), zkrtest.Dial(t, srv)
		held := granted(t, async(t, mutexAt(t, b, "/m/b").Lock), time.Second)
		wait := async(t, multi(t, a, "/m/a", "/m/b").Lock)
		zkrtest.Pending(t, wait)
		require.NoError(t, srv.Delete("/m/a/"+srv.Children("/m/a")[0]))
		stranger := granted(t, async(t, mutexAt(t, b, "/m/a").Lock), time.Second)
		time.Sleep(time.Second)
		release(t, held)
		zkrtest.Pending(t, wait)
		require.NoError(t, stranger.Err())
		release(t, stranger)
		release(t, granted(t, wait, time.Second))
		requireAllEmpty(t, srv, "/m/a", "/m/b")
	})
}

// As above, with others behind the one that is waited for.
func TestMultiDoesNotBeginWithoutAMemberThatWasDeletedBeforeTheRest(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := zkrtest.Dial(t, srv), zkrtest.Dial(t, srv)
		held := granted(t, async(t, mutexAt(t, b, "/m/b").Lock), time.Second)
		wait := async(t, multi(t, a, "/m/a", "/m/b", "/m/c").Lock)
		zkrtest.Pending(t, wait)
		require.NoError(t, srv.Delete("/m/a/"+srv.Children("/m/a")[0]))
		stranger := granted(t, async(t, mutexAt(t, b, "/m/a").Lock), time.Second)
		time.Sleep(time.Second)
		release(t, held)
		zkrtest.Pending(t, wait)
		release(t, stranger)
		release(t, granted(t, wait, time.Second))
		requireAllEmpty(t, srv, "/m/a", "/m/b", "/m/c")
	})
}

func TestMultiTryLockGoesOnInAnotherSession(t *testing.T) {
	for n := range 6 {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				c := zkrtest.Dial(t, srv)
				m, err := lock.NewMulti(c, []string{"/m/a", "/m/b"}, lock.WithSync())
				require.NoError(t, err)
				release(t, granted(t, async(t, m.Lock), time.Second))
				id := zkrtest.Session(t, c).ID()
				srv.On(zktest.Match{Session: id, Skip: n}).Optional().Call(func(zktest.Request) { srv.ExpireSession(id) })
				l, err := m.TryLock(t.Context())
				require.NoError(t, err)
				_ = l.Release(t.Context())
				requireAllEmpty(t, srv, "/m/a", "/m/b")
			})
		})
	}
}

// kazoo e7f5829, and Curator's InterProcessMultiLock: a deadline for each step
// is none for all.
func TestMultiHasOneDeadlineForAllOfItsSteps(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := zkrtest.Dial(t, srv), zkrtest.Dial(t, srv)
		all := []string{"/m/1", "/m/2", "/m/3", "/m/4"}
		for i, path := range all {
			l := granted(t, async(t, mutexAt(t, b, path).Lock), time.Second)
			time.AfterFunc(time.Duration(i+1)*900*time.Millisecond, func() { _ = l.Release(context.Background()) })
		}
		start := time.Now()
		err := failed(t, zkrtest.Go(func() (*recipes.Lease, error) { return multi(t, a, all...).Lock(soon(t, time.Second)) }), T)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(start))
		time.Sleep(T)
		requireAllEmpty(t, srv, all...)
		requireUnused(t, a)
	})
}

// redisson#4456: giving back what it has is disturbed, too.
func TestMultiThatFailsGivesBackWhateverHappensToIt(t *testing.T) {
	for name, disturb := range map[string]func(*zktest.Hook, *party){
		"request lost":  func(h *zktest.Hook, _ *party) { h.DropBeforeCommit() },
		"reply lost":    func(h *zktest.Hook, _ *party) { h.DropReply() },
		"throttled":     func(h *zktest.Hook, _ *party) { h.Error(zktest.Throttled) },
		"answered late": func(h *zktest.Hook, _ *party) { h.DelayReply(time.Second) },
		"the link is cut": func(h *zktest.Hook, a *party) {
			h.Call(func(zktest.Request) {
				a.cable.Refuse(true)
				a.cable.Cut()
				time.AfterFunc(T/3, func() { a.cable.Refuse(false) })
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				a, b := join(t, srv), zkrtest.Dial(t, srv)
				for range 2 {
					release(t, granted(t, async(t, multi(t, a.c, "/m/a", "/m/b", "/m/c").Lock), time.Second))
				}
				held := granted(t, async(t, mutexAt(t, b, "/m/b").Lock), time.Second)
				ctx, cancel := context.WithCancel(t.Context())
				wait := zkrtest.Go(func() (*recipes.Lease, error) { return multi(t, a.c, "/m/a", "/m/b", "/m/c").Lock(ctx) })
				zkrtest.Pending(t, wait)
				require.Len(t, srv.Children("/m/a"), 1)
				gives := srv.On(zktest.Match{Session: a.session()})
				disturb(gives, a)
				cancel()
				require.ErrorIs(t, failed(t, wait, 0), context.Canceled)
				release(t, granted(t, async(t, mutexAt(t, b, "/m/a").Lock), T/2))
				require.NotZero(t, gives.Hits())
				time.Sleep(T / 2)
				require.Len(t, srv.Children("/m/b"), 1, "the holder")
				requireAllEmpty(t, srv, "/m/a", "/m/c")
				release(t, held)
				requireUnused(t, a.c)
			})
		})
	}
}
