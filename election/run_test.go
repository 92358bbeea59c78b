package election_test

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// How a term under Run begins and ends.

// kubernetes PR#139991, pinniped PR#800: work still runs when the place is given
// up.
func TestPlaceIsGivenUpWhenTheFunctionHasReturned(t *testing.T) {
	for name, end := range map[string]func(*running, *election.Term){
		"the context ends": func(r *running, _ *election.Term) { r.stop() },
		"resigned":         func(_ *running, term *election.Term) { _ = term.Resign(context.Background()) },
	} {
		t.Run(name, func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				a, b := join(t, srv, "a"), join(t, srv, "b")
				ra := a.run()
				linger := make(chan time.Time)
				ra.linger = linger
				term := ra.leads(t, 0)
				rb := b.run()
				synctest.Wait()

				end(ra, term)
				time.Sleep(3 * T)
				require.NoError(t, term.Err(), "the place is kept while the function runs")
				require.Contains(t, candidates(srv), term.Lease().Node()[len(path)+1:])
				require.Empty(t, rb.began)
				require.Equal(t, name != "resigned", a.IsLeader())

				var leader bool
				srv.On(zktest.Match{Op: zktest.OpDelete}).Call(func(zktest.Request) {
					leader = a.IsLeader() || len(ra.left) == 0
				})
				close(linger)
				next := rb.leads(t, 0)
				require.False(t, leader, "deleted while it led")
				require.Greater(t, next.Token(), term.Token())
				ra.stopped(t, 0)
				rb.stopped(t, 0)
				require.Empty(t, candidates(srv))
			})
		})
	}
}

// As above, where the place cannot be kept: the function is told in time.
func TestFunctionIsStoppedBeforeTheNextLeaderBegins(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := join(t, srv, "a"), join(t, srv, "b")
		ra := a.run()
		term := ra.leads(t, 0)
		rb := b.run()
		time.Sleep(3 * T)

		a.cable.Blackhole(zktest.BothWays)
		remaining := term.Lease().Remaining()
		start := time.Now()
		<-ra.left
		require.Less(t, time.Since(start), remaining, "stopped before the end of the lease")
		next := rb.leads(t, T+2*tick)
		require.GreaterOrEqual(t, time.Since(start), remaining)
		require.False(t, a.IsLeader())
		require.True(t, b.IsLeader())
		require.Greater(t, next.Token(), term.Token())

		a.cable.Restore()
		rb.stopped(t, 0)
		again := ra.leads(t, 2*T)
		require.Greater(t, again.Token(), next.Token(), "it campaigns again")
		ra.stopped(t, 0)
		require.Empty(t, candidates(srv))
	})
}

// client-go#1187, kubernetes PR#106026, PR#113972, PR#127743, CURATOR-83,
// CURATOR-87: started and stopped come in pairs, however a term ends.
func TestStartedAndStoppedComeInPairs(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := join(t, srv, "a"), join(t, srv, "b")
		holder := b.lead()
		never := a.run()
		zkrtest.Pending(t, never.done)
		never.stopped(t, 0)
		require.Empty(t, never.began, "stopped before it was elected")
		require.Empty(t, never.left)
		resign(t, holder)

		r := a.run()
		for i := range 100 {
			term := r.leads(t, 2*T)
			require.Len(t, r.left, i)
			switch i % 3 {
			case 0:
				srv.ExpireSession(a.session())
			case 1:
				require.NoError(t, srv.Delete(term.Lease().Node()))
			case 2:
				_ = term.Resign(t.Context())
			}
			ended(t, term, T)
			synctest.Wait()
			require.Len(t, r.left, i+1)
		}
		r.leads(t, 2*T)
		r.stopped(t, 0)
		require.Empty(t, r.began)
		require.Len(t, r.left, 101)
	})
}

// As above, when the client is closed.
func TestFunctionIsStoppedWhenTheClientIsClosed(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := join(t, srv, "a"), join(t, srv, "b")
		ra := a.run()
		ra.leads(t, 0)
		rb := b.run()
		synctest.Wait()
		b.c.Close()
		require.ErrorIs(t, outcome(t, rb.done, 0).Err, recipes.ErrClosed)
		require.Empty(t, rb.began)
		a.c.Close()
		require.ErrorIs(t, outcome(t, ra.done, 0).Err, recipes.ErrClosed)
		require.Len(t, ra.left, 1)
		require.Empty(t, candidates(srv))
	})
}

