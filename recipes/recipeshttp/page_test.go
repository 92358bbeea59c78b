package recipeshttp

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func TestLeaseIsListedWithWhatItsOwnClockLeavesIt(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		p := New()
		c := join(t, p, srv, recipes.WithIdentity("web-3"))
		l := hold(t, c, "/locks/x", lock.WithGuards(fence.NewMemory("data")))
		for range 5 {
			time.Sleep(1234 * time.Millisecond)
			s := asJSON(t, p)
			require.Equal(t, 1, s.Held.Total)
			h := s.Held.Rows[0]
			require.InDelta(t, l.Remaining().Seconds(), h.Remaining, 0.001)
			require.InDelta(t, l.HeldFor().Seconds(), h.Held, 0.001)
			require.Equal(t, saidLease{
				Path: "/locks/x", Kind: "mutex", Token: l.Token().String(), Session: sessionOf(l), State: "connected", Znode: l.Node(),
				Remaining: h.Remaining, Held: h.Held, Guards: []string{"*fence.Memory"},
			}, h)
		}
		page := ask(t, p, "GET", "").Body.String()
		require.Contains(t, page, "/locks/x")
		require.Contains(t, page, seconds(l.Remaining()).String())

		require.NoError(t, l.Release(t.Context()))
		s := asJSON(t, p)
		require.Zero(t, s.Held.Total)
		require.Equal(t, "released", s.Events[0].What)
		require.Equal(t, "held for 6.2s", s.Events[0].Text)
	})
}

func sessionOf(l *recipes.Lease) string { return fmt.Sprintf("%#x", uint64(l.Session().ID())) }

// The page goes by the same clock when nothing arrives any more: what is left runs
// out on it, and what has run out is not listed in the same instant.
func TestLeaseThatRunsOutRunsOutOnThePage(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		p := New()
		cable := srv.Cable()
		c := zkrtest.DialBy(t, cable, srv.ConnectString(), recipes.WithTrace(p.Trace()))
		l := hold(t, c, "/locks/x")
		time.Sleep(T)
		cable.Refuse(true)
		cable.Cut()
		synctest.Wait()
		s := asJSON(t, p)
		require.Equal(t, "suspended", s.Held.Rows[0].State)
		require.Equal(t, "suspended", s.Sessions.Rows[0].State)
		require.NotEmpty(t, s.Sessions.Rows[0].Cause)
		require.Empty(t, s.Sessions.Rows[0].Server)
		left := s.Held.Rows[0].Remaining

		time.Sleep(time.Second)
		s = asJSON(t, p)
		require.InDelta(t, left-1, s.Held.Rows[0].Remaining, 0.001)
		require.InDelta(t, 1, s.Sessions.Rows[0].Since, 0.001)
		require.InDelta(t, left-1, s.Sessions.Rows[0].Proven, 0.001)
		require.Equal(t, 1, s.Sessions.Rows[0].Leases)

		time.Sleep(l.Remaining()) // the timer has not been served yet
		s = asJSON(t, p)
		require.Zero(t, s.Held.Total)
		require.Zero(t, s.Sessions.Rows[0].Proven)
		require.Contains(t, s.whats(), "lost")
		require.Equal(t, map[string]uint64{"disconnected": 1}, s.Counts.Lost)
		require.Contains(t, ask(t, p, "GET", "").Body.String(), `<span class="bad">1 not connected</span>`)
	})
}

