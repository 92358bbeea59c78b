package family_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/internal/proof"
	"github.com/zkrecipes/zkrecipes/integration/peers"
	"github.com/zkrecipes/zkrecipes/integration/proxy"
	"github.com/zkrecipes/zkrecipes/integration/zkserver"
	"github.com/zkrecipes/zkrecipes/recipes"
)

const (
	// sessions of all contenders end after so long a silence.
	timeout = 2 * time.Second
	// patience bounds against hanging what takes seconds.
	patience = 2 * time.Minute
	// dwell is how long each holds, in milliseconds.
	dwell = 3
)

// phases is how many there are in a contest: one in peace, and two faults a side.
const phases = 5

// fewTurns and manyTurns are how often each participant takes its lock in a phase:
// a pair of two participants a side comes to 60 grants, or 500.
const fewTurns = 3

func manyTurns() int { return proof.Size(fewTurns, 25) }

// A starter starts a process that reaches the servers at the given address.
type starter func(t testing.TB, connect string) *peers.Peer

func ours(t testing.TB, connect string) *peers.Peer { return peers.Library(t, connect, timeout) }

func curator(t testing.TB, connect string) *peers.Peer {
	return peers.CuratorFor(t, connect, timeout)
}

// kazoo counts the names of Curator and this library too.
func kazoo(patterns ...string) starter {
	return func(t testing.TB, connect string) *peers.Peer {
		return peers.KazooFor(t, connect, timeout, patterns...)
	}
}

func goZooKeeper(t testing.TB, connect string) *peers.Peer {
	return peers.GoZooKeeper(t, connect, timeout)
}

// role is what one participant does again and again.
type role struct {
	take   string // as in peers' loop
	shared bool   // others of its kind may hold beside it
}

// grant is a time during which a participant believed that it held.
type grant struct {
	peers.Answer
	side   *side
	shared bool
}

func (g grant) String() string {
	return fmt.Sprintf("%s %s, token %d, from %v to %v", g.side.name, g.Name, g.Token, g.From, g.To)
}

// side is one of the two that contend: a process with a way of its own to the
// servers.
type side struct {
	name    string
	start   starter
	careful bool // its participants know by themselves when they do not hold any more
	roles   []role

	way    *proxy.Proxy
	peer   *peers.Peer
	open   map[string]grant // begun and not ended, by participant
	done   int              // participants that are through with the phase
	grants []grant
	lost   []time.Duration // when the connection was told to be lost
}

// contest is a pair that contends for the same paths.
type contest struct {
	t       *testing.T
	ctx     context.Context
	server  *zkserver.Server
	witness *recipes.Session
	dirs    []string // whose children are contenders
	turns   int      // of each participant in a phase
	sides   []*side
}

// newContest begins a contest. Each side has participants in all roles.
func newContest(t *testing.T, dirs []string, turns int, sides ...*side) *contest {
	t.Helper()
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	c := &contest{t: t, ctx: ctx, server: zkserver.Shared(t).Servers[0], dirs: dirs, turns: turns, sides: sides}
	c.witness = session(t, ctx, c.server)
	for _, s := range sides {
		var err error
		s.way, err = c.server.NewProxy()
		require.NoError(t, err)
		s.peer = s.start(t, s.way.Addr())
		s.open = make(map[string]grant)
	}
	return c
}

// session is one that no fault touches.
func session(t testing.TB, ctx context.Context, server *zkserver.Server) *recipes.Session {
	t.Helper()
	c, err := recipes.Dial(ctx, server.DirectAddr())
	require.NoError(t, err)
	t.Cleanup(c.Close)
	s, err := c.Session(ctx)
	require.NoError(t, err)
	return s
}

// run has them contend in peace, and then with the connection of each lost until
// its session is over, and with each killed.
func (c *contest) run() {
	c.t.Helper()
	c.phase(nil, nil)
	for _, victim := range c.sides {
		c.phase(victim, c.cutOff)
		c.phase(victim, c.kill)
	}
	for _, s := range c.sides {
		require.GreaterOrEqual(c.t, len(s.grants), phases*len(s.roles)*c.turns, "%s had its turns", s.name)
	}
}

