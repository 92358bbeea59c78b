package lock_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Random histories of readers, writers, holders of permits and of several locks
// at once, while everything goes wrong that can.

// crowd is a storm in which each party uses locks of all kinds.
type crowd struct {
	storm
	rw      ledger
	permits permits
	members map[string]*ledger
	left    atomic.Int64 // operations to go
	grants  atomic.Int64
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
	s := &crowd{
		storm:   storm{t: t, srv: srv, r: rand.New(rand.NewPCG(seed, 0)), members: w.members},
		rw:      ledger{t: t, steals: w.steals},
		permits: permits{t: t, limit: limit, steals: w.steals},
		members: make(map[string]*ledger),
	}
	for _, m := range members {
		s.members[m] = &ledger{t: t, steals: w.steals}
	}
	return s
}

func (s *crowd) rage(w weather, seed uint64, operations int64) {
	for _, opts := range manners {
		s.parties = append(s.parties, join(s.t, s.srv, opts...))
	}
	s.left.Store(operations)
	calm := make(chan struct{})
	var workers sync.WaitGroup
	for i, p := range s.parties {
		for j := range 2 {
			r := rand.New(rand.NewPCG(seed, uint64(i*2+j+1)))
			workers.Go(func() {
				for s.left.Add(-1) >= 0 {
					s.operate(p, r)
					time.Sleep(time.Duration(r.IntN(1000)) * time.Millisecond)
				}
				<-calm
			})
		}
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
	s.t.Logf("%d grants of %d operations", s.grants.Load(), operations)
	require.Greater(s.t, s.grants.Load(), operations/8)
	s.epilogue()
}

// epilogue: everybody is served, nothing remains, and all room is free again.
func (s *crowd) epilogue() {
	var last []<-chan result
	for _, p := range s.parties {
		for _, how := range []func(*party) asking{reading, writing, acquiring(2), together3, middle} {
			ask := how(p)
			last = append(last, zkrtest.Go(func() (*recipes.Lease, error) {
				l, err := ask(s.t.Context())
				if err != nil {
					return nil, err
				}
				return nil, l.Release(s.t.Context())
			}))
		}
	}
	for _, done := range last {
		got := outcome(s.t, done, 3*T)
		require.NoError(s.t, got.Err)
	}
	time.Sleep(2 * T)
	require.Empty(s.t, ephemerals(s.srv))
	for _, p := range s.parties {
		requireFree(s.t, p.c, 4<<10)
	}
}

// operate takes some lock in some way and gives it back.
func (s *crowd) operate(p *party, r *rand.Rand) {
	ask, note := s.choose(p, r)
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(r.Int64N(int64(4*T))))
	defer cancel()
	deadline, _ := ctx.Deadline()
	l, err := ask(ctx)
	if late := time.Since(deadline); late > 0 {
		s.t.Errorf("a call ended %v after its context", late)
	}
	switch {
	case err == nil:
		s.grants.Add(1)
		note(l)
		s.downgrade(p, l, r)
		s.hold(l, r)
	case l != nil:
		s.t.Errorf("a lease and an error: %v", err)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, lock.ErrLocked):
	default:
		s.t.Errorf("unexpected: %v", err)
	}
}

// choose returns a way to ask for some lock, and what to do with the lease.
func (s *crowd) choose(p *party, r *rand.Rand) (ask asking, note func(*recipes.Lease)) {
	try := r.IntN(4) == 0
	either := func(wait, hurry asking) asking {
		if try {
			return hurry
		}
		return wait
	}
	rw := rwMutex(s.t, p.c)
	switch r.IntN(5) {
	case 0:
		return either(rw.RLock, rw.TryRLock), s.rw.add
	case 1:
		return either(rw.Lock, rw.TryLock), s.rw.add
	case 2:
		n := 1 + r.IntN(limit)
		sem := semaphore(s.t, p.c, limit)
		hurry := func(ctx context.Context) (*recipes.Lease, error) { return sem.TryAcquireN(ctx, n) }
		return either(acquireN(sem, n), hurry), func(l *recipes.Lease) { s.permits.add(l, n) }
	case 3:
		m := mutexAt(s.t, p.c, members[r.IntN(len(members))])
		return either(m.Lock, m.TryLock), s.noteMembers
	}
	chosen := append([]string(nil), members...)
	r.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
	m := multi(s.t, p.c, chosen[:2+r.IntN(2)]...)
	return either(m.Lock, m.TryLock), s.noteMembers
}

func (s *crowd) noteMembers(l *recipes.Lease) {
	for path, g := range s.members {
		if token := l.TokenOf(path); token != 0 {
			g.addMember(l, token)
		}
	}
}

// downgrade makes some writers readers.
func (s *crowd) downgrade(p *party, l *recipes.Lease, r *rand.Rand) {
	if l.Path() != rwPath || l.Shared() || r.IntN(2) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(r.Int64N(int64(T))))
	defer cancel()
	s.rw.sharing(l)
	err := rwMutex(s.t, p.c).Downgrade(ctx, l)
	if err != nil && !errors.Is(err, recipes.ErrLost) && !errors.Is(err, context.DeadlineExceeded) {
		s.t.Errorf("downgrade: %v", err)
	}
}
