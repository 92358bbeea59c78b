package lock_test

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/internal/belief"
	"github.com/zkrecipes/zkrecipes/integration/internal/proof"
	"github.com/zkrecipes/zkrecipes/integration/zkserver"
	"github.com/zkrecipes/zkrecipes/internal/jute"
)

// Sources: CURATOR-716 (curator#1231), metamx/zk-lock PR#22, for the herd.
func TestContendersOfEightProcessesHoldOneAtATimeInTheOrderTheyCame(t *testing.T) {
	const processes, contenders = 8, 8
	grants := proof.Size(200, 2000)
	report := proof.New(t, "lock-storm", "64 contenders in 8 processes")
	e := zkserver.Start(t, zkserver.Config{Servers: proof.Size(1, 3), Tick: tick})
	w := witness(t, e.Servers[0])
	path := zkserver.Path(t)

	held := runStorm(t, e, path, processes, contenders, grants/processes)

	require.Len(t, held, grants)
	sortByGrant(held)
	var handOver []time.Duration
	for i, next := range held[1:] {
		last := held[i]
		require.Less(t, last.To, next.From, "two at once: %v and %v", last, next)
		require.Less(t, last.Token, next.Token, "out of the order of creation, or a token not greater")
		require.Less(t, sequence(t, last.Node), sequence(t, next.Node), "out of the order of the sequence")
		handOver = append(handOver, next.From-last.To)
	}
	eventually(t, "the directory is empty", func() bool { return len(children(t, w, path)) == 0 })

	// A hand-over costs one event, at the one who is next; one whose
	// predecessor left between its look and its watch needs none. A holder that
	// holds for long watches its own znode, too; the machine can make any of them
	// wait so long before Lock returns, unseen by us.
	events, requests := 0, 0
	for _, s := range e.Servers {
		events += s.Proxy().Counts().Events
		requests += s.Proxy().Counts().Total()
	}
	slices.Sort(handOver)
	report.Printf("%d grants to %d contenders in %d processes on %d server(s) in %v: never two at once, in the order of creation, tokens rising",
		len(held), processes*contenders, processes, len(e.Servers), round(held[len(held)-1].To-held[0].From))
	report.Printf("release to next grant: median %v, 99%% %v, worst %v",
		round(handOver[len(handOver)/2]), round(handOver[len(handOver)*99/100]), round(handOver[len(handOver)-1]))
	report.Printf("%d watch events for %d hand-overs (%.3f each); %.2f requests per grant, renewals included",
		events, len(handOver), float64(events)/float64(len(handOver)), float64(requests)/float64(len(held)))
	for _, op := range []jute.Op{jute.OpCreate, jute.OpMulti, jute.OpGetChildren2, jute.OpGetData, jute.OpExists, jute.OpDelete} {
		n := 0
		for _, s := range e.Servers {
			n += s.Proxy().Counts().Requests[op]
		}
		report.Printf("  %v: %.3f per grant", op, float64(n)/float64(len(held)))
	}
	require.LessOrEqual(t, events, len(handOver)*102/100+ownWatches(held), "more than one watch event per hand-over")
	require.Greater(t, events, len(handOver)/2, "hand-overs are not told by watches")
}

func sortByGrant(held []belief.Interval) {
	slices.SortFunc(held, func(a, b belief.Interval) int { return int(a.From - b.From) })
}

// ownWatches counts the holders that may have come to watch their own znode,
// which costs them an event at its end: those that held for more than a sixth of
// a tick, which takes a machine that is busy with something else.
func ownWatches(held []belief.Interval) (n int) {
	for _, iv := range held {
		if iv.Until-iv.From > tick/6 {
			n++
		}
	}
	return n
}

// runStorm has every process take its share of grants, and returns them all.
func runStorm(t *testing.T, e *zkserver.Ensemble, path string, processes, contenders, share int) []belief.Interval {
	t.Helper()
	var workers []process
	for range processes {
		workers = append(workers, startHolder(t, e.Connect(), "-grants", strconv.Itoa(share)))
	}
	for _, p := range workers {
		p.send("loop " + path + " " + strconv.Itoa(contenders))
	}
	var mu sync.Mutex
	var held []belief.Interval
	var wg sync.WaitGroup
	for _, p := range workers {
		wg.Go(func() {
			for range share {
				text, err := p.Receive(within(t, 5*time.Minute))
				l, parseErr := belief.Parse(text)
				if err != nil || parseErr != nil || l.Interval == nil || l.Err != "" {
					t.Errorf("no clean grant: %q: %v", text, err)
					return
				}
				mu.Lock()
				held = append(held, *l.Interval)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return held
}

// sequence is the number that the server put behind a contender's name.
func sequence(t *testing.T, node string) string {
	t.Helper()
	_, seq, ok := strings.Cut(node[strings.LastIndex(node, "/"):], "-lock-")
	require.True(t, ok, node)
	return seq
}
