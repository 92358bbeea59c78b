package lock_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Every call returns when its context ends, or the client is closed.

// go-zookeeper#79, #47, vitess#11678, kubernetes#118790, INT-4087
func TestCallsEndWithTheirContextWhateverTheServerDoes(t *testing.T) {
	for name, mute := range map[string]func(*zktest.Server, *party){
		"frozen":      func(s *zktest.Server, _ *party) { s.Freeze() },
		"black hole":  func(_ *zktest.Server, p *party) { p.cable.Blackhole(zktest.BothWays) },
		"no replies":  func(_ *zktest.Server, p *party) { p.cable.Stall(zktest.ToClient) },
		"down":        func(s *zktest.Server, _ *party) { s.Down() },
		"cut, frozen": func(s *zktest.Server, p *party) { p.cable.Cut(); s.Freeze() },
		"in handshake": func(s *zktest.Server, p *party) {
			s.On(zktest.Match{Op: zktest.OpCreateSession}).Always().Hold()
			p.cable.Cut()
		},
	} {
		t.Run(name, func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				a := join(t, srv)
				l := a.hold()
				mute(srv, a)
				synctest.Wait()
				calls := map[string]func(context.Context) error{
					"lock":    func(ctx context.Context) error { _, err := a.Lock(ctx); return err },
					"try":     func(ctx context.Context) error { _, err := a.TryLock(ctx); return err },
					"queue":   func(ctx context.Context) error { _, err := a.Queue(ctx); return err },
					"verify":  l.Verify,
					"txn":     func(ctx context.Context) error { _, err := l.Txn(ctx, recipes.SetOp("/locks", nil, -1)); return err },
					"release": l.Release,
				}
				var wg sync.WaitGroup
				for name, call := range calls {
					wg.Go(func() {
						if name == "release" {
							time.Sleep(time.Millisecond) // the lease is for the others first
						}
						ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
						defer cancel()
						start := time.Now()
						err := call(ctx)
						if took := time.Since(start); took != 300*time.Millisecond {
							t.Errorf("%s took %v", name, took)
						}
						if !isContextErr(err) {
							t.Errorf("%s: %v", name, err)
						}
					})
				}
				wg.Wait()
			})
		})
	}
}

func isContextErr(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// kazoo#83, samuel#19, CURATOR-110: nothing to connect to.
func TestDialWithoutAServerSaysThatItNeverConnected(t *testing.T) {
	for name, mute := range map[string]func(*zktest.Server){
		"refused":       (*zktest.Server).Down,
		"no answer":     func(s *zktest.Server) { s.Isolate(true) },
		"never answers": (*zktest.Server).Freeze,
	} {
		t.Run(name, func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				mute(srv)
				start := time.Now()
				c, err := recipes.Dial(soon(t, time.Second), srv.ConnectString(), zkrtest.Options(srv)...)
				require.Nil(t, c)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.ErrorIs(t, err, recipes.ErrNotConnected)
				for _, addr := range srv.Addrs() {
					require.ErrorContains(t, err, addr)
				}
				require.LessOrEqual(t, time.Since(start), time.Second+200*time.Millisecond)
				srv.Isolate(false)
				srv.Thaw()
				time.Sleep(5 * time.Second) // the client library needs its time to stop
			}, zktest.WithFollowers(2))
		})
	}
}

// As above, where the server comes up in time.
func TestDialWaitsForAServerToComeUp(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		srv.Down()
		time.AfterFunc(500*time.Millisecond, func() { _ = srv.Up() })
		start := time.Now()
		release(t, join(t, srv).hold())
		require.LessOrEqual(t, time.Since(start), 2*time.Second)
	})
}

// go-zookeeper gives the handshake 6.7 T, and a part of it for ever: a server
// that hangs must not keep the client from the others.
func TestServerThatHangsInTheHandshakeIsLeftForAnother(t *testing.T) {
	for name, part := range map[string]int{"silent": 0, "length only": 4, "half": 20} {
		t.Run(name, func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				addrs := srv.Addrs()
				hung := func(ctx context.Context, network, addr string) (net.Conn, error) {
					conn, err := srv.DialContext(ctx, network, addr)
					if addr == addrs[0] && err == nil {
						conn = &halfDeaf{Conn: conn, left: part}
					}
					return conn, err
				}
				c, err := recipes.Dial(soon(t, T), srv.ConnectString(), zkrtest.Options(srv, recipes.WithDialer(hung))...)
				require.NoError(t, err)
				defer c.Close()
				m, err := lock.NewMutex(c, path)
				require.NoError(t, err)
				l, err := m.Lock(t.Context())
				require.NoError(t, err)
				for range 5 {
					time.Sleep(T)
					srv.Cut(zkrtest.Session(t, c).ID())
				}
				require.NoError(t, l.Release(t.Context()))
			}, zktest.WithFollowers(2))
		})
	}
}

// halfDeaf reads so many bytes and then nothing until its deadline.
type halfDeaf struct {
	net.Conn
	left int
}

