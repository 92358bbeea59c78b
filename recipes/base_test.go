package recipes_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
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

// high is above any token that the servers of these tests give by themselves.
const high fence.Token = 1 << 40

func raise(t testing.TB, c *recipes.Client, path string, atLeast fence.Token) {
	t.Helper()
	_, after, err := c.RaiseFenceBase(t.Context(), path, atLeast)
	require.NoError(t, err)
	require.GreaterOrEqual(t, after, atLeast)
}

func lockNow(t testing.TB, m *lock.Mutex) *recipes.Lease {
	t.Helper()
	l, err := m.Lock(t.Context())
	require.NoError(t, err)
	return l
}

func giveBack(t testing.TB, leases ...*recipes.Lease) {
	t.Helper()
	for _, l := range leases {
		require.NoError(t, l.Release(t.Context()))
	}
}

// czxid is a token without a base.
func czxid(t testing.TB, srv *zktest.Server, l *recipes.Lease) fence.Token {
	t.Helper()
	z, ok := srv.Get(l.Node())
	require.True(t, ok)
	return fence.Token(z.Stat.Czxid)
}

func TestBaseIsAddedToTheTokensOfEveryKind(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := zkrtest.Dial(t, srv)
		raise(t, c, "/x", high)
		raise(t, c, "/y", 2*high)
		m := mutex(t, c, "/x")
		rw, err := lock.NewRWMutex(c, "/x")
		require.NoError(t, err)
		e, err := election.New(c, "/x")
		require.NoError(t, err)
		for name, take := range map[string]func(context.Context) (*recipes.Lease, error){
			"lock":   m.Lock,
			"try":    m.TryLock,
			"writer": rw.Lock,
			"reader": rw.RLock,
			"candidate": func(ctx context.Context) (*recipes.Lease, error) {
				term, err := e.Campaign(ctx)
				return term.Lease(), err
			},
		} {
			l, err := take(t.Context())
			require.NoError(t, err, name)
			require.Equal(t, high+czxid(t, srv, l), l.Token(), name)
			giveBack(t, l)
		}

		l, err := rw.Lock(t.Context())
		require.NoError(t, err)
		before := l.Token()
		require.NoError(t, rw.Downgrade(t.Context(), l))
		require.Equal(t, before, l.Token(), "it stays that of the writer")
		require.Equal(t, before, l.TokenOf("/x"))
		giveBack(t, l)

		multi, err := lock.NewMulti(c, []string{"/x", "/y", "/z"})
		require.NoError(t, err)
		l, err = multi.Lock(t.Context())
		require.NoError(t, err)
		made := czxid(t, srv, l)
		require.Equal(t, []fence.Token{high + made, high + made, 2*high + made, made},
			[]fence.Token{l.Token(), l.TokenOf("/x"), l.TokenOf("/y"), l.TokenOf("/z")})
		giveBack(t, l)

		sem, err := lock.NewSemaphore(c, "/s", 1)
		require.NoError(t, err)
		raise(t, c, "/s", high)
		l, err = sem.Acquire(t.Context())
		require.NoError(t, err)
		require.Equal(t, czxid(t, srv, l), l.Token(), "a permit fences nothing")
		giveBack(t, l)
	})
}

// What a base costs: nothing where there is none, but one read in a session
// timeout; one transaction more where there is one.
func TestCostOfABase(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := zkrtest.Dial(t, srv)
		m := mutex(t, c, "/x")
		pair := func() int {
			srv.ResetRequests()
			giveBack(t, lockNow(t, m))
			return srv.Requests(0, 0)
		}
		pair()
		for range 20 {
			require.Equal(t, 2, pair(), "idle acquire and release without a base")
		}
		time.Sleep(T + time.Second)
		srv.ResetRequests()
		require.Equal(t, 3, pair(), "and one look whether there is one by now")
		require.Equal(t, 2, pair())

		raise(t, c, "/x", high)
		time.Sleep(T + time.Second)
		pair()
		require.Equal(t, 3, pair(), "with a base")
	})
}

