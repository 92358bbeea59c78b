package lock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/internal/belief"
	"github.com/zkrecipes/zkrecipes/integration/internal/proof"
	"github.com/zkrecipes/zkrecipes/integration/zkserver"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// Sources: ZOOKEEPER-4508, hashicorp/consul#18271, consul#1843,
// alexguan/node-zookeeper-client#20.
func TestHolderBehindASilentNetworkIsLostBeforeTheNextGrant(t *testing.T) {
	parallel(t)
	const timeout = 2 * time.Second
	report := proof.New(t, "lock-silent-network", "A holder whose network swallows everything")
	s := zkserver.Shared(t).Servers[0]
	p, err := s.NewProxy()
	require.NoError(t, err)
	all := contend(t, proof.Size(4, 16),
		func() *client { return dial(t, p.Addr(), timeout) },
		func() *client { return dial(t, s.DirectAddr(), timeout) })
	awaitSteady(t, all)
	p.Blackhole()
	gaps(t, report, "network silent", all)
}

// Sources: go-zk#79, go-zk#47, vitess#11678, kubernetes#118790.
func TestCallsEndWithTheirContextWhileTheServerIsFrozen(t *testing.T) {
	parallel(t)
	const bound = 300 * time.Millisecond
	s := zkserver.Start(t, zkserver.Config{Tick: tick}).Servers[0]
	const timeout = 20 * time.Second
	c := dial(t, s.Addr(), timeout)
	h := c.lock(t, "/held")
	m, free := c.mutex(t, "/held"), c.mutex(t, "/free")
	require.NoError(t, s.Freeze())
	calls := map[string]func(context.Context) error{
		"lock":     func(ctx context.Context) error { _, err := m.Lock(ctx); return err },
		"lock new": func(ctx context.Context) error { _, err := free.Lock(ctx); return err },
		"try":      func(ctx context.Context) error { _, err := m.TryLock(ctx); return err },
		"queue":    func(ctx context.Context) error { _, err := m.Queue(ctx); return err },
		"verify":   h.Verify,
		"txn": func(ctx context.Context) error {
			_, err := h.Txn(ctx, recipes.SetOp("/", nil, -1))
			return err
		},
		"release": h.Release,
		"dial": func(ctx context.Context) error {
			c, err := recipes.Dial(ctx, s.Addr())
			if err == nil {
				c.Close()
			}
			return err
		},
	}
	for _, name := range []string{"lock", "lock new", "try", "queue", "verify", "txn", "release", "dial"} {
		ctx, cancel := context.WithTimeout(context.Background(), bound)
		begin := belief.Now()
		err := calls[name](ctx)
		took := belief.Now() - begin
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded, name)
		t.Logf("%s: %v after the end of its context", name, round(took-bound))
		require.Less(t, took, 10*bound, "%s hung", name)
	}
	require.NoError(t, s.Thaw())
	w := witness(t, s)
	for _, path := range []string{"/held", "/free"} {
		eventually(t, "nothing is left", func() bool { return len(children(t, w, path)) == 0 })
	}
	require.NoError(t, c.session(t).Barrier(within(t, patience)))
	require.Equal(t, h.Session(), c.session(t), "the session lives: its end did not clean up")
}

// A lease ends by the clock while no server runs; its znode is still there when
// they are back, for another T, unless its holder is back to delete it.
// Sources: CURATOR-595 (curator#1112), CURATOR-15 (curator#536).
func TestLockOutlivesAnOutageOfAllServersThatIsLongerThanTheTimeout(t *testing.T) {
	parallel(t)
	const timeout = 2 * time.Second
	report := proof.New(t, "lock-outage", "All servers down for longer than T")
	e := zkserver.Start(t, zkserver.Config{Servers: proof.Size(1, 3), Tick: tick})
	all := contend(t, proof.Size(4, 16),
		func() *client { return dial(t, e.Connect(), timeout) },
		func() *client { return dial(t, e.Connect(), timeout) })
	for _, s := range e.Servers {
		require.NoError(t, s.Kill())
	}
	for _, r := range all {
		receive(t, "the end of the lease", r.held.seen.Done(), patience)
		require.ErrorIs(t, r.held.Err(), recipes.ErrLost)
		require.Empty(t, r.next)
	}
	time.Sleep(2 * timeout) // the length of the outage
	back := belief.Now()
	for _, s := range e.Servers {
		require.NoError(t, s.Launch(within(t, patience)))
	}
	require.NoError(t, e.AwaitServing(within(t, patience)))
	gaps(t, report, "all servers down", all)
	report.Printf("all locks handed over %v after the servers were started", since(back))
	for _, r := range all {
		r.rival.Close()
		again := r.holder.lock(t, r.path)
		require.Greater(t, again.Token(), r.held.Token())
	}
}

