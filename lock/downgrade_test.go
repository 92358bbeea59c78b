package lock_test

import (
	"context"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// A writer that becomes a reader, while things go wrong.

// requireUnused states that nothing is set aside any more of what the client's
// session may own.
func requireUnused(t testing.TB, c *recipes.Client) {
	t.Helper()
	requireFree(t, c, 512<<10)
}

// requireFree states that so much is to be had at once without another session.
func requireFree(t testing.TB, c *recipes.Client, bytes int) {
	t.Helper()
	s := zkrtest.Session(t, c)
	free, err := c.SessionFor(soon(t, time.Minute), bytes)
	require.NoError(t, err)
	free.Unreserve(bytes)
	require.Equal(t, s.ID(), free.ID(), "some of the budget is still set aside")
}

func TestDowngradeWhoseAnswerIsLostIsFoundOut(t *testing.T) {
	for name, fault := range map[string]func(*zktest.Hook){
		"request lost":     func(h *zktest.Hook) { h.DropBeforeCommit() },
		"reply lost":       func(h *zktest.Hook) { h.DropReply() },
		"reply lost twice": func(h *zktest.Hook) { h.Times(2).DropReply() },
	} {
		t.Run(name, func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				c := zkrtest.Dial(t, srv)
				rw := rwMutex(t, c)
				l := granted(t, async(t, rw.Lock), time.Second)
				fault(srv.On(zktest.Match{Op: zktest.OpMulti, Path: rwPath + "/*__READ__*"}))
				require.NoError(t, rw.Downgrade(t.Context(), l))
				require.True(t, l.Shared())
				require.NoError(t, l.Verify(t.Context()))
				require.Len(t, srv.Children(rwPath), 1)
				require.NoError(t, l.Release(t.Context()))
				require.Empty(t, srv.Children(rwPath))
				requireUnused(t, c)
			})
		})
	}
}

// What became of the first attempt is not known as long as reading fails.
func TestDowngradeIsFoundOutHoweverLongTheLookupFails(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := zkrtest.Dial(t, srv)
		rw := rwMutex(t, c)
		l := granted(t, async(t, rw.Lock), time.Second)
		srv.On(zktest.Match{Op: zktest.OpMulti, Path: rwPath + "/*__READ__*"}).DropReply()
		srv.On(zktest.Match{Op: zktest.OpExists}).Times(3).Error(zktest.Throttled)
		require.NoError(t, rw.Downgrade(t.Context(), l))
		require.NoError(t, l.Verify(t.Context()))
		require.NoError(t, l.Release(t.Context()))
		require.Empty(t, srv.Children(rwPath))
		requireUnused(t, c)
	})
}

func TestDowngradeOfALeaseThatIsOverSaysSo(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := zkrtest.Dial(t, srv)
		rw := rwMutex(t, c)
		released := granted(t, async(t, rw.Lock), time.Second)
		release(t, released)
		require.ErrorIs(t, rw.Downgrade(t.Context(), released), recipes.ErrReleased)

		lost := granted(t, async(t, rw.Lock), time.Second)
		require.NoError(t, srv.Delete(lost.Node()))
		require.ErrorIs(t, rw.Downgrade(t.Context(), lost), recipes.ErrLost)

		reader := granted(t, async(t, rw.RLock), time.Second)
		require.NoError(t, rw.Downgrade(t.Context(), reader), "is one already")
		release(t, reader)
		require.ErrorIs(t, rw.Downgrade(t.Context(), reader), recipes.ErrReleased)
		synctest.Wait()
		require.Empty(t, srv.Children(rwPath))
		requireUnused(t, c)
	})
}

// A release that crosses a downgrade waits for both znodes.
func TestReleaseDuringADowngradeLeavesNothing(t *testing.T) {
	for name, fault := range map[string]func(*zktest.Hook){
		"late":          func(h *zktest.Hook) { h.Delay(time.Second) },
		"answered late": func(h *zktest.Hook) { h.DelayReply(time.Second) },
		"request lost":  func(h *zktest.Hook) { h.DropBeforeCommit() },
		"reply lost":    func(h *zktest.Hook) { h.DropReply() },
	} {
		t.Run(name, func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				c := zkrtest.Dial(t, srv)
				rw := rwMutex(t, c)
				l := granted(t, async(t, rw.Lock), time.Second)
				hook := srv.On(zktest.Match{Op: zktest.OpMulti, Path: rwPath + "/*__READ__*"})
				fault(hook)
				down := zkrtest.Go(func() (any, error) { return nil, rw.Downgrade(t.Context(), l) })
				<-hook.Hit()
				require.NoError(t, l.Release(t.Context()))
				require.Empty(t, srv.Children(rwPath), "released, and not gone")
				require.ErrorIs(t, (<-down).Err, recipes.ErrReleased)
				synctest.Wait()
				requireUnused(t, c)
			})
		})
	}
}

