package election_test

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Every misfortune at every request of every call.

// A placement is one run: a misfortune at the n-th request of one call of a, while
// b stands for election too.
type placement struct {
	t    *testing.T
	srv  *zktest.Server
	m    zkrtest.Misfortune
	n    int
	a, b *candidate
	hook *zktest.Hook
}

// lives are the calls, with how many requests of each the small form of the test
// goes through.
var lives = []struct {
	name  string
	live  func(*placement)
	small int
}{
	{"campaign", (*placement).campaign, 2},
	{"campaign behind a leader", (*placement).campaignBehind, 4},
	{"run", (*placement).run, 5},
	{"run behind a leader", (*placement).runBehind, 5},
	{"resign", (*placement).resign, 1},
	{"proclaim", (*placement).proclaim, 1},
	{"leader", (*placement).leader, 2},
	{"observe", (*placement).observe, 5},
}

func TestEveryMisfortuneAtEveryRequestOfAnElection(t *testing.T) {
	for _, life := range lives {
		most := life.small
		if os.Getenv("ZKR_STORM") == "full" {
			most = 1000
		}
		zkrtest.Befalls(t, life.name, most, func(t *testing.T, srv *zktest.Server, m zkrtest.Misfortune, n int) int {
			p := &placement{t: t, srv: srv, m: m, n: n, a: join(t, srv, "a"), b: join(t, srv, "b")}
			for range 2 { // lets a know the directory
				resign(t, p.a.lead())
			}
			life.live(p)
			p.nothingIsLeft()
			return p.hook.Hits()
		})
	}
}

// strike lets the n-th request of a from now on go wrong, and returns the context
// of its call.
func (p *placement) strike() context.Context {
	ctx, cancel := context.WithCancel(p.t.Context())
	p.t.Cleanup(cancel)
	v := &zkrtest.Victim{
		T: p.t, Srv: p.srv, Cable: p.a.cable, Client: p.a.c, ID: p.a.session(), Cancel: cancel, Dir: "/election",
	}
	p.hook = p.srv.On(zktest.Match{Session: v.ID, Skip: p.n}).Optional()
	p.m.Strike(v, p.hook)
	return ctx
}

// failed states that a call failed as the misfortune has it, if it did.
func (p *placement) failed(err error) bool {
	p.t.Helper()
	if err == nil {
		return false
	}
	lost := p.m.Loses && errors.Is(err, recipes.ErrLost)
	// The news of a lost answer may come before that of the cancellation.
	first := errors.Is(p.m.Gives, context.Canceled) && errors.Is(err, recipes.ErrOutcomeUnknown)
	if !lost && !first {
		require.NotNil(p.t, p.m.Gives, "%v", err)
		if !errors.Is(p.m.Gives, zkrtest.ErrAny) {
			require.ErrorIs(p.t, err, p.m.Gives)
		}
	}
	return true
}

// nothingIsLeft states that a's place is gone, and that b can lead.
func (p *placement) nothingIsLeft() {
	time.Sleep(4 * T)
	require.Empty(p.t, candidates(p.srv))
	resign(p.t, p.b.lead())
}

func (p *placement) campaign() {
	p.lives(p.a.campaign(p.strike()))
}

func (p *placement) campaignBehind() {
	term := p.b.lead()
	call := p.a.campaign(p.strike())
	time.Sleep(T / 2)
	p.resigned(term)
	p.lives(call)
}

// resigned ends a term of b, which an operator may have ended before.
func (p *placement) resigned(term *election.Term) {
	if err := term.Resign(p.t.Context()); !p.m.Steals || !errors.Is(err, recipes.ErrLost) {
		require.NoError(p.t, err)
	}
}

// lives waits for a campaign, leads for a while, and resigns; b comes next.
func (p *placement) lives(call <-chan result) {
	got := outcome(p.t, call, 4*T)
	if p.failed(got.Err) {
		require.False(p.t, p.a.IsLeader())
		return
	}
	next := p.b.campaign(p.t.Context())
	select {
	case <-time.After(T):
	case <-got.Val.Done():
		require.True(p.t, p.m.Loses)
	}
	p.failed(got.Val.Resign(context.Background()))
	term := outcome(p.t, next, 4*T)
	require.NoError(p.t, term.Err)
	require.Greater(p.t, term.Val.Token(), got.Val.Token())
	p.resigned(term.Val)
}

