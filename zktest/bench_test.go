package zktest_test

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/jute"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// sessions8 runs b.N requests from 8 sessions on loopback, each session with
// one request under way at a time.
func sessions8(b *testing.B, op jute.Op, body func(session int) jute.Record) {
	s := zktest.Start(b)
	var clients []*bare
	for i := range 8 {
		c := open(b, s)
		c.create(fmt.Sprintf("/%d", i), 0)
		clients = append(clients, c)
	}
	b.ResetTimer()
	var wg sync.WaitGroup
	for i, c := range clients {
		wg.Add(1)
		go func() {
			defer wg.Done()
			body := body(i)
			for range (b.N + len(clients) - 1) / len(clients) {
				c.send(op, body)
				if h, _, err := c.receive(); err != nil || h.Err != jute.OK {
					b.Errorf("%v %v", h, err)
					return
				}
			}
		}()
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
}

func BenchmarkReads(b *testing.B) {
	sessions8(b, jute.OpGetData, func(i int) jute.Record { return plain(fmt.Sprintf("/%d", i)) })
}

func BenchmarkWrites(b *testing.B) {
	sessions8(b, jute.OpSetData, func(i int) jute.Record {
		return &jute.SetDataRequest{Path: fmt.Sprintf("/%d", i), Data: make([]byte, 100), Version: -1}
	})
}

// BenchmarkManySessions shows what 10,000 sessions with 50,000 ephemerals in
// memory cost.
func BenchmarkManySessions(b *testing.B) {
	const sessions, ephemerals = 10_000, 5
	for range b.N {
		s, err := zktest.New(zktest.WithInMemory())
		require.NoError(b, err)
		before := inUse()
		start := time.Now()
		var clients []*bare
		for i := range sessions {
			c := open(b, s)
			for j := range ephemerals {
				c.create(fmt.Sprintf("/lock-%d-%d", i, j), jute.ModeEphemeral)
			}
			clients = append(clients, c)
		}
		b.ReportMetric(time.Since(start).Seconds(), "s-to-open")
		b.ReportMetric(float64(inUse()-before)/(1<<20), "MiB")
		start = time.Now()
		require.NoError(b, s.Close())
		b.ReportMetric(time.Since(start).Seconds(), "s-to-close")
		runtime.KeepAlive(clients)
	}
}

// inUse is what the process holds in heap and stacks.
func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}
