package lock_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/recipetest"
	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Random histories of readers, writers, holders of permits and of several locks
// at once, while everything goes wrong that can.

// crowd is a storm in which each party uses locks of all kinds.
type crowd struct {
	storm
	*recipetest.Crowd
	left atomic.Int64 // operations to go
}

// theft is by a stranger who deletes whatever stands in a queue.
func theft(s *storm, _ time.Duration) {
	var all []string
	for _, z := range s.srv.Tree() {
		if z.Stat.EphemeralOwner != 0 {
			all = append(all, z.Path)
		}
	}
	if len(all) > 0 {
		_ = s.srv.Delete(all[s.r.IntN(len(all))])
	}
}

var crowdWeathers = []weather{
	{name: "network", members: 1, blows: network},
	{name: "quorum", members: 3, blows: together(network, servers, quorum)},
	{name: "strangers", members: 3, blows: together(network, servers, quorum, strangers, []blow{theft, theft, theft}), steals: true},
}

// manners are the options by which the parties differ.
var manners = [][]recipes.Option{
	nil,
	{recipes.WithEphemeralBudget(4 << 10)},
	{recipes.WithTickTime(tick)},
	{recipes.WithStrictGrant()},
	{recipes.WithStopOnSuspend()},
	{recipes.WithPersistentParents(), recipes.WithStrictGrant(), recipes.WithTickTime(tick)},
}

func TestStormOfAllKinds(t *testing.T) {
	operations := int64(250)
	if zkrtest.Full {
		operations = 4000
	}
	for _, w := range crowdWeathers {
		zkrtest.Storms(t, w.name, 1, 1, func(t *testing.T, seed uint64) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				newCrowd(t, srv, w, seed).rage(w, seed, operations)
			}, zktest.WithFollowers(w.members-1))
		})
	}
}

func newCrowd(t *testing.T, srv *zktest.Server, w weather, seed uint64) *crowd {
	return &crowd{
		storm: storm{t: t, srv: srv, r: rand.New(rand.NewPCG(seed, 0)), members: w.members},
		Crowd: recipetest.NewCrowd(t, "/locks", T, 0, w.steals),
	}
}

// gather has two members share each client, in each of the manners; and some have
// one of their own, whose order is to be seen.
func (s *crowd) gather(seed uint64) (members []*recipetest.Member) {
	member := func() *recipetest.Member {
		n := len(members) + 1
		m := s.Join(fmt.Sprint("member ", n), rand.New(rand.NewPCG(seed, uint64(n))))
		members = append(members, m)
		return m
	}
	for _, opts := range manners {
		p := join(s.t, s.srv, opts...)
		s.parties = append(s.parties, p)
		member().Use(p.c)
		member().Use(p.c)
	}
	for range 4 {
		m := member()
		p := join(s.t, s.srv, recipes.WithTrace(m.Trace()))
		s.parties = append(s.parties, p)
		m.Use(p.c)
	}
	return members
}

func (s *crowd) rage(w weather, seed uint64, operations int64) {
	s.left.Store(operations)
	calm := make(chan struct{})
	var workers sync.WaitGroup
	for _, m := range s.gather(seed) {
		workers.Go(func() {
			for s.left.Add(-1) >= 0 {
				m.Operate()
				m.Pause()
			}
			<-calm
		})
	}
	for s.left.Load() > 0 {
		time.Sleep(s.upTo(T))
		w.blows[s.r.IntN(len(w.blows))](&s.storm, s.upTo(4*T/3))
	}
	s.calm()
	close(calm)
	workers.Wait()
	time.Sleep(4 * T / 3) // blows that are still to end
	s.calm()
	time.Sleep(5 * time.Second)
	s.epilogue(int(operations))
}

// epilogue: everybody is served, nothing remains, and all room is free again.
func (s *crowd) epilogue(operations int) {
	var clients []*recipes.Client
	for _, p := range s.parties {
		clients = append(clients, p.c)
	}
	ordered := s.Verdict(soon(s.t, 3*T), clients...)
	s.t.Logf("%+v; the order of %d grants was seen", s.Tally(), ordered)
	require.Equal(s.t, operations, s.Tally().Operations)
	require.Greater(s.t, s.Tally().All(), operations/8)
	time.Sleep(2 * T)
	require.Empty(s.t, ephemerals(s.srv))
	for _, c := range clients {
		requireFree(s.t, c, 4<<10)
	}
}
