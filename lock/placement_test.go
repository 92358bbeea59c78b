package lock_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/recipetest"
	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Every fault at every request of a lock's life: acquiring, waiting, holding,
// releasing.

// A placement is one run: a fault at the n-th request of the party under test.
type placement struct {
	t      testing.TB
	srv    *zktest.Server
	a      *party // whose requests go wrong
	ctx    context.Context
	leases recipetest.Ledger
	note   func(*recipes.Lease) // of every grant
}

// A life is how a lock comes to be acquired.
type life struct {
	name    string
	prepare func(p *placement)
	ask     func(p *placement) (*recipes.Lease, error)
	next    func(other *party) asking // what comes after; nil stands for Lock
	small   int                       // how many requests the small form of the test goes through
}

// An asking takes some kind of lock.
type asking = func(context.Context) (*recipes.Lease, error)

var lives = []life{
	{name: "free lock in no directory", prepare: func(*placement) {}, ask: (*placement).lock, small: 7},
	{name: "free lock", prepare: (*placement).warm, ask: (*placement).lock, small: 100},
	{name: "held lock", prepare: func(p *placement) { p.warm(); p.occupy() }, ask: (*placement).lock, small: 12},
	{name: "held lock, long queue", prepare: func(p *placement) { p.warm(); p.occupy(); p.occupy() }, ask: (*placement).lock},
	{name: "try", prepare: (*placement).warm, ask: func(p *placement) (*recipes.Lease, error) { return p.a.TryLock(p.ctx) }},
}

func (p *placement) lock() (*recipes.Lease, error) { return p.a.Lock(p.ctx) }

// warm lets the party know the directory.
func (p *placement) warm() {
	release(p.t, p.a.hold())
	release(p.t, p.a.hold())
}

// occupy has another party hold the lock for some time from now.
func (p *placement) occupy() {
	p.occupyBy(func(other *party) asking { return other.Lock })
}

func (p *placement) occupyBy(how func(other *party) asking) {
	waiting := async(p.t, how(join(p.t, p.srv)))
	synctest.Wait()
	go func() {
		got := <-waiting
		if got.Err != nil {
			p.t.Errorf("occupant: %v", got.Err)
			return
		}
		p.note(got.Val)
		time.Sleep(T / 2)
		_ = got.Val.Release(context.Background())
	}()
	synctest.Wait()
}

func TestEveryFaultAtEveryRequest(t *testing.T) { strikeAll(t, lives) }

// strikeAll goes through all lives with every misfortune at every request.
func strikeAll(t *testing.T, lives []life) {
	for _, life := range lives {
		most := life.small
		if zkrtest.Full {
			most = 1000
		}
		zkrtest.Befalls(t, life.name, most, func(t *testing.T, srv *zktest.Server, m zkrtest.Misfortune, n int) int {
			return run(t, srv, life, m, n)
		})
	}
}

// run goes through one life, and returns how many requests it took.
func run(t *testing.T, srv *zktest.Server, life life, m zkrtest.Misfortune, n int) int {
	p := &placement{t: t, srv: srv, a: join(t, srv)}
	p.leases.T, p.leases.Steals = t, m.Steals
	p.note = p.leases.Add
	ctx, cancel := context.WithTimeout(t.Context(), 10*T)
	defer cancel()
	p.ctx = ctx
	next := join(t, srv).Lock
	if life.next != nil {
		next = life.next(join(t, srv))
	}
	life.prepare(p)
	v := &zkrtest.Victim{
		T: t, Srv: srv, Cable: p.a.cable, Client: p.a.c, ID: p.a.session(), Cancel: cancel, Dir: "/locks",
	}
	hook := srv.On(zktest.Match{Session: v.ID, Skip: n}).Optional()
	m.Strike(v, hook)

	asked := zkrtest.Go(func() (*recipes.Lease, error) { return life.ask(p) })
	synctest.Wait()
	after := zkrtest.Go(func() (*recipes.Lease, error) {
		l, err := next(t.Context())
		if err != nil {
			return nil, err
		}
		p.note(l)
		time.Sleep(time.Second)
		return l, l.Release(t.Context())
	})
	lease := p.outcome(<-asked, m)
	if lease != nil {
		p.hold(lease, m)
	}

	// The next in line has it in time, and nothing remains but what the next one
	// makes. Only a client that could not say goodbye leaves something, until its
	// session is over.
	grace := 5 * time.Second
	if m.Closes || m.Loses {
		grace = T + 2*tick
	}
	if err := outcome(t, after, grace+2*T).Err; !m.Steals || !errors.Is(err, recipes.ErrLost) {
		require.NoError(t, err)
	}
	time.Sleep(grace)
	require.Empty(t, ephemerals(srv), "ghosts")
	if !m.Closes {
		requireUnused(t, p.a.c)
	}
	return hook.Hits()
}

// outcome checks what the caller has got.
func (p *placement) outcome(got result, m zkrtest.Misfortune) *recipes.Lease {
	if errors.Is(got.Err, lock.ErrLocked) {
		return nil // TryLock came too late
	}
	if got.Err != nil {
		require.Nil(p.t, got.Val)
		require.NotNil(p.t, m.Gives, "%v", got.Err)
		if !errors.Is(m.Gives, zkrtest.ErrAny) {
			require.ErrorIs(p.t, got.Err, m.Gives)
		}
		return nil
	}
	p.note(got.Val)
	return got.Val
}

// ephemerals are the paths of all of them, when nothing moves any more.
func ephemerals(srv *zktest.Server) []string {
	synctest.Wait()
	var all []string
	for _, z := range srv.Tree() {
		if z.Stat.EphemeralOwner != 0 {
			all = append(all, z.Path)
		}
	}
	return all
}

// hold lives with the lease for a while and gives it back.
func (p *placement) hold(l *recipes.Lease, m zkrtest.Misfortune) {
	timer := time.NewTimer(T)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.Done():
		require.True(p.t, m.Loses, "%v", l.Err())
	}
	err := l.Release(context.Background())
	if !m.Loses {
		require.NoError(p.t, err)
	}
	if err != nil && !errors.Is(err, recipes.ErrLost) && !errors.Is(err, recipes.ErrClosed) {
		require.Fail(p.t, "release", "%v", err)
	}
}
