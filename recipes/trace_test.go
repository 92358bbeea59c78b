package recipes_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// noted are events in the order in which they came.
type noted[E any] struct {
	mu     sync.Mutex
	events []E
}

func (n *noted[E]) note(e E) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.events = append(n.events, e)
}

func (n *noted[E]) all() []E {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]E(nil), n.events...)
}

// pausable is a clock that jumps, as it does for a process that was paused.
type pausable struct {
	mu     sync.Mutex
	clock  recipes.Clock
	paused time.Duration
}

func (p *pausable) now() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.clock() + p.paused
}

func (p *pausable) pause(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.paused += d
}

func TestTimerTellsHowLongThePauseWas(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		var timer noted[recipes.TimerEvent]
		clock := &pausable{clock: recipes.MonotonicClock()}
		c := zkrtest.Dial(t, srv, recipes.WithClock(clock.now), recipes.WithTrace(recipes.Trace{TimerFired: timer.note}))
		s := zkrtest.Session(t, c)
		time.Sleep(T)
		synctest.Wait()
		calm := timer.all()
		require.GreaterOrEqual(t, len(calm), 30, "with no lease too")
		for _, ev := range calm {
			require.Equal(t, recipes.TimerEvent{Session: s.ID()}, ev)
		}
		clock.pause(T / 4)
		time.Sleep(T / 16)
		told := timer.all()[len(calm):]
		require.NotEmpty(t, told)
		require.InDelta(t, (T / 4).Seconds(), told[0].Late.Seconds(), (T / 32).Seconds())
		for _, ev := range told[1:] {
			require.Zero(t, ev.Late, "it is told once")
		}
	})
}

func TestTimerIsQuietWhereNobodyListens(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		reads := 0
		clock := recipes.MonotonicClock()
		var mu sync.Mutex
		zkrtest.Dial(t, srv, recipes.WithClock(func() time.Duration {
			mu.Lock()
			defer mu.Unlock()
			reads++
			return clock()
		}))
		synctest.Wait()
		mu.Lock()
		before := reads
		mu.Unlock()
		time.Sleep(T / 4) // nothing is due, no ping either
		mu.Lock()
		defer mu.Unlock()
		require.Equal(t, before, reads)
	})
}

