package fence_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/fence"
)

func TestOnStaleTellsOfEachRefusalOfTheGuardAndOfNothingElse(t *testing.T) {
	var told []*fence.StaleError
	g := fence.OnStale(fence.NewMemory("x"), func(_ context.Context, e *fence.StaleError) { told = append(told, e) })
	nothing := func(context.Context) error { return nil }
	ctx := t.Context()

	require.NoError(t, g.Write(ctx, fence.Stamp{Token: 34}, nothing))
	require.NoError(t, g.Install(ctx, 35))
	require.NoError(t, g.Read(ctx, 35, nothing))
	require.ErrorIs(t, g.Write(ctx, fence.Stamp{}, nothing), fence.ErrNoToken)
	own := errors.New("the effect's own")
	require.ErrorIs(t, g.Write(ctx, fence.Stamp{Token: 35}, func(context.Context) error { return own }), own)
	elsewhere := &fence.StaleError{Resource: "y"}
	require.ErrorIs(t, g.Read(ctx, 35, func(context.Context) error { return elsewhere }), elsewhere)
	require.Empty(t, told)

	for name, refused := range map[string]error{
		"write":   g.Write(ctx, fence.Stamp{Token: 34}, nothing),
		"read":    g.Read(ctx, 34, nothing),
		"install": g.Install(ctx, 34),
	} {
		require.ErrorIs(t, refused, fence.ErrStale, name)
	}
	require.Len(t, told, 3)
	for _, e := range told {
		require.Equal(t, &fence.StaleError{Resource: "x", Offered: fence.Stamp{Token: 34}, Standing: fence.Stamp{Token: 35}}, e)
	}
}

// again is a guard that calls an effect twice, and has been overtaken in between.
type again struct{ *fence.Memory }

func (a again) Write(ctx context.Context, s fence.Stamp, effect func(context.Context) error) error {
	if a.Memory.Write(ctx, s, effect) == nil {
		return nil
	}
	if err := a.Install(ctx, s.Token+1); err != nil {
		return err
	}
	return a.Memory.Write(ctx, s, effect)
}

func TestOnStaleTellsOfARefusalThatFollowsAFailure(t *testing.T) {
	told := 0
	g := fence.OnStale(again{fence.NewMemory("x")}, func(context.Context, *fence.StaleError) { told++ })
	err := g.Write(t.Context(), fence.Stamp{Token: 34}, func(context.Context) error { return errors.New("try again") })
	require.ErrorIs(t, err, fence.ErrStale)
	require.Equal(t, 1, told)
}
