package recipes_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

const T = zkrtest.Timeout

// held gives a lease that has been held for a while.
func held(t testing.TB, c *recipes.Client) *recipes.Lease {
	t.Helper()
	l, err := mutex(t, c, "/x").Lock(t.Context())
	require.NoError(t, err)
	time.Sleep(2*T + T/7)
	return l
}

func TestLeaseStateWakesForEveryEnd(t *testing.T) {
	for name, end := range map[string]func(*zktest.Server, *recipes.Client, *recipes.Lease){
		"released":      func(_ *zktest.Server, _ *recipes.Client, l *recipes.Lease) { _ = l.Release(context.Background()) },
		"znode deleted": func(s *zktest.Server, _ *recipes.Client, l *recipes.Lease) { _ = s.Delete(l.Node()) },
		"expired":       func(s *zktest.Server, _ *recipes.Client, l *recipes.Lease) { s.ExpireSession(l.Session().ID()) },
		"frozen":        func(s *zktest.Server, _ *recipes.Client, _ *recipes.Lease) { s.Freeze() },
		"closed":        func(_ *zktest.Server, c *recipes.Client, _ *recipes.Lease) { c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				c := zkrtest.Dial(t, srv)
				l := held(t, c)
				over := make(chan recipes.State, 1)
				go func() {
					for {
						state, changed := l.State()
						if state == recipes.Lost || state == recipes.Closed {
							over <- state
							return
						}
						<-changed
					}
				}()
				synctest.Wait()
				end(srv, c, l)
				state := <-over
				require.Equal(t, name == "released", state == recipes.Closed)
				require.Error(t, l.Err())
				srv.Thaw()
			})
		})
	}
}

// The function is told in time, its znode stays until it has returned, and its
// success does not hide the loss.
func TestDoStopsItsFunctionBeforeTheLeaseEndsAndWaitsForIt(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		const grace = T / 10
		cable := srv.Cable()
		c := zkrtest.DialBy(t, cable, srv.ConnectString(), recipes.WithStopGrace(grace))
		l := held(t, c)
		next := zkrtest.Go(func() (*recipes.Lease, error) { return mutex(t, zkrtest.Dial(t, srv), "/x").Lock(t.Context()) })
		err := l.Do(t.Context(), func(ctx context.Context, l *recipes.Lease) error {
			synctest.Wait()
			require.NoError(t, srv.Refuse(true))
			cable.Cut()
			<-ctx.Done()
			require.ErrorIs(t, context.Cause(ctx), recipes.ErrStop)
			require.Equal(t, grace, l.Remaining())
			time.Sleep(grace) // as long as it may take
			require.ErrorIs(t, l.Err(), recipes.ErrLost)
			require.NoError(t, srv.Refuse(false))
			time.Sleep(2 * time.Second) // longer than it may, with a connection again
			zkrtest.Pending(t, next)
			return nil
		})
		require.ErrorIs(t, err, recipes.ErrLost)
		require.NoError(t, (<-next).Err)
	})
}

// As long as its znode stays for it, also where the lease was lost before.
func TestCloseAndShutdownWaitForTheFunctionOfALostLease(t *testing.T) {
	for name, end := range map[string]func(context.Context, *recipes.Client) error{
		"Close":    func(_ context.Context, c *recipes.Client) error { c.Close(); return nil },
		"Shutdown": func(ctx context.Context, c *recipes.Client) error { return c.Shutdown(ctx) },
	} {
		t.Run(name, func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				cable := srv.Cable()
				c := zkrtest.DialBy(t, cable, srv.ConnectString(), recipes.WithStopOnSuspend())
				l := held(t, c)
				next := zkrtest.Go(func() (*recipes.Lease, error) { return mutex(t, zkrtest.Dial(t, srv), "/x").Lock(t.Context()) })
				var returned time.Time
				done := zkrtest.Go(func() (struct{}, error) {
					return struct{}{}, l.Do(t.Context(), func(context.Context, *recipes.Lease) error {
						<-l.Done()
						time.Sleep(2 * time.Second)
						returned = time.Now()
						return nil
					})
				})
				synctest.Wait()
				cable.Cut()
				time.Sleep(time.Second) // for the connection to come back
				require.ErrorIs(t, l.Err(), recipes.ErrLost)
				zkrtest.Pending(t, next)
				lost := time.Now()
				require.NoError(t, end(t.Context(), c))
				require.NoError(t, (<-next).Err)
				require.Equal(t, time.Second, time.Since(lost))
				require.ErrorIs(t, (<-done).Err, recipes.ErrLost)
				require.Zero(t, time.Since(returned))
			})
		})
	}
}

func TestDoReleasesWhateverItsFunctionDoes(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := zkrtest.Dial(t, srv)
		failure := errors.New("failure")
		l := held(t, c)
		require.ErrorIs(t, l.Do(t.Context(), func(context.Context, *recipes.Lease) error { return failure }), failure)
		require.ErrorIs(t, l.Err(), recipes.ErrReleased)
		l = held(t, c)
		require.PanicsWithValue(t, "oh", func() {
			_ = l.Do(t.Context(), func(context.Context, *recipes.Lease) error { panic("oh") })
		})
		require.ErrorIs(t, l.Err(), recipes.ErrReleased)
		ctx, cancel := context.WithCancel(t.Context())
		l = held(t, c)
		require.NoError(t, l.Do(ctx, func(ctx context.Context, _ *recipes.Lease) error {
			cancel()
			<-ctx.Done()
			return nil
		}))
		require.Empty(t, srv.Children("/x"))
	})
}

