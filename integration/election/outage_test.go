package election_test

import (
	"cmp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/internal/proof"
	"github.com/zkrecipes/zkrecipes/integration/peers"
	"github.com/zkrecipes/zkrecipes/integration/zkserver"
)

// term is a reign, and how it ended.
type term struct {
	reign
	lost bool
}

// field is a number of elections, in each of which every one of a number of
// processes stands again and again.
type field struct {
	t         *testing.T
	paths     []string
	processes []*peers.Peer
}

func newField(t *testing.T, connect string, elections, processes int) *field {
	t.Helper()
	f := &field{t: t}
	for i := range elections {
		f.paths = append(f.paths, zkserver.Path(t)+"-"+strconv.Itoa(i))
	}
	for range processes {
		p := candidates(t, connect)
		for _, path := range f.paths {
			p.Tell("stand " + path + " " + path + " latch")
		}
		f.processes = append(f.processes, p)
	}
	f.awaitLeaders()
	return f
}

// awaitLeaders waits until each election has a leader that knows.
func (f *field) awaitLeaders() {
	f.t.Helper()
	for _, path := range f.paths {
		require.Eventually(f.t, func() bool {
			return slices.ContainsFunc(f.processes, func(p *peers.Peer) bool {
				return p.Do(within(f.t, patience), "leads asker "+path).Text == "true"
			})
		}, patience, 20*time.Millisecond, "a leader")
	}
}

// dissolve has all candidates withdraw, and returns the terms of each election in
// their order, no two of which overlapped.
func (f *field) dissolve() map[string][]term {
	f.t.Helper()
	terms := make(map[string][]term)
	for _, path := range f.paths {
		var all []term
		for _, p := range f.processes {
			p.Tell("release " + path)
			all = append(all, termsOf(f.t, p, path)...)
		}
		slices.SortFunc(all, func(a, b term) int { return cmp.Compare(a.from, b.from) })
		for i, next := range all[1:] {
			require.Greater(f.t, next.from, all[i].to, "%v and %v", all[i], next)
		}
		terms[path] = all
	}
	return terms
}

// termsOf reads what a candidate has told of its terms, up to its withdrawal.
func termsOf(t *testing.T, p *peers.Peer, name string) (all []term) {
	t.Helper()
	open := false
	for {
		a := p.Await(within(t, patience), name)
		last := len(all) - 1
		switch a.Event {
		case "held":
			open = true
			all = append(all, term{reign: reign{name: strconv.FormatInt(a.Token, 10), from: a.From}})
		case "lost":
			open = false
			until, err := strconv.ParseInt(a.Text, 10, 64)
			require.NoError(t, err)
			all[last].to, all[last].lost = max(a.To, time.Duration(until)), true
		case "released":
			if open {
				all[last].to = a.From
			}
			return all
		}
	}
}

func TestRollingRestartOfTheServersKeepsOneLeader(t *testing.T) {
	if !proof.Full() {
		t.Parallel()
	}
	report := proof.New(t, "election-rolling-restart", "Rolling restarts of an ensemble of three")
	e := startTrio(t)
	f := newField(t, e.Connect(), proof.Size(5, 10), 3)
	var kills, leaderless []time.Duration
	for range proof.Size(1, 5) {
		for _, s := range e.Servers {
			e.roles(t)
			kills = append(kills, peers.Now())
			if s == e.leader {
				leaderless = append(leaderless, e.kill(t))
			} else {
				require.NoError(t, s.Kill())
			}
			e.start(t, s)
			f.awaitLeaders()
		}
	}
	var took []time.Duration
	for _, all := range f.dissolve() {
		for i, next := range all[1:] {
			if all[i].lost {
				took = append(took, next.from-lastBefore(kills, next.from))
			}
		}
	}
	report.Printf("%d servers killed and started again, one after another; no leading server for %s", len(kills), spread(leaderless))
	if len(took) == 0 {
		report.Printf("no leadership of %d was lost", len(f.paths))
		return
	}
	report.Printf("%d leaderships were lost; the next one led %s after the kill; T = %v", len(took), spread(took), timeout)
}

// lastBefore returns the last instant before another.
func lastBefore(all []time.Duration, at time.Duration) (last time.Duration) {
	for _, one := range all {
		if one < at {
			last = one
		}
	}
	return last
}

func TestLeaderIsThereAgainAfterAnOutageOfAllServers(t *testing.T) {
	if !proof.Full() {
		t.Parallel()
	}
	report := proof.New(t, "election-outage", "All servers down for 2 T")
	e := startTrio(t)
	for range proof.Size(1, 5) {
		f := newField(t, e.Connect(), proof.Size(5, 10), 2)
		for _, s := range e.Servers {
			require.NoError(t, s.Kill())
		}
		time.Sleep(2 * timeout) // the length of the outage
		started := peers.Now()
		for _, s := range e.Servers {
			require.NoError(t, s.Launch(within(t, patience)))
		}
		require.NoError(t, e.AwaitServing(within(t, patience)))
		serving := peers.Now()
		f.awaitLeaders()
		var took []time.Duration
		for path, all := range f.dissolve() {
			i := slices.IndexFunc(all, func(t term) bool { return t.from > started })
			require.Positive(t, i, path)
			require.True(t, all[i-1].lost)
			require.Less(t, all[i-1].to, started, "a lease does not outlive an outage of 2 T")
			took = append(took, all[i].from-serving)
		}
		report.Printf("servers served %v after they were started; %d elections had a leader again after another %s; T = %v",
			round(serving-started), len(took), spread(took), timeout)
	}
}
