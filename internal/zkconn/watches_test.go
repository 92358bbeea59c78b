package zkconn

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Those who listen to one path come and go in any order; who is left is called.
func TestWatchersOfOnePathStopInAnyOrder(t *testing.T) {
	const n = 6
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 0))
		var w watches
		var called []int
		var all []*Watching
		for i := range n {
			all = append(all, w.add("/a", 0, func(Event) { called = append(called, i) }))
		}
		left := []int{0, 1, 2, 3, 4, 5}
		for _, i := range r.Perm(n) {
			require.True(t, w.has([]byte("/a")))
			all[i].Stop()
			all[i].Stop() // more than once is as good as once
			left = slices.DeleteFunc(left, func(k int) bool { return k == i })
			called = called[:0]
			w.wakeAll()
			require.ElementsMatch(t, left, called)
		}
		require.False(t, w.has([]byte("/a")))
		require.Empty(t, w.byPath)
	}
}

// Who has stopped and is stopped again must not end what others began since.
func TestStoppingAgainEndsNobodyElse(t *testing.T) {
	var w watches
	first := w.add("/a", 0, func(Event) {})
	first.Stop()
	w.add("/a", 0, func(Event) {})
	first.Stop()
	require.True(t, w.has([]byte("/a")))
}
