package election_test

import (
	"context"
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

// What those see who do not take part.

// view is an Observe in the background, with what it has told so far.
type view struct {
	mu   sync.Mutex
	seen []*recipes.Contender
	done <-chan zkrtest.Result[struct{}] // its last error
	stop context.CancelFunc
}

func observe(t testing.TB, e *election.Election) *view {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	v := &view{stop: cancel}
	v.done = zkrtest.Go(func() (none struct{}, last error) {
		for leader, err := range e.Observe(ctx) {
			if err != nil {
				last = err
				continue
			}
			v.mu.Lock()
			v.seen = append(v.seen, leader)
			v.mu.Unlock()
		}
		return none, last
	})
	return v
}

// ids returns what was told, when nothing moves any more: "" for no leader.
func (v *view) ids() []string {
	synctest.Wait()
	v.mu.Lock()
	defer v.mu.Unlock()
	ids := []string{}
	for _, c := range v.seen {
		if c == nil {
			ids = append(ids, "")
		} else {
			ids = append(ids, c.Identity)
		}
	}
	return ids
}

func TestObserveTellsEveryChangeAndNobody(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, o := join(t, srv, "a"), join(t, srv, "b"), join(t, srv, "o")
		v := observe(t, o.Election)
		require.Equal(t, []string{""}, v.ids(), "not even the directory is there")
		ta := a.lead()
		require.Equal(t, []string{"", "a"}, v.ids())
		next := b.wait()
		require.NoError(t, ta.Proclaim(t.Context(), []byte("a at 10.0.0.1")))
		require.Equal(t, []string{"", "a", "a at 10.0.0.1"}, v.ids())
		resign(t, ta)
		tb := elected(t, next, 0)
		require.Equal(t, []string{"", "a", "a at 10.0.0.1", "b"}, v.ids())
		resign(t, tb)
		require.NoError(t, srv.DeleteAll("/election"))
		require.Equal(t, []string{"", "a", "a at 10.0.0.1", "b", ""}, v.ids())
		ta = a.lead()
		require.Equal(t, []string{"", "a", "a at 10.0.0.1", "b", "", "a"}, v.ids())
		require.Equal(t, ta.Token(), v.seen[5].Token)
		require.Equal(t, ta.Lease().Node(), v.seen[5].Path)
		v.stop()
		require.NoError(t, outcome(t, v.done, 0).Err)
	})
}

// Candidates that come and go behind the leader wake nobody.
func TestObserveHasOneWatchOnTheLeaderAlone(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, o := join(t, srv, "a"), join(t, srv, "b"), join(t, srv, "o")
		term := a.lead()
		time.Sleep(T) // the leader watches its own znode
		before := srv.Watches("")
		v := observe(t, o.Election)
		require.Equal(t, []string{"a"}, v.ids())
		require.Equal(t, before+1, srv.Watches(""))
		id := o.session()
		srv.ResetRequests()
		for range 10 {
			ctx, cancel := context.WithCancel(t.Context())
			r := b.campaign(ctx)
			zkrtest.Pending(t, r)
			cancel()
			require.Error(t, outcome(t, r, 0).Err)
		}
		require.Zero(t, srv.Requests(zktest.OpGetChildren2, id))
		require.Zero(t, srv.Requests(zktest.OpGetData, id))
		o.cable.Cut()
		time.Sleep(2 * T)
		require.Equal(t, []string{"a"}, v.ids())
		require.Zero(t, srv.Requests(zktest.OpGetChildren2, id), "the first in line stays so while it is there")
		srv.ResetRequests()
		next := b.wait()
		resign(t, term)
		elected(t, next, 0)
		require.Equal(t, []string{"a", "b"}, v.ids())
		require.Equal(t, 1, srv.Requests(zktest.OpGetChildren2, id))
		require.Equal(t, 1, srv.Requests(zktest.OpGetData, id))
	})
}

// Who is slow misses history and never the newest.
func TestSlowReaderSeesTheNewest(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, o := join(t, srv, "a"), join(t, srv, "b"), join(t, srv, "o")
		ctx, cancel := context.WithCancel(t.Context())
		var seen []fence.Token
		reader := zkrtest.Go(func() (none struct{}, _ error) {
			for leader, err := range o.Observe(ctx) {
				if err != nil {
					return none, err
				}
				if leader != nil {
					seen = append(seen, leader.Token)
				}
				time.Sleep(time.Second)
			}
			return none, nil
		})
		for range 50 {
			for _, c := range []*candidate{a, b} {
				term := c.lead()
				time.Sleep(10 * time.Millisecond)
				resign(t, term)
			}
		}
		newest := b.lead().Token()
		time.Sleep(2 * time.Second)
		cancel()
		require.NoError(t, outcome(t, reader, T).Err)
		require.Less(t, len(seen), 10)
		require.Equal(t, newest, seen[len(seen)-1])
	})
}

