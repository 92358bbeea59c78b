package lock_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/proxy"
	"github.com/zkrecipes/zkrecipes/integration/zkserver"
	"github.com/zkrecipes/zkrecipes/internal/jute"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// soon bounds what takes a few round trips.
const soon = 10 * time.Second

// Source: CURATOR-206 (curator#727).
func TestHolderWhoseSessionIsClosedLearnsOfItAndTouchesNothing(t *testing.T) {
	s := zkserver.Shared(t).Servers[0]
	w := witness(t, s)
	c, p := dialAlone(t, s, soon)
	path := zkserver.Path(t)
	h := c.lock(t, path)
	next := w.lockLater(t, path)
	awaitQueued(t, w, path, 2)

	closeSession(t, s, p, h.Session().ID())
	n := mustHold(t, next, soon)
	receive(t, "the end of the lease", h.Done(), soon)
	require.ErrorIs(t, h.Err(), recipes.ErrLost)
	require.ErrorIs(t, h.Err(), recipes.ErrSessionExpired)
	require.ErrorIs(t, h.Release(within(t, soon)), recipes.ErrLost)
	require.NoError(t, n.Verify(within(t, soon)))
	require.Greater(t, n.Token(), h.Token())
	require.NoError(t, n.Release(within(t, soon)))
	again := c.lock(t, path)
	require.Greater(t, again.Token(), n.Token())
	require.NotEqual(t, h.Session().ID(), again.Session().ID())
}

func TestWaiterWhoseSessionEndsQueuesAgainAtTheBack(t *testing.T) {
	s := zkserver.Shared(t).Servers[0]
	w, c := witness(t, s), dial(t, s.Addr(), soon)
	b, p := dialAlone(t, s, soon)
	path := zkserver.Path(t)
	h := w.lock(t, path)
	second := b.lockLater(t, path)
	awaitQueued(t, w, path, 2)
	third := c.lockLater(t, path)
	awaitQueued(t, w, path, 3)

	old := b.session(t).ID()
	closeSession(t, s, p, old)
	eventually(t, "queued again", func() bool {
		queue, err := w.mutex(t, path).Queue(within(t, soon))
		require.NoError(t, err)
		return len(queue) == 3 && queue[1].Session == c.session(t).ID() && queue[2].Session != old
	})
	require.NoError(t, h.Release(within(t, soon)))
	n := mustHold(t, third, soon)
	require.Empty(t, second)
	require.NoError(t, n.Release(within(t, soon)))
	last := mustHold(t, second, soon)
	require.Greater(t, last.Token(), n.Token())
	require.Len(t, children(t, w, path), 1)
}

func TestWaiterThatIsToStayLearnsThatItsPlaceIsLost(t *testing.T) {
	s := zkserver.Shared(t).Servers[0]
	w := witness(t, s)
	c, p := dialAlone(t, s, soon)
	path := zkserver.Path(t)
	w.lock(t, path)
	m := c.mutex(t, path, lock.WithStay())
	ended := make(chan error, 1)
	go func() {
		_, err := m.Lock(within(t, patience))
		ended <- err
	}()
	awaitQueued(t, w, path, 2)
	closeSession(t, s, p, c.session(t).ID())
	require.ErrorIs(t, receive(t, "the end of the wait", ended, soon), lock.ErrPlaceLost)
	require.Len(t, children(t, w, path), 1)
}

// The session ends between the sending of the create and its execution.
func TestContenderWhoseSessionEndsWhileItIsMadeIsMadeInTheNextOne(t *testing.T) {
	for _, op := range []jute.Op{jute.OpCreate, jute.OpMulti} {
		t.Run(op.String(), func(t *testing.T) {
			s := zkserver.Shared(t).Servers[0]
			w := witness(t, s)
			c, p := dialAlone(t, s, soon)
			path := zkserver.Path(t)
			m := c.mutex(t, path)
			if op == jute.OpMulti { // an empty directory that is known to carry no data
				for range 2 {
					l, err := m.Lock(within(t, soon))
					require.NoError(t, err)
					require.NoError(t, l.Release(within(t, soon)))
				}
			}
			old := c.session(t).ID()
			p.Intercept(func(r proxy.Request) proxy.Verdict {
				if r.Op == op && r.Session == old {
					closeSession(t, s, p, old)
				}
				return proxy.Forward
			})
			l, err := m.Lock(within(t, soon))
			require.NoError(t, err)
			require.NotEqual(t, old, l.Session().ID())
			require.NoError(t, l.Verify(within(t, soon)))
			require.Equal(t, []string{l.Node()[len(path)+1:]}, children(t, w, path))
		})
	}
}

