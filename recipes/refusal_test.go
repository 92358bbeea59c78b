package recipes_test

import (
	"context"
	"fmt"
	"net"
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

// What servers refuse comes back at once, and nothing is tried again.

func cancelled(t testing.TB) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func mutex(t testing.TB, c *recipes.Client, path string) *lock.Mutex {
	m, err := lock.NewMutex(c, path)
	require.NoError(t, err)
	return m
}

// atOnce makes a call that is to take no time.
func atOnce(t testing.TB, call func() error) error {
	t.Helper()
	start := time.Now()
	err := call()
	require.Zero(t, time.Since(start))
	return err
}

func lockErr(t testing.TB, m *lock.Mutex) error {
	return atOnce(t, func() error { _, err := m.Lock(t.Context()); return err })
}

func TestRefusedCredentialsEndTheDialAtOnce(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		start := time.Now()
		c, err := recipes.Dial(t.Context(), srv.ConnectString(), zkrtest.Options(srv, recipes.WithAuth("nonsense", []byte("x")))...)
		require.Nil(t, c)
		require.ErrorIs(t, err, recipes.ErrAuthFailed)
		require.ErrorContains(t, err, "nonsense")
		require.LessOrEqual(t, time.Since(start), 200*time.Millisecond)
		time.Sleep(time.Minute) // what is left of it ends
		require.Equal(t, 1, srv.Requests(zktest.OpAuth, 0))
	})
}

// endsEarly ends the session with its second request, once.
type endsEarly struct {
	net.Conn
	requests int
	end      func()
}

func (c *endsEarly) Write(b []byte) (int, error) {
	if c.requests++; c.requests == 2 {
		c.end()
	}
	return c.Conn.Write(b)
}

// A session that ends while it presents its credentials was not refused.
func TestDialGoesOnWhereItsFirstSessionEnds(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		var once sync.Once
		dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := srv.DialContext(ctx, network, addr)
			return &endsEarly{Conn: conn, end: func() {
				once.Do(func() { srv.ExpireSession(srv.Sessions()[0].ID) })
			}}, err
		}
		c := zkrtest.Dial(t, srv, recipes.WithDialer(dial), recipes.WithAuth("digest", []byte("ann:secret")))
		require.NoError(t, zkrtest.Session(t, c).Err())
	})
}

func TestMissingPermissionEndsTheLockAtOnce(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		owner := zkrtest.Dial(t, srv, recipes.WithAuth("digest", []byte("ann:secret")))
		acl := recipes.DigestACL(recipes.PermAll, "ann", "secret")
		s := zkrtest.Session(t, owner)
		for _, dir := range []string{"/secret", "/secret/x"} {
			_, err := s.Create(t.Context(), dir, nil, recipes.Persistent, acl)
			require.NoError(t, err)
		}
		c := zkrtest.Dial(t, srv)
		before := srv.Requests(zktest.OpCreate, 0)
		require.ErrorIs(t, lockErr(t, mutex(t, c, "/secret/x")), recipes.ErrNoAuth)
		require.ErrorIs(t, lockErr(t, mutex(t, c, "/secret/new")), recipes.ErrNoAuth)
		require.LessOrEqual(t, srv.Requests(zktest.OpCreate, 0)-before, 3, "no retry loop")
		require.Empty(t, srv.Children("/secret/x"))

		wrong := zkrtest.Dial(t, srv, recipes.WithAuth("digest", []byte("ann:wrong")))
		require.ErrorIs(t, lockErr(t, mutex(t, wrong, "/secret/x")), recipes.ErrNoAuth)
		require.NoError(t, lockErr(t, mutex(t, owner, "/secret/x")))
	})
}

// Whoever may create but not write does without the transaction that writes.
func TestCreatePermissionIsEnough(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		owner := zkrtest.Session(t, zkrtest.Dial(t, srv))
		_, err := owner.Create(t.Context(), "/x", nil, recipes.Persistent,
			recipes.WorldACL(recipes.PermRead|recipes.PermCreate|recipes.PermDelete))
		require.NoError(t, err)
		m := mutex(t, zkrtest.Dial(t, srv), "/x")
		for range 3 {
			l, err := m.Lock(t.Context())
			require.NoError(t, err)
			require.NoError(t, l.Release(t.Context()))
		}
	})
}