// A call is told twice, whatever comes of it and whichever recipe it is of.
func TestEachCallForALeaseIsToldAtItsStartAndAtItsEnd(t *testing.T) {
	for name, call := range map[string]struct {
		kind recipes.Kind
		path string
		get  func(context.Context, *recipes.Client) (*recipes.Lease, error)
		try  bool
	}{
		"Mutex.Lock": {recipes.KindMutex, "/x", func(ctx context.Context, c *recipes.Client) (*recipes.Lease, error) {
			return must(lock.NewMutex(c, "/x")).Lock(ctx)
		}, false},
		"Mutex.TryLock": {recipes.KindMutex, "/x", func(ctx context.Context, c *recipes.Client) (*recipes.Lease, error) {
			return must(lock.NewMutex(c, "/x")).TryLock(ctx)
		}, true},
		"RWMutex.Lock": {recipes.KindWriter, "/x", func(ctx context.Context, c *recipes.Client) (*recipes.Lease, error) {
			return must(lock.NewRWMutex(c, "/x")).Lock(ctx)
		}, false},
		"RWMutex.TryLock": {recipes.KindWriter, "/x", func(ctx context.Context, c *recipes.Client) (*recipes.Lease, error) {
			return must(lock.NewRWMutex(c, "/x")).TryLock(ctx)
		}, true},
		"Semaphore.Acquire": {recipes.KindPermit, "/x", func(ctx context.Context, c *recipes.Client) (*recipes.Lease, error) {
			return must(lock.NewSemaphore(c, "/x", 1)).Acquire(ctx)
		}, false},
		"Semaphore.TryAcquire": {recipes.KindPermit, "/x", func(ctx context.Context, c *recipes.Client) (*recipes.Lease, error) {
			return must(lock.NewSemaphore(c, "/x", 1)).TryAcquire(ctx)
		}, true},
		"Multi.Lock": {recipes.KindMutex, "/x,/y", func(ctx context.Context, c *recipes.Client) (*recipes.Lease, error) {
			return must(lock.NewMulti(c, []string{"/x", "/y"})).Lock(ctx)
		}, false},
		"Multi.TryLock": {recipes.KindMutex, "/x,/y", func(ctx context.Context, c *recipes.Client) (*recipes.Lease, error) {
			return must(lock.NewMulti(c, []string{"/x", "/y"})).TryLock(ctx)
		}, true},
		"Election.Campaign": {recipes.KindCandidate, "/x", func(ctx context.Context, c *recipes.Client) (*recipes.Lease, error) {
			term, err := must(election.New(c, "/x")).Campaign(ctx)
			if err != nil {
				return nil, err
			}
			return term.Lease(), nil
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				type key struct{}
				var starts, ends noted[recipes.AcquireEvent]
				c := zkrtest.Dial(t, srv, recipes.WithTrace(recipes.Trace{
					AcquireStart: func(ctx context.Context, e recipes.AcquireEvent) {
						require.Equal(t, "the caller's", ctx.Value(key{}))
						require.Zero(t, srv.Requests(0, 0), "before anything is sent")
						starts.note(e)
					},
					AcquireDone: func(ctx context.Context, e recipes.AcquireEvent) {
						require.Equal(t, "the caller's", ctx.Value(key{}))
						ends.note(e)
					},
				}))
				ctx := context.WithValue(t.Context(), key{}, "the caller's")
				srv.ResetRequests()
				l, err := call.get(ctx, c)
				require.NoError(t, err)
				soon, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()
				synctest.Wait()
				srv.ResetRequests()
				_, err = call.get(soon, c)
				require.Error(t, err)

				began, done := starts.all(), ends.all()
				require.Len(t, began, 2)
				require.NotEqual(t, began[0].Call, began[1].Call)
				took := time.Second
				if call.try {
					took = 0
					require.ErrorIs(t, err, lock.ErrLocked)
				}
				require.Equal(t, []recipes.AcquireEvent{
					{Call: began[0].Call, Path: call.path, Kind: call.kind, Lease: l},
					{Call: began[1].Call, Path: call.path, Kind: call.kind, Took: took, Err: err},
				}, done)
			})
		})
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestLossIsToldInOneWord(t *testing.T) {
	for want, lose := range map[recipes.Loss]func(*zktest.Server, *pausable, *recipes.Client, *recipes.Lease){
		recipes.LossUnproven: func(_ *zktest.Server, clock *pausable, _ *recipes.Client, l *recipes.Lease) {
			clock.pause(T)
			_ = l.Err() // which looks at the clock
		},
		recipes.LossDisconnected: func(srv *zktest.Server, _ *pausable, _ *recipes.Client, _ *recipes.Lease) {
			srv.Down()
			time.Sleep(T)
		},
		recipes.LossExpired: func(srv *zktest.Server, _ *pausable, _ *recipes.Client, l *recipes.Lease) {
			srv.ExpireSession(l.Session().ID())
		},
		recipes.LossDeleted: func(srv *zktest.Server, _ *pausable, _ *recipes.Client, l *recipes.Lease) {
			_ = srv.Delete(l.Node())
		},
		recipes.LossSuspended: func(srv *zktest.Server, _ *pausable, _ *recipes.Client, l *recipes.Lease) {
			srv.Cut(l.Session().ID())
		},
		recipes.LossClosed: func(_ *zktest.Server, _ *pausable, c *recipes.Client, _ *recipes.Lease) { c.Close() },
	} {
		t.Run(string(want), func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				var lost noted[recipes.LeaseEvent]
				clock := &pausable{clock: recipes.MonotonicClock()}
				opts := []recipes.Option{recipes.WithClock(clock.now), recipes.WithTrace(recipes.Trace{Lost: lost.note})}
				if want == recipes.LossSuspended {
					opts = append(opts, recipes.WithStopOnSuspend())
				}
				c := zkrtest.Dial(t, srv, opts...)
				l := held(t, c)
				time.Sleep(time.Second) // so that its znode is watched
				lose(srv, clock, c, l)
				time.Sleep(T / 32)
				require.Len(t, lost.all(), 1)
				ev := lost.all()[0]
				var err *recipes.LostError
				require.ErrorAs(t, ev.Err, &err)
				require.Equal(t, want, err.Loss(), "%v", err)
				require.Contains(t, recipes.Losses(), want)
				require.Equal(t, l, ev.Lease)
			})
		})
	}
}

