package lock_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// More locks than one session may own: further sessions come and go, while
// connections break and sessions end. No session ever owns more than it may, and
// in the end there is one, which owns nothing.
func TestFurtherSessionsComeAndGo(t *testing.T) {
	zkrtest.Storms(t, "one client", 1, 12, func(t *testing.T, seed uint64) {
		zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
			const budget = 4 << 10
			cable := srv.Cable()
			c := zkrtest.DialBy(t, cable, srv.ConnectString(), recipes.WithEphemeralBudget(budget))
			chaos := rand.New(rand.NewPCG(seed, 0))
			var workers sync.WaitGroup
			var grants, most int
			var mu sync.Mutex
			for i := range 60 {
				r := rand.New(rand.NewPCG(seed, uint64(i+1)))
				ask := askOf(t, c, i)
				workers.Go(func() {
					for range 6 {
						ctx, cancel := context.WithTimeout(t.Context(), time.Duration(r.Int64N(int64(T))))
						l, err := ask(ctx)
						cancel()
						if err != nil {
							if !errors.Is(err, context.DeadlineExceeded) {
								t.Errorf("unexpected: %v", err)
							}
							continue
						}
						time.Sleep(time.Duration(r.IntN(3000)) * time.Millisecond)
						mu.Lock()
						grants++
						mu.Unlock()
						_ = l.Release(t.Context())
					}
				})
			}
			over := make(chan struct{})
			go func() { workers.Wait(); close(over) }()
			for done := false; !done; {
				select {
				case <-over:
					done = true
				case <-time.After(time.Duration(chaos.IntN(2000)) * time.Millisecond):
				}
				sessions := srv.Sessions()
				most = max(most, len(sessions))
				for _, info := range sessions {
					size := 0
					for _, p := range info.Ephemerals {
						size += 4 + len(p)
					}
					require.LessOrEqual(t, size, budget)
				}
				if len(sessions) == 0 {
					continue
				}
				switch id := sessions[chaos.IntN(len(sessions))].ID; chaos.IntN(4) {
				case 0:
					cable.Cut()
				case 1:
					srv.ExpireSession(id)
				case 2:
					srv.On(zktest.Match{Session: id}).Optional().DropReply()
				case 3:
					srv.On(zktest.Match{Session: id, Op: zktest.OpMulti}).Optional().DropReply()
				}
			}
			time.Sleep(2 * T)
			t.Logf("%d grants, at most %d sessions", grants, most)
			require.Greater(t, most, 2)
			require.Empty(t, ephemerals(srv))
			requireFree(t, c, budget)
			// What was dropped above may strike one more; the sessions retire all
			// the same when the next locks are given back.
			for i := range 60 {
				l, err := askOf(t, c, i)(t.Context())
				require.NoError(t, err)
				require.NoError(t, l.Release(t.Context()))
			}
			time.Sleep(2 * T)
			require.Empty(t, ephemerals(srv))
			require.Len(t, srv.Sessions(), 1)
			requireFree(t, c, budget)
		})
	})
}

// askOf returns the way to ask of one of several workers: each with a lock of
// some kind for itself.
func askOf(t testing.TB, c *recipes.Client, i int) asking {
	dir := fmt.Sprintf("/locks/%d", i)
	switch i % 4 {
	case 0:
		rw, err := lock.NewRWMutex(c, dir)
		require.NoError(t, err)
		return func(ctx context.Context) (*recipes.Lease, error) {
			l, err := rw.Lock(ctx)
			if err == nil {
				_ = rw.Downgrade(ctx, l)
			}
			return l, err
		}
	case 1:
		sem, err := lock.NewSemaphore(c, dir, 5)
		require.NoError(t, err)
		return func(ctx context.Context) (*recipes.Lease, error) { return sem.AcquireN(ctx, 1+i%5) }
	case 2:
		return multi(t, c, dir+"/a", dir+"/b", dir+"/c").Lock
	}
	return mutexAt(t, c, dir).Lock
}