func TestCallIsListedWithItsPlaceUntilItReturns(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		p := New()
		other := zkrtest.Dial(t, srv, recipes.WithIdentity("other"))
		first := hold(t, other, "/locks/x")
		c := join(t, p, srv)
		a := zkrtest.Go(func() (*recipes.Lease, error) { return mutex(t, c, "/locks/x").Lock(t.Context()) })
		zkrtest.Pending(t, a)
		time.Sleep(time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		b := zkrtest.Go(func() (*recipes.Lease, error) { return mutex(t, c, "/locks/x").Lock(ctx) })
		zkrtest.Pending(t, b)

		s := asJSON(t, p)
		require.Equal(t, 2, s.Waiting.Total)
		for i, w := range s.Waiting.Rows {
			require.Equal(t, i+1, w.Position)
			require.InDelta(t, 1-i, w.Waiting, 0.001)
			require.True(t, w.Queued)
			require.Equal(t, "other", w.First.Identity)
			require.True(t, w.First.Holds)
			require.Equal(t, first.Node(), w.First.Znode)
			require.Equal(t, sessionOf(first), w.First.Session)
			require.Equal(t, fmt.Sprintf("%#x", uint64(zkrtest.Session(t, c).ID())), w.Session)
		}
		require.Equal(t, first.Node(), s.Waiting.Rows[0].Behind)
		require.Equal(t, s.Waiting.Rows[0].Znode, s.Waiting.Rows[1].Behind)
		require.Equal(t, []string{"waits", "waits"}, s.whats()[:2])

		cancel()
		require.ErrorIs(t, (<-b).Err, context.Canceled)
		s = asJSON(t, p)
		require.Equal(t, 1, s.Waiting.Total)
		require.Equal(t, "not granted", s.Events[0].What)
		require.EqualValues(t, 1, s.Counts.NotGranted)

		require.NoError(t, first.Release(t.Context()))
		zkrtest.Granted(t, a, time.Second)
		s = asJSON(t, p)
		require.Zero(t, s.Waiting.Total)
		require.Equal(t, 1, s.Held.Total)
	})
}

// Each kind of lock, held by one client and awaited by another.
func TestEveryKindIsListed(t *testing.T) {
	for kind, take := range map[string]func(t *testing.T, c *recipes.Client) (*recipes.Lease, error){
		"mutex": func(t *testing.T, c *recipes.Client) (*recipes.Lease, error) {
			return mutex(t, c, "/x").Lock(t.Context())
		},
		"writer": func(t *testing.T, c *recipes.Client) (*recipes.Lease, error) {
			rw, err := lock.NewRWMutex(c, "/x")
			require.NoError(t, err)
			return rw.Lock(t.Context())
		},
		"permit": func(t *testing.T, c *recipes.Client) (*recipes.Lease, error) {
			sem, err := lock.NewSemaphore(c, "/x", 1)
			require.NoError(t, err)
			return sem.Acquire(t.Context())
		},
		"candidate": func(t *testing.T, c *recipes.Client) (*recipes.Lease, error) {
			e, err := election.New(c, "/x")
			require.NoError(t, err)
			term, err := e.Campaign(t.Context())
			if err != nil {
				return nil, err
			}
			return term.Lease(), nil
		},
	} {
		t.Run(kind, func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				p := New()
				a, b := join(t, p, srv, recipes.WithIdentity("a")), join(t, p, srv, recipes.WithIdentity("b"))
				l, err := take(t, a)
				require.NoError(t, err)
				next := zkrtest.Go(func() (*recipes.Lease, error) { return take(t, b) })
				zkrtest.Pending(t, next)
				s := asJSON(t, p)
				require.Equal(t, 1, s.Held.Total)
				require.Equal(t, "/x", s.Held.Rows[0].Path)
				require.Equal(t, kind, s.Held.Rows[0].Kind)
				require.Equal(t, kind == "permit", s.Held.Rows[0].Shared)
				require.Equal(t, 1, s.Waiting.Total)
				w := s.Waiting.Rows[0]
				require.Equal(t, "/x", w.Path)
				require.Equal(t, kind, w.Kind)
				require.Equal(t, 1, w.Position)
				require.Equal(t, "a", w.First.Identity)
				require.Equal(t, l.Node(), w.Behind)
				require.NoError(t, l.Release(t.Context()))
				zkrtest.Granted(t, next, time.Second)
			})
		})
	}
}

