package lock_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/integration/zkserver"
)

// A real server's counter does not wrap: it sticks at its greatest value, and
// numbers are no longer distinct. Sources: kazoo#730, kazoo#606, go-zk PR#65,
// ZOOKEEPER-4706, ZOOKEEPER-2944.
func TestContendersAreServedInTheirOrderWhereTheServersNumbersEnd(t *testing.T) {
	parallel(t)
	const contenders = 8
	s := zkserver.Start(t, zkserver.Config{Tick: tick}).Servers[0]
	w := witness(t, s)
	const path = "/at-the-end"
	w.put(t, path, "")
	w.Close()
	setCounter(t, s, path, math.MaxInt32-3)

	w = witness(t, s)
	h := w.lock(t, path)
	require.Equal(t, "2147483644", sequence(t, h.Node()))
	var order []<-chan outcome
	for i := range contenders {
		order = append(order, dial(t, s.Addr(), soon).lockLater(t, path))
		awaitQueued(t, w, path, i+2)
	}
	t.Log(children(t, w, path))
	require.NoError(t, h.Release(within(t, soon)))
	last := h.Token()
	for _, next := range order {
		n := mustHold(t, next, soon)
		require.Greater(t, n.Token(), last)
		last = n.Token()
		require.NoError(t, n.Verify(within(t, soon)))
		for _, other := range order {
			require.Empty(t, other, "two at once")
		}
		require.NoError(t, n.Release(within(t, soon)))
	}
	// The directory is empty now: whoever has seen where its numbers are deletes
	// it before the next lock, and they begin anew.
	m := w.mutex(t, path)
	for _, number := range []string{"2147483647", "0000000000", "0000000001"} {
		l, err := m.Lock(within(t, soon))
		require.NoError(t, err)
		require.Equal(t, number, sequence(t, l.Node()))
		require.Greater(t, l.Token(), last)
		last = l.Token()
		require.NoError(t, l.Release(within(t, soon)))
	}
}

// Contenders that queue at once at the end of the range get negative numbers.
func TestOverlappingContendersAreOneAtATimeWhereTheServersNumbersEnd(t *testing.T) {
	parallel(t)
	const contenders = 32
	s := zkserver.Start(t, zkserver.Config{Tick: tick}).Servers[0]
	w := witness(t, s)
	const path = "/at-the-end"
	w.put(t, path, "")
	w.Close()
	setCounter(t, s, path, math.MaxInt32-5)

	w = witness(t, s)
	h := w.lock(t, path)
	c := dial(t, s.Addr(), soon)
	granted := make(chan hold, contenders)
	for range contenders {
		got := c.lockLater(t, path)
		go func() {
			if o := <-got; o.err == nil {
				granted <- o.hold
			}
		}()
	}
	awaitQueued(t, w, path, contenders+1)
	t.Log(children(t, w, path))
	var last fence.Token
	require.NoError(t, h.Release(within(t, soon)))
	for range contenders {
		n := receive(t, "the next grant", granted, soon)
		require.Greater(t, n.Token(), last)
		last = n.Token()
		require.NoError(t, n.Verify(within(t, soon)))
		require.Empty(t, granted, "two at once")
		require.NoError(t, n.Release(within(t, soon)))
	}
}

// setCounter has the server find path with another counter of children.
func setCounter(t *testing.T, s *zkserver.Server, path string, counter int32) {
	t.Helper()
	require.NoError(t, s.SetCreateCounters(within(t, patience), map[string]int32{path: counter}))
}
