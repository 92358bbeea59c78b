package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/fence/zkfence"
	"github.com/zkrecipes/zkrecipes/internal/leakcheck"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// node connects one node of the fleet, on virtual time.
func node(t *testing.T, srv *zktest.Server) *recipes.Client {
	t.Helper()
	c, err := recipes.Dial(t.Context(), srv.ConnectString(),
		recipes.WithDialer(srv.DialContext), recipes.WithClock(recipes.MonotonicClock()))
	require.NoError(t, err)
	return c
}

func reported(t *testing.T, c *recipes.Client) string {
	t.Helper()
	z, err := zkfence.New(c, reportPath)
	require.NoError(t, err)
	body, _, err := z.Contents(t.Context())
	require.NoError(t, err)
	return string(body)
}

func TestOneNodeOfTwentyDoesTheJobOfANight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := zktest.Start(t, zktest.WithInMemory())
		var done atomic.Int32
		for _, night := range []string{"2026-11-30", "2026-12-01"} {
			results := make(chan error)
			for range 20 {
				c := node(t, srv)
				go func() {
					err := nightly(t.Context(), c, night, func(context.Context) ([]byte, error) {
						return fmt.Append(nil, done.Add(1)), nil
					})
					c.Close()
					results <- err
				}()
			}
			for range 20 {
				require.NoError(t, <-results)
			}
		}
		require.EqualValues(t, 2, done.Load())
		c := node(t, srv)
		defer c.Close()
		require.Equal(t, "2026-12-01\n2", reported(t, c))
	})
}

func TestNextNodeDoesTheJobOfOneThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := zktest.Start(t, zktest.WithInMemory())
		c := node(t, srv)
		defer c.Close()
		broken := errors.New("disk full")
		err := nightly(t.Context(), c, "2026-12-01", func(context.Context) ([]byte, error) { return nil, broken })
		require.ErrorIs(t, err, broken)
		require.NoError(t, nightly(t.Context(), c, "2026-12-01", func(context.Context) ([]byte, error) { return []byte("by the next"), nil }))
		require.Equal(t, "2026-12-01\nby the next", reported(t, c))
	})
}

// The first node looks away while it works, as one that is paused does, and
// writes when another one has done the job.
func TestNodeThatWasPausedWritesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := zktest.Start(t, zktest.WithInMemory())
		paused, next := node(t, srv), node(t, srv)
		defer paused.Close()
		defer next.Close()
		err := nightly(t.Context(), paused, "2026-12-01", func(ctx context.Context) ([]byte, error) {
			session, err := paused.Session(ctx)
			require.NoError(t, err)
			srv.ExpireSession(session.ID())
			require.NoError(t, nightly(t.Context(), next, "2026-12-01", func(context.Context) ([]byte, error) { return []byte("by the next"), nil }))
			return []byte("late"), nil
		})
		require.ErrorIs(t, err, recipes.ErrLost)
		require.Equal(t, "2026-12-01\nby the next", reported(t, next))
	})
}