// etcd#6681, CURATOR-408: also where the servers say nothing to it.
func TestClosingEndsRunWhateverTheServersDo(t *testing.T) {
	for name, befall := range map[string]func(*zktest.Server, *candidate){
		"down":       func(srv *zktest.Server, _ *candidate) { srv.Down() },
		"frozen":     func(srv *zktest.Server, _ *candidate) { srv.Freeze() },
		"black hole": func(_ *zktest.Server, c *candidate) { c.cable.Blackhole(zktest.BothWays) },
	} {
		for standing, leads := range map[string]bool{"leading": true, "waiting": false} {
			t.Run(standing+", "+name, func(t *testing.T) {
				zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
					if !leads {
						join(t, srv, "b").lead()
					}
					a := join(t, srv, "a")
					r := a.run()
					zkrtest.Pending(t, r.done)
					require.Equal(t, leads, a.IsLeader())
					befall(srv, a)
					start := time.Now()
					a.c.Close()
					require.LessOrEqual(t, time.Since(start), 2*time.Second)
					require.ErrorIs(t, outcome(t, r.done, 0).Err, recipes.ErrClosed)
					require.False(t, a.IsLeader())
					require.Equal(t, leads, len(r.left) == 1)
					srv.Thaw()
				})
			})
		}
	}
}

// As above, where the function takes its time: nobody begins before it has
// returned, unless it takes longer than Close may.
func TestCloseWaitsForTheFunction(t *testing.T) {
	for name, fact := range map[string]struct {
		lingers time.Duration
		held    bool // the next leader is kept waiting until it has returned
	}{
		"that stops in time":          {time.Second, true},
		"that ignores its context":    {T, false},
		"that closes it, and goes on": {0, false},
	} {
		t.Run(name, func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				a, b := join(t, srv, "a"), join(t, srv, "b")
				begun, proceed, left := make(chan struct{}), make(chan struct{}), make(chan time.Time, 1)
				ra := zkrtest.Go(func() (struct{}, error) {
					return struct{}{}, a.Run(t.Context(), func(ctx context.Context, _ *election.Term) error {
						close(begun)
						<-proceed
						if fact.lingers == 0 {
							a.c.Close()
							require.ErrorIs(t, context.Cause(ctx), recipes.ErrClosed)
						}
						<-ctx.Done()
						time.Sleep(fact.lingers)
						left <- time.Now()
						return nil
					})
				})
				<-begun
				rb := b.run()
				synctest.Wait()
				close(proceed)
				closed := time.Now()
				a.c.Close()
				require.LessOrEqual(t, time.Since(closed), 2*time.Second)
				rb.leads(t, 0)
				if fact.lingers > 0 {
					require.Equal(t, fact.held, len(left) == 1)
				}
				require.ErrorIs(t, outcome(t, ra, T).Err, recipes.ErrClosed)
				rb.stopped(t, 0)
			})
		})
	}
}

// As a panic does, also what ends the goroutine: t.FailNow, say.
func TestGoexitGivesThePlaceUp(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := join(t, srv, "a"), join(t, srv, "b")
		var next <-chan result
		var wg sync.WaitGroup
		wg.Go(func() {
			_ = a.Run(t.Context(), func(context.Context, *election.Term) error {
				next = b.wait()
				runtime.Goexit()
				return nil
			})
		})
		wg.Wait()
		require.False(t, a.IsLeader())
		resign(t, elected(t, next, 0))
		require.NoError(t, a.Check(0))
		require.Empty(t, candidates(srv))
	})
}

// Where the place cannot be given up Run does not queue up behind itself.
func TestPlaceThatMayNotBeGivenUpEndsRun(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a := join(t, srv, "a")
		srv.On(zktest.Match{Op: zktest.OpDelete, Session: a.session()}).Error(zktest.NoAuth)
		r := zkrtest.Go(func() (struct{}, error) {
			return struct{}{}, a.Run(t.Context(), func(context.Context, *election.Term) error { return nil })
		})
		require.ErrorIs(t, outcome(t, r, 0).Err, recipes.ErrNoAuth)
		require.False(t, a.IsLeader())
	})
}

