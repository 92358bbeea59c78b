package fence_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/fence"
)

func nothing(context.Context) error { return nil }

func TestMemoryKeepsItsFenceWhenTheEffectFails(t *testing.T) {
	ctx := t.Context()
	m := fence.NewMemory("report")
	require.NoError(t, m.Install(ctx, 33))
	broken := errors.New("disk full")
	err := m.Write(ctx, fence.Stamp{Token: 34}, func(context.Context) error { return broken })
	require.ErrorIs(t, err, broken)
	require.Panics(t, func() {
		_ = m.Write(ctx, fence.Stamp{Token: 34}, func(context.Context) error { panic("bug") })
	})
	require.NoError(t, m.Write(ctx, fence.Stamp{Token: 33}, nothing), "34 has had no effect")
}

func TestReadersAreCheckedAndNeverStand(t *testing.T) {
	ctx := t.Context()
	m := fence.NewMemory("report")
	require.NoError(t, m.Install(ctx, 33))
	require.NoError(t, m.Read(ctx, 40, nothing))
	require.NoError(t, m.Write(ctx, fence.Stamp{Token: 34}, nothing), "the reader's 40 does not stand")
	require.ErrorIs(t, m.Read(ctx, 33, nothing), fence.ErrStale)
	require.NoError(t, m.Read(ctx, 34, nothing))
}

func TestWaitForAGuardEndsWithItsContext(t *testing.T) {
	m := fence.NewMemory("report")
	entered, leave := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = m.Write(context.Background(), fence.Stamp{Token: 33}, func(context.Context) error {
			close(entered)
			<-leave
			return nil
		})
	})
	<-entered
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, m.Install(ctx, 34), context.Canceled)
	close(leave)
	wg.Wait()
	require.ErrorIs(t, m.Install(ctx, 34), context.Canceled, "a context that has ended wins over a free guard")
	require.NoError(t, m.Write(t.Context(), fence.Stamp{Token: 33}, nothing), "34 was not installed")
}

func TestEffectsFollowOneAnotherInTheOrderOfTheirGrants(t *testing.T) {
	m := fence.NewMemory("report")
	var history []fence.Token // unguarded: the race detector watches that effects exclude each other
	var wg sync.WaitGroup
	for token := fence.Token(1); token <= 200; token++ {
		wg.Go(func() {
			err := m.Write(context.Background(), fence.Stamp{Token: token}, func(context.Context) error {
				history = append(history, token)
				return nil
			})
			if err != nil && !errors.Is(err, fence.ErrStale) {
				panic(err)
			}
		})
	}
	wg.Wait()
	require.True(t, slices.IsSorted(history), "%v", history)
	require.Equal(t, fence.Token(200), history[len(history)-1])
}

func TestInstallTellsOfEveryPlaceThatRefused(t *testing.T) {
	ctx := t.Context()
	a, b, c := fence.NewMemory("a"), fence.NewMemory("b"), fence.NewMemory("c")
	require.NoError(t, b.Install(ctx, 40))
	err := fence.Install(ctx, 34, a, b, c)
	var stale *fence.StaleError
	require.ErrorAs(t, err, &stale)
	require.Equal(t, "b", stale.Resource)
	require.ErrorIs(t, c.Install(ctx, 33), fence.ErrStale, "c was installed all the same")
}

type grant struct {
	token fence.Token
	err   error
}

func (g grant) Token() fence.Token { return g.token }
func (g grant) Err() error         { return g.err }

func TestContextCarriesTheHolder(t *testing.T) {
	require.Nil(t, fence.HolderFrom(t.Context()))
	ctx := fence.WithHolder(t.Context(), grant{token: 33})
	require.Equal(t, fence.Token(33), fence.HolderFrom(ctx).Token())
	require.NoError(t, fence.HolderFrom(ctx).Err())
}