// How long a lease was held is told without the time that its release took.
func TestHeldEndsWithTheLease(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		var released noted[recipes.LeaseEvent]
		c := zkrtest.Dial(t, srv, recipes.WithTrace(recipes.Trace{Released: released.note}))
		l := held(t, c)
		srv.On(zktest.Match{Op: zktest.OpDelete}).DelayReply(3 * time.Second)
		was := l.HeldFor()
		require.NoError(t, l.Release(t.Context()))
		require.Len(t, released.all(), 1)
		require.Equal(t, was, released.all()[0].Held)
	})
}

// calling returns a Trace all of whose functions call fn with their own number.
func calling(fn func(function int)) recipes.Trace {
	var tr recipes.Trace
	v := reflect.ValueOf(&tr).Elem()
	for i := range v.NumField() {
		v.Field(i).Set(reflect.MakeFunc(v.Field(i).Type(), func([]reflect.Value) []reflect.Value {
			fn(i)
			return nil
		}))
	}
	return tr
}

func TestJoinedTracesAllHearOfEverything(t *testing.T) {
	var heard []int
	first := calling(func(i int) { heard = append(heard, i) })
	second := calling(func(i int) { heard = append(heard, i+100) })
	both := reflect.ValueOf(recipes.JoinTraces(first, recipes.Trace{}, second))
	none := reflect.ValueOf(recipes.JoinTraces(recipes.Trace{}, recipes.Trace{}))
	for i := range both.NumField() {
		args := make([]reflect.Value, both.Field(i).Type().NumIn())
		for j := range args {
			args[j] = reflect.Zero(both.Field(i).Type().In(j))
		}
		heard = nil
		both.Field(i).Call(args)
		require.Equal(t, []int{i, i + 100}, heard, both.Type().Field(i).Name)
		require.True(t, none.Field(i).IsNil(), both.Type().Field(i).Name)
	}
}

func TestTraceThatIsOffAllocatesNothing(t *testing.T) {
	srv := zktest.Start(t)
	c, err := recipes.Dial(t.Context(), srv.ConnectString())
	require.NoError(t, err)
	defer c.Close()
	ctx := t.Context()
	require.Zero(t, testing.AllocsPerRun(100, func() {
		_, done := c.TraceAcquire(ctx, "/x", recipes.KindMutex)
		done(nil, nil)
	}))
}

// records keeps what is logged, as pairs of names and values.
type records struct{ noted[map[string]string] }

func (r *records) Enabled(context.Context, slog.Level) bool { return true }
func (r *records) WithAttrs([]slog.Attr) slog.Handler       { return r }
func (r *records) WithGroup(string) slog.Handler            { return r }
func (r *records) Handle(_ context.Context, rec slog.Record) error {
	said := map[string]string{"level": rec.Level.String(), "msg": rec.Message}
	rec.Attrs(func(a slog.Attr) bool {
		said[a.Key] = a.Value.Resolve().String()
		return true
	})
	r.note(said)
	return nil
}

