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
	id     int64  // of its session when the fault is armed
	ctx    context.Context
	cancel context.CancelFunc
	leases recipetest.Ledger
	note   func(*recipes.Lease) // of every grant
}

// misfortune says what happens at a request, and what may come of it.
type misfortune struct {
	name   string
	strike func(p *placement, h *zktest.Hook)

	gives  error // what the caller may get in place of a lease
	loses  bool  // a lease may be lost by it
	steals bool  // a stranger ends a session or deletes a znode under a lease
	closes bool  // the client is closed
}

var misfortunes = []misfortune{
	{name: "request lost", strike: func(_ *placement, h *zktest.Hook) { h.DropBeforeCommit() }},
	{name: "reply lost", strike: func(_ *placement, h *zktest.Hook) { h.DropReply() }},
	{name: "late", strike: func(_ *placement, h *zktest.Hook) { h.Delay(100 * time.Millisecond) }},
	{name: "answered late", strike: func(_ *placement, h *zktest.Hook) { h.DelayReply(100 * time.Millisecond) }},
	{name: "throttled", strike: func(_ *placement, h *zktest.Hook) { h.Error(zktest.Throttled) }, gives: errAny, loses: true},
	{name: "session moved", strike: func(_ *placement, h *zktest.Hook) { h.Error(zktest.SessionMoved) }, loses: true},
	{name: "session expired", loses: true, steals: true, strike: func(p *placement, h *zktest.Hook) {
		h.Call(func(zktest.Request) { p.srv.ExpireSession(p.id) })
	}},
	{name: "reply lost and session expired", loses: true, steals: true, strike: func(p *placement, h *zktest.Hook) {
		h.DropReply()
		p.srv.On(zktest.Match{Op: zktest.OpCreateSession, Session: p.id}).Optional().Call(func(zktest.Request) { p.srv.ExpireSession(p.id) })
	}},
	{name: "servers restarted", strike: func(p *placement, h *zktest.Hook) {
		h.Call(func(zktest.Request) { require.NoError(p.t, p.srv.Restart()) })
	}},
	{name: "cancelled", gives: context.Canceled, strike: func(p *placement, h *zktest.Hook) {
		h.Call(func(zktest.Request) { p.cancel() })
	}},
	{name: "cancelled and late", gives: context.Canceled, strike: func(p *placement, h *zktest.Hook) {
		h.Call(func(zktest.Request) { p.cancel(); time.Sleep(100 * time.Millisecond) })
	}},
	{name: "cancelled and answered late", gives: context.Canceled, strike: func(p *placement, h *zktest.Hook) {
		h.DelayReply(100 * time.Millisecond)
		p.onHit(h, p.cancel)
	}},
	{name: "cancelled and reply lost", gives: context.Canceled, strike: func(p *placement, h *zktest.Hook) {
		h.DropReply()
		p.onHit(h, p.cancel)
	}},
	{name: "closed", gives: recipes.ErrClosed, loses: true, closes: true, strike: func(p *placement, h *zktest.Hook) {
		h.Call(func(zktest.Request) { go p.a.c.Close() })
	}},
	{name: "closed and reply lost", gives: recipes.ErrClosed, loses: true, closes: true, strike: func(p *placement, h *zktest.Hook) {
		h.DropReply()
		p.onHit(h, p.a.c.Close)
	}},
	{name: "znode deleted", loses: true, steals: true, strike: func(p *placement, h *zktest.Hook) {
		h.Call(func(zktest.Request) { p.deleteOwn() })
	}},
	{name: "directory deleted", loses: true, steals: true, strike: func(p *placement, h *zktest.Hook) {
		h.Call(func(zktest.Request) { _ = p.srv.DeleteAll("/locks") })
	}},
}

var errAny = errors.New("any error of the server's")

// onHit runs fn when the hook is hit, or the test is over.
func (p *placement) onHit(h *zktest.Hook, fn func()) {
	done := p.t.Context().Done()
	go func() {
		select {
		case <-h.Hit():
			fn()
		case <-done:
		}
	}()
}

func (p *placement) deleteOwn() {
	for _, z := range p.srv.Tree() {
		if z.Stat.EphemeralOwner == p.id {
			_ = p.srv.Delete(z.Path)
		}
	}
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
		requests := 0
		zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
			requests = run(t, srv, life, misfortune{name: "none"}, 0)
		})
		if !zkrtest.Full {
			requests = min(requests, life.small)
		}
		t.Logf("%s: %d requests", life.name, requests)
		for _, m := range misfortunes {
			t.Run(life.name+", "+m.name, func(t *testing.T) {
				t.Parallel()
				for n := range requests {
					zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
						run(t, srv, life, m, n)
					})
					if t.Failed() {
						t.Fatalf("at request %d", n)
					}
				}
			})
		}
	}
}

// run goes through one life, and returns how many requests it took.
func run(t *testing.T, srv *zktest.Server, life life, m misfortune, n int) int {
	p := &placement{t: t, srv: srv, a: join(t, srv)}
	p.leases.T, p.leases.Steals = t, m.steals
	p.note = p.leases.Add
	p.ctx, p.cancel = context.WithTimeout(t.Context(), 10*T)
	defer p.cancel()
	next := join(t, srv).Lock
	if life.next != nil {
		next = life.next(join(t, srv))
	}
	life.prepare(p)
	p.id = p.a.session()
	hook := srv.On(zktest.Match{Session: p.id, Skip: n}).Optional()
	if m.strike == nil {
		hook.Always().Observe()
	} else {
		m.strike(p, hook)
	}

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
	if m.closes || m.loses {
		grace = T + 2*tick
	}
	if err := outcome(t, after, grace+2*T).Err; !m.steals || !errors.Is(err, recipes.ErrLost) {
		require.NoError(t, err)
	}
	time.Sleep(grace)
	require.Empty(t, ephemerals(srv), "ghosts")
	if !m.closes {
		requireUnused(t, p.a.c)
	}
	return hook.Hits()
}

// outcome checks what the caller has got.
func (p *placement) outcome(got result, m misfortune) *recipes.Lease {
	if errors.Is(got.Err, lock.ErrLocked) {
		return nil // TryLock came too late
	}
	if got.Err != nil {
		require.Nil(p.t, got.Val)
		require.NotNil(p.t, m.gives, "%v", got.Err)
		if !errors.Is(m.gives, errAny) {
			require.ErrorIs(p.t, got.Err, m.gives)
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
func (p *placement) hold(l *recipes.Lease, m misfortune) {
	timer := time.NewTimer(T)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.Done():
		require.True(p.t, m.loses, "%v", l.Err())
	}
	err := l.Release(context.Background())
	if !m.loses {
		require.NoError(p.t, err)
	}
	if err != nil && !errors.Is(err, recipes.ErrLost) && !errors.Is(err, recipes.ErrClosed) {
		require.Fail(p.t, "release", "%v", err)
	}
}
