package election_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/integration/internal/proof"
	"github.com/zkrecipes/zkrecipes/integration/peers"
	"github.com/zkrecipes/zkrecipes/integration/zkserver"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// fault is a way to take leadership from the leaders of a storm.
type fault struct {
	name string
	// sides tells where the leaders and those next in line connect.
	sides func(*trio) (leaders, next string)
	// strike does the harm and returns how long the servers had no leader.
	strike func(*testing.T, *trio, []*peers.Peer) time.Duration
	// mend ends it, once others lead.
	mend func(*testing.T, *trio, []*peers.Peer)
	// tells says that the old leaders live to tell when they stopped believing.
	tells bool
}

func anywhere(e *trio) (leaders, next string) { return e.Connect(), e.Connect() }

var faults = []fault{
	{
		name:  "kill -9",
		sides: anywhere,
		strike: func(t *testing.T, _ *trio, leaders []*peers.Peer) time.Duration {
			for _, p := range leaders {
				p.Kill()
			}
			return 0
		},
		mend: func(*testing.T, *trio, []*peers.Peer) {},
	},
	{
		name:  "SIGSTOP",
		sides: anywhere,
		strike: func(t *testing.T, _ *trio, leaders []*peers.Peer) time.Duration {
			for _, p := range leaders {
				require.NoError(t, p.Freeze())
			}
			return 0
		},
		mend: func(t *testing.T, _ *trio, leaders []*peers.Peer) {
			for _, p := range leaders {
				require.NoError(t, p.Thaw())
			}
		},
		tells: true,
	},
	{
		name:  "follower cut off, leaders pinned to it",
		sides: func(e *trio) (leaders, next string) { return e.follower.Addr(), e.except(e.follower) },
		strike: func(_ *testing.T, e *trio, _ []*peers.Peer) time.Duration {
			e.Isolate(e.follower)
			return 0
		},
		mend:  func(t *testing.T, e *trio, _ []*peers.Peer) { require.NoError(t, e.Heal()) },
		tells: true,
	},
	{
		name:   "leading server killed, leaders pinned to it",
		sides:  func(e *trio) (leaders, next string) { return e.leader.Addr(), e.except(e.leader) },
		strike: func(t *testing.T, e *trio, _ []*peers.Peer) time.Duration { return e.kill(t) },
		mend:   func(t *testing.T, e *trio, _ []*peers.Peer) { e.start(t, e.leader) },
		tells:  true,
	},
}

// storm is a number of elections side by side, each of which has one leader after
// another.
type storm struct {
	t      *testing.T
	report *proof.Report
	e      *trio
	paths  []string
	looks  []*election.Election
	reigns [][]reign // of each election

	leading *peers.Peer // the process that leads all of them between two faults
	resigns []time.Duration
	tallies map[string]*tally // by the fault
}

// tally is what was measured of one fault.
type tally struct {
	took       []time.Duration // until another one led
	within     int             // of these, in the time that is promised
	before     []time.Duration // from the end of the lease to that
	leaderless time.Duration   // the servers had no leader, at most
}

func TestLeadersFollowEachOtherWhateverFails(t *testing.T) {
	if !proof.Full() {
		t.Parallel()
	}
	s := &storm{
		t: t, e: startTrio(t), tallies: make(map[string]*tally),
		report: proof.New(t, "election-storm", "Failovers on an ensemble of three"),
	}
	w := dial(t, s.e.Connect())
	for i := range proof.Size(5, 10) {
		path := zkserver.Path(t) + "-" + strconv.Itoa(i)
		e, err := election.New(w, path)
		require.NoError(t, err)
		s.paths, s.looks = append(s.paths, path), append(s.looks, e)
	}
	s.reigns = make([][]reign, len(s.paths))

	s.leading = candidates(t, s.e.Connect())
	s.standAll(s.leading)
	s.heldAll(s.leading)
	for range proof.Size(1, 5) {
		for _, f := range faults {
			s.round(f)
		}
	}
	s.one()
	s.tell(w)
}

func (s *storm) name(i int) string { return "c" + strconv.Itoa(i) }

// stand has a process stand in one of the elections, as a candidate of the
// election's name.
func (s *storm) stand(p *peers.Peer, i int) {
	p.Tell("lead " + s.name(i) + " " + s.paths[i] + " latch")
}

func (s *storm) standAll(p *peers.Peer) {
	for i := range s.paths {
		s.stand(p, i)
	}
}

// held awaits that a candidate leads.
func (s *storm) held(p *peers.Peer, i int) time.Duration {
	s.t.Helper()
	a := p.Await(within(s.t, patience), s.name(i))
	require.Equal(s.t, "held", a.Event)
	s.reigns[i] = append(s.reigns[i], reign{name: fmt.Sprint(a.Token), from: a.From})
	return a.From
}

func (s *storm) heldAll(p *peers.Peer) (at []time.Duration) {
	s.t.Helper()
	for i := range s.paths {
		at = append(at, s.held(p, i))
	}
	return at
}

func (s *storm) awaitQueues(n int) {
	s.t.Helper()
	for _, e := range s.looks {
		awaitQueue(s.t, e, n)
	}
}

