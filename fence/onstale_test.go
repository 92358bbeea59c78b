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