func TestDoOfALeaseThatIsOverRunsNothing(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := zkrtest.Dial(t, srv)
		run := func(context.Context, *recipes.Lease) error { t.Error("called"); return nil }
		l := held(t, c)
		require.NoError(t, l.Release(t.Context()))
		require.Equal(t, recipes.ErrReleased, l.Do(t.Context(), run))
		l = held(t, c)
		srv.ExpireSession(l.Session().ID())
		<-l.Done()
		require.Equal(t, l.Err(), l.Do(t.Context(), run), "and it says so once")
		require.ErrorIs(t, l.Err(), recipes.ErrLost)
	})
}

func TestDoReturnsTheErrorOfItsFunctionAsItIs(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := zkrtest.Dial(t, srv)
		failure := errors.New("failure")
		require.Equal(t, failure, held(t, c).Do(t.Context(), func(context.Context, *recipes.Lease) error { return failure }))
		l := held(t, c)
		err := l.Do(t.Context(), func(_ context.Context, l *recipes.Lease) error {
			srv.ExpireSession(l.Session().ID())
			<-l.Done()
			return l.Err()
		})
		require.Equal(t, l.Err(), err, "the loss is said once")
	})
}

func TestContextOfALeaseEndsWithItAndSaysWhy(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := zkrtest.Dial(t, srv)
		l := held(t, c)
		parent, cancel := context.WithCancel(t.Context())
		a, b := l.Context(t.Context()), l.Context(parent)
		cancel()
		<-b.Done()
		require.ErrorIs(t, context.Cause(b), context.Canceled)
		require.NoError(t, a.Err())
		srv.ExpireSession(l.Session().ID())
		<-a.Done()
		require.ErrorIs(t, context.Cause(a), recipes.ErrLost)
		require.ErrorIs(t, context.Cause(a), recipes.ErrSessionExpired)
		late := l.Context(t.Context())
		require.ErrorIs(t, context.Cause(late), recipes.ErrLost)
	})
}

// A session owns no more than an ensemble survives; further ones are opened.
func TestLocksAreSpreadOverSessionsOfBoundedSize(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		const budget = 4 << 10
		c := zkrtest.Dial(t, srv, recipes.WithEphemeralBudget(budget))
		for range 3 {
			var leases []*recipes.Lease
			for range 100 {
				m := mutex(t, c, "/many/"+string(rune('a'+len(leases)%26))+string(rune('a'+len(leases)/26)))
				l, err := m.Lock(t.Context())
				require.NoError(t, err)
				leases = append(leases, l)
			}
			owned := 0
			for _, info := range srv.Sessions() {
				size := 0
				for _, p := range info.Ephemerals {
					size += 4 + len(p)
				}
				require.LessOrEqual(t, size, budget)
				owned += len(info.Ephemerals)
			}
			require.Equal(t, 100, owned)
			require.LessOrEqual(t, len(srv.Sessions()), 4)
			for _, l := range leases {
				require.NoError(t, l.Release(t.Context()))
			}
		}
	})
}

// A further session may be a long time coming, such as where the servers allow
// no more connections.
func TestRoomThatIsGivenBackServesWhoWaitsForAFurtherSession(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		var refuse atomic.Bool
		dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
			if refuse.Load() {
				return nil, errors.New("no more connections")
			}
			return srv.DialContext(ctx, network, addr)
		}
		c := zkrtest.Dial(t, srv, recipes.WithDialer(dial), recipes.WithEphemeralBudget(4<<10))
		refuse.Store(true)
		var leases []*recipes.Lease
		for {
			m := mutex(t, c, fmt.Sprintf("/many/%d", len(leases)))
			next := zkrtest.Go(func() (*recipes.Lease, error) { return m.Lock(t.Context()) })
			synctest.Wait()
			if len(next) == 1 {
				leases = append(leases, (<-next).Val)
				continue
			}
			require.NoError(t, leases[0].Release(t.Context()))
			synctest.Wait()
			require.Len(t, next, 1)
			require.NoError(t, (<-next).Err)
			return
		}
	})
}

// A lease may end, with its session, while it takes over the watches of the wait.
// For the race detector it comes to the same that somebody gives up on one of
// its contenders.
func TestLeaseMayEndWhileItTakesOverItsWatches(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := zkrtest.Dial(t, srv)
		for range 200 {
			made, err := c.CreateProtected(t.Context(), recipes.Protected{Dir: "/locks", Name: "lock-"})
			require.NoError(t, err)
			_, err = made.Watch(t.Context())
			require.NoError(t, err)
			gone := zkrtest.Go(func() (*recipes.Deletion, error) { return made.Discard(), nil })
			l, err := made.Session().Grant(t.Context(), recipes.Claim{Path: "/locks", Nodes: []*recipes.Owned{made.Owned}})
			<-(<-gone).Val.Done()
			if err != nil {
				require.ErrorIs(t, err, recipes.ErrNoNode) // too late
				continue
			}
			_ = l.Release(t.Context())
		}
	})
}