// A multi-lock is one call, with its place for the member that it waits for.
func TestMultiLockIsOneCall(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		p := New()
		c := join(t, p, srv)
		other := zkrtest.Dial(t, srv)
		first, second := hold(t, other, "/m/a"), hold(t, other, "/m/c")
		m, err := lock.NewMulti(c, []string{"/m/c", "/m/b", "/m/a"})
		require.NoError(t, err)
		call := zkrtest.Go(func() (*recipes.Lease, error) { return m.Lock(t.Context()) })
		for _, l := range []*recipes.Lease{first, second} {
			zkrtest.Pending(t, call)
			s := asJSON(t, p)
			require.Equal(t, 1, s.Waiting.Total)
			require.Equal(t, "/m/a,/m/b,/m/c", s.Waiting.Rows[0].Path)
			require.Equal(t, l.Node(), s.Waiting.Rows[0].Behind)
			require.NoError(t, l.Release(t.Context()))
		}
		zkrtest.Granted(t, call, time.Second)
		s := asJSON(t, p)
		require.Zero(t, s.Waiting.Total)
		require.Equal(t, 1, s.Held.Total)
	})
}

// Who waits for a connection has no place yet, and is listed all the same.
func TestCallWithoutASessionIsListed(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		p := New()
		c := join(t, p, srv)
		srv.Down()
		call := zkrtest.Go(func() (*recipes.Lease, error) { return mutex(t, c, "/locks/x").Lock(t.Context()) })
		time.Sleep(time.Second)
		s := asJSON(t, p)
		require.Equal(t, 1, s.Waiting.Total)
		require.False(t, s.Waiting.Rows[0].Queued)
		require.Zero(t, s.Waiting.Rows[0].Position)
		require.Contains(t, ask(t, p, "GET", "").Body.String(), "not in the queue yet")
		require.NoError(t, srv.Up())
		zkrtest.Granted(t, call, 2*T)
		require.Zero(t, asJSON(t, p).Waiting.Total)
	})
}

func TestClientWithoutASessionIsListed(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		p := New()
		c := join(t, p, srv, recipes.WithIdentity("web-3"))
		id := zkrtest.Session(t, c).ID()
		srv.On(zktest.Match{Op: zktest.OpCreateSession}).Observe().Times(2) // to ask for the timeout, and to resume
		next := srv.On(zktest.Match{Op: zktest.OpCreateSession}).Hold()
		srv.ExpireSession(id)
		<-next.Hit()
		synctest.Wait()
		s := asJSON(t, p)
		require.Equal(t, lines[saidSession]{Total: 1, Rows: []saidSession{{Identity: "web-3", State: "lost"}}}, s.Sessions)
		next.Release()
		require.NotEqual(t, id, zkrtest.Session(t, c).ID())
		require.Equal(t, "connected", asJSON(t, p).Sessions.Rows[0].State)
	})
}

func TestNothingIsLeftOfAThousandLocks(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		p := New()
		c := join(t, p, srv)
		lost := 0
		for i := range 1000 {
			path := fmt.Sprintf("/locks/%d", i)
			l := hold(t, c, path)
			next := zkrtest.Go(func() (*recipes.Lease, error) { return mutex(t, c, path).Lock(t.Context()) })
			if i%100 == 0 {
				zkrtest.Pending(t, next)
				require.Len(t, p.calls, 1)
				require.NoError(t, srv.Delete(l.Node()))
				time.Sleep(T / 32)
				lost++
			} else {
				require.NoError(t, l.Release(t.Context()))
			}
			require.NoError(t, zkrtest.Granted(t, next, time.Second).Release(t.Context()))
		}
		s := asJSON(t, p)
		require.Zero(t, s.Held.Total)
		require.Zero(t, s.Waiting.Total)
		require.EqualValues(t, 2000, s.Counts.Granted)
		require.EqualValues(t, 2000-lost, s.Counts.Released)
		require.EqualValues(t, 2000, s.Counts.Calls)
		require.LessOrEqual(t, len(s.Events), 200)
		require.Empty(t, p.calls)
	})
}

