package lock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func TestDoInstallsTheTokenBeforeItsFunctionRuns(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		store := fence.NewMemory("store")
		m, err := lock.NewMutex(zkrtest.Dial(t, srv), "/locks/g", lock.WithGuards(store))
		require.NoError(t, err)
		old := granted(t, async(t, m.Lock), time.Second)
		release(t, old)

		nothing := func(context.Context) error { return nil }
		require.NoError(t, m.Do(t.Context(), func(ctx context.Context, l *recipes.Lease) error {
			require.Equal(t, l, fence.HolderFrom(ctx))
			err := store.Write(ctx, fence.Stamp{Token: old.Token()}, nothing)
			require.ErrorIs(t, err, fence.ErrStale, "an earlier holder's write that was still on its way")
			return store.Write(ctx, fence.Stamp{Token: l.Token()}, nothing)
		}))
		require.Empty(t, srv.Children("/locks/g"))
	})
}

// Whoever tries first and then runs a function must not lose the guards by that.
func TestGuardsGoWithTheLeaseHoweverItCame(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := zkrtest.Dial(t, srv)
		store, extra := fence.NewMemory("store"), fence.NewMemory("extra")
		guarded := lock.WithGuards(store)
		m, err := lock.NewMutex(c, path, guarded)
		require.NoError(t, err)
		rw, err := lock.NewRWMutex(c, rwPath, guarded)
		require.NoError(t, err)
		multi, err := lock.NewMulti(c, members, guarded)
		require.NoError(t, err)
		nothing := func(context.Context) error { return nil }
		for i, ask := range []asking{m.TryLock, m.Lock, rw.TryLock, rw.Lock, multi.TryLock, multi.Lock} {
			l := granted(t, async(t, ask), time.Second)
			old := fence.Stamp{Token: l.Token() - 1}
			require.NoError(t, store.Write(t.Context(), old, nothing), "call %d installs nothing yet", i)
			require.NoError(t, l.Do(t.Context(), func(ctx context.Context, _ *recipes.Lease) error {
				require.ErrorIs(t, store.Write(ctx, old, nothing), fence.ErrStale)
				return extra.Write(ctx, old, nothing)
			}))
			l = granted(t, async(t, ask), time.Second)
			old = fence.Stamp{Token: l.Token() - 1}
			require.NoError(t, l.Do(t.Context(), func(ctx context.Context, _ *recipes.Lease) error {
				require.ErrorIs(t, store.Write(ctx, old, nothing), fence.ErrStale)
				require.ErrorIs(t, extra.Write(ctx, old, nothing), fence.ErrStale, "given to Do")
				return nil
			}, extra))
		}
		l := granted(t, async(t, rw.TryRLock), time.Second)
		require.NoError(t, l.Do(t.Context(), func(ctx context.Context, l *recipes.Lease) error {
			return store.Write(ctx, fence.Stamp{Token: l.Token() - 1}, nothing) // readers install nothing
		}))
	})
}

type brokenGuard struct{ err error }

func (g brokenGuard) Install(context.Context, fence.Token) error { return g.err }

func TestDoRunsNothingWhereAGuardFails(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		down := errors.New("database down")
		m, err := lock.NewMutex(zkrtest.Dial(t, srv), "/locks/g", lock.WithGuards(brokenGuard{down}))
		require.NoError(t, err)
		err = m.Do(t.Context(), func(context.Context, *recipes.Lease) error {
			t.Error("called without the guard")
			return nil
		})
		require.ErrorIs(t, err, down)
		require.Empty(t, srv.Children("/locks/g"))
	})
}

func TestReaderInstallsNothing(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		rw, err := lock.NewRWMutex(zkrtest.Dial(t, srv), "/locks/g", lock.WithGuards(brokenGuard{errors.New("asked")}))
		require.NoError(t, err)
		require.NoError(t, rw.RDo(t.Context(), func(context.Context, *recipes.Lease) error { return nil }))
	})
}

func TestNilOptionsAreRefused(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := zkrtest.Dial(t, srv)
		for _, o := range []lock.ExclusiveOption{nil, lock.WithGuards(nil)} {
			_, err := lock.NewMutex(c, "/locks/x", o)
			require.ErrorContains(t, err, "nil")
			_, err = lock.NewRWMutex(c, "/locks/x", o)
			require.ErrorContains(t, err, "nil")
			_, err = lock.NewMulti(c, []string{"/locks/x"}, o)
			require.ErrorContains(t, err, "nil")
		}
		_, err := lock.NewSemaphore(c, "/locks/x", 1, nil)
		require.ErrorContains(t, err, "nil")
	})
}
