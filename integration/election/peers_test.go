package election_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/integration/internal/proof"
	"github.com/zkrecipes/zkrecipes/integration/peers"
	"github.com/zkrecipes/zkrecipes/integration/zkserver"
)

// reign is a time during which a candidate believed that it led.
type reign struct {
	name     string
	from, to time.Duration
}

// succession is an election in which candidates of this library and of a peer
// follow each other.
type succession struct {
	t      *testing.T
	path   string
	layout string
	e      *election.Election // to look on
	reigns []reign
}

func newSuccession(t *testing.T, s *zkserver.Server, layout string, l election.Layout) *succession {
	t.Helper()
	path := zkserver.Path(t)
	e, err := election.New(dial(t, s.Addr()), path, election.WithLayout(l))
	require.NoError(t, err)
	return &succession{t: t, path: path, layout: layout, e: e}
}

func (s *succession) stand(p *peers.Peer, name string) {
	s.t.Helper()
	p.Tell("lead " + name + " " + s.path + " " + s.layout)
}

// leads awaits that a candidate leads.
func (s *succession) leads(p *peers.Peer, name string) {
	s.t.Helper()
	held := p.Await(within(s.t, patience), name)
	require.Equal(s.t, "held", held.Event)
	s.reigns = append(s.reigns, reign{name: name, from: held.From})
}

// over notes the end of the last reign.
func (s *succession) over(at time.Duration) { s.reigns[len(s.reigns)-1].to = at }

// took is the time from the end of the last reign but one to its successor.
func (s *succession) took() time.Duration {
	last := s.reigns[len(s.reigns)-2:]
	return last[1].from - last[0].to
}

// resign has a leader resign.
func (s *succession) resign(p *peers.Peer, name string) {
	s.t.Helper()
	released := p.Do(within(s.t, patience), "release "+name)
	require.Equal(s.t, "released", released.Event)
	s.over(released.From)
}

// kill ends a leader by SIGKILL.
func (s *succession) kill(p *peers.Peer) {
	s.t.Helper()
	s.over(peers.Now()) // it may have believed for a little longer
	p.Kill()
}

// shownAlike states that all see the candidates in that order, by these ids.
func (s *succession) shownAlike(all []*peers.Peer, ids ...string) {
	s.t.Helper()
	awaitQueue(s.t, s.e, len(ids))
	for _, p := range all {
		leader := p.Do(within(s.t, patience), "leader asker "+s.path+" "+s.layout)
		require.Equal(s.t, ids[0], leader.Text)
		shown := p.Do(within(s.t, patience), "participants asker "+s.path+" "+s.layout)
		require.Equal(s.t, strings.Join(ids, ","), shown.Text)
	}
}

// one states that no two reigns overlapped.
func (s *succession) one() {
	s.t.Helper()
	for i, next := range s.reigns[1:] {
		require.Greater(s.t, next.from, s.reigns[i].to, "%v and %v", s.reigns[i], next)
	}
}

func TestCandidatesAndThoseOfEachPeerSucceedEachOther(t *testing.T) {
	s := zkserver.SharedAs(t, zkserver.Config{Tick: tick}).Servers[0]
	for _, peer := range []struct {
		name, layout string
		l            election.Layout
		start        func(testing.TB, string, time.Duration) *peers.Peer
	}{
		{"LeaderLatch", "latch", election.LeaderLatch, peers.CuratorElection},
		{"LeaderSelector", "selector", election.LeaderSelector, peers.CuratorElection},
		{"kazoo", "kazoo", election.Kazoo, peers.KazooElection},
	} {
		t.Run(peer.name, func(t *testing.T) {
			t.Parallel()
			report := proof.New(t, "election-"+strings.ToLower(peer.name), "Elections together with "+peer.name)
			took := make(map[string][]time.Duration)
			for range proof.Size(1, 10) {
				succeed(t, newSuccession(t, s, peer.layout, peer.l), s.Addr(), peer.start, took)
			}
			report.Printf("At most one led at any time, and all showed the same ids. T = %v, a tick is %v.", timeout, tick)
			for _, what := range []string{oursResigned, theirsResigned, oursKilled, theirsKilled} {
				report.Printf("%s: %d times, after %s", what, len(took[what]), spread(took[what]))
			}
		})
	}
}

// What succeed measures.
const (
	oursResigned   = "ours resigned, theirs led"
	theirsResigned = "theirs resigned, ours led"
	oursKilled     = "ours was killed, theirs led"
	theirsKilled   = "theirs was killed, ours led"
)

// succeed has a leader of ours and one of theirs resign, and then die, each with
// one of the others next in line.
func succeed(t *testing.T, s *succession, connect string, start func(testing.TB, string, time.Duration) *peers.Peer, took map[string][]time.Duration) {
	note := func(what string) { took[what] = append(took[what], s.took()) }
	theirs, ours, more := start(t, connect, timeout), candidates(t, connect), candidates(t, connect)

	s.stand(ours, "ours-1")
	s.leads(ours, "ours-1")
	s.stand(theirs, "theirs-1")
	s.shownAlike([]*peers.Peer{ours, theirs}, "ours-1", "theirs-1")
	s.resign(ours, "ours-1")
	s.leads(theirs, "theirs-1")
	note(oursResigned)

	s.stand(more, "ours-2")
	s.shownAlike([]*peers.Peer{ours, theirs}, "theirs-1", "ours-2")
	s.resign(theirs, "theirs-1")
	s.leads(more, "ours-2")
	note(theirsResigned)

	s.stand(theirs, "theirs-2")
	s.shownAlike([]*peers.Peer{ours, theirs}, "ours-2", "theirs-2")
	s.kill(more)
	s.leads(theirs, "theirs-2")
	note(oursKilled)

	s.stand(ours, "ours-3")
	s.shownAlike([]*peers.Peer{ours, theirs}, "theirs-2", "ours-3")
	s.kill(theirs)
	s.leads(ours, "ours-3")
	note(theirsKilled)
	s.over(peers.Now())
	s.one()
}