func (h *halfDeaf) Read(p []byte) (int, error) {
	n, err := h.Conn.Read(p[:min(len(p), max(h.left, 1))])
	for h.left == 0 && err == nil {
		n, err = h.Conn.Read(p)
	}
	if err != nil {
		return 0, err
	}
	h.left -= n
	return n, nil
}

// kazoo e7f5829: one deadline in total, not one per step.
func TestDeadlineCountsForAllStepsTogether(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a := join(t, srv)
		srv.On(zktest.Match{Session: a.session()}).Always().Delay(300 * time.Millisecond)
		start := time.Now()
		err := failed(t, a.lock(soon(t, time.Second)), T)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(start))
		time.Sleep(T)
		require.Empty(t, contenders(srv))
	})
}

// etcd#10111, vitess#8309: granted and cancelled in the same instant.
func TestCancelAndGrantAreDecidedOnce(t *testing.T) {
	t.Parallel()
	rounds := 400
	if zkrtest.Full {
		rounds = 10_000
	}
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := join(t, srv), join(t, srv)
		const way = time.Millisecond // from the server to the one who waits
		b.cable.SetLatency(way)
		b.blink()
		// The news that the lock is free arrives one way after the release.
		cancels := []time.Duration{0, way - 1, way, way, way, way, way + 1, 2 * way}
		granted, tied := map[time.Duration]int{}, 0
		for i := range rounds {
			la := a.hold()
			ctx, cancel := context.WithCancel(t.Context())
			waiting := b.lock(ctx)
			time.Sleep(10 * way)
			after := cancels[i%len(cancels)]
			time.AfterFunc(after, cancel)
			release(t, la)
			got := <-waiting
			if got.Err == nil {
				granted[after]++
				require.NoError(t, got.Val.Err())
				require.Contains(t, srv.Children(path), got.Val.Node()[len(path)+1:])
				require.NoError(t, got.Val.Release(t.Context()))
			} else {
				require.Nil(t, got.Val)
				require.ErrorIs(t, got.Err, context.Canceled)
			}
			if after == way {
				tied++
			}
			time.Sleep(10 * way)
			require.Empty(t, contenders(srv))
		}
		each := rounds / len(cancels)
		require.Zero(t, granted[0])
		require.Zero(t, granted[way-1])
		require.GreaterOrEqual(t, granted[way+1], each)
		require.GreaterOrEqual(t, granted[2*way], each)
		t.Logf("of %d that were cancelled as the news came %d were granted", tied, granted[way])
	})
}

// A context that has ended before fails also where the lock is free.
func TestDeadContextGetsNoLock(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a := join(t, srv)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := a.Lock(ctx)
		require.ErrorIs(t, err, context.Canceled)
		_, err = a.TryLock(ctx)
		require.ErrorIs(t, err, context.Canceled)
		require.Empty(t, srv.Children("/locks"))
	})
}

// samuel#125, #211, go-zookeeper#13, dubbogo/go-zookeeper#3
func TestCloseEndsEverything(t *testing.T) {
	for name, before := range map[string]func(*zktest.Server, *party){
		"all is well": func(*zktest.Server, *party) {},
		"down":        func(s *zktest.Server, _ *party) { s.Down() }, // etcd#6681, CURATOR-408
		"frozen":      func(s *zktest.Server, _ *party) { s.Freeze() },
		"black hole":  func(_ *zktest.Server, p *party) { p.cable.Blackhole(zktest.BothWays) },
		"expired":     func(s *zktest.Server, p *party) { s.ExpireSession(p.session()) },
	} {
		t.Run(name, func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				var logged bytes.Buffer
				a := join(t, srv, recipes.WithLogger(slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelError}))))
				holding := a.hold()
				done := holding.Done()
				waiting := a.wait()
				working := zkrtest.Go(func() (struct{}, error) {
					m, err := lock.NewMutex(a.c, "/locks/z")
					if err != nil {
						return struct{}{}, err
					}
					return struct{}{}, m.Do(t.Context(), func(ctx context.Context, _ *recipes.Lease) error {
						<-ctx.Done()
						return nil
					})
				})
				synctest.Wait()
				creating := func() <-chan result {
					srv.On(zktest.Match{Path: "/locks/y/*"}).Optional().Hold()
					m, err := lock.NewMutex(a.c, "/locks/y")
					require.NoError(t, err)
					return zkrtest.Go(func() (*recipes.Lease, error) { return m.Lock(t.Context()) })
				}()
				synctest.Wait()
				before(srv, a)

				start := time.Now()
				a.c.Close()
				require.LessOrEqual(t, time.Since(start), 2*time.Second)
				synctest.Wait()
				require.ErrorIs(t, failed(t, waiting, 0), recipes.ErrClosed)
				require.ErrorIs(t, failed(t, creating, 0), recipes.ErrClosed)
				require.ErrorIs(t, (<-working).Err, recipes.ErrLost)
				<-done
				require.ErrorIs(t, holding.Err(), recipes.ErrLost)
				require.ErrorIs(t, holding.Release(t.Context()), recipes.ErrLost)
				state, _ := a.c.State()
				require.Equal(t, recipes.Closed, state)

				// Everything again: at once, and without a word in the log.
				start = time.Now()
				for _, call := range []func() error{
					func() error { _, err := a.Lock(t.Context()); return err },
					func() error { _, err := a.TryLock(t.Context()); return err },
					func() error { _, err := a.Queue(t.Context()); return err },
				} {
					require.ErrorIs(t, call(), recipes.ErrClosed)
				}
				a.c.Close()
				require.Zero(t, time.Since(start))
				require.Empty(t, logged.String()) // CURATOR-337, -468, -466, INT-4254
				srv.Thaw()
			})
		})
	}
}