// A panic gives the place up, and goes on.
func TestPanicGivesThePlaceUpAndGoesOn(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := join(t, srv, "a"), join(t, srv, "b")
		var next <-chan result
		require.PanicsWithValue(t, "no such table", func() {
			_ = a.Run(t.Context(), func(context.Context, *election.Term) error {
				next = b.wait()
				panic("no such table")
			})
		})
		require.False(t, a.IsLeader())
		resign(t, elected(t, next, 0))
		require.NoError(t, a.Check(0))
		require.Empty(t, candidates(srv))
	})
}

// CURATOR-518, CURATOR-671
func TestResigningManyTimesIsResigningOnce(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a := join(t, srv, "a")
		r := a.run()
		term := r.leads(t, 0)
		for range 3 {
			require.NoError(t, term.Resign(t.Context()))
		}
		now, leads := a.Term()
		require.False(t, leads && now == term, "leads by a term that it has resigned")
		again := r.leads(t, 0)
		for range 3 {
			require.NoError(t, term.Resign(t.Context()), "of a term that is over")
			time.Sleep(3 * time.Millisecond)
		}
		require.True(t, a.IsLeader())
		require.NoError(t, again.Err())
		require.Len(t, candidates(srv), 1)

		// Also while it waits for its turn.
		b := join(t, srv, "b")
		next := b.wait()
		require.NoError(t, again.Resign(t.Context()))
		theirs := elected(t, next, 0)
		require.NoError(t, again.Resign(t.Context()))
		require.Len(t, candidates(srv), 2)
		resign(t, theirs)
		r.leads(t, 0)
		r.stopped(t, 0)
	})
}

// Resign may come before the function has begun: it begins with a context that
// has ended.
func TestResignBetweenElectionAndFunction(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		var a *candidate
		var first *election.Term
		guard := guardFunc(func(context.Context, fence.Token) error {
			term, ok := a.Term()
			require.True(t, ok)
			if first == nil {
				first = term
				require.NoError(t, term.Resign(t.Context()))
				require.NoError(t, term.Err(), "Run gives it up")
				require.False(t, a.IsLeader())
			}
			return nil
		})
		a = join(t, srv, "a", election.WithGuards(guard))
		r := a.run()
		require.Same(t, first, r.leads(t, 0))
		require.NotSame(t, first, r.leads(t, 0))
		r.stopped(t, 0)
	})
}

type guardFunc func(context.Context, fence.Token) error

func (g guardFunc) Install(ctx context.Context, token fence.Token) error { return g(ctx, token) }

// A guard that fails is no reason to lead unguarded, nor to give up.
func TestNobodyLeadsWithoutItsGuards(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		failures := 3
		var installed fence.Token
		a := join(t, srv, "a", election.WithGuards(guardFunc(func(_ context.Context, token fence.Token) error {
			if failures--; failures >= 0 {
				return errors.New("no such table")
			}
			installed = token
			return nil
		})))
		r := a.run()
		require.Equal(t, r.leads(t, 10*time.Second).Token(), installed)
		require.Len(t, candidates(srv), 1)
		r.stopped(t, 0)
	})
}

