package recipes_test

import (
	"context"
	"fmt"
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

// What a client says of its sessions and leases is what they themselves go by, in
// each instant.

func TestClientNamesItsSessionsAndTheirLeases(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := zkrtest.Dial(t, srv, recipes.WithEphemeralBudget(4<<10))
		held := make(map[*recipes.Lease]bool)
		for i := range 100 { // more than one session has room for
			held[must(must(lock.NewMutex(c, fmt.Sprintf("/locks/%d", i))).Lock(t.Context()))] = true
		}
		sessions := c.Sessions()
		require.Greater(t, len(sessions), 1)
		require.Same(t, zkrtest.Session(t, c), sessions[0])
		named := make(map[*recipes.Lease]bool)
		for _, s := range sessions {
			for _, l := range s.Leases() {
				require.Same(t, s, l.Session())
				named[l] = true
			}
		}
		require.Equal(t, held, named)

		for l := range held {
			if l.Session() == sessions[0] {
				require.NoError(t, l.Release(t.Context()))
				require.NotContains(t, sessions[0].Leases(), l)
				break
			}
		}
		srv.ExpireSession(sessions[0].ID())
		<-sessions[0].Done()
		require.Empty(t, sessions[0].Leases())
		require.NotContains(t, c.Sessions(), sessions[0])
		c.Close()
		require.Empty(t, c.Sessions())
	})
}

func TestLeaseThatRanOutIsNotNamedBeforeItsTimerIsServed(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		cable := srv.Cable()
		c := zkrtest.DialBy(t, cable, srv.ConnectString())
		l := must(must(lock.NewMutex(c, "/x")).Lock(t.Context()))
		s := l.Session()
		time.Sleep(T)
		require.Equal(t, l.Remaining(), s.ProvenFor())
		cable.Refuse(true)
		cable.Cut()
		left := l.Remaining()
		require.Less(t, zkrtest.Timeout/5, left)
		time.Sleep(left)
		require.Empty(t, s.Leases())
		require.Zero(t, s.ProvenFor())
	})
}

func TestIdleSessionIsNotProven(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		s := zkrtest.Session(t, zkrtest.Dial(t, srv))
		require.Positive(t, s.ProvenFor(), "it was made just now")
		time.Sleep(2 * T)
		require.Zero(t, s.ProvenFor())
		state, _ := s.State()
		require.Equal(t, recipes.Connected, state)
	})
}

func TestLeaseSaysWhatItWasContendedFor(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := zkrtest.Dial(t, srv)
		data := fence.NewMemory("data")
		require.Equal(t, recipes.KindPermit, must(must(lock.NewSemaphore(c, "/sem", 1)).Acquire(t.Context())).Kind())
		l := must(must(lock.NewMulti(c, []string{"/a", "/b"}, lock.WithGuards(data))).Lock(t.Context()))
		require.Equal(t, recipes.KindMutex, l.Kind())
		require.Equal(t, []fence.Installer{data}, l.Guards())
		rw := must(lock.NewRWMutex(c, "/rw"))
		l = must(rw.Lock(t.Context()))
		require.Equal(t, recipes.KindWriter, l.Kind())
		require.NoError(t, rw.Downgrade(t.Context(), l))
		require.Equal(t, recipes.KindReader, l.Kind())
		require.Empty(t, l.Guards())
	})
}

// A contender's events say for which call it was made and whom it waits for.
func TestPlaceOfACallIsToldWithItsNumber(t *testing.T) {
	for name, get := range map[string]func(*testing.T, *recipes.Client) *recipes.Lease{
		"mutex": func(t *testing.T, c *recipes.Client) *recipes.Lease {
			return must(must(lock.NewMutex(c, "/x")).Lock(t.Context()))
		},
		"semaphore": func(t *testing.T, c *recipes.Client) *recipes.Lease {
			return must(must(lock.NewSemaphore(c, "/x", 1)).Acquire(t.Context()))
		},
		"multi-lock": func(t *testing.T, c *recipes.Client) *recipes.Lease {
			return must(must(lock.NewMulti(c, []string{"/x"})).Lock(t.Context()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				held := get(t, zkrtest.Dial(t, srv, recipes.WithIdentity("holder")))
				var starts, ends noted[recipes.AcquireEvent]
				var made noted[recipes.ContenderEvent]
				var places noted[recipes.WaitEvent]
				c := zkrtest.Dial(t, srv, recipes.WithTrace(recipes.Trace{
					AcquireStart: func(_ context.Context, e recipes.AcquireEvent) { starts.note(e) },
					AcquireDone:  func(_ context.Context, e recipes.AcquireEvent) { ends.note(e) },
					Enqueued:     made.note,
					Waiting:      places.note,
				}))
				next := zkrtest.Go(func() (*recipes.Lease, error) { return get(t, c), nil })
				zkrtest.Pending(t, next)
				require.Len(t, made.all(), 1)
				require.Len(t, places.all(), 1)
				place := places.all()[0]
				require.Equal(t, starts.all()[0].Call, made.all()[0].Call)
				require.Equal(t, starts.all()[0].Call, place.Call)
				require.Equal(t, "/x", made.all()[0].Lock)
				require.Equal(t, "/x", place.Lock)
				require.Equal(t, held.Kind(), place.Kind)
				require.Equal(t, 1, place.Position)
				require.Equal(t, held.Node(), place.Behind)
				require.Equal(t, held.Node(), place.Holder.Path)
				require.Equal(t, "holder", place.Holder.Identity)
				require.True(t, place.Holder.Holds)
				require.NoError(t, held.Release(t.Context()))
				zkrtest.Granted(t, next, time.Second)
				synctest.Wait()
				require.Equal(t, place.Call, ends.all()[0].Call)
			})
		})
	}
}
