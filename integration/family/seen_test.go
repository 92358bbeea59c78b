package family_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/peers"
	"github.com/zkrecipes/zkrecipes/integration/zkserver"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// party is a client of this process, a path, and a time.
type party struct {
	*recipes.Client
	ctx     context.Context
	connect string
	path    string
}

func newParty(t *testing.T) *party {
	t.Helper()
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	p := &party{ctx: ctx, connect: zkserver.Shared(t).Connect(), path: zkserver.Path(t)}
	var err error
	p.Client, err = recipes.Dial(ctx, p.connect, recipes.WithIdentity("ours"), recipes.WithPersistentParents())
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p
}

func (p *party) mutex(t *testing.T) *lock.Mutex {
	t.Helper()
	m, err := lock.NewMutex(p.Client, p.path)
	require.NoError(t, err)
	return m
}

func (p *party) rw(t *testing.T) *lock.RWMutex {
	t.Helper()
	rw, err := lock.NewRWMutex(p.Client, p.path)
	require.NoError(t, err)
	return rw
}

// inBackground makes a call that waits.
func (p *party) inBackground(t *testing.T, call func(context.Context) (*recipes.Lease, error)) <-chan *recipes.Lease {
	t.Helper()
	got := make(chan *recipes.Lease, 1)
	go func() {
		defer close(got)
		if l, err := call(p.ctx); err == nil {
			got <- l
		}
	}()
	return got
}

func (p *party) granted(t *testing.T, got <-chan *recipes.Lease) *recipes.Lease {
	t.Helper()
	l, ok := <-got // its context ends
	require.True(t, ok, "no grant")
	return l
}

// queued waits until so many contend.
func (p *party) queued(t *testing.T, n int, queue func(context.Context) ([]recipes.Contender, error)) (list []recipes.Contender) {
	t.Helper()
	require.Eventually(t, func() bool {
		var err error
		list, err = queue(p.ctx)
		require.NoError(t, err)
		return len(list) == n
	}, patience, 5*time.Millisecond)
	return list
}

func TestCuratorAsksUsForTheLockAndWeAskCurator(t *testing.T) {
	p := newParty(t)
	c := curator(t, p.connect)
	m := p.mutex(t)
	l, err := m.Lock(p.ctx)
	require.NoError(t, err)
	require.Equal(t, "asked", c.Do(p.ctx, "revoke a "+l.Node()).Event)
	select {
	case <-l.Revoked():
	case <-p.ctx.Done():
		require.Fail(t, "not told")
	}
	require.NoError(t, l.Err(), "asked, not taken away")
	require.NoError(t, l.Release(p.ctx))

	require.Equal(t, "held", c.Do(p.ctx, "revocable a "+p.path).Event)
	require.NoError(t, m.Revoke(p.ctx))
	require.Equal(t, "revoked", c.Await(p.ctx, "a").Event)
	require.Equal(t, "released", c.Do(p.ctx, "release a").Event)
	require.ErrorIs(t, m.Revoke(p.ctx), lock.ErrNotHeld)
}

func TestContendersOfAllKindsAreListedInTheirOrder(t *testing.T) {
	p := newParty(t)
	all := []*peers.Peer{curator(t, p.connect), goZooKeeper(t, p.connect), kazoo("lock-")(t, p.connect)}
	m := p.mutex(t)
	l, err := m.Lock(p.ctx)
	require.NoError(t, err)
	for i, peer := range all {
		peer.Tell("lock theirs " + p.path)
		p.queued(t, 2+i, m.Queue)
	}
	list := p.queued(t, 4, m.Queue)
	require.Equal(t, "ours", list[0].Identity)
	require.Equal(t, l.Session().ID(), list[0].Session)
	for i, peer := range all {
		require.Equal(t, peer.Session, list[i+1].Session)
		require.Equal(t, i+1, list[i+1].Position)
	}
	require.Regexp(t, `^\d+\.\d+\.\d+\.\d+$`, list[1].Identity, "Curator shows its address")
	require.Regexp(t, `^\d+-\d+$`, list[2].Identity, "what the peer stores")
	require.Equal(t, "theirs", list[3].Identity, "kazoo's identifier")
	for i, naming := range []recipes.Naming{recipes.NamingCurator, recipes.NamingCurator, recipes.NamingGoZooKeeper, recipes.NamingKazoo} {
		require.Equal(t, naming, list[i].Naming)
		require.Equal(t, recipes.KindMutex, list[i].Kind)
		require.Equal(t, i == 0, list[i].Holds)
		require.Positive(t, list[i].Age, "by the time that our own contender was told")
		require.Less(t, list[i].Age, patience)
	}
	require.NoError(t, l.Release(p.ctx))
	for i, peer := range all {
		held := peer.Await(p.ctx, "theirs")
		require.EqualValues(t, list[i+1].Token, held.Token)
		require.Equal(t, "released", peer.Do(p.ctx, "release theirs").Event)
	}
}

func TestPeersListOurContendersWithTheirIdentities(t *testing.T) {
	p := newParty(t)
	m := p.mutex(t)
	l, err := m.Lock(p.ctx)
	require.NoError(t, err)
	next := p.inBackground(t, m.Lock)
	list := p.queued(t, 2, m.Queue)
	for name, peer := range map[string]*peers.Peer{"Curator": curator(t, p.connect), "kazoo": kazoo("lock-")(t, p.connect)} {
		peer.Tell("participants a " + p.path)
		for _, ours := range list {
			a := peer.Await(p.ctx, "a")
			require.Equal(t, "participant", a.Event, name)
			require.Equal(t, "ours", a.Text, name)
			if name == "Curator" {
				require.EqualValues(t, ours.Token, a.Token)
			}
		}
		require.Equal(t, "done", peer.Await(p.ctx, "a").Event, name)
	}
	require.NoError(t, l.Release(p.ctx))
	require.NoError(t, p.granted(t, next).Release(p.ctx))
}