// What the function returns.
func TestErrorOfTheFunctionEndsRunUnlessItWasToldToStop(t *testing.T) {
	failure := errors.New("disk full")
	for name, fact := range map[string]struct {
		returns func(ctx context.Context, term *election.Term, stop func()) error
		want    error // of Run; nil where it campaigns again
		again   bool
	}{
		"an error": {func(context.Context, *election.Term, func()) error { return failure }, failure, false},
		"nothing":  {func(context.Context, *election.Term, func()) error { return nil }, nil, true},
		"an error after it resigned": {func(_ context.Context, term *election.Term, _ func()) error {
			_ = term.Resign(context.Background())
			return failure
		}, nil, true},
		"that a lock of its own is lost": {func(context.Context, *election.Term, func()) error {
			return recipes.ErrLost
		}, recipes.ErrLost, false},
		"that its place is lost": {func(ctx context.Context, term *election.Term, _ func()) error {
			s := term.Lease().Session()
			if err := s.Delete(ctx, term.Lease().Node(), -1); err != nil {
				return err
			}
			return term.Proclaim(ctx, []byte("x"))
		}, nil, true},
		"the end of the context": {func(ctx context.Context, _ *election.Term, stop func()) error {
			stop()
			<-ctx.Done()
			return ctx.Err()
		}, nil, false},
		"another error at the end of the context": {func(ctx context.Context, _ *election.Term, stop func()) error {
			stop()
			<-ctx.Done()
			return failure
		}, failure, false},
	} {
		t.Run(name, func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				a := join(t, srv, "a")
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				terms := 0
				err := a.Run(ctx, func(ctx context.Context, term *election.Term) error {
					if terms++; terms == 2 {
						cancel()
						return nil
					}
					return fact.returns(ctx, term, cancel)
				})
				require.Equal(t, fact.want, err)
				require.Equal(t, fact.again, terms == 2)
				require.Empty(t, candidates(srv))
			})
		})
	}
}

// CURATOR-15, -16, -73, -104, Netflix/curator#53, client-go#1155, vault#3896: the
// loop dies, and nobody notices.
func TestEveryCandidateComesBackAfterALongOutage(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		var all []*running
		for _, id := range []string{"a", "b", "c"} {
			all = append(all, join(t, srv, id).run())
			synctest.Wait() // in this order
		}
		all[0].leads(t, 0)
		time.Sleep(T)
		srv.Down()
		time.Sleep(2 * T)
		require.Len(t, all[0].left, 1)
		require.NoError(t, srv.Up())
		time.Sleep(T + 3*tick)
		led := 0
		for _, r := range all {
			zkrtest.Pending(t, r.done)
			led += len(r.began)
		}
		require.Equal(t, 1, led)
		require.Len(t, candidates(srv), 3)
	})
}

// As above, with all that a server may answer to a campaign.
func TestRunGoesOnAfterWhatPassesAndEndsAfterWhatStays(t *testing.T) {
	for name, fact := range map[string]struct {
		code  zktest.Code
		stays error
	}{
		"throttled":    {zktest.Throttled, nil},
		"system error": {zktest.SystemError, nil},
		"no auth":      {zktest.NoAuth, recipes.ErrNoAuth},
		"invalid ACL":  {zktest.InvalidACL, recipes.ErrInvalidACL},
	} {
		t.Run(name, func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				a := join(t, srv, "a")
				srv.On(zktest.Match{Op: zktest.OpCreate, Path: path + "/*"}).Times(5).Optional().Error(fact.code)
				r := a.run()
				if fact.stays != nil {
					require.ErrorIs(t, outcome(t, r.done, 0).Err, fact.stays)
					return
				}
				r.leads(t, T)
				r.stopped(t, 0)
				require.Empty(t, candidates(srv))
			})
		})
	}
}

// CURATOR-18, CURATOR-3, Netflix/curator#265, PR#274
func TestStopWhileTheCreateIsUnderWay(t *testing.T) {
	for name, keep := range map[string]func(*zktest.Hook) *zktest.Hook{
		"before it is executed": func(h *zktest.Hook) *zktest.Hook { return h.Delay(time.Second) },
		"after it was executed": func(h *zktest.Hook) *zktest.Hook { return h.DelayReply(time.Second) },
		"its reply is lost":     (*zktest.Hook).DropReply,
	} {
		t.Run(name, func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				a := join(t, srv, "a")
				require.NoError(t, srv.Create("/election", nil))
				require.NoError(t, srv.Create(path, nil))
				kept := keep(srv.On(zktest.Match{Path: path + "/_c_*"}))
				a.cable.Refuse(true) // whoever reconnects at once finds its znode, and leads before it is stopped
				r := a.run()
				<-kept.Hit()
				r.stopped(t, 0)
				require.Empty(t, r.began)
				a.cable.Refuse(false)
				time.Sleep(3 * time.Second)
				require.Empty(t, candidates(srv))
				time.Sleep(3 * T)
				require.Empty(t, candidates(srv), "none comes later")
			})
		})
	}
}

