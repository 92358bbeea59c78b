package recipes_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// ahead returns by how much a client takes the servers' clock for later than it
// is.
func ahead(t testing.TB, c *recipes.Client) time.Duration {
	t.Helper()
	now, ok := c.ServerTime()
	require.True(t, ok)
	return now.Sub(time.Now().Truncate(time.Millisecond))
}

func TestServersTimeIsUnknownBeforeTheFirstWriteThatIsToldIt(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := zkrtest.Dial(t, srv)
		s := zkrtest.Session(t, c)
		require.NoError(t, srv.Create("/x", nil))
		_, _, err := s.Get(t.Context(), "/x")
		require.NoError(t, err)
		require.NoError(t, s.Barrier(t.Context()))
		_, ok := c.ServerTime()
		require.False(t, ok, "a read tells when others have written")
		_, err = s.Set(t.Context(), "/x", nil, -1)
		require.NoError(t, err)
		require.Zero(t, ahead(t, c))
		time.Sleep(time.Hour)
		require.Zero(t, ahead(t, c))
	})
}

func TestServersTimeIsAheadByNoMoreThanTheAnswerTook(t *testing.T) {
	for name, write := range map[string]struct {
		fault func(*zktest.Hook)
		ahead time.Duration
	}{
		"request late": {func(h *zktest.Hook) { h.Delay(time.Second) }, time.Second},
		"answer late":  {func(h *zktest.Hook) { h.DelayReply(time.Second) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				c := zkrtest.Dial(t, srv)
				s := zkrtest.Session(t, c)
				require.NoError(t, srv.Create("/x", nil))
				write.fault(srv.On(zktest.Match{Op: zktest.OpSetData}))
				_, err := s.Set(t.Context(), "/x", nil, -1)
				require.NoError(t, err)
				require.Equal(t, write.ahead, ahead(t, c))
				_, err = s.Set(t.Context(), "/x", nil, -1)
				require.NoError(t, err)
				require.Zero(t, ahead(t, c), "the latest counts")
			})
		})
	}
}

// Several znodes that are made together wait for a connection as one does: that
// is no time that the answer took.
func TestServersTimeIsNotAheadByTheWaitForAConnection(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		cable := srv.Cable()
		c := zkrtest.DialBy(t, cable, srv.ConnectString())
		m, err := lock.NewMulti(c, []string{"/x", "/y"})
		require.NoError(t, err)
		for range 2 { // read for their token, and made together with a touch of their directories
			cable.Refuse(true)
			cable.Cut()
			synctest.Wait()
			locked := zkrtest.Go(func() (*recipes.Lease, error) { return m.Lock(t.Context()) })
			time.Sleep(2 * time.Second)
			zkrtest.Pending(t, locked)
			cable.Refuse(false)
			r := <-locked
			require.NoError(t, r.Err)
			require.Zero(t, ahead(t, c))
			require.NoError(t, r.Val.Release(t.Context()))
		}
	})
}

// A contender that was made tells the time by its own creation, at no further
// request: in the transaction that made it, or when it is read for its token.
func TestContenderTellsTheServersTime(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := zkrtest.Dial(t, srv)
		m := mutex(t, c, "/x")
		for _, late := range []time.Duration{0, time.Second} { // made alone, and together with a touch of the directory
			srv.On(zktest.Match{Op: zktest.OpMulti, Path: "/x/*"}).Optional().Delay(time.Second)
			l, err := m.Lock(t.Context())
			require.NoError(t, err)
			require.Equal(t, late, ahead(t, c))
			require.NoError(t, l.Release(t.Context()))
			time.Sleep(time.Minute)
		}
	})
}

// When the creation was sent is not known where its answer was lost and the znode
// was found later: an age by that would be wrong.
func TestContenderWhoseAnswerWasLostTellsNoTime(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := zkrtest.Dial(t, srv)
		require.NoError(t, srv.Create("/x", nil))
		srv.On(zktest.Match{Path: "/x/_c_*"}).DropReply()
		l, err := mutex(t, c, "/x").Lock(t.Context())
		require.NoError(t, err)
		_, ok := c.ServerTime()
		require.False(t, ok)
		require.NoError(t, l.Release(t.Context()))
	})
}