func (p *placement) run() { p.runs() }

func (p *placement) runBehind() {
	term := p.b.lead()
	time.AfterFunc(T/2, func() { _ = term.Resign(context.Background()) })
	p.runs()
}

// runs has a and b run, each until it has led once to the end.
func (p *placement) runs() {
	var mu sync.Mutex
	inside := 0
	move := func(by int) {
		mu.Lock()
		defer mu.Unlock()
		if inside += by; inside > 1 && !p.m.Steals {
			p.t.Error("one begins before the other has returned")
		}
	}
	term := func(stop context.CancelFunc) func(context.Context, *election.Term) error {
		return func(ctx context.Context, _ *election.Term) error {
			move(1)
			defer move(-1)
			select {
			case <-ctx.Done():
			case <-time.After(T / 2):
				stop()
			}
			time.Sleep(100 * time.Millisecond) // to stop what it does
			return ctx.Err()
		}
	}
	stopping := func(c *candidate, ctx context.Context) <-chan zkrtest.Result[struct{}] {
		ctx, stop := context.WithCancel(ctx)
		return zkrtest.Go(func() (struct{}, error) { return struct{}{}, c.Run(ctx, term(stop)) })
	}
	ra := stopping(p.a, p.strike())
	synctest.Wait()
	rb := stopping(p.b, p.t.Context())
	err := outcome(p.t, ra, 8*T).Err
	if err != nil {
		require.True(p.t, p.m.Closes, "%v", err) // Run goes on after all else, and a cancelled one has nothing to say
		require.ErrorIs(p.t, err, recipes.ErrClosed)
	}
	require.NoError(p.t, outcome(p.t, rb, 8*T).Err)
}

func (p *placement) resign() {
	term := p.a.lead()
	next := p.b.wait()
	ctx := p.strike()
	p.failed(term.Resign(ctx))
	require.False(p.t, p.a.IsLeader())
	got := outcome(p.t, next, 4*T)
	require.NoError(p.t, got.Err)
	p.resigned(got.Val)
}

func (p *placement) proclaim() {
	term := p.a.lead()
	if ctx := p.strike(); !p.failed(term.Proclaim(ctx, []byte("10.0.0.1"))) && term.Err() == nil {
		z, ok := p.srv.Get(term.Lease().Node())
		require.True(p.t, ok || p.m.Loses)
		require.True(p.t, string(z.Data) == "10.0.0.1" || p.m.Loses)
	}
	p.failed(term.Resign(context.Background()))
}

func (p *placement) leader() {
	term := p.b.lead()
	leader, err := p.a.Leader(p.strike())
	if gone := p.m.Steals && errors.Is(err, election.ErrNoLeader); !gone && !p.failed(err) {
		require.Equal(p.t, "b", leader.Identity)
	}
	p.resigned(term)
}

// observe has a look on while b and others lead, and wants the truth in the end.
func (p *placement) observe() {
	var seen []*recipes.Contender
	ctx := p.strike()
	view := zkrtest.Go(func() (none struct{}, last error) {
		for leader, err := range p.a.Observe(ctx) {
			if err != nil {
				last = err
				continue
			}
			seen = append(seen, leader)
		}
		return none, last
	})
	synctest.Wait()
	for range 3 {
		p.resigned(p.b.lead())
		time.Sleep(time.Second)
	}
	term := p.b.lead()
	time.Sleep(4 * T)
	synctest.Wait()
	select {
	case got := <-view:
		require.True(p.t, ctx.Err() != nil || p.m.Closes, "%v", got.Err)
		if got.Err != nil {
			require.ErrorIs(p.t, got.Err, recipes.ErrClosed)
		}
	default:
		last := seen[len(seen)-1]
		if term.Err() != nil {
			require.True(p.t, p.m.Steals)
			require.Nil(p.t, last)
			break
		}
		require.NotNil(p.t, last)
		require.Equal(p.t, term.Token(), last.Token)
	}
	p.resigned(term)
}