// CURATOR-337, -468, -466, INT-4254: nothing is wrong when it is stopped.
func TestStoppingIsNoError(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		log := new(lines)
		logger := []recipes.Option{recipes.WithLogger(slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn})))}
		a, b := joinAs(t, srv, logger), joinAs(t, srv, logger)
		ra := a.run()
		ra.leads(t, 0)
		rb := b.run()
		time.Sleep(T)
		rb.stopped(t, 0)
		ra.stopped(t, 0)
		a.c.Close()
		b.c.Close()
		require.Empty(t, log.String())
		require.Empty(t, candidates(srv))
	})
}

// lines is a log.
type lines struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// istio#60843, curator GH-1277, GH-1263
func TestCyclesLeaveNothingBehind(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := join(t, srv, "a"), join(t, srv, "b")
		const cycles = 1000
		cycle := func(c *candidate, rounds int) <-chan zkrtest.Result[int] {
			n := 0
			ctx, cancel := context.WithCancel(t.Context())
			return zkrtest.Go(func() (int, error) {
				return n, c.Run(ctx, func(context.Context, *election.Term) error {
					if n++; n == rounds {
						cancel()
					}
					return nil
				})
			})
		}
		flat := func() (goroutines, watches int, heap uint64) {
			time.Sleep(T) // leases are remembered for as long as they might come to be watched
			synctest.Wait()
			runtime.GC()
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return runtime.NumGoroutine(), srv.Watches(""), m.HeapAlloc
		}
		round := func(rounds int) {
			ra, rb := cycle(a, rounds), cycle(b, rounds)
			require.NoError(t, outcome(t, ra, T).Err)
			require.NoError(t, outcome(t, rb, T).Err)
		}
		round(cycles / 4) // fills what is bounded, such as the server's log
		goroutines, watches, heap := flat()
		round(cycles / 2)
		moreGoroutines, moreWatches, moreHeap := flat()
		t.Logf("heap %d KiB, after %d more terms %d KiB", heap>>10, cycles, moreHeap>>10)
		const few = 10 // of sessions that renew, or do not any more
		require.LessOrEqual(t, moreGoroutines, goroutines+few)
		require.LessOrEqual(t, moreWatches, watches+few)
		require.LessOrEqual(t, moreHeap, heap+100<<10, "more than 100 bytes a term")
		require.Empty(t, candidates(srv))
	})
}

// A function that ignores the end of its context is reported.
func TestOverrunIsReported(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		log := new(lines)
		overruns := make(chan recipes.OverrunEvent, 10)
		a := joinAs(t, srv, []recipes.Option{
			recipes.WithLogger(slog.New(slog.NewTextHandler(log, nil))),
			recipes.WithTrace(recipes.Trace{Overrun: func(ev recipes.OverrunEvent) { overruns <- ev }}),
		}, election.WithOverrunAfter(3*time.Second))
		ra := a.run()
		linger := make(chan time.Time)
		ra.linger = linger
		term := ra.leads(t, 0)
		_ = term.Resign(t.Context())
		time.Sleep(3*time.Second - 1)
		synctest.Wait()
		require.Empty(t, overruns)
		time.Sleep(time.Nanosecond)
		ev := <-overruns
		require.Equal(t, path, ev.Path)
		require.Equal(t, term.Token(), ev.Token)
		require.Equal(t, term.Lease().Session().ID(), ev.Session)
		require.Equal(t, 3*time.Second, ev.For)
		require.ErrorIs(t, ev.Cause, recipes.ErrReleased)
		require.Contains(t, log.String(), "although its context has ended")
		linger <- time.Now()
		ra.leads(t, 0)
		close(linger)
		ra.stopped(t, 0)
		require.Empty(t, overruns, "who returns in time is not reported")
	})
}

// The shapes that groups of functions and managers of controllers take.
func TestRunnableRuns(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a := join(t, srv, "a")
		failure := errors.New("disk full")
		r := a.Runnable(func(context.Context, *election.Term) error { return failure })
		require.Equal(t, failure, r.Run(t.Context()))
		require.Equal(t, failure, r.Start(t.Context()))
	})
}
