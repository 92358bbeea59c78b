package barrier_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Every misfortune at every request of every call.

// A placement is one run: a misfortune at the n-th request of one call.
type placement struct {
	t   *testing.T
	srv *zktest.Server
	m   zkrtest.Misfortune
	n   int
}

// full says whether storms run in full.
var full = os.Getenv("ZKR_STORM") == "full"

// struck makes a call and lets its n-th request go wrong.
func (p placement) struck(c *recipes.Client, cable *zktest.Cable, call func(context.Context) error) (waiting, *zktest.Hook) {
	ctx, cancel := context.WithCancel(p.t.Context())
	p.t.Cleanup(cancel)
	v := &zkrtest.Victim{
		T: p.t, Srv: p.srv, Cable: cable, Client: c, ID: zkrtest.Session(p.t, c).ID(), Cancel: cancel, Dir: "/barriers",
	}
	h := p.srv.On(zktest.Match{Session: v.ID, Skip: p.n}).Optional()
	p.m.Strike(v, h)
	return start(func() error { return call(ctx) }), h
}

// ended waits for a call that was struck, and reports whether it succeeded.
func (p placement) ended(w waiting) bool {
	p.t.Helper()
	err := returned(p.t, w, 4*T)
	if err == nil {
		return true
	}
	require.NotNil(p.t, p.m.Gives, "%v", err)
	if !errors.Is(p.m.Gives, zkrtest.ErrAny) {
		require.ErrorIs(p.t, err, p.m.Gives)
	}
	return false
}

// settled waits until what a misfortune has left behind is gone.
func settled() { time.Sleep(4 * T) }

// lives are the calls, with how many requests of each the small form of the test
// goes through.
var lives = []struct {
	name  string
	live  func(placement) int
	small int
}{
	{"set, no directory", placement.set, 4},
	{"set, there", placement.setAgain, 1},
	{"remove", placement.remove, 3},
	{"wait", placement.wait, 3},
	{"wait, none set", placement.waitForNone, 2},
	{"enter, no directory", func(p placement) int { return p.enter(false) }, 2},
	{"enter, first", func(p placement) int { p.warm(); return p.enter(false) }, 7},
	{"enter, last", func(p placement) int { p.warm(); return p.enter(true) }, 7},
	{"enter, when a round is under way", func(p placement) int { p.warm(); return p.enterLate() }, 3},
	{"enter, where all of a round have died", func(p placement) int { p.warm(); return p.enterAfterTheDead() }, 7},
	{"leave, to be the first", func(p placement) int { return p.leave(false, false) }, 4},
	{"leave, to be the last", func(p placement) int { return p.leave(true, false) }, 5},
	{"leave when the other has, to be the first", func(p placement) int { return p.leave(false, true) }, 4},
	{"leave when the other has, to be the last", func(p placement) int { return p.leave(true, true) }, 4},
}

func TestEveryMisfortuneAtEveryRequestOfABarrier(t *testing.T) {
	for _, life := range lives {
		most := life.small
		if full {
			most = 1000
		}
		zkrtest.Befalls(t, life.name, most, func(t *testing.T, srv *zktest.Server, m zkrtest.Misfortune, n int) int {
			return life.live(placement{t, srv, m, n})
		})
	}
}

// warm makes the directory.
func (p placement) warm() {
	require.NoError(p.t, p.srv.Create("/barriers", nil))
	require.NoError(p.t, p.srv.Create(path, nil))
}

func (p placement) set() int {
	a, b := join(p.t, p.srv), join(p.t, p.srv)
	call, hook := p.struck(a.c, a.cable, a.Set)
	err := (<-call).Err
	_, there := p.srv.Get(path)
	if err == nil {
		require.True(p.t, there || p.m.Steals)
	}
	settled()
	if _, there := p.srv.Get(path); err != nil {
		require.NotNil(p.t, p.m.Gives, "%v", err)
		require.True(p.t, !there || errors.Is(err, recipes.ErrOutcomeUnknown), "it is set; %v", err)
	}
	require.NoError(p.t, b.Set(p.t.Context()))
	require.NoError(p.t, b.Remove(p.t.Context()))
	return hook.Hits()
}

func (p placement) setAgain() int {
	a, b := join(p.t, p.srv), join(p.t, p.srv)
	require.NoError(p.t, b.Set(p.t.Context()))
	before, _ := p.srv.Get(path)
	call, hook := p.struck(a.c, a.cable, a.Set)
	p.ended(call)
	settled()
	if !p.m.Steals {
		after, _ := p.srv.Get(path)
		require.Equal(p.t, before, after)
	}
	return hook.Hits()
}

func (p placement) remove() int {
	a, b := join(p.t, p.srv), join(p.t, p.srv)
	require.NoError(p.t, b.Set(p.t.Context()))
	call, hook := p.struck(a.c, a.cable, a.Remove)
	err := (<-call).Err
	_, there := p.srv.Get(path)
	if err == nil {
		require.False(p.t, there)
	}
	settled()
	if _, there := p.srv.Get(path); err != nil {
		require.NotNil(p.t, p.m.Gives, "%v", err)
		require.True(p.t, there || errors.Is(err, recipes.ErrOutcomeUnknown), "it is gone; %v", err)
	}
	require.NoError(p.t, b.Remove(p.t.Context()))
	return hook.Hits()
}

