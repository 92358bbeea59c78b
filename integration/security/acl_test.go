package security_test

import (
	"context"
	"path"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/barrier"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/integration/zkserver"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
)

const user, password = "service", "secret"

// everyRecipe leaves at least one znode of each recipe below a path.
func everyRecipe(t *testing.T, c *recipes.Client, root string) {
	t.Helper()
	ctx := within(t, patience)
	must := func(err error) {
		t.Helper()
		require.NoError(t, err)
	}
	lease := func(l *recipes.Lease, err error) {
		t.Helper()
		require.NoError(t, err)
		t.Cleanup(func() { _ = l.Release(context.Background()) })
	}
	mu, err := lock.NewMutex(c, root+"/mutex")
	must(err)
	lease(mu.Lock(ctx))
	rw, err := lock.NewRWMutex(c, root+"/rw")
	must(err)
	lease(rw.RLock(ctx))
	sem, err := lock.NewSemaphore(c, root+"/sem", 3)
	must(err)
	lease(sem.AcquireN(ctx, 2))
	multi, err := lock.NewMulti(c, []string{root + "/m1", root + "/m2"})
	must(err)
	lease(multi.Lock(ctx))
	e, err := election.New(c, root+"/election")
	must(err)
	_, err = e.Campaign(ctx)
	must(err)
	b, err := barrier.New(c, root+"/barrier")
	must(err)
	must(b.Set(ctx))
	d, err := barrier.NewDouble(c, root+"/double", 1)
	must(err)
	must(d.Enter(ctx))
	_, _, err = c.RaiseFenceBase(ctx, root+"/mutex", 1000)
	must(err)
}

// CURATOR-714, for every znode there is.
func TestEveryZnodeOfEveryRecipeHasTheACLThatWasAskedFor(t *testing.T) {
	addr := zkserver.Shared(t).Servers[0].DirectAddr()
	mine := recipes.DigestACL(recipes.PermAll, user, password)
	guests := append(recipes.DigestACL(recipes.PermAll, user, password), recipes.WorldACL(recipes.PermRead|recipes.PermCreate)...)
	for name, acl := range map[string]struct{ own, ownWant, parent, parentWant []recipes.ACL }{
		"CREATOR_ALL": {recipes.CreatorACL(recipes.PermAll), mine, recipes.CreatorACL(recipes.PermAll), mine},
		"custom":      {mine, mine, guests, guests},
	} {
		t.Run(name, func(t *testing.T) {
			root := zkserver.Path(t)
			c := dial(t, addr, recipes.WithAuth("digest", []byte(user+":"+password)),
				recipes.WithACL(acl.own...), recipes.WithParentACL(acl.parent...))
			everyRecipe(t, c, root)
			s := session(t, c)
			ephemerals, others := 0, 0
			eachZnode(t, s, root, func(at string, stat recipes.Stat) {
				want := acl.parentWant
				if others++; stat.EphemeralOwner != 0 {
					want = acl.ownWant
					ephemerals++
					others--
				}
				got, err := s.ACL(t.Context(), at)
				require.NoError(t, err)
				require.Equal(t, want, got, at)
			})
			require.GreaterOrEqual(t, ephemerals, 8)
			require.GreaterOrEqual(t, others, 10)
		})
	}
}

func eachZnode(t *testing.T, s *recipes.Session, at string, fn func(string, recipes.Stat)) {
	t.Helper()
	names, stat, err := s.Children(t.Context(), at)
	require.NoError(t, err)
	fn(at, stat)
	for _, name := range names {
		eachZnode(t, s, path.Join(at, name), fn)
	}
}

func TestClientWithoutTheCredentialIsRefusedByEveryRecipeAtOnceAndIsToldWhere(t *testing.T) {
	addr, root := zkserver.Shared(t).Servers[0].DirectAddr(), zkserver.Path(t)
	mine := recipes.CreatorACL(recipes.PermAll)
	everyRecipe(t, dial(t, addr, recipes.WithAuth("digest", []byte(user+":"+password)),
		recipes.WithACL(mine...), recipes.WithParentACL(mine...)), root)
	for name, opts := range map[string][]recipes.Option{
		"none":           nil,
		"wrong password": {recipes.WithAuth("digest", []byte(user+":wrong"))},
	} {
		t.Run(name, func(t *testing.T) {
			c := dial(t, addr, opts...)
			ctx := within(t, patience)
			refused := func(at string, err error) {
				t.Helper()
				require.ErrorIs(t, err, recipes.ErrNoAuth)
				require.NotErrorIs(t, err, context.DeadlineExceeded)
				require.ErrorContains(t, err, at)
				require.NotContains(t, err.Error(), "wrong")
			}
			mu, err := lock.NewMutex(c, root+"/mutex")
			require.NoError(t, err)
			_, err = mu.Lock(ctx)
			refused(root+"/mutex", err)
			_, err = mu.TryLock(ctx)
			refused(root+"/mutex", err)
			sem, err := lock.NewSemaphore(c, root+"/sem", 3)
			require.NoError(t, err)
			_, err = sem.Acquire(ctx)
			refused(root+"/sem", err)
			e, err := election.New(c, root+"/election")
			require.NoError(t, err)
			_, err = e.Campaign(ctx)
			refused(root+"/election", err)
			b, err := barrier.New(c, root+"/barrier")
			require.NoError(t, err)
			refused(root+"/barrier", b.Remove(ctx))
			_, _, err = c.RaiseFenceBase(ctx, root+"/mutex", 2000)
			refused(root+"/mutex", err)
		})
	}
}