// Source: FLINK-10052, consul#1162, consul#985.
func TestBlinkOfTheConnectionDoesNotEndALease(t *testing.T) {
	parallel(t)
	const timeout = 8 * time.Second
	s := zkserver.Shared(t).Servers[0]
	c, p := dialAlone(t, s, timeout)
	h := c.lock(t, zkserver.Path(t))
	for range 3 {
		state, changed := h.State()
		require.Equal(t, recipes.Connected, state)
		p.Refuse()
		p.Cut()
		receive(t, "told that the connection is in doubt", changed, soon)
		require.NoError(t, h.Err())
		require.NoError(t, p.Accept())
		eventually(t, "connected", func() bool { state, _ := h.State(); return state == recipes.Connected })
		require.NoError(t, h.Verify(within(t, soon)))
	}
	require.NoError(t, h.Release(within(t, soon)))
}

// Sources: kazoo PR#170, kazoo#116, samuel#83, zk-ruby/zk#54,
// airbnb/synapse PR#287.
func TestWaiterThatWasAwayDuringTheHandOverHasTheLockWhenItIsBack(t *testing.T) {
	parallel(t)
	const timeout = 10 * time.Second
	s := zkserver.Shared(t).Servers[0]
	w := witness(t, s)
	path := zkserver.Path(t)
	h := w.lock(t, path)
	c, p := dialAlone(t, s, timeout)
	next := c.lockLater(t, path)
	awaitQueued(t, w, path, 2)
	p.Refuse()
	p.Cut()
	require.NoError(t, h.Release(within(t, soon)))
	require.NoError(t, p.Accept())
	back := belief.Now()
	n := mustHold(t, next, soon)
	t.Logf("granted %v after the way was free", since(back))
	require.Equal(t, []string{n.Node()[len(path)+1:]}, children(t, w, path))
}

// Sources: CURATOR-678 (curator#1193), CURATOR-486 (curator#1006), NC#24.
func TestReleaseDuringAnOutageIsMadeUpForWhenTheLinkIsBack(t *testing.T) {
	parallel(t)
	const timeout = 20 * time.Second
	s := zkserver.Shared(t).Servers[0]
	w := witness(t, s)
	path := zkserver.Path(t)
	c, p := dialAlone(t, s, timeout)
	h := c.lock(t, path)
	next := w.lockLater(t, path)
	awaitQueued(t, w, path, 2)
	p.Refuse()
	p.Cut()
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, h.Release(ctx), context.DeadlineExceeded)
	require.ErrorIs(t, h.Err(), recipes.ErrReleased)
	require.NoError(t, p.Accept())
	n := mustHold(t, next, soon)
	require.NoError(t, h.Release(within(t, soon)), "a further call waits for the same deletion")
	require.NoError(t, n.Release(within(t, soon)))
	again := c.lock(t, path)
	require.Equal(t, h.Session(), again.Session(), "the session lives: its end did not release it")
}

// Sources: kazoo#83, samuel#19, CURATOR-110.
func TestDialWithoutAServerSaysThatItNeverConnected(t *testing.T) {
	parallel(t)
	s := zkserver.Shared(t).Servers[0]
	p, err := s.NewProxy()
	require.NoError(t, err)
	p.Refuse()
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	_, err = recipes.Dial(ctx, p.Addr())
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorIs(t, err, recipes.ErrNotConnected)
	require.ErrorContains(t, err, p.Addr())

	dialed := make(chan error, 1)
	go func() {
		c, err := recipes.Dial(within(t, patience), p.Addr())
		if err == nil {
			c.Close()
		}
		dialed <- err
	}()
	require.NoError(t, p.Accept())
	require.NoError(t, receive(t, "a session", dialed, patience))
}

// A wiped server refuses whoever has seen more than it has. Sources: kazoo#42,
// samuel PR#38, samuel PR#87, aiozk PR#28.
func TestWipeOfTheServersEndsTheLeaseByTheClockAndAFreshClientStartsAnew(t *testing.T) {
	parallel(t)
	const timeout = 2 * time.Second
	e := zkserver.Start(t, zkserver.Config{Tick: tick})
	c := dial(t, e.Connect(), timeout)
	h := c.lock(t, "/lock")
	require.NoError(t, e.Wipe(within(t, patience)))
	receive(t, "the end of the lease", h.seen.Done(), patience)
	require.ErrorIs(t, h.Err(), recipes.ErrLost)
	ctx, cancel := context.WithTimeout(context.Background(), 3*timeout)
	defer cancel()
	l, err := c.mutex(t, "/lock").Lock(ctx)
	t.Logf("the old client: %v", err)
	if err == nil {
		require.NoError(t, l.Release(within(t, soon)))
	}
	fresh := dial(t, e.Connect(), timeout)
	n := fresh.lock(t, "/lock")
	t.Logf("token %v before, %v after: a wipe begins a new history", h.Token(), n.Token())
	require.NoError(t, n.Release(within(t, soon)))
}