// The create is committed, its answer is lost, and the session expires before
// the client is back: the old znode must not be taken for its own. Sources:
// CURATOR-498 (curator#1018), CURATOR-696 (curator#1211).
func TestContenderOfAnExpiredSessionIsNotTakenForItsOwn(t *testing.T) {
	const timeout = time.Second
	s := zkserver.Shared(t).Servers[0]
	w := witness(t, s)
	c, p := dialAlone(t, s, timeout)
	path := zkserver.Path(t)
	w.put(t, path, "")
	old := c.session(t).ID()
	p.Intercept(func(r proxy.Request) proxy.Verdict {
		if r.Op == jute.OpCreate && r.Session == old {
			p.Refuse()
			return proxy.DropReply
		}
		return proxy.Forward
	})
	got := c.lockLater(t, path)
	eventually(t, "made", func() bool { return len(children(t, w, path)) == 1 })
	eventually(t, "expired", func() bool { return len(children(t, w, path)) == 0 })
	require.NoError(t, p.Accept())
	h := mustHold(t, got, soon)
	require.NotEqual(t, old, h.Session().ID())
	require.NoError(t, h.Verify(within(t, soon)))
	require.Equal(t, []string{h.Node()[len(path)+1:]}, children(t, w, path))
}

// Sources: CURATOR-171 (curator#692), CURATOR-724 (curator#1239).
func TestDirectoryDeletedUnderHolderAndWaitersIsMadeAgainAndServesThemAll(t *testing.T) {
	const waiters = 5
	s := zkserver.Shared(t).Servers[0]
	w := witness(t, s)
	path := zkserver.Path(t)
	h := dial(t, s.Addr(), soon).lock(t, path)
	granted := make(chan hold, waiters)
	var wg sync.WaitGroup
	for i := range waiters {
		c := dial(t, s.Addr(), soon)
		m := c.mutex(t, path)
		wg.Go(func() {
			if l := lockVerified(t, m); l != nil {
				granted <- c.hold(t, l)
			}
		})
		awaitQueued(t, w, path, i+2)
	}

	deleteAll(t, w, path)
	receive(t, "the end of the lease", h.Done(), soon)
	require.ErrorIs(t, h.Err(), recipes.ErrLost)
	require.ErrorIs(t, h.Release(within(t, soon)), recipes.ErrLost)
	token := h.Token()
	for range waiters {
		n := receive(t, "the next grant", granted, soon)
		require.Greater(t, n.Token(), token)
		token = n.Token()
		require.NoError(t, n.Verify(within(t, soon)))
		require.Empty(t, granted, "two at once")
		require.NoError(t, n.Release(within(t, soon)))
	}
	wg.Wait()
	require.Empty(t, children(t, w, path))
}

// lockVerified locks until a lease is verified: one that is granted because the
// znode before it is gone may rest on one that went with it.
func lockVerified(t *testing.T, m *lock.Mutex) *recipes.Lease {
	ctx := within(t, patience)
	for {
		l, err := m.Lock(ctx)
		if err != nil {
			t.Errorf("%v", err)
			return nil
		}
		if err = l.Verify(ctx); err == nil {
			return l
		}
		if !errors.Is(err, recipes.ErrLost) || !errors.Is(l.Release(ctx), recipes.ErrLost) {
			t.Errorf("%v", err)
			return nil
		}
	}
}

// deleteAll deletes a directory and what is in it.
func deleteAll(t testing.TB, w *client, path string) {
	t.Helper()
	var ops []recipes.Op
	for _, name := range children(t, w, path) {
		ops = append(ops, recipes.DeleteOp(path+"/"+name, -1))
	}
	_, err := w.session(t).Multi(within(t, soon), append(ops, recipes.DeleteOp(path, -1))...)
	require.NoError(t, err)
}
