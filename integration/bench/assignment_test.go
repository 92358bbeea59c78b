package bench

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Paths can be spread over several ensembles only by a list that never changes.
// Here some processes know of a fourth ensemble and others do not yet: for the
// paths that the new list gives to another ensemble both have a holder. The best
// of hashing moves no fewer than the new one's share of them.
func TestChangedListOfEnsemblesBreaksExclusion(t *testing.T) {
	var clients []*recipes.Client
	for range 4 {
		c, err := recipes.Dial(t.Context(), zktest.Start(t).ConnectString())
		require.NoError(t, err)
		t.Cleanup(c.Close)
		clients = append(clients, c)
	}
	const paths = 400
	both := 0
	for i := range paths {
		path := fmt.Sprintf("/locks/%d", i)
		before, after := assign(path, 3), assign(path, 4)
		first := tryAt(t.Context(), t, clients[before], path)
		second := tryAt(t.Context(), t, clients[after], path)
		require.True(t, first)
		require.Equal(t, before != after, second, "%s: two hold where, and only where, it has moved", path)
		if second {
			both++
		}
	}
	t.Logf("%d of %d paths have two holders while a list of three becomes one of four", both, paths)
	require.InDelta(t, paths/4, both, paths/16)
}

// assign gives a path to one of n ensembles, by the highest hash of both.
func assign(path string, n int) int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return slices.MaxFunc(all, func(a, b int) int { return cmp.Compare(weight(path, a), weight(path, b)) })
}

func weight(path string, ensemble int) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s at %d", path, ensemble)
	x := h.Sum64() // whose last bytes are hardly mixed
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return x
}

// tryAt takes a lock for good if it is free.
func tryAt(ctx context.Context, t *testing.T, c *recipes.Client, path string) bool {
	t.Helper()
	m, err := lock.NewMutex(c, path)
	require.NoError(t, err)
	_, err = m.TryLock(ctx)
	if err != nil {
		require.ErrorIs(t, err, lock.ErrLocked)
	}
	return err == nil
}