// A client that has read that there is no base gives tokens that the resource
// refuses, until it looks again.
func TestClientThatDoesNotKnowABaseFailsSafeAndLearnsOfIt(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		store := fence.NewMemory("store")
		require.NoError(t, store.Install(t.Context(), high))
		c, operator := zkrtest.Dial(t, srv), zkrtest.Dial(t, srv)
		m := mutex(t, c, "/x")
		giveBack(t, lockNow(t, m))
		raise(t, operator, "/x", high)
		l := lockNow(t, m)
		require.ErrorIs(t, store.Install(t.Context(), l.Token()), fence.ErrStale)
		giveBack(t, l)
		time.Sleep(T)
		l = lockNow(t, m)
		require.NoError(t, store.Install(t.Context(), l.Token()))
		giveBack(t, l)

		// Where there is one it is the right one at once.
		raise(t, operator, "/x", 2*high)
		l = lockNow(t, m)
		require.Greater(t, l.Token(), 2*high)
		giveBack(t, l)
	})
}

// A token has the base that stands when it is granted, however long its
// contender has been there. Who holds keeps what it has.
func TestBaseThatIsRaisedUnderHolderAndWaiters(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		operator := zkrtest.Dial(t, srv)
		raise(t, operator, "/x", 1000)
		holder := lockNow(t, mutex(t, zkrtest.Dial(t, srv), "/x"))
		before := holder.Token()
		var waiters []<-chan zkrtest.Result[*recipes.Lease]
		for range 3 {
			m := mutex(t, zkrtest.Dial(t, srv), "/x")
			waiters = append(waiters, zkrtest.Go(func() (*recipes.Lease, error) { return m.Lock(t.Context()) }))
			synctest.Wait()
		}
		raise(t, operator, "/x", high)
		require.Equal(t, before, holder.Token())
		require.NoError(t, holder.Verify(t.Context()))
		giveBack(t, holder)
		last := high
		for _, w := range waiters {
			r := <-w
			require.NoError(t, r.Err)
			require.Greater(t, r.Val.Token(), last)
			last = r.Val.Token()
			giveBack(t, r.Val)
		}
	})
}

// Between the look at the base and the grant it may be another one.
func TestBaseIsCheckedInTheTransactionOfTheGrant(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		c, operator := zkrtest.Dial(t, srv), zkrtest.Dial(t, srv)
		raise(t, operator, "/x", 1000)
		m := mutex(t, c, "/x")
		check := zktest.Match{Op: zktest.OpMulti, Path: "/x.fence"}
		srv.On(check).Call(func(zktest.Request) { raise(t, operator, "/x", high) })
		l := lockNow(t, m)
		require.Greater(t, l.Token(), high)
		giveBack(t, l)

		srv.On(check).DropReply()
		srv.On(check).DropBeforeCommit()
		giveBack(t, lockNow(t, m))

		srv.On(check).Call(func(zktest.Request) { require.NoError(t, srv.DeleteAll("/x")) })
		l = lockNow(t, m)
		require.NoError(t, l.Verify(t.Context()), "another place, in another directory")
		require.Greater(t, l.Token(), high)
		giveBack(t, l)
		require.NoError(t, srv.DeleteAll("/x"))
		l = lockNow(t, m)
		require.Greater(t, l.Token(), high, "the base is not in the directory")
		giveBack(t, l)

		// It is not to be deleted. Who does so lowers the tokens, and they are refused.
		require.NoError(t, srv.Delete("/x.fence"))
		l = lockNow(t, m)
		require.Less(t, l.Token(), high)
		giveBack(t, l)
	})
}

func TestLockWithABaseEndsWithItsContext(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := zkrtest.Dial(t, srv)
		raise(t, c, "/x", high)
		m := mutex(t, c, "/x")
		for _, op := range []zktest.Op{zktest.OpGetData, zktest.OpMulti} {
			h := srv.On(zktest.Match{Op: op, Path: "/x.fence"}).Hold()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			start := time.Now()
			_, err := m.Lock(ctx)
			cancel()
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Equal(t, time.Second, time.Since(start))
			h.Release()
			time.Sleep(time.Second)
			require.Empty(t, srv.Children("/x"))
		}
	})
}