func (p placement) wait() int {
	a, b := join(p.t, p.srv), join(p.t, p.srv)
	require.NoError(p.t, b.Set(p.t.Context()))
	call, hook := p.struck(a.c, a.cable, a.Wait)
	time.Sleep(2 * T)
	if !p.m.Steals && p.m.Gives == nil {
		zkrtest.Pending(p.t, call)
	}
	require.NoError(p.t, b.Remove(p.t.Context()))
	p.ended(call)
	return hook.Hits()
}

func (p placement) waitForNone() int {
	a := join(p.t, p.srv)
	call, hook := p.struck(a.c, a.cable, a.Wait)
	p.ended(call)
	return hook.Hits()
}

// enter has one participant struck while it enters, and another one enter, before
// or after it.
func (p placement) enter(last bool) int {
	a, b := take(p.t, p.srv, 2), take(p.t, p.srv, 2)
	var other waiting
	if last {
		other = b.enter()
		zkrtest.Pending(p.t, other)
	}
	call, hook := p.struck(a.c, a.cable, a.Enter)
	if !last {
		time.Sleep(2 * T)
		if p.m.Gives == nil {
			zkrtest.Pending(p.t, call)
		}
		other = b.enter()
	}
	p.goesOn(a, b, call, other)
	return hook.Hits()
}

// goesOn sees to it that the other one gets in, and that all get out.
func (p placement) goesOn(a, b *participant, call, other waiting) {
	in := p.ended(call)
	inside := []*participant{b}
	if in {
		inside = append(inside, a)
	} else {
		// Who failed is not counted, unless it was when it completed the round:
		// another one may have to come for the other to get in.
		settled()
		c := take(p.t, p.srv, 2)
		require.NoError(p.t, c.Enter(p.t.Context()))
		inside = append(inside, c)
	}
	require.NoError(p.t, returned(p.t, other, T), "left behind")
	var calls []waiting
	for _, one := range inside {
		calls = append(calls, one.leave())
	}
	for _, w := range calls {
		p.left(w)
	}
	p.nextRound()
}

// left waits for a participant to leave that was not struck then; it may have lost
// its place before.
func (p placement) left(w waiting) {
	p.t.Helper()
	err := returned(p.t, w, 4*T)
	switch {
	case p.m.Loses && errors.Is(err, recipes.ErrLost), p.m.Closes && errors.Is(err, recipes.ErrClosed), errors.Is(p.m.Gives, zkrtest.ErrAny):
		return
	}
	require.NoError(p.t, err)
}

// nextRound states that nothing is left that counts.
func (p placement) nextRound() {
	settled()
	require.Subset(p.t, []string{"ready"}, children(p.srv))
	c, d := take(p.t, p.srv, 2), take(p.t, p.srv, 2)
	w := c.enter()
	zkrtest.Pending(p.t, w)
	enterAll(p.t, d)
	require.NoError(p.t, returned(p.t, w, 0))
	leaveAll(p.t, c, d)
	require.Empty(p.t, children(p.srv))
}

// enterLate has one join a round that is under way.
func (p placement) enterLate() int {
	a, b, c := take(p.t, p.srv, 2), take(p.t, p.srv, 2), take(p.t, p.srv, 2)
	enterAll(p.t, b, c)
	call, hook := p.struck(a.c, a.cable, a.Enter)
	inside := []*participant{b, c}
	if p.m.Steals { // perhaps the whole round is gone
		synctest.Wait()
		d := take(p.t, p.srv, 2)
		require.NoError(p.t, d.Enter(p.t.Context()))
		inside = append(inside, d)
	}
	if p.ended(call) {
		inside = append(inside, a)
	}
	var calls []waiting
	for _, one := range inside {
		calls = append(calls, one.leave())
	}
	for _, w := range calls {
		p.left(w)
	}
	p.nextRound()
	return hook.Hits()
}

// enterAfterTheDead has one find the ready of a round whose participants have all
// died.
func (p placement) enterAfterTheDead() int {
	require.NoError(p.t, p.srv.Create(path+"/ready", nil))
	return p.enter(false)
}

// leave has one of two leave, before or after the other; their names decide who
// of them has to wait with its znode.
func (p placement) leave(lowest, second bool) int {
	a, b := inOrder(p.t, p.srv, several(p.t, p.srv, 2, 2))
	if !lowest {
		a, b = b, a
	}
	var other waiting
	if second {
		other = b.leave()
		zkrtest.Pending(p.t, other)
	}
	call, hook := p.struck(a.c, a.cable, a.Leave)
	if !second {
		time.Sleep(2 * T)
		if p.m.Gives == nil && !p.m.Loses {
			zkrtest.Pending(p.t, call)
		}
		other = b.leave()
	}
	p.left(other)
	err := returned(p.t, call, 4*T)
	lost := p.m.Loses && errors.Is(err, recipes.ErrLost)
	if err != nil && !lost {
		require.NotNil(p.t, p.m.Gives, "%v", err)
		if !errors.Is(p.m.Gives, zkrtest.ErrAny) {
			require.ErrorIs(p.t, err, p.m.Gives)
		}
	}
	p.nextRound()
	return hook.Hits()
}
