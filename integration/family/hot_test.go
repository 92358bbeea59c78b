package family_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/internal/proof"
	"github.com/zkrecipes/zkrecipes/integration/proxy"
	"github.com/zkrecipes/zkrecipes/integration/zkserver"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// What it costs that many goroutines of one process want the same lock, each
// with a contender of its own; and that another process among them has its turn
// where it came.
func TestManyGoroutinesOnOnePathKeepTheirPlaceAmongOthers(t *testing.T) {
	n := proof.Size(1000, 10_000)
	report := proof.New(t, "lock-hot", "10,000 goroutines of one process on one path")
	for _, server := range []struct {
		name  string
		start func(testing.TB) string
	}{
		{"in-process server", func(t testing.TB) string { return zktest.Start(t).ConnectString() }},
		{"ZooKeeper", func(t testing.TB) string { return zkserver.Shared(t).Servers[0].DirectAddr() }},
	} {
		t.Run(server.name, func(t *testing.T) { hot(t, report, server.name, server.start(t), n) })
	}
}

func hot(t *testing.T, report *proof.Report, name, addr string, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	path := zkserver.Path(t)
	way, err := proxy.Listen(addr, proxy.ZooKeeper())
	require.NoError(t, err)
	defer way.Close()

	enough := make(chan struct{}, 2*n)
	c, err := recipes.Dial(ctx, way.Addr(), recipes.WithSessionTimeout(30*time.Second),
		recipes.WithTrace(recipes.Trace{Enqueued: func(recipes.ContenderEvent) { enough <- struct{}{} }}))
	require.NoError(t, err)
	defer c.Close()
	other, err := recipes.Dial(ctx, addr)
	require.NoError(t, err)
	defer other.Close()

	m := mutexAt(t, c, path)
	holder, err := m.Lock(ctx)
	require.NoError(t, err)
	<-enough
	before := memory()
	began := time.Now()
	var served atomic.Int64
	var wg sync.WaitGroup
	many := func(k int) {
		for range k {
			wg.Go(func() {
				l, err := m.Lock(ctx)
				if err != nil {
					t.Errorf("%v", err)
					return
				}
				served.Add(1)
				if err := l.Release(ctx); err != nil {
					t.Errorf("%v", err)
				}
			})
		}
		for range k {
			<-enough
		}
	}
	many(n / 2)
	place := make(chan lock.Wait, n)
	theirs := mutexAt(t, other, path, lock.WithOnWait(func(w lock.Wait) { place <- w }))
	turn := make(chan int64, 1)
	wg.Go(func() {
		l, err := theirs.Lock(ctx)
		if err != nil {
			t.Errorf("%v", err)
			return
		}
		turn <- served.Load()
		if err := l.Release(ctx); err != nil {
			t.Errorf("%v", err)
		}
	})
	require.Equal(t, n/2+1, (<-place).Position)
	many(n - n/2)
	queueing, waiting := time.Since(began), way.Counts()
	grown := memory() - before
	began = time.Now()
	require.NoError(t, holder.Release(ctx))
	wg.Wait()
	draining, all := time.Since(began), way.Counts()
	require.EqualValues(t, n/2, <-turn, "served before the other process")
	require.EqualValues(t, n, served.Load())

	per := func(k int) float64 { return float64(k) / float64(n) }
	report.Printf("%s, %d goroutines", name, n)
	report.Printf("  to queue: %v, %.1f requests each, %d KiB of answers; %.1f KiB of memory each while they wait",
		queueing.Round(time.Millisecond), per(waiting.Total()), waiting.BytesToClient>>10, float64(grown)/1024/float64(n))
	report.Printf("  to be served one after another: %v, %.2f ms and %.1f requests each, %d KiB of answers",
		draining.Round(time.Millisecond), float64(draining.Milliseconds())/float64(n), per(all.Total()-waiting.Total()), (all.BytesToClient-waiting.BytesToClient)>>10)
}

func mutexAt(t *testing.T, c *recipes.Client, path string, opts ...lock.MutexOption) *lock.Mutex {
	t.Helper()
	m, err := lock.NewMutex(c, path, opts...)
	require.NoError(t, err)
	return m
}

// memory is what the process has in use.
func memory() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}