// hashicorp/vault#1989, samuel/go-zookeeper 3449f0a, ff6eb7f, kazoo#172
func TestCredentialsAreShownInEverySession(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		mine := recipes.DigestACL(recipes.PermAll, "ann", "secret")
		c := zkrtest.Dial(t, srv, recipes.WithAuth("digest", []byte("ann:secret")),
			recipes.WithACL(mine...), recipes.WithParentACL(mine...))
		m := mutex(t, c, "/secret/x")
		for range 3 {
			l, err := m.Lock(t.Context())
			require.NoError(t, err)
			srv.Cut(zkrtest.Session(t, c).ID())
			require.NoError(t, l.Release(t.Context()))
			l, err = m.Lock(t.Context())
			require.NoError(t, err)
			srv.ExpireSession(zkrtest.Session(t, c).ID())
			<-l.Done()
		}
	})
}

// CURATOR-714, kazoo#563
func TestZnodesHaveTheACLsThatWereAskedFor(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		own := recipes.DigestACL(recipes.PermAll, "ann", "secret")
		shared := recipes.WorldACL(recipes.PermRead | recipes.PermCreate | recipes.PermDelete | recipes.PermWrite)
		c := zkrtest.Dial(t, srv, recipes.WithAuth("digest", []byte("ann:secret")),
			recipes.WithACL(own...), recipes.WithParentACL(shared...))
		m := mutex(t, c, "/a/b/c")
		for range 2 { // made one by one, and in a transaction
			l, err := m.Lock(t.Context())
			require.NoError(t, err)
			s := zkrtest.Session(t, c)
			for path, want := range map[string][]recipes.ACL{"/a": shared, "/a/b": shared, "/a/b/c": shared, l.Node(): own} {
				acl, err := s.ACL(t.Context(), path)
				require.NoError(t, err)
				require.Equal(t, want, acl, path)
			}
			require.NoError(t, l.Release(t.Context()))
		}
	})
}

func TestUnknownModeIsRefusedBeforeItIsSent(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		s := zkrtest.Session(t, zkrtest.Dial(t, srv))
		for _, mode := range []recipes.Mode{-1, recipes.Container + 1} {
			_, err := s.Create(t.Context(), "/a", nil, mode, nil)
			require.ErrorContains(t, err, "unknown mode")
			_, err = s.Multi(t.Context(), recipes.CreateOp("/a", nil, mode, nil))
			require.ErrorContains(t, err, "unknown mode")
		}
		require.Zero(t, srv.Requests(0, s.ID()))
	})
}

// A parent that is ephemeral can have no children; this is said, and not tried
// for ever.
func TestEphemeralParentIsRefused(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := zkrtest.Dial(t, srv)
		_, err := zkrtest.Session(t, c).Create(t.Context(), "/e", nil, recipes.Ephemeral, nil)
		require.NoError(t, err)
		require.ErrorIs(t, lockErr(t, mutex(t, c, "/e")), recipes.ErrNoChildrenForEphemerals)
		require.ErrorIs(t, lockErr(t, mutex(t, c, "/e/x")), recipes.ErrNoChildrenForEphemerals)
	})
}

// vespa PR#3340, CURATOR-544, accumulo#1086: a write that arrives after the lock
// was lost.
func TestTxnOfALostLeaseChangesNothing(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		require.NoError(t, srv.Create("/data", []byte("old")))
		a, b := zkrtest.Dial(t, srv), zkrtest.Dial(t, srv)
		la, err := mutex(t, a, "/x").Lock(t.Context())
		require.NoError(t, err)
		_, err = la.Txn(t.Context(), recipes.SetOp("/data", []byte("a"), -1))
		require.NoError(t, err)

		id := zkrtest.Session(t, a).ID()
		srv.On(zktest.Match{Op: zktest.OpMulti, Session: id, Path: "/data"}).Call(func(zktest.Request) {
			require.NoError(t, srv.Delete(la.Node()))
		})
		_, err = la.Txn(t.Context(), recipes.SetOp("/data", []byte("late"), -1))
		require.ErrorIs(t, err, recipes.ErrLost)
		z, _ := srv.Get("/data")
		require.Equal(t, "a", string(z.Data))

		lb, err := mutex(t, b, "/x").Lock(t.Context())
		require.NoError(t, err)
		srv.On(zktest.Match{Op: zktest.OpMulti, Path: "/data"}).Call(func(zktest.Request) {
			srv.ExpireSession(zkrtest.Session(t, b).ID())
		})
		_, err = lb.Txn(t.Context(), recipes.SetOp("/data", []byte("late"), -1))
		require.ErrorIs(t, err, recipes.ErrOutcomeUnknown)
		require.ErrorIs(t, lb.Verify(t.Context()), recipes.ErrLost)
		z, _ = srv.Get("/data")
		require.Equal(t, "a", string(z.Data))
	})
}

