package recipetest

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// Election tests election.Election.
func Election(t *testing.T, dial Dialer) {
	for _, fact := range []struct {
		name string
		test func(*suite)
	}{
		{"OneLeadsAtATime", electionOneLeads},
		{"CandidatesLeadInTheOrderOfArrival", electionOrder},
		{"LayoutsNameTheirCandidates", electionLayouts},
		{"ShowsTheLeaderAndTheCandidates", electionShown},
		{"ObserveTellsEachLeaderAndNobody", electionObserve},
		{"ProclaimIsSeenForTheTerm", electionProclaim},
		{"PlaceIsGivenUpWhenTheFunctionHasReturned", electionRun},
		{"OperatorForcesAnotherLeader", electionDeleted},
		{"ClosedClientGivesWay", electionClose},
	} {
		run(t, dial, fact.name, fact.test)
	}
}

// candidate is a participant with a client of its own.
type candidate struct {
	*election.Election
	s      *suite
	client *recipes.Client
}

func (s *suite) candidate(id string, opts ...election.Option) *candidate {
	s.Helper()
	c := s.dial(s.T)
	e, err := election.New(c, s.path, append([]election.Option{election.WithID(id)}, opts...)...)
	require.NoError(s, err)
	return &candidate{e, s, c}
}

// lead wins the election, which nobody else is in.
func (c *candidate) lead() *election.Term {
	c.s.Helper()
	term, err := c.Campaign(c.s.ctx)
	require.NoError(c.s, err)
	return term
}

// queue campaigns in the background and returns when it has its place, which is
// after the given number of others.
func (c *candidate) queue(after int) <-chan *election.Term {
	c.s.Helper()
	won := make(chan *election.Term, 1)
	go func() {
		if term, err := c.Campaign(c.s.ctx); err == nil {
			won <- term
		}
	}()
	names := c.s.listing()
	c.s.until(func() bool { return len(names()) > after })
	return won
}

// listing returns a function that lists the recipe's znode.
func (s *suite) listing() func() []string {
	s.Helper()
	session := s.session()
	return func() []string {
		names, _, err := session.Children(s.ctx, s.path)
		if err != nil {
			require.ErrorIs(s, err, recipes.ErrNoNode)
		}
		return names
	}
}

// until waits for something that the servers show.
func (s *suite) until(shown func() bool) {
	s.Helper()
	for !shown() {
		require.NoError(s, s.ctx.Err())
	}
}

// arrived waits for what comes on a channel.
func arrived[T any](s *suite, c <-chan T) T {
	s.Helper()
	select {
	case v := <-c:
		return v
	case <-s.ctx.Done():
		require.FailNow(s, "nothing comes")
		panic("unreachable")
	}
}

func electionOneLeads(s *suite) {
	const clients, rounds = 4, 8
	var leading, total atomic.Int32
	var wg sync.WaitGroup
	for range clients {
		c := s.candidate("x")
		ctx, stop := context.WithCancel(s.ctx)
		mine := 0
		wg.Go(func() {
			defer stop()
			err := c.Run(ctx, func(_ context.Context, term *election.Term) error {
				defer leading.Add(-1)
				if n := leading.Add(1); n != 1 {
					s.Errorf("%d lead", n)
				}
				total.Add(1)
				if mine++; mine == rounds {
					stop()
				}
				return nil
			})
			if err != nil {
				s.Errorf("%v", err)
			}
		})
	}
	wg.Wait()
	require.EqualValues(s, clients*rounds, total.Load())
	require.Empty(s, s.children())
}

func electionOrder(s *suite) {
	term := s.candidate("0").lead()
	var waits []<-chan *election.Term
	for i := range 4 {
		waits = append(waits, s.candidate("n").queue(i+1))
	}
	for _, next := range waits {
		require.NoError(s, term.Lease().Verify(s.ctx))
		require.Empty(s, next)
		require.NoError(s, term.Resign(s.ctx))
		later := arrived(s, next)
		require.Greater(s, later.Token(), term.Token())
		term = later
	}
	require.NoError(s, term.Resign(s.ctx))
	require.Empty(s, s.children())
}