// A hundred changes a second: only those who were first in line, in their order,
// and the true one in the end.
func TestObserveUnderManyChanges(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		o := join(t, srv, "o")
		v := observe(t, o.Election)
		var mu sync.Mutex
		var led []fence.Token
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		var wg sync.WaitGroup
		for _, id := range []string{"a", "b", "c"} {
			c := join(t, srv, id)
			wg.Go(func() {
				_ = c.Run(ctx, func(_ context.Context, term *election.Term) error {
					mu.Lock()
					led = append(led, term.Token())
					mu.Unlock()
					time.Sleep(10 * time.Millisecond)
					return nil
				})
			})
		}
		time.Sleep(2 * time.Second)
		o.cable.Cut() // what happens until it is back is made up for
		wg.Wait()
		last := join(t, srv, "last").lead()
		v.ids()
		require.Greater(t, len(led), 400)
		require.Greater(t, len(v.seen), 200)
		var tokens []fence.Token
		for _, c := range v.seen {
			// Those who withdrew in the end were first, too, and did not lead.
			if c != nil && (c.Token <= led[len(led)-1] || c.Token == last.Token()) {
				tokens = append(tokens, c.Token)
			}
		}
		require.IsIncreasing(t, tokens)
		require.Subset(t, append(led, last.Token()), tokens)
		require.Equal(t, last.Token(), v.seen[len(v.seen)-1].Token)
	})
}

// A client's next session may be at a server that lags behind, and show what
// was.
func TestObserveNeverGoesBack(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		leader, follower := srv.Member(0), srv.Member(1)
		require.NoError(t, follower.Refuse(true))
		a, b := join(t, srv, "a"), join(t, srv, "b")
		o := joinAs(t, srv, []recipes.Option{recipes.WithEphemeralBudget(4 << 10)})
		id := o.session()
		_, err := o.c.SessionFor(t.Context(), 4<<10)
		require.NoError(t, err)
		require.NoError(t, follower.Refuse(false))
		require.NoError(t, leader.Refuse(true))
		beside, err := o.c.SessionFor(t.Context(), 4<<10)
		require.NoError(t, err)
		require.NotEqual(t, id, beside.ID())

		v := observe(t, o.Election)
		v.ids()
		ta := a.lead()
		require.Equal(t, []string{"", "a"}, v.ids())
		time.Sleep(T)
		follower.SetLag(2 * T)
		next := b.wait()
		resign(t, ta)
		elected(t, next, 0)
		require.Equal(t, []string{"", "a", "b"}, v.ids())
		srv.ExpireSession(id)
		time.Sleep(T)
		_, stillThere := follower.Get(ta.Lease().Node())
		require.True(t, stillThere)
		require.Equal(t, []string{"", "a", "b"}, v.ids())
		time.Sleep(4 * T)
		require.Equal(t, []string{"", "a", "b"}, v.ids())
	}, zktest.WithFollowers(1))
}

func TestObserveSeesWhatHappenedWhileItWasCutOff(t *testing.T) {
	for name, lose := range map[string]func(*zktest.Server, *candidate){
		"the connection": func(*zktest.Server, *candidate) {},
		"the session":    func(srv *zktest.Server, o *candidate) { srv.ExpireSession(o.session()) },
	} {
		t.Run(name, func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				a, b, o := join(t, srv, "a"), join(t, srv, "b"), join(t, srv, "o")
				v := observe(t, o.Election)
				v.ids()
				ta := a.lead()
				next := b.wait()
				o.cable.Refuse(true)
				o.cable.Cut()
				lose(srv, o)
				resign(t, ta)
				elected(t, next, 0)
				time.Sleep(time.Second)
				require.Equal(t, []string{"", "a"}, v.ids())
				o.cable.Refuse(false)
				time.Sleep(2 * time.Second)
				require.Equal(t, []string{"", "a", "b"}, v.ids())
			})
		})
	}
}