func TestClosedClientIsForgotten(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		p := New()
		for range 10 {
			c := join(t, p, srv)
			hold(t, c, "/locks/x")
			call := zkrtest.Go(func() (*recipes.Lease, error) { return mutex(t, c, "/locks/x").Lock(t.Context()) })
			zkrtest.Pending(t, call)
			require.Len(t, p.clients, 1, "the one before is forgotten without being asked for")
			c.Close()
			require.ErrorIs(t, (<-call).Err, recipes.ErrClosed)
		}
		s := asJSON(t, p)
		require.Zero(t, s.Sessions.Total)
		require.Zero(t, s.Held.Total)
		require.Empty(t, p.clients)
		require.Empty(t, p.calls)
		require.Equal(t, map[string]uint64{"closed": 10}, s.Counts.Lost)
	})
}

func TestSessionThatIsOverIsForgotten(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		p := New()
		c := join(t, p, srv)
		for range 10 {
			s := zkrtest.Session(t, c)
			synctest.Wait()
			require.Len(t, p.clients[c], 1)
			require.Equal(t, 1, asJSON(t, p).Sessions.Total)
			srv.ExpireSession(s.ID())
			<-s.Done()
		}
	})
}

func TestTroublesOutlastWhatIsRoutine(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		p := New()
		c := join(t, p, srv)
		l := hold(t, c, "/locks/precious")
		srv.ExpireSession(l.Session().ID())
		<-l.Done()
		for range 200 {
			require.NoError(t, hold(t, c, "/locks/cache").Release(t.Context()))
		}
		s := asJSON(t, p)
		last := s.Events[len(s.Events)-3:]
		require.ElementsMatch(t, []string{"session lost", "lost", "session suspended"}, []string{last[0].What, last[1].What, last[2].What})
	})
}

func TestLongListsAreCutAndSaySo(t *testing.T) {
	p := New()
	for i := range maxRows + 7 {
		p.acquireStart(t.Context(), recipes.AcquireEvent{Call: uint64(i + 1), Path: "/locks/x"})
	}
	s := asJSON(t, p)
	require.Equal(t, maxRows+7, s.Waiting.Total)
	require.Len(t, s.Waiting.Rows, maxRows)
	page := ask(t, p, "GET", "").Body.String()
	require.Contains(t, page, "and 7 more, which are not shown")
	require.Equal(t, maxRows, strings.Count(page, `data-label="Waits for"`))
}

// Whoever asks for the page disturbs nobody, and nobody the page.
func TestPageIsServedWhileLocksComeAndGo(t *testing.T) {
	srv := zktest.Start(t)
	p := New()
	var clients []*recipes.Client
	for range 2 {
		c, err := recipes.Dial(t.Context(), srv.ConnectString(), recipes.WithTrace(p.Trace()))
		require.NoError(t, err)
		t.Cleanup(c.Close)
		clients = append(clients, c)
	}
	var done []<-chan zkrtest.Result[int]
	for i := range 8 {
		done = append(done, zkrtest.Go(func() (int, error) {
			mu := mutex(t, clients[i%2], fmt.Sprintf("/locks/%d", i%3))
			for range 20 {
				if err := mu.Do(t.Context(), func(context.Context, *recipes.Lease) error { return nil }); err != nil {
					return 0, err
				}
			}
			return 0, nil
		}))
	}
	for range 2 {
		done = append(done, zkrtest.Go(func() (int, error) {
			for range 15 {
				ask(t, p, "GET", "")
				ask(t, p, "GET", "?format=json")
			}
			return 0, nil
		}))
	}
	for _, d := range done {
		require.NoError(t, (<-d).Err)
	}
	s := asJSON(t, p)
	require.EqualValues(t, 160, s.Counts.Granted)
	require.Empty(t, p.calls)
}
