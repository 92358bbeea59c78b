package metering_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// ways are those in which a lease is got.
func ways(t *testing.T, c *recipes.Client) []func(context.Context) (*recipes.Lease, error) {
	t.Helper()
	rw, err := lock.NewRWMutex(c, "/rw")
	require.NoError(t, err)
	sem, err := lock.NewSemaphore(c, "/sem", 2)
	require.NoError(t, err)
	multi, err := lock.NewMulti(c, []string{"/x", "/y"})
	require.NoError(t, err)
	e, err := election.New(c, "/e")
	require.NoError(t, err)
	campaign := func(ctx context.Context) (*recipes.Lease, error) {
		term, err := e.Campaign(ctx)
		if err != nil {
			return nil, err
		}
		return term.Lease(), nil
	}
	return []func(context.Context) (*recipes.Lease, error){
		mutex(t, c, "/x").Lock, mutex(t, c, "/x").TryLock, rw.Lock, rw.RLock, sem.Acquire, sem.TryAcquire,
		multi.Lock, multi.TryLock, campaign,
	}
}

// Whatever happens, each call is told once, each lease ends once, and nothing is left
// over.
func TestCountsAgreeAfterAStorm(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		told, m, c := measured(t, srv, nil)
		others := zkrtest.Dial(t, srv, recipes.WithTrace(m.Trace()))
		var workers sync.WaitGroup
		var mu sync.Mutex
		calls, leases := 0, 0
		for seed, get := range append(ways(t, c), ways(t, others)...) {
			workers.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(seed), 1))
				for range 40 {
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rng.IntN(int(T))))
					l, err := get(ctx)
					mu.Lock()
					calls++
					if err == nil {
						leases++
					}
					mu.Unlock()
					if err == nil {
						time.Sleep(time.Duration(rng.IntN(int(T / 4))))
						_ = l.Release(ctx)
					}
					cancel()
				}
			})
		}
		over := make(chan struct{})
		go func() { workers.Wait(); close(over) }()
		rng := rand.New(rand.NewPCG(2, 2))
		for running := true; running; {
			select {
			case <-over:
				running = false
			case <-time.After(T / 3):
				s := zkrtest.Session(t, []*recipes.Client{c, others}[rng.IntN(2)])
				if rng.IntN(3) == 0 {
					srv.ExpireSession(s.ID())
				} else {
					srv.Cut(s.ID())
				}
			}
		}
		time.Sleep(T)
		c.Close()
		others.Close()

		sum := func(all map[string]float64, prefix string) (n int) {
			for name, v := range all {
				if strings.HasPrefix(name, prefix) {
					n += int(v)
				}
			}
			return n
		}
		all := told.now(m)
		granted := 0
		for name, v := range all {
			if strings.HasPrefix(name, "zkr_wait_duration_seconds_count{") && strings.HasSuffix(name, ",granted}") {
				granted += int(v)
			}
		}
		require.NotZero(t, sum(all, "zkr_lease_lost_total"))
		require.Equal(t, calls, sum(all, "zkr_wait_duration_seconds_count"))
		require.Equal(t, leases, granted)
		require.Equal(t, leases, sum(all, "zkr_hold_duration_seconds_count"))
		require.Zero(t, sum(all, "zkr_wait_active"))
		require.Zero(t, sum(all, "zkr_lease_held"))
		require.Zero(t, sum(all, "zkr_session_open"))
	})
}