// As above: the holder writes while it is cut off, and is connected again when
// another one holds.
func TestTxnOfAHolderThatWasCutOffNeverOverwritesTheNextHolders(t *testing.T) {
	for name, cutOff := range map[string]func(*zktest.Cable){
		"no connection":    func(c *zktest.Cable) { c.Refuse(true); c.Cut() },
		"packets wait":     func(c *zktest.Cable) { c.Stall(zktest.BothWays) },
		"requests wait":    func(c *zktest.Cable) { c.Stall(zktest.ToServer) },
		"replies wait":     func(c *zktest.Cable) { c.Stall(zktest.ToClient) },
		"requests vanish":  func(c *zktest.Cable) { c.Blackhole(zktest.ToServer) },
		"only the session": func(*zktest.Cable) {},
	} {
		for _, followers := range []int{0, 2} { // where there are others, the client library keeps what it has queued
			t.Run(fmt.Sprintf("%s, %d followers", name, followers), func(t *testing.T) {
				zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
					require.NoError(t, srv.Create("/data", []byte("old")))
					cable := srv.Cable()
					a, b := zkrtest.DialBy(t, cable, srv.ConnectString()), zkrtest.Dial(t, srv)
					la := held(t, a)
					write := func(l *recipes.Lease, data string) error {
						_, err := l.Txn(t.Context(), recipes.SetOp("/data", []byte(data), -1))
						return err
					}
					srv.On(zktest.Match{Op: zktest.OpMulti, Session: la.Session().ID(), Path: "/data"}).Optional().Delay(time.Millisecond)
					cutOff(cable)
					late := zkrtest.Go(func() (struct{}, error) { return struct{}{}, write(la, "late") })
					synctest.Wait() // it is queued, or may have been sent
					srv.ExpireSession(la.Session().ID())
					lb, err := mutex(t, b, "/x").Lock(t.Context())
					require.NoError(t, err)
					require.NoError(t, write(lb, "next"))
					cable.Refuse(false)
					cable.Restore()
					require.Error(t, (<-late).Err)
					require.ErrorIs(t, write(la, "later"), recipes.ErrLost)
					time.Sleep(2 * T)
					z, _ := srv.Get("/data")
					require.Equal(t, "next", string(z.Data))
				}, zktest.WithFollowers(followers))
			})
		}
	}
}

// go-zookeeper runs requests queued in one session in the next one, where it
// knows several servers; with one it fails them after a pause.
func TestRequestOfAnOldSessionNeverRunsInANewOne(t *testing.T) {
	for name, followers := range map[string]int{"one server": 0, "three servers": 2} {
		t.Run(name, func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				cable := srv.Cable()
				c := zkrtest.DialBy(t, cable, srv.ConnectString())
				s := zkrtest.Session(t, c)
				cable.Blackhole(zktest.ToServer)
				var calls []<-chan zkrtest.Result[string]
				for range 20 {
					calls = append(calls, zkrtest.Go(func() (string, error) {
						return s.Create(t.Context(), "/e-", nil, recipes.EphemeralSequential, nil)
					}))
				}
				zkrtest.Pending(t, calls...)
				srv.ExpireSession(s.ID())
				cable.Cut()
				cable.Restore()
				for _, call := range calls {
					require.Error(t, (<-call).Err)
				}
				<-s.Done()
				require.NotEqual(t, s.ID(), zkrtest.Session(t, c).ID())
				time.Sleep(time.Second)
				for _, info := range srv.Sessions() {
					require.Empty(t, info.Ephemerals)
				}
				_, _, err := s.Get(t.Context(), "/")
				require.ErrorIs(t, err, recipes.ErrSessionExpired)
			}, zktest.WithFollowers(followers))
		})
	}
}

// Asking whether a lease holds changes nothing, so it is asked again where the
// answer is lost.
func TestVerifyIsRepeatedUntilItIsAnswered(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := zkrtest.Dial(t, srv)
		l, err := mutex(t, c, "/x").Lock(t.Context())
		require.NoError(t, err)
		lost := zktest.Match{Op: zktest.OpMulti, Path: l.Node()}
		srv.On(lost).DropReply()
		srv.On(lost).DropBeforeCommit()
		require.NoError(t, l.Verify(t.Context()))
		srv.Down()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, l.Verify(ctx), context.DeadlineExceeded)
		require.NoError(t, srv.Up())
	})
}
