package lock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// The waiters of one process who come together read the queue together.
func TestWaitersOfOneProcessShareTheirLooksAtTheQueue(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		const n = 200
		a, b := join(t, srv), join(t, srv)
		la := a.hold()
		srv.On(zktest.Match{Op: zktest.OpGetChildren2, Session: b.session()}).Always().DelayReply(20 * time.Millisecond)
		srv.ResetRequests()
		var queue []<-chan result
		for range n {
			queue = append(queue, b.lock(t.Context()))
		}
		time.Sleep(time.Second)
		require.Len(t, srv.Children(path), n+1)
		require.Less(t, srv.Requests(zktest.OpGetChildren2, b.session()), 10)
		release(t, la)
		for range n {
			release(t, next(t, queue))
		}
		require.Empty(t, srv.Children(path))
	})
}

// next is the one of those who wait that is served.
func next(t *testing.T, queue []<-chan result) (l *recipes.Lease) {
	t.Helper()
	time.Sleep(time.Second)
	for _, r := range queue {
		select {
		case got := <-r:
			require.NoError(t, got.Err)
			require.Nil(t, l, "two at once")
			l = got.Val
		default:
		}
	}
	require.NotNil(t, l, "nobody is served")
	return l
}

// Who reads for others too may give up; they read by themselves then.
func TestLookThatIsGivenUpIsMadeAgainByThoseWhoShareIt(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := join(t, srv), join(t, srv)
		la := a.hold()
		srv.On(zktest.Match{Op: zktest.OpGetChildren2, Session: b.session()}).Times(3).DelayReply(time.Second)
		waits := []<-chan result{b.lock(t.Context())} // whose look goes on when the others come
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		var giveUp []<-chan result
		for i := range 20 {
			giveUp = append(giveUp, b.lock(ctx))
			if i == 10 {
				waits = append(waits, b.lock(t.Context()))
			}
		}
		time.Sleep(2*time.Second + time.Second/2) // one of them reads for the others by now
		cancel()
		for _, r := range giveUp {
			require.ErrorIs(t, outcome(t, r, 0).Err, context.Canceled)
		}
		time.Sleep(5 * time.Second)
		zkrtest.Pending(t, waits...)
		release(t, la)
		for range waits {
			release(t, next(t, waits))
		}
		require.Empty(t, srv.Children(path))
	})
}