// CURATOR-495, CURATOR-172, CURATOR-344, CURATOR-194, dolphinscheduler#2020:
// whatever is told calls back into the client, and one sleeps for long.
func TestCallbacksMayCallAnything(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		var called sync.Map // each calls back once: those calls are told of too
		var client atomic.Pointer[party]
		callFrom := func(callback string) {
			a := client.Load()
			if a == nil {
				return
			}
			if _, before := called.LoadOrStore(callback, true); before {
				return
			}
			if _, err := a.Queue(t.Context()); err != nil {
				t.Errorf("queue, from %s: %v", callback, err)
			}
			m, err := lock.NewMutex(a.c, "/called/"+callback)
			if err != nil {
				t.Errorf("%v", err)
				return
			}
			l, err := m.Lock(t.Context())
			if err != nil {
				t.Errorf("lock, from %s: %v", callback, err)
				return
			}
			if err := l.Release(t.Context()); err != nil && !errors.Is(err, recipes.ErrLost) {
				t.Errorf("release, from %s: %v", callback, err)
			}
		}
		slept := make(chan struct{})
		a := join(t, srv, recipes.WithTrace(recipes.Trace{
			SessionState: func(recipes.SessionEvent) { callFrom("SessionState") },
			Renewed:      func(recipes.RenewalEvent) { callFrom("Renewed") },
			Enqueued:     func(recipes.ContenderEvent) { callFrom("Enqueued") },
			Waiting:      func(recipes.WaitEvent) { callFrom("Waiting") },
			Granted:      func(recipes.LeaseEvent) { callFrom("Granted") },
			Released:     func(recipes.LeaseEvent) { callFrom("Released") },
			CleanedUp:    func(recipes.CleanupEvent) { callFrom("CleanedUp") },
			Lost: func(e recipes.LeaseEvent) {
				callFrom("Lost")
				if e.Path == path {
					time.Sleep(2 * T)
					close(slept)
				}
			},
		}))
		client.Store(a)
		b := join(t, srv)
		keep := granted(t, async(t, mutexAt(t, a.c, "/locks/other").Lock), time.Second)
		lb := b.hold()
		next := a.wait()
		release(t, lb)
		la := granted(t, next, time.Second)
		time.Sleep(T)
		a.cable.Cut()
		time.Sleep(T)
		require.NoError(t, la.Err())
		require.NoError(t, srv.Delete(la.Node()))
		<-slept
		require.NoError(t, keep.Err(), "other leases go on while a callback sleeps")
		require.NoError(t, keep.Release(t.Context()))
		release(t, b.hold())
		for _, callback := range []string{"SessionState", "Renewed", "Enqueued", "Waiting", "Granted", "Released", "CleanedUp", "Lost"} {
			_, ok := called.Load(callback)
			require.True(t, ok, callback)
		}
	})
}

// As above: the function that runs under a lock closes the client.
func TestClientMayBeClosedUnderItsOwnLock(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := join(t, srv), join(t, srv)
		start := time.Now()
		err := a.Do(t.Context(), func(ctx context.Context, _ *recipes.Lease) error {
			a.c.Close()
			return context.Cause(ctx)
		})
		require.ErrorIs(t, err, recipes.ErrLost)
		require.LessOrEqual(t, time.Since(start), 2*time.Second)
		release(t, b.hold())
	})
}

// CURATOR-262, CURATOR-720: long offline.
func TestClientComesBackAfterADay(t *testing.T) {
	t.Parallel()
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		cable, dials := srv.Cable(), new(atomic.Int64)
		a := &party{t: t, srv: srv, cable: cable}
		a.c = zkrtest.DialBy(t, cable, srv.ConnectString(), recipes.WithDialer(
			func(ctx context.Context, network, addr string) (net.Conn, error) {
				dials.Add(1)
				return cable.DialContext(ctx, network, addr)
			}))
		a.Mutex = mutexAt(t, a.c, path)
		la := a.hold()
		a.cable.Refuse(true)
		a.cable.Cut()
		ended(t, la, T)
		dials.Store(0)
		time.Sleep(24 * time.Hour)
		require.Less(t, dials.Load(), int64(2*24*60*60), "in a day")
		require.Greater(t, dials.Load(), int64(4*24*60))
		a.cable.Refuse(false)
		release(t, granted(t, a.lock(t.Context()), 16*time.Second))
		a.cable.Refuse(true)
		a.cable.Cut()
		time.Sleep(time.Hour)
		start := time.Now()
		a.c.Close()
		require.LessOrEqual(t, time.Since(start), 2*time.Second)
	})
}
