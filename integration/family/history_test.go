package family_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/internal/proof"
	"github.com/zkrecipes/zkrecipes/integration/proxy"
	"github.com/zkrecipes/zkrecipes/integration/zkserver"
	"github.com/zkrecipes/zkrecipes/internal/recipetest"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// soul is a member of a crowd with a way of its own to the servers.
type soul struct {
	*recipetest.Member
	client *recipes.Client
	way    *proxy.Proxy
	ended  atomic.Int64 // sessions that the client has outlived
}

// trouble is what can go wrong on a way to the servers. It lasts for up to 4/3 of
// a session timeout.
var trouble = map[string]func(way *proxy.Proxy, lasts time.Duration){
	"cut":           func(way *proxy.Proxy, _ time.Duration) { way.Cut() },
	"stalled":       func(way *proxy.Proxy, d time.Duration) { way.Stall(); time.Sleep(d); way.Pass() },
	"requests lost": func(way *proxy.Proxy, d time.Duration) { way.ToServer().Blackhole(); time.Sleep(d); mend(way) },
	"answers lost":  func(way *proxy.Proxy, d time.Duration) { way.ToClient().Blackhole(); time.Sleep(d); mend(way) },
	"refused":       func(way *proxy.Proxy, d time.Duration) { way.Refuse(); way.Cut(); time.Sleep(d); _ = way.Accept() },
	"session over":  func(way *proxy.Proxy, _ time.Duration) { way.Blackhole(); time.Sleep(2 * timeout); mend(way) },
}

// mend puts a way right. What was lost leaves a hole in a stream, which a network
// would never hand on.
func mend(way *proxy.Proxy) {
	way.Cut()
	way.Pass()
}

// Random histories of readers, writers, holders of permits, of mutexes and of
// several together on a real server, while connections are cut, stalled and lost
// until sessions end, and waits are given up.
func TestRandomHistoriesOfAllKindsOfLocksKeepEveryPromise(t *testing.T) {
	const souls = 12
	operations := proof.Size(120, 2000)
	report := proof.New(t, "lock-histories", "Random histories of readers, writers, permits, mutexes and multi-locks on a real server")
	server := zkserver.Shared(t).Servers[0]
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
	defer cancel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	c := recipetest.NewCrowd(t, zkserver.Path(t), timeout, 2*time.Second, false)
	var all []*soul
	for i := range souls {
		all = append(all, join(t, ctx, c, server, i, rand.New(rand.NewPCG(seed, uint64(i)))))
	}
	began := time.Now()
	left := atomic.Int64{}
	left.Store(int64(operations))
	var workers sync.WaitGroup
	for _, s := range all {
		workers.Go(func() {
			for left.Add(-1) >= 0 {
				s.Operate()
				s.Pause()
			}
		})
	}
	struck := strike(all, &left, rand.New(rand.NewPCG(seed, souls)))
	workers.Wait()
	lasted := time.Since(began)

	served, stop := context.WithTimeout(ctx, patience)
	defer stop()
	var clients []*recipes.Client
	sessions := int64(0)
	for _, s := range all {
		clients = append(clients, s.client)
		sessions += s.ended.Load()
	}
	ordered := c.Verdict(served, clients...)
	c.RequireNoGhosts(served, session(t, ctx, server))

	tally := c.Tally()
	report.Printf("%d operations of %d clients on one server in %v, session timeout %v: never a writer beside anyone, never two with one mutex, never more permits than the limit; tokens grow",
		tally.Operations, souls, lasted.Round(time.Second), timeout)
	report.Printf("%d grants: %v; %d tries in vain, %d waits given up", tally.All(), tally.Grants, tally.Busy, tally.TimedOut)
	report.Printf("%d grants in the order of the queue, as far as it was seen from outside; %d places lost and taken again at the back", ordered, tally.Requeued)
	report.Printf("%d leases lost, %d sessions ended; struck: %v", tally.Lost, sessions, struck)
	report.Printf("then each client was served with each kind of lock, and nothing was left in any directory")
	require.Equal(t, operations, tally.Operations)
	require.Greater(t, tally.All(), operations/8)
	require.Greater(t, ordered, operations/16)
}

func join(t *testing.T, ctx context.Context, c *recipetest.Crowd, server *zkserver.Server, i int, r *rand.Rand) *soul {
	t.Helper()
	way, err := server.NewProxy()
	require.NoError(t, err)
	s := &soul{Member: c.Join(fmt.Sprint("client ", i), r), way: way}
	trace := s.Trace()
	trace.SessionState = func(ev recipes.SessionEvent) {
		if ev.State == recipes.Lost {
			s.ended.Add(1)
		}
	}
	opts := []recipes.Option{recipes.WithSessionTimeout(timeout), recipes.WithTrace(trace)}
	if i%2 == 1 {
		opts = append(opts, recipes.WithStrictGrant())
	}
	s.client, err = recipes.Dial(ctx, way.Addr(), opts...)
	require.NoError(t, err)
	t.Cleanup(s.client.Close)
	s.Use(s.client)
	return s
}

// strike lets things go wrong as long as there is something left to do, one after
// another, and all are right again when it returns how often each has.
func strike(all []*soul, left *atomic.Int64, r *rand.Rand) map[string]int {
	names := slices.Sorted(maps.Keys(trouble))
	struck := make(map[string]int)
	var lasting sync.WaitGroup
	for busy := make(map[*soul]bool); left.Load() > 0; {
		clear(busy)
		for range 1 + r.IntN(3) { // at once, each on somebody else's way
			s := all[r.IntN(len(all))]
			if busy[s] {
				continue
			}
			busy[s] = true
			name := names[r.IntN(len(names))]
			struck[name]++
			lasts := time.Duration(r.Int64N(int64(4 * timeout / 3)))
			lasting.Go(func() { trouble[name](s.way, lasts) })
		}
		lasting.Wait()
		time.Sleep(time.Duration(r.Int64N(int64(timeout / 2))))
	}
	return struck
}