// Do keeps the place until its function has returned, also where the lease was
// lost while a downgrade was under way.
func TestDoKeepsItsPlaceThroughADowngrade(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		cable := srv.Cable()
		a := rwMutex(t, zkrtest.DialBy(t, cable, srv.ConnectString()))
		b := rwMutex(t, zkrtest.Dial(t, srv))
		var next <-chan result
		err := a.Do(t.Context(), func(_ context.Context, l *recipes.Lease) error {
			time.Sleep(2 * T)
			next = async(t, b.Lock)
			zkrtest.Pending(t, next)
			cable.Stall(zktest.ToClient)
			down := zkrtest.Go(func() (any, error) { return nil, a.Downgrade(t.Context(), l) })
			<-l.Done()
			cable.Restore()
			require.ErrorIs(t, (<-down).Err, recipes.ErrLost)
			time.Sleep(time.Second)
			zkrtest.Pending(t, next)
			require.Len(t, srv.Children(rwPath), 2)
			return nil
		})
		require.ErrorIs(t, err, recipes.ErrLost)
		release(t, granted(t, next, time.Second))
		require.Empty(t, srv.Children(rwPath))
	})
}

// Whoever asks while the znode is exchanged asks about the new one.
func TestVerifyDuringADowngradeLosesNothing(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		cable := srv.Cable()
		rw := rwMutex(t, zkrtest.DialBy(t, cable, srv.ConnectString()))
		for range 30 {
			l := granted(t, async(t, rw.Lock), 2*time.Second)
			cable.Cut()
			synctest.Wait()
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					if err := l.Verify(t.Context()); err != nil {
						t.Errorf("verify: %v", err)
					}
				})
			}
			synctest.Wait()
			for range 2 { // two at once are one
				wg.Go(func() {
					if err := rw.Downgrade(t.Context(), l); err != nil {
						t.Errorf("downgrade: %v", err)
					}
				})
			}
			wg.Wait()
			require.NoError(t, l.Err())
			require.NoError(t, l.Release(t.Context()))
		}
	})
}

// A downgrade needs no more room than what it gives up.
func TestDowngradeInAFullSession(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := zkrtest.Dial(t, srv, recipes.WithEphemeralBudget(4<<10))
		rw := rwMutex(t, c)
		l := granted(t, async(t, rw.Lock), time.Second)
		s, rest := l.Session(), 0
		for range 4 << 10 {
			one, err := c.SessionFor(t.Context(), 1)
			require.NoError(t, err)
			if one.ID() != s.ID() {
				one.Unreserve(1)
				break
			}
			rest++
		}
		require.NoError(t, rw.Downgrade(t.Context(), l))
		s.Unreserve(rest)
		release(t, l)
	})
}

// A reader that was a writer stands in the writer's place, though it was made
// later than the writers behind: also where order is told by the transactions,
// because the numbers of others have run out.
func TestDowngradeLetsNoWriterInAtTheEndOfTheNumbers(t *testing.T) {
	for name, from := range map[string]int32{"stuck": math.MaxInt32, "negative": math.MinInt32} {
		t.Run(name, func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				a, b, c := rwMutex(t, zkrtest.Dial(t, srv)), rwMutex(t, zkrtest.Dial(t, srv)), rwMutex(t, zkrtest.Dial(t, srv))
				la := granted(t, async(t, a.Lock), time.Second)
				wb := async(t, b.Lock)
				zkrtest.Pending(t, wb)
				require.NoError(t, srv.SetCreateCounter(rwPath, from))
				wc, rc := async(t, c.Lock), async(t, c.RLock)
				zkrtest.Pending(t, wc, rc)
				require.NoError(t, a.Downgrade(t.Context(), la))
				time.Sleep(time.Minute)
				zkrtest.Pending(t, wb, wc, rc)
				require.NoError(t, la.Err())
				list, err := a.Queue(t.Context())
				require.NoError(t, err)
				require.Equal(t, la.Node(), list[0].Path)
				_, err = c.TryLock(t.Context())
				require.Error(t, err)
				release(t, la)
				lb := granted(t, wb, time.Second)
				zkrtest.Pending(t, wc, rc)
				release(t, lb)
			})
		})
	}
}
