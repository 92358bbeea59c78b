package election_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/barrier"
	"github.com/zkrecipes/zkrecipes/integration/internal/proof"
	"github.com/zkrecipes/zkrecipes/integration/peers"
	"github.com/zkrecipes/zkrecipes/integration/zkserver"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// work is done between entering and leaving: kazoo's participants wait for ever
// where others come and go before they have looked.
const work = 50 * time.Millisecond

func barrierServer(t *testing.T) *zkserver.Server {
	return zkserver.SharedAs(t, zkserver.Config{Tick: tick}).Servers[0]
}

func kazoo(t testing.TB, connect string) *peers.Peer { return peers.Kazoo(t, connect) }

// awaiting waits for the end of a call that was made, and returns when it passed.
type awaiting func() time.Duration

// later makes a call in the background, which its context bounds.
func later(t *testing.T, call func() error) awaiting {
	t.Helper()
	type end struct {
		at  time.Duration
		err error
	}
	done := make(chan end, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		err := call()
		done <- end{peers.Now(), err}
	})
	t.Cleanup(wg.Wait)
	return func() time.Duration {
		t.Helper()
		e := <-done
		require.NoError(t, e.err)
		return e.at
	}
}

func eachBarrierPeer(t *testing.T, test func(*testing.T, *recipes.Client, *peers.Peer)) {
	s := barrierServer(t)
	for name, start := range map[string]func(testing.TB, string) *peers.Peer{"Curator": peers.Curator, "kazoo": kazoo} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, dial(t, s.Addr()), start(t, s.Addr()))
		})
	}
}

// settled waits a moment, in which somebody that waits rightly does not get
// through: there is no event to wait for.
func settled() { time.Sleep(100 * time.Millisecond) }

func TestBarrierHoldsBothBackWhoeverSetsIt(t *testing.T) {
	eachBarrierPeer(t, func(t *testing.T, c *recipes.Client, p *peers.Peer) {
		ctx := within(t, patience)
		path := zkserver.Path(t)
		b, err := barrier.New(c, path)
		require.NoError(t, err)

		require.NoError(t, b.Set(ctx))
		p.Tell("wait theirs " + path)
		ours := later(t, func() error { return b.Wait(ctx) })
		settled()
		removed := peers.Now()
		require.NoError(t, b.Remove(ctx))
		require.Greater(t, ours(), removed)
		require.Greater(t, p.Await(ctx, "theirs").From, removed)

		p.Do(ctx, "set theirs "+path)
		p.Tell("wait theirs-too " + path)
		ours = later(t, func() error { return b.Wait(ctx) })
		settled()
		theirs := p.Do(ctx, "remove theirs "+path)
		require.Greater(t, ours(), theirs.From)
		require.Greater(t, p.Await(ctx, "theirs-too").From, theirs.From)
	})
}

// participant takes part in a double barrier, ours or a peer's.
type participant struct {
	enter, leave func() awaiting
}

func ourParticipant(t *testing.T, c *recipes.Client, path string, n int) participant {
	t.Helper()
	d, err := barrier.NewDouble(c, path, n)
	require.NoError(t, err)
	ctx := within(t, patience)
	return participant{
		enter: func() awaiting { return later(t, func() error { return d.Enter(ctx) }) },
		leave: func() awaiting { return later(t, func() error { return d.Leave(ctx) }) },
	}
}

func theirParticipant(t *testing.T, p *peers.Peer, name, path string, n int) participant {
	ctx := within(t, patience)
	return participant{
		enter: func() awaiting {
			p.Tell(fmt.Sprintf("enter %s %s %d", name, path, n))
			return func() time.Duration { return p.Await(ctx, name).From } // held
		},
		leave: func() awaiting {
			p.Tell("release " + name)
			return func() time.Duration { return p.Await(ctx, name).To } // released
		},
	}
}

func (p participant) goIn() awaiting  { return p.enter() }
func (p participant) goOut() awaiting { return p.leave() }

// together has all go through in that order, in and out.
func together(t *testing.T, order []participant) {
	t.Helper()
	passTogether(t, order, participant.goIn)
	time.Sleep(work)
	passTogether(t, order, participant.goOut)
}

// passTogether has all go one way in that order, and states that nobody passed
// before the last one came.
func passTogether(t *testing.T, order []participant, step func(participant) awaiting) {
	t.Helper()
	var all []awaiting
	for _, p := range order[:len(order)-1] {
		all = append(all, step(p))
	}
	settled()
	last := peers.Now()
	all = append(all, step(order[len(order)-1]))
	for _, await := range all {
		require.Greater(t, await(), last)
	}
}

func TestDoubleBarrierLetsBothThroughTogetherWhoeverComesFirst(t *testing.T) {
	eachBarrierPeer(t, func(t *testing.T, c *recipes.Client, p *peers.Peer) {
		path := zkserver.Path(t)
		ours, theirs := ourParticipant(t, c, path, 2), theirParticipant(t, p, "theirs", path, 2)
		for range proof.Size(2, 20) {
			together(t, []participant{ours, theirs})
			together(t, []participant{theirs, ours})
		}
	})
}

func TestDoubleBarrierLetsAllKindsThroughTogether(t *testing.T) {
	t.Parallel()
	s := barrierServer(t)
	path := zkserver.Path(t)
	ours := ourParticipant(t, dial(t, s.Addr()), path, 3)
	curator := theirParticipant(t, peers.Curator(t, s.Addr()), "curator", path, 3)
	kazoo := theirParticipant(t, kazoo(t, s.Addr()), "kazoo", path, 3)
	for range proof.Size(1, 10) {
		together(t, []participant{ours, curator, kazoo})
		together(t, []participant{kazoo, ours, curator})
		together(t, []participant{curator, kazoo, ours})
	}
}
