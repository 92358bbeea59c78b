package lock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// CURATOR-716, kazoo 7dd4c4c, metamx/zk-lock PR#22: what a hand-over costs does
// not depend on how many wait, of any kind of lock. The waiters share a few
// sessions, each of which asks for itself.
func TestHandOverOfAnyKindCostsTheSameHoweverManyWait(t *testing.T) {
	for name, test := range map[string]struct {
		how  func(*party) asking
		most int // requests: release, and what the next one needs
	}{
		"mutex":  {func(p *party) asking { return p.Lock }, 1},
		"writer": {writing, 2},    // a reader may have taken the place of the writer before it
		"permit": {onlyPermit, 8}, // one of them where the news of its own permit comes before it knows
		"multi":  {together3, 5},  // two queues are joined, and looked at
	} {
		t.Run(name, func(t *testing.T) {
			costs := map[int]int{}
			sizes := []int{2, 64}
			if zkrtest.Full {
				sizes = append(sizes, 1000)
			}
			for _, n := range sizes {
				zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
					costs[n] = costOfHandOver(t, srv, n, test.how)
				})
			}
			t.Log(costs)
			for _, n := range sizes {
				require.LessOrEqual(t, costs[n], test.most, "%d wait", n)
			}
		})
	}
}

func onlyPermit(p *party) asking { return semaphore(p.t, p.c, 1).Acquire }

// costOfHandOver counts the requests of one hand-over while n wait.
func costOfHandOver(t *testing.T, srv *zktest.Server, n int, how func(*party) asking) int {
	holder := granted(t, async(t, how(join(t, srv))), time.Second)
	var sessions []*party
	for range 4 {
		sessions = append(sessions, join(t, srv))
	}
	var queue []<-chan result
	for i := range n {
		queue = append(queue, async(t, how(sessions[i%len(sessions)])))
		if i == 0 {
			zkrtest.Pending(t, queue[0])
		}
	}
	zkrtest.Pending(t, queue...)
	time.Sleep(time.Second) // the next one proves its session by now
	srv.ResetRequests()
	release(t, holder)
	granted(t, queue[0], 0)
	zkrtest.Pending(t, queue[1:]...)
	cost := srv.Requests(0, 0)
	require.Zero(t, srv.Requests(zktest.OpCreateContainer, 0))
	for _, p := range sessions {
		p.c.Close()
	}
	return cost
}
