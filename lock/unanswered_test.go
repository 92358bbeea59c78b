package lock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// A real server can leave a single request without an answer and go on answering
// pings. Nobody may wait for it for ever.
func TestRequestThatIsNeverAnsweredIsMadeAnew(t *testing.T) {
	for name, op := range map[string]zktest.Op{
		"listing": zktest.OpGetChildren2,
		"watch":   zktest.OpGetData,
		"delete":  zktest.OpDelete,
	} {
		t.Run(name, func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				a, b := join(t, srv), join(t, srv)
				la := a.hold()
				lost := srv.On(zktest.Match{Op: op, Session: b.session()}).WithholdReply()
				next := b.lock(t.Context())
				time.Sleep(2 * T)
				release(t, la)
				lb := granted(t, next, 2*T)
				require.NoError(t, lb.Release(t.Context()))
				require.NotZero(t, lost.Hits())
				require.Empty(t, contenders(srv))
			})
		})
	}
}

// After an outage of all servers the sessions are still good: what a holder has
// lost by its clock is deleted at once, and a waiter has kept its place.
func TestSessionsAreKeptOverAnOutageOfAllServers(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := join(t, srv), join(t, srv)
		la := a.hold()
		next := b.wait()
		ids := []int64{a.session(), b.session()}
		srv.Down()
		time.Sleep(2 * T)
		require.Error(t, la.Err())
		require.NoError(t, srv.Up())
		lb := granted(t, next, 2*time.Second)
		require.Equal(t, ids, []int64{a.session(), b.session()})
		release(t, lb)
	})
}