// Raises and grants race, of several clients that all know a base: each grant
// has a greater token than the one before, whatever the servers lose.
func TestTokensGrowWhileBasesAreRaised(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		operator := zkrtest.Dial(t, srv)
		raise(t, operator, "/x", 1)
		var mu sync.Mutex
		var tokens []fence.Token
		var wg sync.WaitGroup
		for range 5 {
			m := mutex(t, zkrtest.Dial(t, srv), "/x")
			wg.Go(func() {
				for range 30 {
					err := m.Do(t.Context(), func(_ context.Context, l *recipes.Lease) error {
						mu.Lock()
						tokens = append(tokens, l.Token())
						mu.Unlock()
						time.Sleep(time.Duration(rand.IntN(6)) * time.Millisecond)
						if rand.IntN(5) == 0 {
							srv.Cut(0)
						}
						return nil
					})
					if err != nil && !errors.Is(err, recipes.ErrLost) {
						t.Error(err)
					}
				}
			})
		}
		for i := range 40 {
			time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
			raise(t, operator, "/x", fence.Token(1+i)*1e6)
		}
		wg.Wait()
		require.GreaterOrEqual(t, len(tokens), 150)
		require.Greater(t, tokens[len(tokens)-1], fence.Token(20e6))
		for i := 1; i < len(tokens); i++ {
			require.Greater(t, tokens[i], tokens[i-1])
		}
	})
}

func TestBaseIsNeverLowered(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := zkrtest.Dial(t, srv)
		_, _, err := c.RaiseFenceBase(t.Context(), "/deep/down/x", 0)
		require.Error(t, err)
		_, _, err = c.RaiseFenceBase(t.Context(), "/deep/down/x", 1<<63-1)
		require.Error(t, err)
		before, after, err := c.RaiseFenceBase(t.Context(), "/deep/down/x", 500)
		require.NoError(t, err)
		require.Equal(t, []fence.Token{0, 500}, []fence.Token{before, after})
		before, after, err = c.RaiseFenceBase(t.Context(), "/deep/down/x", 400)
		require.NoError(t, err)
		require.Equal(t, []fence.Token{500, 500}, []fence.Token{before, after})

		// The higher one comes in between.
		for i, op := range []zktest.Op{zktest.OpCreate, zktest.OpSetData} {
			other := zkrtest.Dial(t, srv)
			srv.On(zktest.Match{Op: op, Path: "/race.fence"}).Call(func(zktest.Request) {
				raise(t, other, "/race", fence.Token(1000*(i+1)+500))
			})
			before, after, err := c.RaiseFenceBase(t.Context(), "/race", fence.Token(1000*(i+1)))
			require.NoError(t, err)
			require.Equal(t, before, after)
			require.EqualValues(t, 1000*(i+1)+500, after)
		}

		var wg sync.WaitGroup
		for i := range 20 {
			other := zkrtest.Dial(t, srv)
			wg.Go(func() { raise(t, other, "/deep/down/x", fence.Token(1000-i)) })
			wg.Go(func() { raise(t, other, "/new/x", fence.Token(1000-i)) })
		}
		wg.Wait()
		for _, path := range []string{"/deep/down/x", "/new/x"} {
			base, err := zkrtest.Session(t, zkrtest.Dial(t, srv)).FenceBase(t.Context(), path)
			require.NoError(t, err)
			require.Equal(t, fence.Token(1000), base)
		}
	})
}

func TestRaiseWhoseAnswerIsLostIsFoundOut(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := zkrtest.Dial(t, srv)
		for i, op := range []zktest.Op{zktest.OpCreate, zktest.OpSetData, zktest.OpSetData} {
			h := srv.On(zktest.Match{Op: op, Path: "/x.fence"})
			if i == 2 {
				h.Call(func(zktest.Request) { srv.ExpireSession(zkrtest.Session(t, c).ID()) })
			} else {
				h.DropReply()
			}
			raise(t, c, "/x", high+fence.Token(i))
			z, ok := srv.Get("/x.fence")
			require.True(t, ok)
			require.Equal(t, fmt.Sprintf("zkrecipes-fence-base-1 %d\n", high+fence.Token(i)), string(z.Data), "bases outlive releases: this must not change")
			require.Zero(t, z.Stat.EphemeralOwner)
		}
	})
}