// round gives all elections leaders in processes of their own, has the fault take
// leadership from them, and has one process lead again in the end.
func (s *storm) round(f fault) {
	s.t.Helper()
	s.e.roles(s.t)
	mine, others := f.sides(s.e)
	leaders := s.takeOver(mine)
	next := candidates(s.t, others)
	s.standAll(next)
	s.awaitQueues(2)

	at := peers.Now()
	for i := range s.paths {
		s.end(i, at) // if it tells, later
	}
	leaderless := f.strike(s.t, s.e, leaders)
	var took []time.Duration
	for _, from := range s.heldAll(next) {
		took = append(took, from-at)
	}
	f.mend(s.t, s.e, leaders)
	var before []time.Duration
	if f.tells {
		before = s.lost(leaders)
	}
	for _, p := range leaders {
		p.Kill()
	}
	s.leading = next
	s.note(f, took, before, leaderless)
}

// takeOver has leaders in processes of their own, connected to the given servers,
// take over from the one process that leads, which resigns.
func (s *storm) takeOver(connect string) (leaders []*peers.Peer) {
	s.t.Helper()
	for i := range s.paths {
		p := candidates(s.t, connect)
		s.stand(p, i)
		leaders = append(leaders, p)
	}
	s.awaitQueues(2)
	for i, p := range leaders {
		began := s.leading.Do(within(s.t, patience), "release "+s.name(i)).From
		s.end(i, began)
		s.resigns = append(s.resigns, s.held(p, i)-began)
	}
	s.leading.Kill()
	return leaders
}

// end notes the end of an election's last reign.
func (s *storm) end(i int, at time.Duration) {
	last := len(s.reigns[i]) - 1
	s.reigns[i][last].to = at
}

// lost takes down when the leaders before the last ones ended to believe, by the
// latest that a look at the lease promised them, and returns how long before the
// others led that was.
func (s *storm) lost(leaders []*peers.Peer) (before []time.Duration) {
	s.t.Helper()
	for i, p := range leaders {
		a := p.Await(within(s.t, patience), s.name(i))
		require.Equal(s.t, "lost", a.Event)
		until, err := strconv.ParseInt(a.Text, 10, 64)
		require.NoError(s.t, err)
		n := len(s.reigns[i])
		old, now := &s.reigns[i][n-2], s.reigns[i][n-1]
		old.to = max(a.To, time.Duration(until))
		before = append(before, now.from-old.to)
	}
	return before
}

// note counts what one round has shown. A session's time begins anew where the
// servers' leader changes.
func (s *storm) note(f fault, took, before []time.Duration, leaderless time.Duration) {
	promised := timeout + 2*tick
	if leaderless > 0 {
		promised = 2*timeout + leaderless
	}
	if s.tallies[f.name] == nil {
		s.tallies[f.name] = &tally{}
	}
	of := s.tallies[f.name]
	for _, d := range took {
		if d <= promised {
			of.within++
		}
	}
	of.took, of.before = append(of.took, took...), append(of.before, before...)
	of.leaderless = max(of.leaderless, leaderless)
	s.t.Logf("%s: another one led after %s", f.name, spread(took))
}

// tell reports what was measured.
func (s *storm) tell(w *recipes.Client) {
	s.t.Helper()
	rows := [][]string{{"fault", "failovers", "another one led after", "in the time promised", "before that the lease had ended"}}
	for _, f := range faults {
		of := s.tallies[f.name]
		promised, before := fmt.Sprint(timeout+2*tick), "it tells no more"
		if of.leaderless > 0 {
			promised = fmt.Sprintf("%v + up to %v", 2*timeout, round(of.leaderless))
		}
		if len(of.before) > 0 {
			before = spread(of.before)
		}
		rows = append(rows, []string{f.name, strconv.Itoa(len(of.took)), spread(of.took), fmt.Sprintf("%d, %s", of.within, promised), before})
	}
	s.report.Table(rows)
	s.report.Printf("T = %v, a tick is %v. Promised are T + 2 ticks, or 2 T and the time in which the servers have no leader where theirs changes.", timeout, tick)
	write, prompt := s.writeTime(w), 0
	for _, d := range s.resigns {
		if d <= write+50*time.Millisecond {
			prompt++
		}
	}
	s.report.Printf("%d resigned: the next one led after %s; a write took %v (median), and %d of them took at most 50ms longer",
		len(s.resigns), spread(s.resigns), round(write), prompt)
}

// one states that no two reigns of an election overlapped.
func (s *storm) one() {
	s.t.Helper()
	n := 0
	for _, all := range s.reigns {
		for i, next := range all[1:] {
			require.Greater(s.t, next.from, all[i].to, "%v and %v", all[i], next)
			n++
		}
	}
	s.report.Printf("%d reigns in %d elections, no two of one election at once", n+len(s.reigns), len(s.reigns))
}

// writeTime is the median time of a write.
func (s *storm) writeTime(c *recipes.Client) time.Duration {
	s.t.Helper()
	ctx := within(s.t, patience)
	session, err := c.Session(ctx)
	require.NoError(s.t, err)
	var all []time.Duration
	for range 50 {
		at := peers.Now()
		_, err := session.Set(ctx, s.paths[0], nil, -1)
		require.NoError(s.t, err)
		all = append(all, peers.Now()-at)
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// spread tells of durations for people.
func spread(all []time.Duration) string {
	sorted := slices.Sorted(slices.Values(all))
	return fmt.Sprintf("%v (least), %v (median), %v (most)", round(sorted[0]), round(sorted[len(sorted)/2]), round(sorted[len(sorted)-1]))
}
