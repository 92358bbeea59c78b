package recipetest

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/barrier"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// Barrier tests barrier.Barrier and barrier.Double.
func Barrier(t *testing.T, dial Dialer) {
	for _, fact := range []struct {
		name string
		test func(*suite)
	}{
		{"HoldsWaitersBackUntilItIsRemoved", barrierHolds},
		{"DoubleLetsAllInTogetherAndOutTogether", doubleRounds},
		{"DoubleForgetsWhoGaveUp", doubleGivesUp},
		{"DoubleDoesNotWaitForTheDead", doubleDead},
		{"DoubleIsNotOpenedByTheReadyOfADeadRound", doubleStaleReady},
	} {
		run(t, dial, fact.name, fact.test)
	}
}

func barrierHolds(s *suite) {
	a, err := barrier.New(s.dial(s.T), s.path)
	require.NoError(s, err)
	b, err := barrier.New(s.dial(s.T), s.path)
	require.NoError(s, err)
	require.NoError(s, b.Wait(s.ctx), "none is set")
	for range 3 {
		require.NoError(s, a.Set(s.ctx))
		passed := make(chan error, 1)
		go func() { passed <- b.Wait(s.ctx) }()
		held, cancel := context.WithCancel(s.ctx)
		cancel()
		require.ErrorIs(s, a.Wait(held), context.Canceled)
		require.Empty(s, passed)
		require.NoError(s, a.Remove(s.ctx))
		require.NoError(s, arrived(s, passed))
	}
}

// double is a participant with a client of its own.
type double struct {
	*barrier.Double
	client *recipes.Client
}

func (s *suite) doubles(participants, n int) []double {
	s.Helper()
	ds := make([]double, participants)
	for i := range ds {
		c := s.dial(s.T)
		d, err := barrier.NewDouble(c, s.path, n)
		require.NoError(s, err)
		ds[i] = double{d, c}
	}
	return ds
}

// all makes a call of all participants at once and waits for their return.
func (s *suite) all(ds []double, call func(*barrier.Double, context.Context) error) {
	s.Helper()
	errs := make(chan error, len(ds))
	for _, d := range ds {
		go func() { errs <- call(d.Double, s.ctx) }()
	}
	for range ds {
		require.NoError(s, arrived(s, errs))
	}
}

func doubleRounds(s *suite) {
	const n, rounds = 4, 10
	var came, went atomic.Int32
	var wg sync.WaitGroup
	for _, d := range s.doubles(n, n) {
		wg.Go(func() {
			for round := range int32(rounds) {
				came.Add(1)
				if err := d.Enter(s.ctx); err != nil || came.Load() != (round+1)*n {
					s.Errorf("round %d: in when %d had come: %v", round, came.Load(), err)
					return
				}
				went.Add(1)
				if err := d.Leave(s.ctx); err != nil || went.Load() != (round+1)*n {
					s.Errorf("round %d: out when %d had set out: %v", round, went.Load(), err)
					return
				}
			}
		})
	}
	wg.Wait()
	require.Empty(s, s.children())
}

func doubleGivesUp(s *suite) {
	ds, names := s.doubles(3, 3), s.listing()
	ctx, cancel := context.WithCancel(s.ctx)
	gaveUp := make(chan error, 1)
	go func() { gaveUp <- ds[0].Enter(ctx) }()
	s.until(func() bool { return len(names()) == 1 })
	cancel()
	require.ErrorIs(s, arrived(s, gaveUp), context.Canceled)
	s.until(func() bool { return len(names()) == 0 })
	entered := make(chan error, 2)
	for _, d := range ds[1:] {
		go func() { entered <- d.Enter(s.ctx) }()
	}
	s.until(func() bool { return len(names()) == 2 })
	require.Empty(s, entered)
	require.NoError(s, ds[0].Enter(s.ctx))
	for range 2 {
		require.NoError(s, arrived(s, entered))
	}
	s.all(ds, (*barrier.Double).Leave)
	require.Empty(s, s.children())
}

func doubleDead(s *suite) {
	ds := s.doubles(3, 3)
	s.all(ds, (*barrier.Double).Enter)
	left := make(chan error, 2)
	for _, d := range ds[1:] {
		go func() { left <- d.Leave(s.ctx) }()
	}
	ds[0].client.Close()
	for range 2 {
		require.NoError(s, arrived(s, left))
	}
	require.Empty(s, s.children())
}

func doubleStaleReady(s *suite) {
	dead, names := s.doubles(2, 2), s.listing()
	s.all(dead, (*barrier.Double).Enter)
	for _, d := range dead {
		d.client.Close()
	}
	s.until(func() bool { return len(names()) == 1 })
	ds := s.doubles(2, 2)
	first := make(chan error, 1)
	go func() { first <- ds[0].Enter(s.ctx) }()
	s.until(func() bool {
		there := names()
		return len(there) == 1 && there[0] != "ready"
	})
	require.Empty(s, first)
	require.NoError(s, ds[1].Enter(s.ctx))
	require.NoError(s, arrived(s, first))
	s.all(ds, (*barrier.Double).Leave)
	require.Empty(s, s.children())
}
