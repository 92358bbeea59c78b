package lock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/integration/zkserver"
)

// Sources: samuel#207, zk-ruby/zk#34.
func TestTokensGrowThoughTheDirectoryWasDeletedAndMadeAgain(t *testing.T) {
	s := zkserver.Shared(t).Servers[0]
	w, c := witness(t, s), dial(t, s.Addr(), soon)
	path := zkserver.Path(t)
	var last fence.Token
	for range 3 {
		for i := range 3 {
			h := c.lock(t, path)
			require.Greater(t, h.Token(), last)
			last = h.Token()
			require.Equal(t, "000000000"+string(rune('0'+i)), sequence(t, h.Node()), "the numbers begin anew")
			require.NoError(t, h.Release(within(t, soon)))
		}
		require.NoError(t, w.session(t).Delete(within(t, soon), path, -1))
	}
}

func TestTokensGrowUnderANewLeader(t *testing.T) {
	parallel(t)
	e := startTrio(t, nil)
	c := dial(t, e.Connect(), 10*time.Second)
	path := zkserver.Path(t)
	var last fence.Token
	for range 2 {
		h := c.lock(t, path)
		require.Greater(t, h.Token(), last)
		last = h.Token()
		require.NoError(t, h.Release(within(t, patience)))
		old := e.leader
		require.NoError(t, old.Kill())
		h = c.lock(t, path)
		t.Logf("token %d, then %d under the new leader", last, h.Token())
		require.Greater(t, h.Token(), last)
		last = h.Token()
		require.NoError(t, h.Release(within(t, patience)))
		require.NoError(t, old.Launch(within(t, patience)))
		e.roles(t)
	}
}
