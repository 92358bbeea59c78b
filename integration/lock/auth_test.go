package lock_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/zkserver"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// Sources: hashicorp/vault#1989, samuel commit 3449f0a, kazoo 2.0 notes (#172);
// CURATOR-714 for the ACLs.
func TestCredentialsArePresentedAgainInTheNextSession(t *testing.T) {
	s := zkserver.Shared(t).Servers[0]
	path := zkserver.Path(t)
	c, p := dialAlone(t, s, soon,
		recipes.WithAuth("digest", []byte("service:secret")), recipes.WithACL(recipes.CreatorACL(recipes.PermAll)...))
	own := recipes.DigestACL(recipes.PermAll, "service", "secret")
	h := c.lock(t, path)
	for range 2 {
		acl, err := c.session(t).ACL(within(t, soon), h.Node())
		require.NoError(t, err)
		require.Equal(t, own, acl)
		require.NoError(t, h.Verify(within(t, soon)))
		closeSession(t, s, p, h.Session().ID())
		receive(t, "the end of the lease", h.Done(), soon)
		h = c.lock(t, path)
	}

	// Whoever may not look at the holder learns that at once, and leaves.
	stranger := dial(t, s.Addr(), soon)
	_, err := stranger.mutex(t, path).Lock(within(t, soon))
	require.ErrorIs(t, err, recipes.ErrNoAuth)
	eventually(t, "the stranger's znode is gone", func() bool { return len(children(t, c, path)) == 1 })
	require.NoError(t, h.Release(within(t, soon)))
}

// Sources: kazoo commit 5fbd90e, consul#985.
func TestRefusedCredentialsAndPermissionsEndTheCallAtOnce(t *testing.T) {
	s := zkserver.Shared(t).Servers[0]
	w := witness(t, s)
	_, err := recipes.Dial(within(t, soon), s.Addr(), recipes.WithAuth("no-such-scheme", []byte("x")))
	require.ErrorIs(t, err, recipes.ErrAuthFailed)

	closed := zkserver.Path(t)
	_, err = w.session(t).Create(within(t, soon), closed, nil, recipes.Persistent, recipes.WorldACL(recipes.PermRead))
	require.NoError(t, err)
	_, err = w.mutex(t, closed+"/lock").Lock(within(t, soon))
	require.ErrorIs(t, err, recipes.ErrNoAuth)
	_, err = w.mutex(t, closed).TryLock(within(t, soon))
	require.ErrorIs(t, err, recipes.ErrNoAuth)
}