func electionLayouts(s *suite) {
	for layout, tag := range map[election.Layout]string{
		election.LeaderLatch: "-latch-0", election.LeaderSelector: "-lock-0", election.Kazoo: "-__lock__0",
	} {
		c := s.candidate("x", election.WithLayout(layout))
		term := c.lead()
		names := s.children()
		require.Len(s, names, 1)
		require.True(s, strings.HasPrefix(names[0], "_c_") && strings.Contains(names[0], tag), names[0])
		require.NoError(s, term.Resign(s.ctx))
	}
}

func electionShown(s *suite) {
	a, b := s.candidate("first"), s.candidate("second")
	_, err := a.Leader(s.ctx)
	require.ErrorIs(s, err, election.ErrNoLeader)
	term := a.lead()
	next := b.queue(1)
	leader, err := b.Leader(s.ctx)
	require.NoError(s, err)
	require.Equal(s, "first", leader.Identity)
	require.Equal(s, term.Token(), leader.Token)
	list, err := b.Candidates(s.ctx)
	require.NoError(s, err)
	require.Len(s, list, 2)
	require.Equal(s, "second", list[1].Identity)
	require.True(s, a.IsLeader())
	require.False(s, b.IsLeader())
	require.NoError(s, term.Resign(s.ctx))
	require.False(s, a.IsLeader())
	require.NoError(s, arrived(s, next).Resign(s.ctx))
	_, err = a.Leader(s.ctx)
	require.ErrorIs(s, err, election.ErrNoLeader)
}

func electionObserve(s *suite) {
	a, b, o := s.candidate("a"), s.candidate("b"), s.candidate("o")
	var term *election.Term
	var seen []string
	for leader, err := range o.Observe(s.ctx) {
		require.NoError(s, err)
		id := ""
		if leader != nil {
			id = leader.Identity
		}
		seen = append(seen, id)
		switch len(seen) {
		case 1:
			term = a.lead()
		case 2, 4:
			require.NoError(s, term.Resign(s.ctx))
		case 3:
			term = b.lead()
		}
		if len(seen) == 5 {
			break
		}
	}
	require.Equal(s, []string{"", "a", "", "b", ""}, seen)
}

func electionProclaim(s *suite) {
	a, o := s.candidate("a"), s.candidate("o")
	for range 2 {
		term := a.lead()
		leader, err := o.Leader(s.ctx)
		require.NoError(s, err)
		require.Equal(s, "a", leader.Identity)
		require.NoError(s, term.Proclaim(s.ctx, []byte("10.0.0.1:80")))
		s.until(func() bool {
			leader, err = o.Leader(s.ctx)
			return err == nil && leader.Identity == "10.0.0.1:80"
		})
		require.NoError(s, term.Resign(s.ctx))
		require.ErrorIs(s, term.Proclaim(s.ctx, []byte("x")), recipes.ErrReleased)
	}
}

func electionRun(s *suite) {
	a, b := s.candidate("a"), s.candidate("b")
	ctx, stop := context.WithCancel(s.ctx)
	began, proceed, done := make(chan fence.Token, 1), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- a.Run(ctx, func(ctx context.Context, term *election.Term) error {
			began <- term.Token()
			<-ctx.Done()
			<-proceed
			return ctx.Err()
		})
	}()
	first := arrived(s, began)
	next := b.queue(1)
	stop()
	_, err := b.Candidates(s.ctx)
	require.NoError(s, err)
	require.Len(s, s.children(), 2)
	require.Empty(s, next)
	close(proceed)
	require.NoError(s, arrived(s, done))
	term := arrived(s, next)
	require.Greater(s, term.Token(), first)
	require.NoError(s, term.Resign(s.ctx))
	require.Empty(s, s.children())
}

func electionDeleted(s *suite) {
	a, b := s.candidate("a"), s.candidate("b")
	term := a.lead()
	next := b.queue(1)
	require.NoError(s, s.session().Delete(s.ctx, term.Lease().Node(), -1))
	arrived(s, term.Done())
	require.ErrorIs(s, term.Err(), recipes.ErrLost)
	later := arrived(s, next)
	require.ErrorIs(s, term.Resign(s.ctx), recipes.ErrLost)
	require.NoError(s, later.Err())
	require.NoError(s, later.Resign(s.ctx))
}

func electionClose(s *suite) {
	a, b := s.candidate("a"), s.candidate("b")
	term := a.lead()
	next := b.queue(1)
	a.client.Close()
	require.Error(s, term.Err())
	require.False(s, a.IsLeader())
	require.NoError(s, arrived(s, next).Resign(s.ctx))
}
