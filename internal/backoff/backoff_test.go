package backoff_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/backoff"
	"github.com/zkrecipes/zkrecipes/internal/leakcheck"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

func TestPausesGrowUpToALimitAndStartAnewAfterReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b backoff.Backoff
		pause := func(most time.Duration) {
			start := time.Now()
			require.True(t, b.Wait(t.Context()))
			require.GreaterOrEqual(t, time.Since(start), most/2)
			require.LessOrEqual(t, time.Since(start), most)
		}
		for range 2 {
			for most := 250 * time.Millisecond; most < 15*time.Second; most *= 2 {
				pause(most)
			}
			for range 10000 { // CURATOR-262: a day of it overflows nothing
				pause(15 * time.Second)
			}
			b.Reset()
		}
	})
}

func TestPauseEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		var b backoff.Backoff
		start := time.Now()
		require.False(t, b.Wait(ctx))
		require.Equal(t, time.Millisecond, time.Since(start))
	})
}
