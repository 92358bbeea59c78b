package lock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// The servers come back granting less than they did, and the only client that
// is never told is the holder: its session is resumed by the shorter timeout and
// the answer is lost, with all that follows.
func TestLeaseEndsInTimeThoughTheNewsOfAShorterTimeoutIsLost(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		const less = T / 5
		a, b := join(t, srv), join(t, srv)
		la := a.hold()
		next := b.wait()
		require.Eventually(t, func() bool { return la.Remaining() > T*11/20 }, 2*T, tick/100, "just proven")
		lost := srv.On(zktest.Match{Op: zktest.OpCreateSession, Session: a.session()}).Always()
		lost.DropReply()
		require.NoError(t, srv.SetSessionTimeouts(less/2, less))
		require.Eventually(t, func() bool { return lost.Hits() > 0 }, T, tick/100)
		a.cable.Blackhole(zktest.BothWays)

		// b is granted less too, but its session lives on.
		believed := time.Now()
		for end := time.After(2 * T); la.Err() == nil; {
			select {
			case <-la.Done():
				believed = time.Now()
			case got := <-next:
				require.NoError(t, got.Err)
				t.Fatalf("the next one holds it, and %v are left of the lease", la.Remaining())
			case <-end:
				t.Fatal("the lease does not end")
			}
		}
		release(t, granted(t, next, 2*T))
		t.Logf("ended %v before the next one had it", time.Since(believed))
	})
}

// Where a server does not say what it grants, it is not shown the session: it
// could shorten it by that alone.
func TestSessionIsNotShownToAServerThatDoesNotSayWhatItGrants(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a := join(t, srv)
		la := a.hold()
		shown := srv.On(zktest.Match{Op: zktest.OpCreateSession, Session: a.session()}).Always()
		shown.Observe()
		asked := srv.On(zktest.Match{Op: zktest.OpCreateSession}).Times(3)
		asked.DropReply()
		a.cable.Cut()
		require.Eventually(t, func() bool { return asked.Hits() > 0 }, T, tick/100)
		require.Zero(t, shown.Hits())
		require.Eventually(t, func() bool { return shown.Hits() == 1 }, T, tick)
		require.Equal(t, 3, asked.Hits())
		release(t, la)
		require.Len(t, srv.Sessions(), 1+3, "what was asked by sessions of its own expires with them")
		time.Sleep(2 * T)
		require.Len(t, srv.Sessions(), 1)
	})
}
