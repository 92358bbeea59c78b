package lock_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/recipetest"
	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// storm is a number of parties that take and give back one lock, while
// everything goes wrong that can.
type storm struct {
	t       *testing.T
	srv     *zktest.Server
	r       *rand.Rand // of the chaos; each party has its own
	parties []*party
	leases  recipetest.Ledger
	members int
	leader  int
	over    chan struct{} // closed when the faults have stopped
}

// blow is one fault. It lasts for some time.
type blow func(s *storm, lasts time.Duration)

// weather is what goes wrong in a storm.
type weather struct {
	name    string
	members int
	opts    []recipes.Option
	blows   []blow
	steals  bool
	strict  bool
}

var (
	network = []blow{
		func(s *storm, _ time.Duration) { s.anyone().cable.Cut() },
		func(s *storm, d time.Duration) { s.stall(d, zktest.ToServer) },
		func(s *storm, d time.Duration) { s.stall(d, zktest.ToClient) },
		func(s *storm, d time.Duration) { s.stall(d, zktest.BothWays) },
		func(s *storm, d time.Duration) { s.onCable(d, func(c *zktest.Cable) { c.Blackhole(zktest.ToServer) }) },
		func(s *storm, d time.Duration) { s.onCable(d, func(c *zktest.Cable) { c.Blackhole(zktest.ToClient) }) },
		func(s *storm, d time.Duration) { s.onCable(d, func(c *zktest.Cable) { c.Blackhole(zktest.BothWays) }) },
		func(s *storm, d time.Duration) { s.onCable(d, func(c *zktest.Cable) { c.Refuse(true); c.Cut() }) },
		func(s *storm, _ time.Duration) { s.srv.On(zktest.Match{Path: path + "*"}).Optional().DropReply() },
		func(s *storm, _ time.Duration) {
			s.srv.On(zktest.Match{Path: path + "*"}).Optional().DropBeforeCommit()
		},
		func(s *storm, d time.Duration) { s.srv.On(zktest.Match{Path: path + "*"}).Optional().Delay(d) },
		func(s *storm, d time.Duration) { s.srv.On(zktest.Match{Path: path + "*"}).Optional().DelayReply(d) },
		func(s *storm, _ time.Duration) { s.srv.On(zktest.Match{Op: zktest.OpMulti}).Optional().DropReply() },
		func(s *storm, _ time.Duration) {
			s.srv.On(zktest.Match{Op: zktest.OpCreateSession}).Optional().DropReply()
		},
	}
	servers = []blow{
		func(s *storm, _ time.Duration) { s.must(s.srv.Restart()) },
		func(s *storm, d time.Duration) { s.srv.Down(); time.Sleep(d); s.must(s.srv.Up()) },
		func(s *storm, d time.Duration) { s.srv.Freeze(); time.Sleep(d); s.srv.Thaw() },
	}
	quorum = []blow{
		func(s *storm, d time.Duration) {
			s.onMember(d, func(m *zktest.Member) { m.StallLeader(zktest.ToServer) })
		},
		func(s *storm, d time.Duration) {
			s.onMember(d, func(m *zktest.Member) { m.StallLeader(zktest.ToClient) })
		},
		func(s *storm, d time.Duration) { s.onMember(d, func(m *zktest.Member) { m.CutLeader(true) }) },
		// Held up one way, let go, and cut the other way: what was on its way back
		// arrives, and nothing more goes up.
		func(s *storm, d time.Duration) {
			s.onMember(d, func(m *zktest.Member) {
				m.StallLeader(zktest.ToClient)
				time.Sleep(d)
				m.StallLeader(zktest.ToServer)
			})
		},
		func(s *storm, d time.Duration) {
			m := s.member()
			m.SetLag(d / 10)
			time.Sleep(d)
			m.SetLag(0)
		},
		func(s *storm, d time.Duration) {
			old := s.leader
			s.leader = (s.leader + 1) % s.members
			s.srv.Depose(s.leader)
			time.Sleep(d)
			s.srv.Member(old).Rejoin()
		},
	}
	strangers = []blow{
		func(s *storm, _ time.Duration) { s.srv.ExpireSession(s.anyone().id()) },
		func(s *storm, _ time.Duration) { _ = s.srv.DeleteAll("/locks") },
		func(s *storm, _ time.Duration) {
			if names := s.srv.Children(path); len(names) > 0 {
				_ = s.srv.Delete(path + "/" + names[s.r.IntN(len(names))])
			}
		},
	}
)

func together(lists ...[]blow) []blow {
	var all []blow
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

var weathers = []weather{
	{name: "network", members: 1, blows: network},
	{name: "servers", members: 1, blows: together(network, servers)},
	{name: "quorum", members: 3, blows: together(network, quorum)},
	{name: "quorum, tick known", members: 3, blows: together(network, quorum), opts: []recipes.Option{recipes.WithTickTime(tick)}},
	{name: "quorum, strict grants", members: 3, blows: together(network, quorum, servers), opts: []recipes.Option{recipes.WithStrictGrant()}, strict: true},
	{name: "strangers", members: 3, blows: together(network, quorum, strangers), steals: true},
}

func TestStorm(t *testing.T) {
	lasts := 3 * time.Minute
	if zkrtest.Full {
		lasts = 20 * time.Minute
	}
	for _, w := range weathers {
		zkrtest.Storms(t, w.name, 1, 40, func(t *testing.T, seed uint64) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				s := &storm{t: t, srv: srv, r: rand.New(rand.NewPCG(seed, 0)), members: w.members, over: make(chan struct{})}
				s.leases.T, s.leases.Steals, s.leases.Strict = t, w.steals, w.strict
				s.rage(seed, w, lasts)
			}, zktest.WithFollowers(w.members-1))
		})
	}
}

