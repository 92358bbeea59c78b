package lock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// The lease of an idle session has an eighth of the timeout until it is proven,
// which is less than the longest grace.
func TestLongStopGraceDoesNotEndAnUnprovenLease(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := zkrtest.Dial(t, srv, recipes.WithTickTime(zkrtest.Tick), recipes.WithStopGrace(zkrtest.Timeout/5))
		for _, dir := range []string{"/locks", "/locks/x"} { // making them would prove the session
			require.NoError(t, srv.Create(dir, nil))
		}
		time.Sleep(time.Minute)
		mu, err := lock.NewMutex(c, "/locks/x")
		require.NoError(t, err)
		err = mu.Do(t.Context(), func(ctx context.Context, _ *recipes.Lease) error {
			select {
			case <-ctx.Done():
				return errors.Join(errors.New("told to stop for no reason"), context.Cause(ctx))
			case <-time.After(time.Minute):
				return nil
			}
		})
		require.NoError(t, err)
	})
}