func TestLogsSayOfWhichLeaseAndSessionAtTheirLevel(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		var log records
		c := zkrtest.Dial(t, srv, recipes.WithLogger(slog.New(&log)))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()

		released := held(t, c)
		id := fmt.Sprintf("%#x", released.Session().ID())
		require.NoError(t, released.Release(t.Context()))
		late := held(t, c)
		lateErr := late.Release(ctx)
		require.ErrorIs(t, lateErr, context.Canceled)
		time.Sleep(time.Second)
		denied := held(t, c)
		srv.On(zktest.Match{Op: zktest.OpDelete}).Error(zktest.NoAuth)
		deniedErr := denied.Release(t.Context())
		require.ErrorIs(t, deniedErr, recipes.ErrNoAuth)
		require.NoError(t, srv.Delete(denied.Node()))
		srv.Cut(denied.Session().ID())
		time.Sleep(time.Second)
		lost := held(t, c)
		srv.ExpireSession(lost.Session().ID())
		<-lost.Done()
		time.Sleep(time.Second)

		var said []map[string]string
		suspended := 0
		for _, r := range log.all() {
			if r["session"] == id {
				delete(r, "server")
				if r["state"] == "suspended" { // once or twice, in the network's words
					require.NotEmpty(t, r["cause"])
					require.Equal(t, "WARN", r["level"])
					suspended++
					continue
				}
				said = append(said, r)
			}
		}
		lease := func(level, msg string, l *recipes.Lease, more ...string) map[string]string {
			r := map[string]string{"level": level, "msg": msg, "path": "/x", "token": l.Token().String(), "session": id}
			for i := 0; i < len(more); i += 2 {
				r[more[i]] = more[i+1]
			}
			return r
		}
		state := func(level, state string, more ...string) map[string]string {
			r := map[string]string{"level": level, "msg": "zookeeper session", "state": state, "session": id}
			for i := 0; i < len(more); i += 2 {
				r[more[i]] = more[i+1]
			}
			return r
		}
		const unknown = "lease released, and its znodes are not known to be gone"
		var lostErr *recipes.LostError
		require.True(t, errors.As(lost.Err(), &lostErr))
		require.NotZero(t, suspended)
		require.ElementsMatch(t, []map[string]string{
			state("INFO", "connected"),
			lease("DEBUG", "lease granted", released),
			lease("DEBUG", "lease released", released),
			lease("DEBUG", "lease granted", late),
			lease("WARN", unknown, late, "error", lateErr.Error()),
			lease("DEBUG", "lease granted", denied),
			{"level": "WARN", "msg": "znode cannot be deleted", "path": denied.Node(), "session": id, "error": deniedErr.Error()},
			lease("WARN", unknown, denied, "error", deniedErr.Error()),
			state("INFO", "connected"),
			lease("DEBUG", "lease granted", lost),
			state("WARN", "lost", "cause", recipes.ErrSessionExpired.Error()),
			lease("WARN", "lease lost", lost, "loss", string(recipes.LossExpired), "cause", lostErr.Cause.Error()),
		}, said)
	})
}

// A call that a function of its user ends by a panic is told as one that failed, and
// leaves no contender.
func TestCallThatPanicsIsToldAsFailed(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		var done noted[recipes.AcquireEvent]
		c := zkrtest.Dial(t, srv, recipes.WithTrace(recipes.Trace{
			AcquireDone: func(_ context.Context, ev recipes.AcquireEvent) { done.note(ev) },
		}))
		l := held(t, zkrtest.Dial(t, srv))
		mu, err := lock.NewMutex(c, l.Path(), lock.WithOnWait(func(lock.Wait) { panic("of the user") }))
		require.NoError(t, err)
		require.PanicsWithValue(t, "of the user", func() { _, _ = mu.Lock(t.Context()) })
		require.Len(t, done.all(), 1)
		require.Error(t, done.all()[0].Err)
		time.Sleep(T / 8)
		require.Len(t, srv.Children(l.Path()), 1)
	})
}