// Where nothing may be stored both sides are told the limit.
func TestSemaphoreWithATacitLimitAndCuratorsShareIt(t *testing.T) {
	p := newParty(t)
	c := curator(t, p.connect)
	sem, err := lock.NewSemaphore(p.Client, p.path, 2, lock.WithTacitLimit())
	require.NoError(t, err)
	l, err := sem.Acquire(p.ctx)
	require.NoError(t, err)
	require.Equal(t, "held", c.Do(p.ctx, "acquire a "+p.path+" 2").Event)
	require.Equal(t, "busy", c.Do(p.ctx, "tryacquire b "+p.path+" 2 300").Event)
	_, err = sem.TryAcquire(p.ctx)
	require.ErrorIs(t, err, lock.ErrLocked)
	list, err := sem.Queue(p.ctx)
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.Equal(t, []int64{l.Session().ID(), c.Session}, []int64{list[0].Session, list[1].Session})
	data, _, err := l.Session().Get(p.ctx, p.path)
	require.NoError(t, err)
	require.Empty(t, data)
	require.NoError(t, l.Release(p.ctx))
	require.Equal(t, "released", c.Do(p.ctx, "release a").Event)
}

// CURATOR-621: the reader that a writer of Curator before 5.5 becomes stands at
// the back of the queue, so that a writer who waits gets in beside it. Ours can
// do nothing about it: from the znodes it is a reader that waits its turn.
func TestDowngradeAtCuratorLetsAWriterInBefore5_5(t *testing.T) {
	p := newParty(t)
	c := curator(t, p.connect)
	rw := p.rw(t)
	require.Equal(t, "held", c.Do(p.ctx, "wlock a "+p.path).Event)
	writer := p.inBackground(t, rw.Lock)
	p.queued(t, 2, rw.Queue)
	require.Equal(t, "held", c.Do(p.ctx, "downgrade a").Event)
	list := p.queued(t, 2, rw.Queue)
	if strings.Contains(list[0].Path, "__READ__") { // since 5.5: in the writer's place
		require.Empty(t, writer)
		require.Equal(t, "released", c.Do(p.ctx, "release a").Event)
		require.NoError(t, p.granted(t, writer).Release(p.ctx))
		return
	}
	l := p.granted(t, writer) // though Curator believes that it reads
	require.NoError(t, l.Release(p.ctx))
	require.Equal(t, "released", c.Do(p.ctx, "release a").Event)
}

// kazoo#650: before 2.9 a reader waits for the last of all writers, also of those
// that came after it and wait for it.
func TestKazooReaderWaitsForALaterWriter(t *testing.T) {
	p := newParty(t)
	k := kazoo("__WRIT__", "__READ__")(t, p.connect)
	rw := p.rw(t)
	first, err := rw.Lock(p.ctx)
	require.NoError(t, err)
	k.Tell("rlock r " + p.path)
	p.queued(t, 2, rw.Queue)
	const stays = 2 * time.Second
	since := peers.Now()
	ctx, cancel := context.WithTimeout(p.ctx, stays)
	defer cancel()
	later := p.inBackground(t, func(context.Context) (*recipes.Lease, error) { return rw.Lock(ctx) })
	p.queued(t, 3, rw.Queue)
	require.NoError(t, first.Release(p.ctx))
	_, granted := <-later
	require.False(t, granted, "it waits for the reader")
	reader := k.Await(p.ctx, "r")
	require.Equal(t, "held", reader.Event)
	if fixedInKazoo(t) {
		require.Less(t, reader.From, since+stays)
	} else {
		require.Greater(t, reader.From, since+stays)
	}
	require.Equal(t, "released", k.Do(p.ctx, "release r").Event)
}

// The same without any contender of ours: kazoo's own readers and writers wait for
// each other for ever, unless one has a deadline.
func TestKazooReaderAndWriterWaitForEachOther(t *testing.T) {
	p := newParty(t)
	k := kazoo()(t, p.connect)
	rw := p.rw(t)
	require.Equal(t, "held", k.Do(p.ctx, "wlock first "+p.path).Event)
	k.Tell("rlock r " + p.path)
	p.queued(t, 2, rw.Queue)
	const stays = 2 * time.Second
	since := peers.Now()
	k.Tell("trywlock later " + p.path + " 2000")
	p.queued(t, 3, rw.Queue)
	require.Equal(t, "released", k.Do(p.ctx, "release first").Event)
	reader := k.Await(p.ctx, "r")
	require.Equal(t, "held", reader.Event)
	if fixedInKazoo(t) {
		require.Less(t, reader.From, since+stays)
	} else {
		require.Greater(t, reader.From, since+stays)
	}
	require.Equal(t, "busy", k.Await(p.ctx, "later").Event)
	require.Equal(t, "released", k.Do(p.ctx, "release r").Event)
}

func fixedInKazoo(t *testing.T) bool {
	t.Helper()
	v := peers.KazooVersion(t)
	for _, old := range []string{"2.6.", "2.7.", "2.8."} {
		if strings.HasPrefix(v, old) {
			return false
		}
	}
	return true
}