// Without its base no token would be of use, so there is no lease.
func TestBaseThatCannotBeReadEndsTheLock(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		secret := zkrtest.Session(t, zkrtest.Dial(t, srv, recipes.WithAuth("digest", []byte("ann:secret"))))
		_, err := secret.Create(t.Context(), "/x.fence", nil, recipes.Persistent, recipes.DigestACL(recipes.PermAll, "ann", "secret"))
		require.NoError(t, err)
		c := zkrtest.Dial(t, srv)
		require.ErrorIs(t, lockErr(t, mutex(t, c, "/x")), recipes.ErrNoAuth)
		_, _, err = c.RaiseFenceBase(t.Context(), "/x", high)
		require.ErrorIs(t, err, recipes.ErrNoAuth)
		synctest.Wait()
		require.Empty(t, srv.Children("/x"))

		for i, data := range []string{"", "5", "zkrecipes-fence-base-1 05\n", "zkrecipes-fence-base-1 5", "zkrecipes-fence-base-2 5\n", "zkrecipes-fence-base-1 -5\n", "zkrecipes-fence-base-1 9223372036854775807\n"} {
			path := fmt.Sprintf("/bad-%d", i)
			require.NoError(t, srv.Create(path+".fence", []byte(data)))
			err := lockErr(t, mutex(t, c, path))
			require.ErrorIs(t, err, recipes.ErrBadBase, data)
			require.ErrorContains(t, err, path+".fence")
			_, _, err = c.RaiseFenceBase(t.Context(), path, high)
			require.ErrorIs(t, err, recipes.ErrBadBase, data)
			synctest.Wait()
			require.Empty(t, srv.Children(path))
		}
	})
}

// Who waits is told at once, not at its turn.
func TestWaiterEndsWhereTheBaseCannotBeRead(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		holder := lockNow(t, mutex(t, zkrtest.Dial(t, srv), "/x"))
		require.NoError(t, srv.Create("/x.fence", []byte("5")))
		require.ErrorIs(t, lockErr(t, mutex(t, zkrtest.Dial(t, srv), "/x")), recipes.ErrBadBase)
		giveBack(t, holder)
	})
}

func TestZnodeOfABaseIsNoRecipesDirectory(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		_, err := lock.NewMutex(zkrtest.Dial(t, srv), "/x.fence")
		require.ErrorContains(t, err, "base")
	})
}

func TestBaseBelowAChroot(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		raise(t, zkrtest.Dial(t, srv), "/app/x", high)
		l := lockNow(t, mutex(t, zkrtest.DialBy(t, srv, srv.ConnectString()+"/app"), "/x"))
		require.Greater(t, l.Token(), high)
		giveBack(t, l)
	})
}

// An ensemble that was wiped: its resource refuses everybody, they are told why,
// the base is raised, and all goes on, with clients that were there all the
// time.
func TestEnsembleThatStartsOver(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		store := fence.NewMemory("store")
		c := zkrtest.Dial(t, srv)
		m, err := lock.NewMutex(c, "/locks/x", lock.WithGuards(store))
		require.NoError(t, err)
		nothing := func(context.Context, *recipes.Lease) error { return nil }
		for range 50 {
			require.NoError(t, m.Do(t.Context(), nothing))
		}
		require.NoError(t, srv.Wipe())
		err = m.Do(t.Context(), nothing)
		require.ErrorIs(t, err, recipes.ErrFenceAhead)
		require.ErrorContains(t, err, "zkr fence")
		var stale *fence.StaleError
		require.ErrorAs(t, err, &stale)

		now, err := c.TokenNow(t.Context(), "/locks/x")
		require.NoError(t, err)
		require.Less(t, now, stale.Standing.Token, "which is how an operator sees it")
		require.Len(t, srv.Children("/locks"), 1, "what it looked with is gone")

		raise(t, zkrtest.Dial(t, srv), "/locks/x", stale.Standing.Token)
		err = m.Do(t.Context(), nothing)
		if err != nil { // the client had looked before that
			require.ErrorIs(t, err, fence.ErrStale)
			require.NotErrorIs(t, err, recipes.ErrFenceAhead)
		}
		require.NoError(t, m.Do(t.Context(), nothing))
		now, err = c.TokenNow(t.Context(), "/locks/x")
		require.NoError(t, err)
		require.Greater(t, now, stale.Standing.Token)
	})
}

