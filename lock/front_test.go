package lock_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Each listing of a long queue is long; among the waiters of one process none is
// needed where each has its turn.
func TestHandOversWithinAProcessTakeNoListing(t *testing.T) {
	const n = 50
	for name, ways := range map[string]func(*party) [2]asking{
		"mutex": func(p *party) [2]asking { return [2]asking{p.Lock, p.Lock} },
		"writers and readers": func(p *party) [2]asking {
			rw := rwMutex(p.t, p.c)
			return [2]asking{rw.Lock, rw.RLock}
		},
	} {
		t.Run(name, func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				how := ways(join(t, srv))
				held := granted(t, async(t, how[0]), 0)
				var queue []<-chan result
				srv.ResetRequests()
				for i := range n {
					queue = append(queue, async(t, how[(i+1)%2]))
					zkrtest.Pending(t, queue...)
				}
				// Each reads the one before it; who holds, and the znode of the one
				// who is next, are read once.
				require.LessOrEqual(t, srv.Requests(zktest.OpGetData, 0), n+2)
				srv.ResetRequests()
				for i, r := range queue {
					release(t, held)
					held = granted(t, r, 0)
					zkrtest.Pending(t, queue[i+1:]...)
				}
				require.Zero(t, srv.Requests(zktest.OpGetChildren2, 0))
				// A holder's own watch comes once it has held for a while: its end
				// would wake it for nothing.
				require.Zero(t, srv.Watches(held.Node()))
				release(t, held)
				require.Empty(t, srv.Children(path))
			})
		})
	}
}

// Who gives up its place was never first: the next one has to look who else is
// before it.
func TestWaiterBehindOneWhoGivesUpIsNotServedBeforeItsTurn(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		p := join(t, srv)
		held := p.hold()
		first := p.wait()
		ctx, cancel := context.WithCancel(t.Context())
		second := p.lock(ctx)
		zkrtest.Pending(t, second)
		third := p.wait()
		release(t, held)
		held = granted(t, first, 0) // who has passed is another one than the second
		cancel()
		require.ErrorIs(t, failed(t, second, 0), context.Canceled)
		zkrtest.Pending(t, third)
		release(t, held)
		release(t, granted(t, third, 0))
	})
}

// A waiter that did not know that it was next looks at its own znode before it
// believes that it is first.
func TestWaiterWhoseZnodeWasDeletedIsNotServedInItsTurn(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		p := join(t, srv)
		held := p.hold()
		first := p.wait()
		second := p.wait()
		for _, name := range contenders(srv) {
			if strings.HasSuffix(name, "-0000000002") {
				require.NoError(t, srv.Delete(path+"/"+name))
			}
		}
		release(t, held)
		release(t, granted(t, first, 0))
		held = granted(t, second, 0) // with another znode
		require.Len(t, contenders(srv), 1)
		release(t, held)
	})
}
