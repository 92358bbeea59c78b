package lock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// A holder whose server has lost its leader: it answers pings and reads, and
// knows nothing.

// knows says whether the client is told the servers' tick.
var knows = map[string][]recipes.Option{
	"tick known":   {recipes.WithTickTime(tick)},
	"tick unknown": nil,
}

// pinned runs a test with a holder that knows one server only, and another
// party that waits behind it at another one.
func pinned(t *testing.T, at int, test func(t *testing.T, srv *zktest.Server, la *recipes.Lease, next <-chan result)) {
	pinnedFor(t, at, 5*T+T/9, test)
}

// pinnedFor is pinned with a lease that has been held for the given time.
func pinnedFor(t *testing.T, at int, held time.Duration, test func(t *testing.T, srv *zktest.Server, la *recipes.Lease, next <-chan result)) {
	for name, opts := range knows {
		t.Run(name, func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				addrs := srv.Addrs()
				a := joinAt(t, srv, addrs[at], opts...)
				b := joinAt(t, srv, addrs[2], opts...)
				la := a.hold()
				next := b.wait()
				time.Sleep(held)
				require.NoError(t, la.Err())
				test(t, srv, la, next)
			}, zktest.WithFollowers(2), zktest.WithSyncLimit(20))
		})
	}
}

// endsFirst checks that the lease ends before the next one begins.
func endsFirst(t *testing.T, la *recipes.Lease, next <-chan result, within time.Duration) {
	t.Helper()
	ended(t, la, within)
	end := time.Now()
	require.ErrorIs(t, la.Err(), recipes.ErrLost)
	zkrtest.Pending(t, next)
	lb := granted(t, next, 2*T)
	t.Logf("the next one has it %v after the end of the lease", time.Since(end))
	require.True(t, time.Now().After(end))
	require.Greater(t, lb.Token(), la.Token())
}

func TestHolderAtAFollowerCutOffFromItsLeader(t *testing.T) {
	pinned(t, 1, func(t *testing.T, srv *zktest.Server, la *recipes.Lease, next <-chan result) {
		srv.Member(1).CutLeader(true)
		endsFirst(t, la, next, T)
		srv.Member(1).CutLeader(false)
	})
}

func TestHolderAtAFollowerThatHearsButIsNotHeard(t *testing.T) {
	pinned(t, 1, func(t *testing.T, srv *zktest.Server, la *recipes.Lease, next <-chan result) {
		srv.Member(1).StallLeader(zktest.ToServer)
		endsFirst(t, la, next, T)
		srv.Member(1).StallLeader(0)
	})
}

// What the leader sends is held up, the holder's renewals go up all the same;
// then everything comes down at once, while nothing goes up any more.
func TestHolderWhoseAnswersComeLateAndAllAtOnce(t *testing.T) {
	for _, held := range []time.Duration{tick / 4, tick / 2, tick, 2 * tick, 3 * tick} {
		t.Run(held.String(), func(t *testing.T) {
			pinned(t, 1, func(t *testing.T, srv *zktest.Server, la *recipes.Lease, next <-chan result) {
				m := srv.Member(1)
				m.StallLeader(zktest.ToClient)
				for range 8 { // many writes under way
					go la.Verify(soon(t, held))
					time.Sleep(held / 8)
				}
				m.StallLeader(zktest.ToServer)
				endsFirst(t, la, next, T)
				m.StallLeader(0)
			})
		})
	}
}

func TestHolderAtADeposedLeader(t *testing.T) {
	pinned(t, 0, func(t *testing.T, srv *zktest.Server, la *recipes.Lease, next <-chan result) {
		srv.Depose(1)
		endsFirst(t, la, next, T)
		srv.Member(0).Rejoin()
	})
}

// The same on a connection made after the fact: the deposed leader says that the
// session is still there.
func TestHolderThatComesBackToADeposedLeader(t *testing.T) {
	pinned(t, 0, func(t *testing.T, srv *zktest.Server, la *recipes.Lease, next <-chan result) {
		srv.Depose(1)
		for range 3 {
			srv.Member(0).Cut()
			time.Sleep(200 * time.Millisecond)
		}
		endsFirst(t, la, next, T)
		srv.Member(0).Rejoin()
	})
}

// Free to move, the holder goes to another server and keeps its lease.
func TestHolderLeavesAServerThatIsCutOff(t *testing.T) {
	for name, opts := range knows {
		for at := range 3 {
			t.Run(name, func(t *testing.T) {
				zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
					a, b := join(t, srv, opts...), join(t, srv, opts...)
					la := a.hold()
					next := b.wait()
					time.Sleep(5*T + time.Duration(at)*time.Second)
					server := la.Session().Server()
					for i, addr := range srv.Addrs() {
						switch {
						case addr != server:
						case i == 0:
							srv.Depose(1)
						default:
							srv.Member(i).CutLeader(true)
						}
					}
					time.Sleep(3 * T)
					require.NoError(t, la.Err())
					require.NotEqual(t, server, la.Session().Server())
					zkrtest.Pending(t, next)
					release(t, la)
					synctest.Wait()
				}, zktest.WithFollowers(2), zktest.WithSyncLimit(20))
			})
		}
	}
}
