package barrier_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// A leader that was deposed without noticing answers reads and syncs, and knows
// of no barrier that was set since.
func TestBarrierThatADeposedLeaderDoesNotKnowIsNotOverlooked(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		require.NoError(t, srv.Member(0).Refuse(true))
		a := join(t, srv)
		require.NoError(t, srv.Member(0).Refuse(false))
		for i := range 2 {
			require.NoError(t, srv.Member(i+1).Refuse(true))
		}
		b := join(t, srv)
		for i := range 2 {
			require.NoError(t, srv.Member(i+1).Refuse(false))
		}
		srv.Depose(1)
		require.NoError(t, a.Set(t.Context()))
		w := b.wait()
		time.Sleep(time.Second)
		zkrtest.Pending(t, w)
		srv.Member(0).Rejoin()
		zkrtest.Pending(t, w)
		require.NoError(t, a.Remove(t.Context()))
		require.NoError(t, returned(t, w, 3*time.Second))
	}, zktest.WithFollowers(2), zktest.WithSyncLimit(20))
}