func (s *storm) rage(seed uint64, w weather, lasts time.Duration) {
	for range 5 {
		s.parties = append(s.parties, join(s.t, s.srv, w.opts...))
	}
	var workers sync.WaitGroup
	for i, p := range s.parties {
		r := rand.New(rand.NewPCG(seed, uint64(i+1)))
		workers.Go(func() { s.work(p, r) })
	}
	for end := time.Now().Add(lasts); time.Now().Before(end); {
		time.Sleep(s.upTo(T))
		w.blows[s.r.IntN(len(w.blows))](s, s.upTo(4*T/3))
	}
	s.calm()
	close(s.over)
	workers.Wait()
	s.t.Logf("%d grants, %d overlaps before their proof", s.leases.Grants(), s.leases.Early())
	require.Greater(s.t, s.leases.Grants(), int(lasts/time.Minute))

	// Everybody is served, and nothing remains.
	for _, p := range s.parties {
		l := granted(s.t, p.lock(s.t.Context()), 3*T)
		s.leases.Add(l)
		require.NoError(s.t, l.Release(s.t.Context()))
	}
	time.Sleep(2 * T)
	require.Empty(s.t, contenders(s.srv))
}

// calm undoes what is still wrong.
func (s *storm) calm() {
	for _, p := range s.parties {
		mend(p.cable)
	}
	for i := range s.members {
		s.srv.Member(i).StallLeader(0)
		s.srv.Member(i).Rejoin()
		s.srv.Member(i).SetLag(0)
	}
}

// work takes the lock and gives it back, in all the ways there are.
func (s *storm) work(p *party, r *rand.Rand) {
	upTo := func(d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d))) }
	for {
		select {
		case <-s.over:
			return
		default:
		}
		ctx, cancel := context.WithTimeout(context.Background(), upTo(6*T))
		start := time.Now()
		deadline, _ := ctx.Deadline()
		var l *recipes.Lease
		var err error
		if r.IntN(5) == 0 {
			l, err = p.TryLock(ctx)
		} else {
			l, err = p.Lock(ctx)
		}
		if time.Now().After(deadline) {
			s.t.Errorf("a call that was to end after %v took %v", deadline.Sub(start), time.Since(start))
		}
		cancel()
		switch {
		case err == nil:
			s.leases.Add(l)
			s.hold(l, r)
		case l != nil:
			s.t.Errorf("a lease and an error: %v", err)
		case errors.Is(err, context.DeadlineExceeded), errors.Is(err, lock.ErrLocked):
		default:
			s.t.Errorf("unexpected: %v", err)
		}
		time.Sleep(upTo(time.Second))
	}
}

// hold keeps a lease for a while and gives it back.
func (s *storm) hold(l *recipes.Lease, r *rand.Rand) {
	d := time.Duration(r.ExpFloat64() * float64(time.Second))
	if r.IntN(5) == 0 {
		d = 2 * T
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.Done():
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(r.Int64N(int64(T))))
	defer cancel()
	err := l.Release(ctx)
	if err != nil && !errors.Is(err, recipes.ErrLost) && !errors.Is(err, context.DeadlineExceeded) {
		s.t.Errorf("release: %v", err)
	}
	if l.Remaining() != 0 {
		s.t.Errorf("held after its release")
	}
}

func (s *storm) upTo(d time.Duration) time.Duration { return time.Duration(s.r.Int64N(int64(d))) }

func (s *storm) anyone() *party { return s.parties[s.r.IntN(len(s.parties))] }

// id returns the id of the party's session, 0 while it has none.
func (p *party) id() int64 {
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	session, err := p.c.Session(ctx)
	if err != nil {
		return 0
	}
	return session.ID()
}

// mend puts a cable right. What was lost leaves a hole in a stream, which a
// network would never hand on.
func mend(c *zktest.Cable) {
	c.Cut()
	c.Restore()
	c.Refuse(false)
}

// onCable does something to somebody's cable for a while; the storm goes on.
func (s *storm) onCable(lasts time.Duration, do func(*zktest.Cable)) {
	cable := s.anyone().cable
	do(cable)
	time.AfterFunc(lasts, func() { mend(cable) })
}

// stall holds up somebody's cable, and lets everything go.
func (s *storm) stall(lasts time.Duration, dir zktest.Direction) {
	cable := s.anyone().cable
	cable.Stall(dir)
	time.AfterFunc(lasts, cable.Restore)
}

// member returns one that does not lead.
func (s *storm) member() *zktest.Member {
	return s.srv.Member((s.leader + 1 + s.r.IntN(s.members-1)) % s.members)
}

func (s *storm) onMember(lasts time.Duration, do func(*zktest.Member)) {
	m := s.member()
	do(m)
	time.Sleep(lasts)
	m.StallLeader(0)
}

func (s *storm) must(err error) {
	if err != nil {
		s.t.Error(err)
	}
}
