// Package recipetest is a suite of facts about the recipes that hold on any
// server: it runs against the in-process one in the tests of this module, and
// against real ones in those of integration. Facts that need virtual time or a
// fault at a chosen moment are with the recipes themselves.
//
// The suite awaits events and never sleeps; its time is real. [Crowd] is apart from
// it: a random history, to be run under faults on real or virtual time.
package recipetest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// A Dialer gives a client of the servers under test. It is closed when the test
// ends, unless the test does so before.
type Dialer func(t *testing.T, opts ...recipes.Option) *recipes.Client

// patience bounds each wait, so that a test fails rather than hangs.
const patience = 30 * time.Second

// suite is one test of the suite with a path of its own.
type suite struct {
	*testing.T
	dial Dialer
	ctx  context.Context
	path string
}

// run runs a fact as a subtest.
func run(t *testing.T, dial Dialer, fact string, test func(*suite)) {
	t.Run(fact, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		s := &suite{T: t, dial: dial, ctx: ctx, path: "/" + strings.NewReplacer("/", "-", " ", "-").Replace(t.Name()) + "/x"}
		defer s.clean()
		test(s)
	})
}

// session gives a session to look at the servers with.
func (s *suite) session() *recipes.Session {
	s.Helper()
	session, err := s.dial(s.T).Session(s.ctx)
	require.NoError(s, err)
	return session
}

// children are the znodes in the recipe's own.
func (s *suite) children() []string {
	s.Helper()
	names, _, err := s.session().Children(s.ctx, s.path)
	require.NoError(s, err)
	return names
}

// deleteAll deletes the recipe's znode and all in it at once, as an operator
// would.
func (s *suite) deleteAll(session *recipes.Session) {
	s.Helper()
	for {
		names, _, err := session.Children(s.ctx, s.path)
		if errors.Is(err, recipes.ErrNoNode) {
			return
		}
		require.NoError(s, err)
		var ops []recipes.Op
		for _, name := range names {
			ops = append(ops, recipes.DeleteOp(s.path+"/"+name, -1))
		}
		_, err = session.Multi(s.ctx, append(ops, recipes.DeleteOp(s.path, -1))...)
		if err == nil {
			return
		}
		require.True(s, outdated(err), "%v", err)
	}
}

// outdated tells an error that says that something has changed since.
func outdated(err error) bool {
	return errors.Is(err, recipes.ErrNoNode) || errors.Is(err, recipes.ErrNotEmpty)
}

// clean leaves nothing on servers that other tests use too.
func (s *suite) clean() {
	s.Helper()
	if s.Failed() {
		return
	}
	session := s.session()
	s.deleteAll(session)
	err := session.Delete(s.ctx, s.path[:strings.LastIndex(s.path, "/")], -1)
	require.True(s, err == nil || outdated(err), "%v", err)
}

// A fact about a recipe, and its test.
type fact struct {
	name string
	test func(*suite)
}

func runAll(t *testing.T, dial Dialer, facts []fact) {
	for _, f := range facts {
		run(t, dial, f.name, f.test)
	}
}

// places tells where a contender stands while it waits.
type places chan lock.Wait

// option has every place told. What is not looked at is overwritten by the next.
func (p places) option() lock.Option {
	return lock.WithOnWait(func(w lock.Wait) {
		select {
		case <-p:
		default:
		}
		p <- w
	})
}

// waits makes a call that will wait, and returns when it has its place.
func (s *suite) waits(p places, call func(context.Context) (*recipes.Lease, error)) (<-chan outcome, lock.Wait) {
	s.Helper()
	c := inBackground(func() (*recipes.Lease, error) { return call(s.ctx) })
	return c, s.place(p)
}

// place waits for the next place.
func (s *suite) place(p places) lock.Wait {
	s.Helper()
	select {
	case w := <-p:
		return w
	case <-s.ctx.Done():
		require.FailNow(s, "no place in the queue")
		return lock.Wait{}
	}
}

// outcome is what a call in the background returned.
type outcome struct {
	lease *recipes.Lease
	err   error
}

// inBackground makes a call that may wait.
func inBackground(call func() (*recipes.Lease, error)) <-chan outcome {
	c := make(chan outcome, 1)
	go func() {
		l, err := call()
		c <- outcome{l, err}
	}()
	return c
}

// granted waits for a lease.
func (s *suite) granted(c <-chan outcome) *recipes.Lease {
	s.Helper()
	o := s.awaited(c)
	require.NoError(s, o.err)
	require.NoError(s, o.lease.Err())
	return o.lease
}

// awaited waits for a call to return.
func (s *suite) awaited(c <-chan outcome) outcome {
	s.Helper()
	select {
	case o := <-c:
		return o
	case <-s.ctx.Done():
		require.FailNow(s, "no answer")
		return outcome{}
	}
}

// pending states that a call has not returned, though the servers have had
// time for a round trip.
func (s *suite) pending(c <-chan outcome, holder *recipes.Lease) {
	s.Helper()
	require.NoError(s, holder.Verify(s.ctx))
	require.Empty(s, c)
	require.NoError(s, holder.Err())
}

func (s *suite) release(l *recipes.Lease) {
	s.Helper()
	require.NoError(s, l.Release(s.ctx))
	require.ErrorIs(s, l.Err(), recipes.ErrReleased)
}

// requireKinds states what contenders contend for, by Curator's names.
func requireKinds(s *suite, list []recipes.Contender, kinds ...recipes.Kind) {
	s.Helper()
	require.Len(s, list, len(kinds))
	for i, c := range list {
		require.Equal(s, kinds[i], c.Kind)
		require.Equal(s, recipes.NamingCurator, c.Naming)
	}
}

// requireAge states that a contender that came in this test has the age of one.
func (s *suite) requireAge(c recipes.Contender) {
	s.Helper()
	require.Positive(s, c.Age)
	require.Less(s, c.Age, patience)
}