// That the leader has been there for longer is no change.
func TestLeaderThatStaysIsToldOnce(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		term := join(t, srv, "a").lead()
		b := join(t, srv, "b")
		waiting := b.wait() // and knows the servers' time by that
		v := observe(t, b.Election)
		require.Equal(t, []string{"a"}, v.ids())
		require.NotZero(t, v.seen[0].Age)
		time.Sleep(10 * T)
		require.Equal(t, []string{"a"}, v.ids())
		resign(t, term)
		resign(t, elected(t, waiting, 0))
		require.Equal(t, []string{"a", "b", ""}, v.ids())
	})
}

// go-zookeeper PR#34, ZOOKEEPER-4655: the event never comes.
func TestObserveLooksAgainWhereTheEventIsLost(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, o := join(t, srv, "a"), join(t, srv, "o")
		v := observe(t, o.Election)
		v.ids()
		term := a.lead()
		require.Equal(t, []string{"", "a"}, v.ids())
		srv.OnEvent(zktest.EventMatch{Session: o.session()}).Suppress()
		resign(t, term)
		require.Equal(t, []string{"", "a"}, v.ids())
		time.Sleep(T)
		require.Equal(t, []string{"", "a", ""}, v.ids())
	})
}

func TestObserveSaysWhyItEnds(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, o := join(t, srv, "a"), join(t, srv, "o")
		a.lead()
		v := observe(t, o.Election)
		v.ids()
		o.c.Close()
		require.ErrorIs(t, outcome(t, v.done, 0).Err, recipes.ErrClosed)

		p := join(t, srv, "p")
		hook := srv.On(zktest.Match{Op: zktest.OpGetChildren2, Session: p.session()}).Always()
		hook.Error(zktest.NoAuth)
		require.ErrorIs(t, outcome(t, observe(t, p.Election).done, 0).Err, recipes.ErrNoAuth)

		q := join(t, srv, "q")
		srv.On(zktest.Match{Op: zktest.OpGetChildren2, Session: q.session()}).Times(3).Error(zktest.Throttled)
		passes := observe(t, q.Election)
		time.Sleep(3 * time.Second)
		require.Equal(t, []string{"a"}, passes.ids())
	})
}

func TestObserveEndsWithItsLoop(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a := join(t, srv, "a")
		a.lead()
		for leader, err := range a.Observe(t.Context()) {
			require.NoError(t, err)
			require.Equal(t, "a", leader.Identity)
			break
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for range a.Observe(ctx) {
			require.Fail(t, "told under a context that has ended")
		}
	})
}

func TestLeaderAndCandidatesAreShown(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, o := join(t, srv, "a"), join(t, srv, "b"), join(t, srv, "o")
		_, err := o.Leader(t.Context())
		require.ErrorIs(t, err, election.ErrNoLeader)
		list, err := o.Candidates(t.Context())
		require.NoError(t, err)
		require.Empty(t, list)

		term := a.lead()
		next := b.wait()
		leader, err := o.Leader(t.Context())
		require.NoError(t, err)
		require.Equal(t, "a", leader.Identity)
		require.Equal(t, term.Token(), leader.Token)
		require.Equal(t, a.session(), leader.Session)
		list, err = o.Candidates(t.Context())
		require.NoError(t, err)
		require.Len(t, list, 2)
		require.Equal(t, leader, list[0])
		require.Equal(t, "b", list[1].Identity)
		require.Equal(t, 1, list[1].Position)

		resign(t, term)
		resign(t, elected(t, next, 0))
		_, err = o.Leader(t.Context())
		require.ErrorIs(t, err, election.ErrNoLeader, "the directory is there, and empty")
		require.ErrorContains(t, err, path)
	})
}

// go-zookeeper#79, #47, vitess#11678, kubernetes#118790
func TestCallsEndWithTheirContext(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a := join(t, srv, "a")
		term := a.lead()
		srv.Freeze()
		defer srv.Thaw()
		for _, call := range []func(context.Context) error{
			func(ctx context.Context) error { _, err := a.Campaign(ctx); return err },
			func(ctx context.Context) error { _, err := a.Leader(ctx); return err },
			func(ctx context.Context) error { _, err := a.Candidates(ctx); return err },
			func(ctx context.Context) error { return term.Proclaim(ctx, []byte("x")) },
			func(ctx context.Context) error { return term.Resign(ctx) },
		} {
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			start := time.Now()
			err := call(ctx)
			cancel()
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Equal(t, 300*time.Millisecond, time.Since(start))
		}
	})
}