// phase gives everybody some turns. The fault strikes its victim at its first
// grant.
func (c *contest) phase(victim *side, fault func(*side)) {
	c.t.Helper()
	for _, s := range c.sides {
		s.done = 0
		c.tell(s)
	}
	if victim != nil {
		for len(victim.open) == 0 {
			victim.take(victim.peer.AwaitAny(c.ctx))
		}
		fault(victim)
	}
	for _, s := range c.sides {
		for s.done < len(s.roles) {
			s.take(s.peer.AwaitAny(c.ctx))
		}
	}
}

// cutOff keeps a side from the servers until its session has ended there.
func (c *contest) cutOff(s *side) {
	c.t.Helper()
	s.way.Blackhole()
	require.Eventually(c.t, func() bool { return c.contenders(s.peer.Session) == 0 }, patience, 10*time.Millisecond,
		"the session of %s ends", s.name)
	s.way.Pass()
}

// contenders counts the znodes of a session.
func (c *contest) contenders(session int64) (n int) {
	c.t.Helper()
	for _, dir := range c.dirs {
		names, _, err := c.witness.Children(c.ctx, dir)
		if errors.Is(err, recipes.ErrNoNode) {
			continue
		}
		require.NoError(c.t, err)
		for _, name := range names {
			stat, there, err := c.witness.Exists(c.ctx, dir+"/"+name)
			require.NoError(c.t, err)
			if there && stat.EphemeralOwner == session {
				n++
			}
		}
	}
	return n
}

// kill ends a side's process, whatever it holds and waits for, and starts
// another one.
func (c *contest) kill(s *side) {
	c.t.Helper()
	at := peers.Now()
	s.peer.Kill()
	for _, a := range s.peer.Rest(c.ctx) {
		s.take(a)
	}
	for name := range s.open {
		s.end(name, at)
	}
	s.done = 0
	s.peer = s.start(c.t, s.way.Addr())
	c.tell(s)
}

func (c *contest) tell(s *side) {
	c.t.Helper()
	for i, r := range s.roles {
		s.peer.Tell(fmt.Sprintf("loop p%d %d %d %s", i, c.turns, dwell, r.take))
	}
}

// take notes what a participant says.
func (s *side) take(a peers.Answer) {
	switch a.Event {
	case "suspended":
		s.lost = append(s.lost, a.From)
	case "held":
		s.open[a.Name] = grant{Answer: a, side: s, shared: s.role(a.Name).shared}
	case "turn":
		s.end(a.Name, a.To)
	case "done":
		s.done++
	}
}

func (s *side) role(participant string) role {
	var i int
	_, _ = fmt.Sscanf(participant, "p%d", &i)
	return s.roles[i]
}

func (s *side) end(participant string, at time.Duration) {
	g := s.open[participant]
	delete(s.open, participant)
	g.To = max(at, g.From)
	s.grants = append(s.grants, g)
}

// believed returns all grants in the order of their beginning. Those of
// participants who have to be told by their connection that they may hold no
// longer end there.
func (c *contest) believed() []grant {
	var all []grant
	for _, s := range c.sides {
		for _, g := range s.grants {
			for _, lost := range s.lost {
				if !s.careful && lost > g.From && lost < g.To {
					g.To = lost
				}
			}
			all = append(all, g)
		}
	}
	slices.SortFunc(all, func(a, b grant) int { return cmp.Compare(a.From, b.From) })
	return all
}

// requireExclusion states that nobody held beside somebody else, except those
// that share, and that tokens grew.
func (c *contest) requireExclusion() {
	c.t.Helper()
	var token int64
	var exclusive, last grant // the latest to end so far
	for _, g := range c.believed() {
		require.GreaterOrEqual(c.t, g.From, exclusive.To, "two at once: %v and %v", exclusive, g)
		if !g.shared {
			require.GreaterOrEqual(c.t, g.From, last.To, "two at once: %v and %v", last, g)
			if g.Token != 0 {
				require.Greater(c.t, g.Token, token, "%v", g)
				token = g.Token
			}
			exclusive = g
		}
		if g.To > last.To {
			last = g
		}
	}
}

// requireAtMost states that there were never more holders than that at once.
func (c *contest) requireAtMost(limit int) {
	c.t.Helper()
	all := c.believed()
	for i, g := range all {
		with := 1
		for _, earlier := range all[:i] {
			if earlier.To > g.From {
				with++
			}
		}
		require.LessOrEqual(c.t, with, limit, "beside %v", g)
	}
}
