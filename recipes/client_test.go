package recipes_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func TestClientStateFollowsItsSession(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		cable := srv.Cable()
		c := zkrtest.DialBy(t, cable, srv.ConnectString())
		next := func(want recipes.State) {
			t.Helper()
			for {
				state, changed := c.State()
				if state == want {
					return
				}
				<-changed
			}
		}
		next(recipes.Connected)
		cable.Refuse(true)
		cable.Cut()
		next(recipes.Suspended)
		cable.Refuse(false)
		next(recipes.Connected)
		cable.Refuse(true)
		srv.ExpireSession(zkrtest.Session(t, c).ID())
		next(recipes.Suspended)
		time.Sleep(2 * T)
		next(recipes.Lost)
		cable.Refuse(false)
		next(recipes.Connected)
		c.Close()
		next(recipes.Closed)
	})
}

// However often the session ends, there is another one, and calls wait for it.
func TestClientOpensOneSessionAfterAnother(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := zkrtest.Dial(t, srv)
		seen := map[int64]bool{}
		for range 10 {
			s := zkrtest.Session(t, c)
			require.False(t, seen[s.ID()])
			seen[s.ID()] = true
			srv.ExpireSession(s.ID())
			<-s.Done()
			require.ErrorIs(t, s.Err(), recipes.ErrSessionExpired)
			_, err := s.Create(t.Context(), "/late", nil, recipes.Persistent, nil)
			require.ErrorIs(t, err, recipes.ErrSessionExpired)
		}
		zkrtest.Session(t, c)
		synctest.Wait()
		require.Len(t, srv.Sessions(), 1, "those that asked for the timeout have gone too")
	})
}

func TestShutdownWaitsForLeasesAndReleases(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := zkrtest.Dial(t, srv)
		l := held(t, c)
		srv.On(zktest.Match{Op: zktest.OpDelete, Path: l.Node()}).DelayReply(time.Second)
		down := zkrtest.Go(func() (struct{}, error) { return struct{}{}, c.Shutdown(t.Context()) })
		zkrtest.Pending(t, down)
		require.NoError(t, l.Err())
		go l.Release(context.Background())
		zkrtest.Pending(t, down)
		start := time.Now()
		require.NoError(t, (<-down).Err)
		require.Equal(t, time.Second, time.Since(start))
		require.Empty(t, srv.Sessions())
	})
}

// Between the end of a lease and the deletion of its znode nothing is idle.
func TestShutdownWaitsForTheZnodesOfALostLease(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		told := make(chan struct{})
		cable := srv.Cable()
		c := zkrtest.DialBy(t, cable, srv.ConnectString(), recipes.WithStopOnSuspend(),
			recipes.WithTrace(recipes.Trace{Lost: func(recipes.LeaseEvent) { <-told }}))
		l := held(t, c)
		cable.Cut()
		<-l.Done()
		down := zkrtest.Go(func() (struct{}, error) { return struct{}{}, c.Shutdown(t.Context()) })
		zkrtest.Pending(t, down)
		deletes := srv.Requests(zktest.OpDelete, 0)
		close(told)
		require.NoError(t, (<-down).Err)
		require.Equal(t, deletes+1, srv.Requests(zktest.OpDelete, 0))
	})
}

func TestShutdownEndsWithItsContext(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := zkrtest.Dial(t, srv)
		l := held(t, c)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		require.ErrorIs(t, c.Shutdown(ctx), context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(start))
		require.ErrorIs(t, l.Err(), recipes.ErrLost)
		require.Empty(t, srv.Sessions())
	})
}

// Operations on a session return when their context ends, exactly.
func TestOperationsEndWithTheirContext(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		s := zkrtest.Session(t, zkrtest.Dial(t, srv))
		srv.Freeze()
		for name, op := range map[string]func(context.Context) error{
			"get":      func(ctx context.Context) error { _, _, err := s.Get(ctx, "/"); return err },
			"exists":   func(ctx context.Context) error { _, _, err := s.Exists(ctx, "/"); return err },
			"children": func(ctx context.Context) error { _, _, err := s.Children(ctx, "/"); return err },
			"create": func(ctx context.Context) error {
				_, err := s.Create(ctx, "/a", nil, recipes.Ephemeral, nil)
				return err
			},
			"set":     func(ctx context.Context) error { _, err := s.Set(ctx, "/a", nil, -1); return err },
			"delete":  func(ctx context.Context) error { return s.Delete(ctx, "/a", -1) },
			"multi":   func(ctx context.Context) error { _, err := s.Multi(ctx, recipes.CheckOp("/", -1)); return err },
			"sync":    func(ctx context.Context) error { return s.Sync(ctx, "/") },
			"barrier": s.Barrier,
			"acl":     func(ctx context.Context) error { _, err := s.ACL(ctx, "/"); return err },
			"watch":   func(ctx context.Context) error { _, _, _, err := s.GetWatch(ctx, "/"); return err },
		} {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			start := time.Now()
			err := op(ctx)
			require.ErrorIs(t, err, context.DeadlineExceeded, name)
			require.Equal(t, 100*time.Millisecond, time.Since(start), name)
			write := name == "create" || name == "set" || name == "delete" || name == "multi" || name == "barrier"
			require.Equal(t, write, errors.Is(err, recipes.ErrOutcomeUnknown), "%s: %v", name, err)
			cancel()
		}
		srv.Thaw()
		time.Sleep(5 * time.Second)
		synctest.Wait()
		_, ok := srv.Get("/a")
		require.False(t, ok, "the ephemeral that nobody waits for is deleted")
	})
}

func TestSessionThatIsBeingClosedSaysSo(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		var s *recipes.Session
		var err error
		c := zkrtest.Dial(t, srv, recipes.WithTrace(recipes.Trace{Lost: func(recipes.LeaseEvent) {
			_, err = s.Exchange(t.Context(), recipes.Exchange{Take: []recipes.Protected{{Dir: "/x", Name: "lock-"}}})
		}}))
		s = held(t, c).Session()
		c.Close()
		require.ErrorIs(t, err, recipes.ErrClosed)
		require.ErrorContains(t, err, "client closed")
	})
}