// What a function has met is explained like what a guard has.
func TestStaleErrorOfAFunctionIsExplainedWhereNobodyCameAfterIt(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		store := fence.NewMemory("store")
		require.NoError(t, store.Install(t.Context(), high))
		c := zkrtest.Dial(t, srv)
		m := mutex(t, c, "/x")
		write := func(ctx context.Context, l *recipes.Lease) error { return store.Install(ctx, l.Token()) }
		require.ErrorIs(t, m.Do(t.Context(), write), recipes.ErrFenceAhead)

		err := m.Do(t.Context(), func(ctx context.Context, l *recipes.Lease) error {
			require.NoError(t, srv.Delete(l.Node()))
			return write(ctx, l)
		})
		require.ErrorIs(t, err, fence.ErrStale)
		require.NotErrorIs(t, err, recipes.ErrFenceAhead, "somebody may hold by now")

		both, err := lock.NewMulti(c, []string{"/x", "/y"})
		require.NoError(t, err)
		raise(t, c, "/y", 2*high)
		time.Sleep(T)
		refused := func(path string) func(context.Context, *recipes.Lease) error {
			return func(_ context.Context, l *recipes.Lease) error {
				return &fence.StaleError{Offered: fence.Stamp{Token: l.TokenOf(path)}, Standing: fence.Stamp{Token: l.TokenOf(path) + high}}
			}
		}
		require.ErrorIs(t, both.Do(t.Context(), refused("/x")), recipes.ErrFenceAhead)
		require.ErrorIs(t, both.Do(t.Context(), refused("/y")), recipes.ErrFenceAhead)

		err = m.Do(t.Context(), func(context.Context, *recipes.Lease) error {
			return &fence.StaleError{Offered: fence.Stamp{Token: 1}, Standing: fence.Stamp{Token: 2}}
		})
		require.NotErrorIs(t, err, recipes.ErrFenceAhead, "a token that is not the lease's")
	})
}

// What others see of a holder is the token that it has.
func TestListingsTellTokensWithTheirBase(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := zkrtest.Dial(t, srv)
		raise(t, c, "/x", high)
		e, err := election.New(c, "/x")
		require.NoError(t, err)
		term, err := e.Campaign(t.Context())
		require.NoError(t, err)
		leader, err := e.Leader(t.Context())
		require.NoError(t, err)
		require.Equal(t, term.Token(), leader.Token)
		candidates, err := e.Candidates(t.Context())
		require.NoError(t, err)
		require.Equal(t, term.Token(), candidates[0].Token)
		for seen := range e.Observe(t.Context()) {
			require.Equal(t, term.Token(), seen.Token)
			break
		}
		require.NoError(t, term.Resign(t.Context()))

		l := lockNow(t, mutex(t, c, "/x"))
		for range 2 { // next in line, and behind that
			var told []fence.Token
			m, err := lock.NewMutex(zkrtest.Dial(t, srv), "/x", lock.WithOnWait(func(w lock.Wait) { told = append(told, w.Holder.Token) }))
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() { _, _ = m.Lock(ctx) }()
			synctest.Wait()
			require.Equal(t, []fence.Token{l.Token()}, told)
		}
		giveBack(t, l)
	})
}

// Many paths that are locked once each leave nothing behind.
func TestSessionForgetsBasesOfPathsThatAreNotLockedAnyMore(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := zkrtest.Dial(t, srv)
		s := zkrtest.Session(t, c)
		for i := range 1000 {
			_, err := s.FenceBase(t.Context(), fmt.Sprintf("/orders/%d", i))
			require.NoError(t, err)
			time.Sleep(T / 10)
		}
		require.Less(t, s.KnownBases(), 100)
	})
}
