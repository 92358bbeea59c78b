package znode_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/fence/zkfence"
	"github.com/zkrecipes/zkrecipes/integration/internal/proof"
	"github.com/zkrecipes/zkrecipes/integration/proxy"
	"github.com/zkrecipes/zkrecipes/integration/zkserver"
	"github.com/zkrecipes/zkrecipes/internal/jute"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
)

const writers = 8

// storm is writers that lose their lock without knowing, and connections that
// break.
type storm struct {
	t    *testing.T
	root string

	mu                        sync.Mutex
	written, refused, unknown int
}

func (s *storm) count(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		s.written++
	case errors.Is(err, fence.ErrStale), errors.Is(err, recipes.ErrLost), errors.Is(err, context.Canceled):
		s.refused++
	case errors.Is(err, fence.ErrOutcomeUnknown):
		s.unknown++
	default:
		s.t.Error(err)
	}
}

// writer is one client behind a proxy of its own.
func (s *storm) writer(e *zkserver.Ensemble, grants int) error {
	p, err := e.Servers[rand.IntN(len(e.Servers))].NewProxy()
	if err != nil {
		return err
	}
	c, err := recipes.Dial(s.t.Context(), p.Addr(), recipes.WithSessionTimeout(4*time.Second))
	if err != nil {
		return err
	}
	defer c.Close()
	z, err := zkfence.New(c, s.root+"/data")
	if err != nil {
		return err
	}
	m, err := lock.NewMutex(c, s.root+"/lock", lock.WithGuards(z))
	if err != nil {
		return err
	}
	for range grants {
		// How a grant ends is told by its writes.
		_ = m.Do(s.t.Context(), func(ctx context.Context, l *recipes.Lease) error {
			return s.hold(ctx, p, z, l)
		})
	}
	return nil
}

// hold writes, loses the lock now and then, and writes on.
func (s *storm) hold(ctx context.Context, p *proxy.Proxy, z *zkfence.Znode, l *recipes.Lease) error {
	if rand.IntN(2) == 0 {
		ctx = s.t.Context() // by the token alone
	}
	for range 3 {
		if rand.IntN(6) == 0 {
			p.CutAfter(jute.OpMulti, 1) // which the next write may be
		}
		s.count(z.Update(ctx, fence.Stamp{Token: l.Token()}, func(old []byte) ([]byte, error) {
			return fmt.Appendf(old, "%v\n", l.Token()), nil
		}))
		if rand.IntN(4) == 0 {
			if err := l.Session().Delete(s.t.Context(), l.Node(), -1); err != nil {
				return err
			}
			time.Sleep(time.Duration(rand.IntN(50)) * time.Millisecond) // others come and go
		}
	}
	return nil
}

func TestStormOfWritersOfAZnodeLeavesNoStaleEffect(t *testing.T) {
	report := proof.New(t, "fencing-znode", "Writers of a guarded znode that lose their lock without knowing")
	for _, servers := range []int{1, 3} {
		e := zkserver.Start(t, zkserver.Config{Servers: servers})
		s := &storm{t: t, root: zkserver.Path(t)}
		grants := proof.Size(15, 250)
		errs := make([]error, writers)
		var wg sync.WaitGroup
		for i := range writers {
			wg.Go(func() { errs[i] = s.writer(e, grants) })
		}
		wg.Wait()
		require.NoError(t, errors.Join(errs...))

		history := read(t, e, s.root+"/data")
		require.True(t, slices.IsSorted(history), "an effect of an earlier grant after one of a later")
		require.GreaterOrEqual(t, len(history), s.written)
		require.LessOrEqual(t, len(history), s.written+s.unknown)
		require.Positive(t, s.refused, "the storm was no storm")
		report.Printf("%d servers, %d grants to %d writers: %d writes took effect, %d stale ones were refused, of %d it stayed unknown; stale effects: 0",
			servers, grants*writers, writers, len(history), s.refused, s.unknown)
	}
}

func read(t *testing.T, e *zkserver.Ensemble, path string) (history []fence.Token) {
	t.Helper()
	c, err := recipes.Dial(t.Context(), e.Connect())
	require.NoError(t, err)
	defer c.Close()
	session, err := c.Session(t.Context())
	require.NoError(t, err)
	require.NoError(t, session.Barrier(t.Context()))
	z, err := zkfence.New(c, path)
	require.NoError(t, err)
	data, _, err := z.Contents(t.Context())
	require.NoError(t, err)
	for _, line := range strings.Fields(string(data)) {
		n, err := strconv.ParseInt(line, 10, 64)
		require.NoError(t, err)
		history = append(history, fence.Token(n))
	}
	return history
}

// The cost of the guard: against the same write without it, in turns, each
// transaction flushed.
func BenchmarkWrite(b *testing.B) {
	e := zkserver.Start(b, zkserver.Config{Storage: zkserver.Disk, JVM: []string{"-XX:TieredStopAtLevel=4"}})
	c, err := recipes.Dial(b.Context(), e.Servers[0].DirectAddr())
	require.NoError(b, err)
	defer c.Close()
	session, err := c.Session(b.Context())
	require.NoError(b, err)
	z, err := zkfence.New(c, "/guarded")
	require.NoError(b, err)
	m, err := lock.NewMutex(c, "/lock", lock.WithGuards(z))
	require.NoError(b, err)
	_, err = session.Create(b.Context(), "/unguarded", nil, recipes.Persistent, nil)
	require.NoError(b, err)
	var unguarded, guarded []time.Duration
	require.NoError(b, m.Do(b.Context(), func(ctx context.Context, l *recipes.Lease) error {
		for n := 0; b.Loop(); n++ {
			text := fmt.Append(nil, "the report, version ", n)
			start := time.Now()
			_, stat, err := session.Get(ctx, "/unguarded")
			if err == nil {
				_, err = session.Set(ctx, "/unguarded", text, stat.Version)
			}
			middle := time.Now()
			if err == nil {
				err = z.Update(ctx, fence.Stamp{Token: l.Token()}, func([]byte) ([]byte, error) { return text, nil })
			}
			if err != nil {
				return err
			}
			unguarded = append(unguarded, middle.Sub(start))
			guarded = append(guarded, time.Since(middle))
		}
		return nil
	}))
	b.ReportMetric(median(unguarded), "unguarded-µs")
	b.ReportMetric(median(guarded), "guarded-µs")
}

func median(took []time.Duration) float64 {
	slices.Sort(took)
	return float64(took[len(took)/2].Microseconds())
}
