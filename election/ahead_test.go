package election_test

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// ahead is a resource that remembers the tokens of an ensemble that is no more.
func ahead(t *testing.T) *fence.Memory {
	store := fence.NewMemory("store")
	require.NoError(t, store.Install(t.Context(), 1<<40))
	return store
}

// A refusal that the function has met ends Run, which says what is behind it.
func TestRunSaysThatTheResourceIsAheadOfTheEnsemble(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		store := ahead(t)
		a := join(t, srv, "a")
		err := a.Run(t.Context(), func(ctx context.Context, term *election.Term) error {
			return store.Install(ctx, term.Token())
		})
		require.ErrorIs(t, err, recipes.ErrFenceAhead)
		require.ErrorIs(t, err, fence.ErrStale)
		synctest.Wait()
		require.Empty(t, candidates(srv))
	})
}

// Where somebody may have come after it, the refusal is an ordinary one.
func TestRunLeavesAnOrdinaryRefusalAsItIs(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a := join(t, srv, "a")
		err := a.Run(t.Context(), func(_ context.Context, term *election.Term) error {
			return &fence.StaleError{Offered: fence.Stamp{Token: term.Token() - 1}, Standing: fence.Stamp{Token: term.Token()}}
		})
		require.ErrorIs(t, err, fence.ErrStale)
		require.NotErrorIs(t, err, recipes.ErrFenceAhead)
	})
}

// Run goes on where a guard refuses, since the base may be raised while it does;
// the log says what is behind it.
func TestRunGoesOnWhereAGuardIsAheadOfTheEnsemble(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		store := ahead(t)
		var log bytes.Buffer
		a := joinAs(t, srv, []recipes.Option{recipes.WithLogger(slog.New(slog.NewTextHandler(&log, nil)))}, election.WithGuards(store))
		r := a.run()
		synctest.Wait()
		_, _, err := a.c.RaiseFenceBase(t.Context(), path, 1<<40)
		require.NoError(t, err)
		require.Greater(t, r.leads(t, 2*T).Token(), fence.Token(1<<40))
		r.stopped(t, 0)
		require.Contains(t, log.String(), recipes.ErrFenceAhead.Error())
	})
}
